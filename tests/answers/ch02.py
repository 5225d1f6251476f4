"""Right and wrong answers to the exercises of chapter 2, and what each wrong one must be told."""

import re

from course_utils.doctor import facts
from course_utils.doctor.examples import change, laptop
from course_utils.doctor.finding import ok, problem, unknown
from tests.answers import Answers

# 2.2, 2.4

BUILDS = ["cu126", "cpu", "cpu", "mac", "cu126"]
ADVICE = ["restart", "kernel", "driver", "build", "variable", "compiler", "nothing"]


def with_word(words, number, word):
    """Return the words with one of them replaced."""
    return [word if i == number else w for i, w in enumerate(words)]


# 2.5


def numbers(version):
    return tuple(map(int, re.match(r"[\d.]+", version)[0].split(".")))


def is_older_by_hand(have, wanted):
    for mine, theirs in zip(numbers(have), numbers(wanted), strict=False):
        if mine != theirs:
            return mine < theirs
    return len(numbers(have)) < len(numbers(wanted))


def as_decimal(version):
    return float(".".join(version.split("+")[0].split(".")[:2]))


# 2.6


def major(version):
    return int(version.partition(".")[0])


def serves_by_float(driver_cuda, torch_cuda):
    if not torch_cuda:
        return False
    return int(float(driver_cuda)) >= int(float(torch_cuda))


# 2.7


def card(name):
    number = int(name[3:])
    return number // 10, number % 10


def has_code_by_names(capability, architectures):
    runs = {f"sm_{capability[0]}{minor}" for minor in range(capability[1] + 1)}
    return bool(runs & set(architectures))


# 2.8


def disk_rule(free, needed):
    if free is None:
        return unknown("disk", "nobody could look")
    if free < needed:
        return problem("disk", f"only {free} GB", "it would not fit", "make room")
    return ok("disk", f"{free} GB are free")


def disk_rule_by_match(free, needed):
    match free:
        case None:
            return unknown("disk", "not seen", fix="look at it yourself")
        case enough if enough >= needed:
            return ok("disk", "enough")
        case _:
            return problem("disk", f"{free} of {needed} GB", "", "another disk")


def disk_rule_changed(**changes):
    """Return a disk rule of which one answer is replaced: by its status, or all of them."""

    def rule(free, needed):
        right = disk_rule(free, needed)
        return changes.get(right.status, lambda free: right)(free)

    return rule


def disk_rule_falsy(free, needed):
    if not free:
        return unknown("disk", "not seen")
    return disk_rule(free, needed)


def disk_rule_strict(free, needed):
    if free is not None and free == needed:
        return problem("disk", f"{free} GB", "too little", "make room")
    return disk_rule(free, needed)


# 2.9


def causes_by_loop(problems, follows_from):
    remaining = []
    for name in problems:
        explained = False
        for cause in follows_from.get(name, []):
            if cause in problems:
                explained = True
        if not explained:
            remaining.append(name)
    return remaining


def causes(problems, follows_from):
    return [p for p in problems if set(follows_from.get(p, ())).isdisjoint(problems)]


# 2.10

LITTLE = {"shared_memory": 64 * 2**20}
NO_HEADERS = {"present": False}

ANSWERS = {
    "2.1": Answers(
        right=[
            lambda number: f"{number // 1000}.{number % 1000 // 10}",
            lambda number: "{}.{}".format(*divmod(number // 10, 100)),
        ],
        wrong=[
            (lambda n: f"{n // 1000}.{n % 1000}", "kept the last digit"),
            (lambda n: str(n / 1000), "divided by a thousand"),
            (lambda n: ".".join(str(n)[:2]), "took single digits"),
            (lambda n: n // 1000 + n % 1000 / 100, "returned a number"),
            (lambda n: f"{n // 1000}.{n % 1000 // 100}", "divided by 100"),
            ("11.8", "a function is expected"),
        ],
    ),
    "2.2": Answers(
        right=[BUILDS, tuple(BUILDS), "cu126 cpu cpu mac cu126".split()],
        wrong=[
            (with_word(BUILDS, 0, "cu130"), "CUDA 13 needs driver 580, and this one is 531"),
            (with_word(BUILDS, 0, "cpu"), "no reason to stay with it"),
            (with_word(BUILDS, 1, "cu130"), "only plain pip does that"),
            (with_word(BUILDS, 2, "cu126"), "holds code up to capability 9.0"),
            (with_word(BUILDS, 2, "cu130"), "and this one is 570"),
            (with_word(BUILDS, 3, "cpu"), "on a Mac there is one build"),
            (with_word(BUILDS, 3, "cu130"), "no CUDA on a Mac"),
            (with_word(BUILDS, 4, "cu130"), "no code below capability 7.5"),
            (with_word(BUILDS, 4, "cpu"), "from capability 5.0 on"),
            (with_word(BUILDS, 4, "mac"), "runs on a Mac only"),
            (with_word(BUILDS, 0, "CUDA 12.6"), "none of the words"),
            (BUILDS[:4], "5 words are expected"),
            ("cu126", "a list of words"),
        ],
    ),
    "2.3": Answers(
        right=[list("bdcea"), list("dbcea"), tuple("bdcea")],
        wrong=[
            (list("abdce"), "'b' should come before 'a': a restart costs a second"),
            (list("badce"), "'d' should come before 'a'"),
            (list("bdace"), "the doctor may name a smaller repair"),
            (list("cbdea"), "misleads the doctor too"),
            (list("bcdea"), "judges the wrong Python"),
            (list("bdeca"), "needs a first time"),
            (list("bdcae"), "ask whether the repair has worked"),
            (list("bdce"), "is needed once"),
            ("bdcea", "a list of letters"),
        ],
    ),
    "2.4": Answers(
        right=[ADVICE, tuple(ADVICE), " ".join(ADVICE).split()],
        wrong=[
            (with_word(ADVICE, 0, "build"), "it is the memory that holds 2.14"),
            (with_word(ADVICE, 0, "kernel"), "it is the right Python"),
            (with_word(ADVICE, 0, "nothing"), "what is in memory with what is on the disk"),
            (with_word(ADVICE, 1, "restart"), "start again on the same Python"),
            (with_word(ADVICE, 1, "build"), "this notebook runs on another"),
            (with_word(ADVICE, 2, "build"), "this one is to be kept"),
            (with_word(ADVICE, 2, "kernel"), "this driver serves up to 12.3"),
            (with_word(ADVICE, 3, "driver"), "is not the cause"),
            (with_word(ADVICE, 3, "nothing"), "made without CUDA"),
            (with_word(ADVICE, 4, "nothing"), "gives one graph on a healthy machine"),
            (with_word(ADVICE, 4, "compiler"), "there would be an error"),
            (with_word(ADVICE, 4, "restart"), "without a word"),
            (with_word(ADVICE, 5, "variable"), "since a graph was captured"),
            (with_word(ADVICE, 5, "build"), "the message names what is missing"),
            (with_word(ADVICE, 6, "compiler"), "Ten numbers have nothing to gain"),
            (with_word(ADVICE, 6, "reinstall"), "none of the words"),
            (ADVICE[:3], "7 words are expected"),
        ],
    ),
    "2.5": Answers(
        right=[lambda have, wanted: numbers(have) < numbers(wanted), is_older_by_hand],
        wrong=[
            (lambda have, wanted: have < wanted, "compared texts"),
            (lambda have, wanted: as_decimal(have) < as_decimal(wanted), "decimal numbers"),
            (lambda have, wanted: numbers(have) > numbers(wanted), "the wrong way round"),
            (lambda have, wanted: numbers(have) <= numbers(wanted), "an equal version as older"),
            (lambda have, wanted: major(have) < major(wanted), "the first number only"),
            (lambda have, wanted: numbers(have)[:2] < numbers(wanted)[:2], "the third number"),
            (lambda have, wanted: float(have) < float(wanted), "expected"),
        ],
    ),
    "2.6": Answers(
        right=[
            lambda driver, torch: torch is not None and major(driver) >= major(torch),
            serves_by_float,
        ],
        wrong=[
            (lambda d, t: t is not None and numbers(d) >= numbers(t), "the minor numbers too"),
            (lambda d, t: t is not None and major(d) == major(t), "equal major numbers"),
            (lambda d, t: d == t, "equal versions"),
            (lambda d, t: t is not None and d.split(".")[0] >= t.split(".")[0], "compared texts"),
            (lambda d, t: t is not None and major(d) <= major(t), "exchanged the two"),
            (lambda d, t: t is None or major(d) >= major(t), "the build without CUDA"),
            (lambda d, t: major(d) >= major(t), "NoneType"),
        ],
    ),
    "2.7": Answers(
        right=[
            has_code_by_names,
            lambda capability, names: any(
                (capability[0], 0) <= card(name) <= tuple(capability) for name in names
            ),
        ],
        wrong=[
            (lambda c, names: f"sm_{c[0]}{c[1]}" in names, "the very same name"),
            (lambda c, names: any(card(n) <= c for n in names), "took any older code"),
            (lambda c, names: any(card(n)[0] == c[0] for n in names), "the same major number"),
            (lambda c, names: c <= max(card(n) for n in names), "the newest only"),
            (
                lambda c, names: any(int(n[3]) == c[0] and int(n[4:]) <= c[1] for n in names),
                "one digit for the major number",
            ),
            (lambda c, names: c in names, "expected"),
        ],
    ),
    "2.8": Answers(
        right=[disk_rule, disk_rule_by_match],
        wrong=[
            (disk_rule_falsy, "`if not free` takes it for None"),
            (disk_rule_strict, "exactly what is needed is enough"),
            (disk_rule_changed(unknown=lambda free: ok("disk", "fine")), "never the same as ok"),
            (
                disk_rule_changed(problem=lambda free: problem("disk", "too little", "", "x")),
                "must name the number 3",
            ),
            (
                disk_rule_changed(problem=lambda free: problem("disk", f"{free}", "", " ")),
                "leaves the reader alone",
            ),
            (disk_rule_changed(ok=lambda free: ok("room", "fine")), 'must be named "disk"'),
            (disk_rule_changed(ok=lambda free: "ok"), "must return a finding"),
            (disk_rule_changed(problem=lambda free: ok("disk", "fine")), "3 is less than 8"),
            ("ok", "a function is expected"),
        ],
    ),
    "2.9": Answers(
        right=[causes, causes_by_loop],
        wrong=[
            (lambda problems, follows: problems[:1], "the first problem only"),
            (
                lambda problems, follows: [p for p in problems if not follows.get(p)],
                "what could follow from something",
            ),
            (
                lambda problems, follows: [p for p in problems if p not in follows],
                "every name that the dictionary knows",
            ),
            (
                lambda problems, follows: [
                    p
                    for p in problems
                    if not follows.get(p) or not all(c in problems for c in follows[p])
                ],
                "all causes at once",
            ),
            (
                lambda problems, follows: [
                    p for p in problems if p not in causes(problems, follows)
                ],
                "kept the consequences",
            ),
            (
                lambda problems, follows: [
                    p for p in problems if not any(c in problems for c in follows[p])
                ],
                "KeyError",
            ),
            (lambda problems, follows: set(causes(problems, follows)), "expected"),
        ],
    ),
    "2.10": Answers(
        right=[
            laptop(room=LITTLE, headers=NO_HEADERS),
            change(laptop(headers=facts.Headers("/opt/include", False)), room=LITTLE),
        ],
        wrong=[
            (laptop(), "does not say [D25]"),
            (laptop(room=LITTLE), "does not say [D17]"),
            (laptop(headers=NO_HEADERS), "does not say [D25]"),
            (laptop(headers=NO_HEADERS, room={"shared_memory": 64}), "the report says 64 MiB"),
            (laptop(headers=NO_HEADERS, room={"memory": 64 * 2**20}), "also says [memory]"),
            (laptop(headers=NO_HEADERS, room=LITTLE, compiler={"works": False}), "[D16]"),
            (
                laptop(room=LITTLE, headers=NO_HEADERS, packages={"torch": None}, torch=None),
                "silent about what follows",
            ),
            (laptop, "a machine is expected"),
        ],
    ),
}
