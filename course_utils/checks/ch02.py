"""Exercises and questions of chapter 2: builds, versions, causes, a rule for the doctor.

Kind:    plumbing; the chapter's own text is lessons/02_install_and_check.md
Public:  EXERCISES, QUESTIONS
Imports: checks.compare, checks.exercise, checks.grading; doctor's facts, finding and rules
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from course_utils.checks.compare import show
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal
from course_utils.doctor import rules
from course_utils.doctor.facts import Facts
from course_utils.doctor.finding import Finding

__all__ = ["EXERCISES", "QUESTIONS"]


# 2.2 and 2.4: a word for each of several machines or people


def _judge_words(
    answer: object,
    right: Mapping[str, str],
    words: Sequence[str],
    because: Mapping[str, Mapping[str, str]],
) -> None:
    """Compare a list of words with the right ones, and explain the first wrong word.

    Args:
        answer: what the student wrote.
        right: name of each machine or person and the word for it, in order.
        words: all words that may be chosen.
        because: for a name and a wrong word, why it is wrong; "" stands for any other word.
    """
    if not isinstance(answer, (list, tuple)):
        raise Wrong(f"a list of words is expected, this is {show(answer)}")
    if len(answer) != len(right):
        raise Wrong(
            f"{len(right)} words are expected, one for each letter; these are {len(answer)}"
        )
    for (name, expected), word in zip(right.items(), answer, strict=True):
        if word not in words:
            raise Wrong(f"{name}: {word!r} is none of the words {', '.join(words)}")
        if word != expected:
            reasons = because[name]
            raise Wrong(f"{name}: {word!r} is wrong: {reasons.get(word, reasons[''])}")


BUILDS = {"A": "cu126", "B": "cpu", "C": "cpu", "D": "mac", "E": "cu126"}
BUILD_WORDS = ("cpu", "cu126", "cu130", "mac")
NO_MAC = "that build runs on a Mac only"
WRONG_BUILDS = {
    "A": {
        "cu130": "the card would do, but CUDA 13 needs driver 580, and this one is 531",
        "cpu": "it has a GPU that one of the CUDA builds serves; that plain pip brings the CPU "
        "build on Windows is no reason to stay with it",
        "": NO_MAC,
    },
    "B": {
        "mac": NO_MAC,
        "": "it runs, but brings gigabytes for a GPU that is not there; only plain pip does that",
    },
    "C": {
        "cu130": "the card would do, but CUDA 13 needs driver 580, and this one is 570",
        "cu126": "the driver would do, but the CUDA 12.6 build holds code up to capability 9.0",
        "": NO_MAC,
    },
    "D": {
        "cpu": "on a Mac there is one build, and it serves Apple's GPU as well as the CPU",
        "": "there is no CUDA on a Mac",
    },
    "E": {
        "cu130": "the driver would do, but the CUDA 13 build holds no code below capability 7.5",
        "cpu": "one of the CUDA builds holds code from capability 5.0 on",
        "": NO_MAC,
    },
}


def _judge_builds(answer: object) -> None:
    _judge_words(answer, BUILDS, BUILD_WORDS, WRONG_BUILDS)


ADVICE = {
    "A": "restart",
    "B": "kernel",
    "C": "driver",
    "D": "build",
    "E": "variable",
    "F": "compiler",
    "G": "nothing",
}
WRONG_ADVICE = {
    "A": {
        "build": "2.15 and 0.30 on the disk belong together; it is the memory that holds 2.14",
        "kernel": "it is the right Python: it has both packages. But which torch is in memory?",
        "": "compare what is in memory with what is on the disk: 2.14 and 2.15",
    },
    "B": {
        "restart": "the notebook would start again on the same Python, whose prefix is /usr",
        "build": "torch is installed, in the Python of the terminal; this notebook runs on another",
        "": "the doctor is content in the terminal, and /usr is another Python",
    },
    "C": {
        "build": "an older build would work, but this one is to be kept: then the driver must "
        "serve CUDA 13",
        "": "torch was built for CUDA 13.0, and this driver serves up to 12.3",
    },
    "D": {
        "driver": "the driver serves CUDA 13.0 and is not the cause; what was torch built for?",
        "": "`None` says that this build of torch was made without CUDA",
    },
    "E": {
        "nothing": "a function with an addition in it gives one graph on a healthy machine",
        "compiler": "without a compiler there would be an error, and still one graph",
        "": "no graph, no error: something has turned torch.compile off without a word",
    },
    "F": {
        "variable": "nothing is turned off, since a graph was captured",
        "": "the message names what is missing, and the graph shows that the rest works",
    },
    "G": {
        "": "graph, kernel and result are there: compiling works. Ten numbers have nothing to gain",
    },
}


def _judge_advice(answer: object) -> None:
    _judge_words(answer, ADVICE, tuple(ADVICE.values()), WRONG_ADVICE)


# 2.3: steps of which some must come before others

BEFORE = [
    ("b", "a", "a restart costs a second, a fresh environment much of an hour"),
    ("d", "a", "in the wrong Python a new environment would not be seen either"),
    ("c", "a", "the doctor may name a smaller repair"),
    ("b", "c", "what is in memory misleads the doctor too, so restart before you ask it"),
    ("d", "c", "a doctor in the wrong Python judges the wrong Python"),
    ("c", "e", "'again' needs a first time"),
    ("e", "a", "ask whether the repair has worked before you throw everything away"),
]


def _judge_steps(answer: object) -> None:
    if not isinstance(answer, (list, tuple)):
        raise Wrong(f"a list of letters is expected, this is {show(answer)}")
    if sorted(map(str, answer)) != list("abcde"):
        raise Wrong("each of the letters a, b, c, d, e is needed once")
    place = {letter: number for number, letter in enumerate(answer)}
    for first, later, because in BEFORE:
        if place[first] > place[later]:
            raise Wrong(f"{first!r} should come before {later!r}: {because}")


# 2.5: versions


def _numbers(version):
    return [int(part) for part in version.partition("+")[0].split(".")]


def _is_older(have, wanted):
    return _numbers(have) < _numbers(wanted)


# 2.6 and 2.7: driver and card


def _serves(driver_cuda, torch_cuda):
    return torch_cuda is not None and _numbers(driver_cuda)[0] >= _numbers(torch_cuda)[0]


def _serves_where_cuda(compare: Callable) -> Callable:
    """Return a mistake that is made only where torch has a CUDA at all."""
    return lambda driver_cuda, torch_cuda: (
        torch_cuda is not None and compare(driver_cuda, torch_cuda)
    )


def _card(name):
    digits = name.partition("_")[2]
    return int(digits[:-1]), int(digits[-1])


def _has_code(capability, architectures):
    cards = [_card(name) for name in architectures]
    return any(card[0] == capability[0] and card[1] <= capability[1] for card in cards)


# 2.8: a rule for the doctor


def _judge_disk_rule(answer: Callable) -> None:
    if not callable(answer):
        raise Wrong(f"a function is expected, this is {show(answer)}")
    explain = {
        None: "nobody could look, and that is never the same as ok, nor as full",
        0: "0 gigabytes are a number, and too few; `if not free` takes it for None",
        8: "exactly what is needed is enough",
        3: "3 is less than 8",
        80: "80 is more than 8",
    }
    expected = {80: "ok", 3: "problem", 8: "ok", 0: "problem", None: "unknown"}
    for free, status in expected.items():
        where = f"disk_rule({free}, 8)"
        finding = answered(answer(free, 8))
        if not isinstance(finding, Finding):
            raise Wrong(f"{where} must return a finding, made by ok, problem or unknown")
        about = f"the status of {where}"
        if finding.status != status:
            about += f"\n{explain[free]}"
        require_equal(finding.status, status, about)
        if finding.id != "disk":
            raise Wrong(f'{where}: the finding must be named "disk", this is {finding.id!r}')
        if status == "problem":
            _explain_problem(finding, free, where)


def _explain_problem(finding: Finding, free: int, where: str) -> None:
    if str(free) not in finding.found:
        raise Wrong(f"{where}: what was found must name the number {free}: {finding.found!r}")
    if not finding.fix.strip():
        raise Wrong(f"{where}: a problem without a fix leaves the reader alone")


# 2.9: causes


def _causes(problems, follows_from):
    return [p for p in problems if not set(follows_from.get(p, ())) & set(problems)]


FOLLOWS = {"compile": ["torch", "compiler"], "torchvision": ["torch"], "widgets": []}


# 2.10: a machine for a report

REPORT = {
    "D25": "the shared memory, /dev/shm, is too small",
    "D17": "the headers, Python.h, are missing",
}


def _judge_machine(answer: object) -> None:
    if not isinstance(answer, Facts):
        raise Wrong(f"a machine is expected, as laptop(...) makes it; this is {show(answer)}")
    said = {finding.id: finding for finding in rules.judge(answer) if finding.status != "ok"}
    for id, finding in said.items():
        if id not in REPORT:
            hides = " (and is silent about what follows)" if finding.stops == "course" else ""
            raise Wrong(f"the doctor also says [{id}] {finding.found}{hides}")
    for id, words in REPORT.items():
        if id not in said:
            raise Wrong(f"the doctor does not say [{id}]: {words}")
    if answer.room.shared_memory != 64 * 2**20:
        raise Wrong(f"the report says 64 MiB; {said['D25'].found}")


EXERCISES = [
    Exercise(
        id="2.1",
        reference=lambda number: f"{number // 1000}.{number % 1000 // 10}",
        cases=[(11080,), (13000,), (12060,), (12100,), (9020,)],
        mistakes=[
            Mistake(
                "kept the last digit of the minor number",
                like=lambda number: f"{number // 1000}.{number % 1000}",
                because="the minor number counts ten times, so divide by 10 once more",
            ),
            Mistake(
                "divided by a thousand",
                like=lambda number: str(number / 1000),
                because="11080 / 1000 is 11.08; the minor number is 8, not 08",
            ),
            Mistake(
                "took single digits",
                like=lambda number: f"{str(number)[0]}.{str(number)[1]}",
                because="the major number may have one digit or two, so calculate",
            ),
            Mistake(
                "returned a number",
                like=lambda number: number // 1000 + number % 1000 / 100,
                because="a version is text: as numbers, 12.10 and 12.1 would be the same",
            ),
            Mistake(
                "divided by 100, not by 10, at the end",
                like=lambda number: f"{number // 1000}.{number % 1000 // 100}",
                because="11080 leaves 80 after the thousands, and 80 stands for 8",
            ),
        ],
        hints=[
            "`//` divides and drops the rest, `%` gives the rest.",
            "number // 1000 is the major number. What remains is number % 1000.",
            'return f"{number // 1000}.{number % 1000 // 10}"',
        ],
    ),
    Exercise(
        id="2.2",
        judge=_judge_builds,
        hints=[
            "Go down the drawing of section 2.2 with your finger, once for each machine.",
            "Two conditions at each CUDA question: the card and the driver. Both must hold.",
            "The CUDA 13 build wants 7.5 and 580, the CUDA 12.6 build 5.0 to 9.0 and 525. "
            "Where neither fits, the CPU build is right until something changes.",
        ],
    ),
    Exercise(
        id="2.3",
        judge=_judge_steps,
        hints=[
            "Which step costs an hour and destroys what could have been looked at?",
            "The doctor can only judge well in the right Python, with nothing stale in memory.",
            "Restart, which Python, doctor, doctor again, and only then everything anew.",
        ],
    ),
    Exercise(
        id="2.4",
        judge=_judge_advice,
        hints=[
            "For A and B ask: does the Python that shows the error hold what was installed?",
            "For C and D compare torch.version.cuda with the number in the corner of nvidia-smi.",
            "For E, F and G go through the proofs of section 2.8: graph, kernel, speed. "
            "Which is the first that fails?",
        ],
    ),
    Exercise(
        id="2.5",
        reference=_is_older,
        cases=[
            ("2.13", "2.14"),
            ("2.14", "2.13"),
            ("2.9", "2.14"),
            ("2.14", "2.9"),
            ("1.13", "2.0"),
            ("2.14.1", "2.14.2"),
            ("2.14.1+cu130", "2.14.1"),
            ("2.14.1+cpu", "2.15.0"),
        ],
        mistakes=[
            Mistake(
                "left out the third number",
                like=lambda have, wanted: _numbers(have)[:2] < _numbers(wanted)[:2],
                because="2.14.1 is older than 2.14.2",
            ),
            Mistake(
                "compared the first number only",
                like=lambda have, wanted: _numbers(have)[0] < _numbers(wanted)[0],
                because="where the first numbers are equal the second decide, and so on",
            ),
            Mistake(
                "compared texts",
                like=lambda have, wanted: have < wanted,
                because="letter by letter 9 comes after 1, so '2.9' comes after '2.14'",
            ),
            Mistake(
                "compared decimal numbers",
                like=lambda have, wanted: (
                    float("{}.{}".format(*_numbers(have)))
                    < float("{}.{}".format(*_numbers(wanted)))
                ),
                because="2.9 is more than 2.14 as a decimal number; the parts count one by one",
            ),
            Mistake(
                "asked the wrong way round",
                like=lambda have, wanted: _is_older(wanted, have),
                because="the question is whether *have* is older",
            ),
            Mistake(
                "counted an equal version as older",
                like=lambda have, wanted: _numbers(have) <= _numbers(wanted),
                because="2.14.1+cu130 is a build of 2.14.1, and no version is older than itself",
            ),
        ],
        hints=[
            "Cut the text at the plus sign, then at the dots, and turn the parts into int.",
            "Python compares lists element by element: [2, 9] < [2, 14] is True.",
            'numbers = [int(part) for part in version.split("+")[0].split(".")]',
        ],
    ),
    Exercise(
        id="2.6",
        reference=_serves,
        cases=[
            ("13.0", "13.0"),
            ("13.0", "13.2"),
            ("12.4", "13.0"),
            ("13.1", "12.6"),
            ("9.2", "12.6"),
            ("13.0", None),
        ],
        mistakes=[
            Mistake(
                "compared the minor numbers too",
                like=_serves_where_cuda(lambda d, t: _numbers(d) >= _numbers(t)),
                because="within one major version every driver serves: 13.0 serves 13.2",
            ),
            Mistake(
                "asked for equal major numbers",
                like=_serves_where_cuda(lambda d, t: _numbers(d)[0] == _numbers(t)[0]),
                because="the driver promises 'up to': a driver for 13 serves torch built for 12",
            ),
            Mistake(
                "asked for equal versions",
                like=_serves_where_cuda(lambda d, t: d == t),
                because="the driver promises 'up to', and minor numbers do not count",
            ),
            Mistake(
                "compared texts",
                like=_serves_where_cuda(lambda d, t: d.split(".")[0] >= t.split(".")[0]),
                because="as text '9' comes after '12'; turn the part before the dot into int",
            ),
            Mistake(
                "exchanged the two",
                like=_serves_where_cuda(lambda d, t: _numbers(d)[0] <= _numbers(t)[0]),
                because="the driver must reach what torch was built for",
            ),
            Mistake(
                "forgot the build without CUDA",
                like=lambda d, t: t is None or _serves(d, t),
                because="a build without CUDA uses no GPU, whatever the driver can do",
            ),
        ],
        hints=[
            "Deal with None first: can a build without CUDA use the GPU?",
            "Only the numbers before the dot count. Turn them into int.",
            "return int(driver's major) >= int(torch's major)",
        ],
    ),
    Exercise(
        id="2.7",
        reference=_has_code,
        cases=[
            ((8, 6), ["sm_86"]),
            ((8, 9), ["sm_80", "sm_90"]),
            ((8, 0), ["sm_86"]),
            ((6, 1), ["sm_75", "sm_80"]),
            ((12, 0), ["sm_80", "sm_90"]),
            ((12, 0), ["sm_90", "sm_120"]),
            ((10, 3), ["sm_100", "sm_120"]),
        ],
        mistakes=[
            Mistake(
                "asked for the very same name",
                like=lambda capability, names: "sm_{}{}".format(*capability) in names,
                because="code for 8.0 also runs on a card with 8.9",
            ),
            Mistake(
                "took any older code",
                like=lambda capability, names: any(_card(n) <= tuple(capability) for n in names),
                because="code does not run across major numbers: sm_90 is not for a 12.0",
            ),
            Mistake(
                "took any code of the same major number",
                like=lambda capability, names: any(_card(n)[0] == capability[0] for n in names),
                because="code for 8.6 does not run on the older 8.0",
            ),
            Mistake(
                "compared with the newest only",
                like=lambda capability, names: tuple(capability) <= max(map(_card, names)),
                because="that a build knows newer cards says nothing about yours",
            ),
            Mistake(
                "read one digit for the major number",
                like=lambda capability, names: any(
                    int(n[3]) == capability[0] and int(n[4:]) <= capability[1] for n in names
                ),
                because="sm_120 is 12.0: only the *last* digit is the minor number",
            ),
        ],
        hints=[
            'The digits of a name: name.removeprefix("sm_"). The last one is the minor number.',
            "For each name: equal major numbers, and a minor number not above the card's.",
            "major, minor = int(digits[:-1]), int(digits[-1])",
        ],
    ),
    Exercise(
        id="2.8",
        judge=_judge_disk_rule,
        hints=[
            "Three ways out, each with a return of its own. Which question comes first?",
            "`if free is None:` asks for None alone; `if not free:` is true for 0 as well.",
            'if free >= needed: return ok("disk", f"{free} GB are free")',
        ],
    ),
    Exercise(
        id="2.9",
        reference=_causes,
        cases=[
            ([], FOLLOWS),
            (["torch"], FOLLOWS),
            (["torch", "compile"], FOLLOWS),
            (["compile"], FOLLOWS),
            (["torch", "disk"], FOLLOWS),
            (["widgets", "compiler", "compile"], FOLLOWS),
            (["torch", "compiler", "torchvision", "compile"], FOLLOWS),
        ],
        mistakes=[
            Mistake(
                "kept the first problem only",
                like=lambda problems, follows_from: problems[:1],
                because="two problems with nothing in common are both causes",
            ),
            Mistake(
                "left out what could follow from something",
                like=lambda problems, follows_from: [
                    p for p in problems if not follows_from.get(p)
                ],
                because="'compile' alone has no cause among the problems, so it must be told",
            ),
            Mistake(
                "left out every name that the dictionary knows",
                like=lambda problems, follows_from: [p for p in problems if p not in follows_from],
                because="being in the dictionary says what *could* explain it, not that it does",
            ),
            Mistake(
                "asked for all causes at once",
                like=lambda problems, follows_from: [
                    p
                    for p in problems
                    if not follows_from.get(p) or not set(follows_from[p]) <= set(problems)
                ],
                because="one of its causes among the problems is enough to explain a problem",
            ),
            Mistake(
                "kept the consequences",
                like=lambda problems, follows_from: [
                    p for p in problems if p not in _causes(problems, follows_from)
                ],
                because="the others are wanted: those that nothing explains",
            ),
        ],
        hints=[
            "Go through the problems in order and ask of each: does another one explain it?",
            "follows_from.get(name, []) is empty for a name that the dictionary does not know.",
            "Keep the name unless any(cause in problems for cause in follows_from.get(name, [])).",
        ],
    ),
    Exercise(
        id="2.10",
        judge=_judge_machine,
        hints=[
            "Look at laptop().room and laptop().headers: which field of each is meant?",
            "Two records are changed in one call: laptop(first={...}, second={...}).",
            'laptop(room={"shared_memory": 64 * 2**20}, headers={"present": ...})',
        ],
    ),
]

QUESTIONS = [
    Question(
        id="2.q1",
        text="A Linux laptop without a GPU; you type `pip install torch torchvision`. What do you "
        "get?",
        options=[
            Option(
                "The CUDA build, several gigabytes of it.",
                right=True,
                because="Pip looks at the operating system only, and on Linux that means CUDA 13.",
            ),
            Option(
                "The CPU build, since there is no GPU.",
                because="Pip never looks for a GPU; uv with --torch-backend=auto does.",
            ),
            Option(
                "An error: no CUDA found.",
                because="The CUDA build installs and runs on a CPU as well, only larger.",
            ),
        ],
    ),
    Question(
        id="2.q2",
        text="torch.version.cuda is 13.0, nvidia-smi says CUDA 13.1, nvcc is 12.4. What must be "
        "repaired before the GPU works?",
        options=[
            Option(
                "Nothing.",
                right=True,
                because="The driver reaches CUDA 13; nvcc is not asked.",
            ),
            Option(
                "Install the CUDA 13.0 toolkit.",
                because="Torch brings its own CUDA; a toolkit is for building extensions.",
            ),
            Option(
                "Install a driver with exactly CUDA 13.0.",
                because="The driver's number is a promise of 'up to'; newer is fine.",
            ),
        ],
    ),
    Question(
        id="2.q3",
        text="In a notebook you have upgraded torch. Now `import torchvision` fails. What first?",
        options=[
            Option(
                "Restart the kernel.",
                right=True,
                because="The old torch is still in memory and meets what is new on the disk.",
            ),
            Option(
                "Reinstall both in a fresh environment.",
                because="That may be needed later; a restart takes a second and is tried first.",
            ),
            Option(
                "Downgrade torchvision.",
                because="That changes the disk once more, and memory still holds the old torch.",
            ),
        ],
    ),
    Question(
        id="2.q4",
        text="Which of these fails on a machine without a C++ compiler?",
        options=[
            Option(
                "Calling a function compiled with the backend inductor.",
                right=True,
                because="Only here is a kernel built. The rest never meets the compiler.",
            ),
            Option(
                "Counting the graphs of a function.",
                because="Dynamo captures in Python; no kernel is built for it.",
            ),
            Option(
                "`torch.compiler.list_backends()`",
                because="It reads a list that came with the package.",
            ),
            Option(
                "`torch.compile(f)`, without calling the result.",
                because="Nothing is compiled before the first call.",
            ),
        ],
    ),
    Question(
        id="2.q5",
        text="A graph is captured, a new kernel appears in the cache, and the compiled function "
        "is slower than eager. What follows?",
        options=[
            Option(
                "The installation works; this function did not profit.",
                right=True,
                because="Small functions, and those of one big operation, have nothing to save.",
            ),
            Option(
                "The installation is broken; reinstall.",
                because="A broken one builds no kernel. Speed is a property of the function.",
            ),
            Option(
                "TORCH_COMPILE_DISABLE is set.",
                because="Then there would be no graph and no kernel.",
            ),
        ],
    ),
]
