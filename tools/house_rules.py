"""Hold every notebook to the rules that keep a course honest and readable.

nbval compares outputs, but it never looks at a picture, never counts a line and does not know
that a setup cell without a tag will fail on the next machine. Each rule here is a small function
from a notebook to complaints in plain sentences; its docstring says why the rule exists, and
tests/test_house_rules.py breaks each of them once.

    python tools/house_rules.py            all notebooks
    python tools/house_rules.py 03         those whose name starts with 03
"""

from __future__ import annotations

import ast
import itertools
import re
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
from lesson_text import MAGIC, METADATA, TAGS, parse
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES, MOST_MEDIAN_LINES = 15, 6
LEAST_COMPARED = 2 / 3
MOST_WITHOUT_A_WORD = 1 / 4
FEWEST_CHECKS, FEWEST_CHECKS_OF_MODELS = 5, 6
MODEL_CHAPTERS = {1, 3, 4}
FEWEST_ALT_WORDS = 3
BANNED_WORDS = re.compile(r"\b(simply|just|obviously|trivially)\b", re.I)
NETWORK = re.compile(
    r"urllib\.request|urlopen|\brequests\.|import requests|download=True|torch\.hub|pretrained=True"
)
INSTALL = re.compile(r"(subprocess|os\.system).*\b(pip|conda|uv)\b")
MACHINE_FOLDER = re.compile(
    r"(?<![\w.:/~])/(?:home|Users|root|work|tmp|private|mnt)/(?!ipykernel_0/0\.py)|\b[A-Z]:\\\w"
)
# draws into the current figure or into axes; building an empty figure is not drawing
DRAWS = {"barh", "boxplot", "contour", "contourf", "fill_between", "hist", "imshow", "loglog"}
DRAWS |= {"plot", "semilogx", "semilogy", "stackplot"}
# an optimizer steps and a tensor scatters, so these draw only where plt or axes do it
DRAWS_ON_AXES = {"bar", "scatter", "stem", "step"}
NEEDS_NO_AXES = {"imshow"}
DIFFERS = {
    "a time": re.compile(r"\b\d+(\.\d+)?\s?(ns|us|µs|ms|s|sec|seconds|minutes)\b"),
    "a loss": re.compile(r"\bloss\b\D{0,12}\d+\.\d{3,}", re.I),
    "a version": re.compile(r"\b\d+\.\d+\.\d+(\+\w+)?\b"),
    "an address": re.compile(r"\b0x[0-9a-f]{6,}\b", re.I),
}

Rule = Callable[[Path, NotebookNode], Iterator[str]]
RULES: dict[str, Rule] = {}


def rule(function: Rule) -> Rule:
    """Enter a function into the list of rules."""
    RULES[function.__name__] = function
    return function


def complaints(path: Path, notebook: NotebookNode) -> list[str]:
    """Return what every rule has to say, each with the rule's name."""
    return [f"{says} [{name}]" for name, check in RULES.items() for says in check(path, notebook)]


# ---- what is stored ----------------------------------------------------------------------------


@rule
def cells_have_run(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """Nbval compares nothing in a cell that has neither a count nor an output."""
    for where, cell in _code(notebook):
        if not isinstance(cell.execution_count, int):
            yield f"{where} has no execution count"


@rule
def no_error_is_stored(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A reader takes a traceback for the lesson's own failure; errors go through `expect`."""
    for where, output in _outputs(notebook):
        if output.output_type == "error":
            yield f"{where} stores the error {output.ename}"


@rule
def no_warning_is_stored(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A warning tells of a call that is on its way out, or of a slip that nobody looked into."""
    for where, output in _outputs(notebook):
        if output.get("name") == "stderr" and "Warning" in output.text:
            yield f"{where} stores a warning"


@rule
def drawing_stores_an_image(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """Nbval never compares pictures, so nothing else would notice an empty plot."""
    for where, cell in _code(notebook):
        draws = any(_draws(call) for call in _calls(cell, inside_functions=False))
        if draws and "# your answer" not in cell.source and not _has_image(cell):
            yield f"{where} draws but stores no image"


@rule
def most_outputs_are_compared(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A course in which nothing is compared proves nothing."""
    tags = [_tags(cell) for _, cell in _code(notebook) if cell.outputs]
    shown = [tag for tag in tags if "setup" not in tag]
    compared = [tag for tag in shown if "nbval-ignore-output" not in tag]
    if len(compared) < LEAST_COMPARED * len(shown):
        yield f"only {len(compared)} of {len(shown)} cells with output are compared"


@rule
def compared_outputs_are_the_same_everywhere(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """What differs by machine fails on the first student's machine."""
    for where, output in _outputs(notebook, compared_only=True):
        for what, pattern in DIFFERS.items():
            if found := pattern.search(_text(output)):
                yield f"{where} is compared and shows {what}: {found[0]}"


@rule
def no_absolute_path(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A folder of one machine means nothing on another."""
    for where, cell in _code(notebook):
        if found := MACHINE_FOLDER.search(cell.source):
            yield f"{where} names a folder of one machine: {found[0]}"
    for where, output in _outputs(notebook):
        if found := MACHINE_FOLDER.search(_text(output)):
            yield f"{where} shows a folder of one machine: {found[0]}"


@rule
def kernel_is_python3(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """Any other kernel name exists on its author's machine only."""
    if notebook.metadata.get("kernelspec") != METADATA["kernelspec"]:
        yield "the kernelspec is not the plain python3"


# ---- how the code is written -------------------------------------------------------------------


@rule
def tags_are_known(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A misspelt tag does nothing, and nbval's skipping tags and comments hide a cell."""
    for where, cell in _numbered(notebook):
        for tag in sorted(_tags(cell) - TAGS):
            yield f"{where} has the unknown tag {tag}"
        if cell.cell_type == "code" and re.search(r"#\s*(PYTEST_VALIDATE|NBVAL)_", cell.source):
            yield f"{where} steers nbval by a comment"


@rule
def setup_comes_first(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """The first cell seeds and chooses device and cache; what runs before it misses all three."""
    cells = [cell for _, cell in _code(notebook)]
    if [i for i, cell in enumerate(cells) if "setup" in _tags(cell)] != [0]:
        yield "the first code cell, and no other, must be tagged setup"
    elif f"runtime.start({_chapter(notebook)})" not in cells[0].source:
        yield f"the setup cell does not call runtime.start({_chapter(notebook)})"


@rule
def cells_are_short(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A cell that does not fit one thought is skipped, not read; empty lines are free."""
    lengths = []
    for where, cell in _code(notebook):
        lengths.append(sum(bool(line.strip()) for line in cell.source.splitlines()))
        if lengths[-1] > MOST_LINES:
            yield f"{where} has {lengths[-1]} lines; {MOST_LINES} are the most"
    if _kind(path) == "lesson" and lengths and statistics.median(lengths) > MOST_MEDIAN_LINES:
        yield f"half of the cells have more than {MOST_MEDIAN_LINES} lines"


@rule
def cells_stand_between_words(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A sentence before a cell says why, one after it says what came out."""
    kinds = [c.cell_type for c in notebook.cells if "remove-cell" not in _tags(c)]
    pairs = list(itertools.pairwise(kinds)).count(("code", "code"))
    if _kind(path) == "lesson" and pairs > MOST_WITHOUT_A_WORD * kinds.count("code"):
        yield f"{pairs} of {kinds.count('code')} code cells follow another without a word"


@rule
def plots_name_their_axes(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A curve without names and units can mean anything; course_utils.plotting sees to its own."""
    for where, cell in _code(notebook):
        direct = [call for call in _calls(cell) if _draws(call) and not _is_plotting(call)]
        named = "xlabel" in cell.source and "ylabel" in cell.source
        bare = {_method(call) for call in direct} - NEEDS_NO_AXES
        if bare and not named and "# your answer" not in cell.source:
            yield f"{where} plots without naming both axes"


@rule
def no_magic(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A shell line differs by system, and a magic hides what Python does."""
    for where, cell in _code(notebook):
        for found in MAGIC.finditer(cell.source):
            if found[0].strip() != "%matplotlib inline":
                yield f"{where} uses {found[0].strip()}"


@rule
def nothing_is_installed_or_downloaded(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A lesson must run in a train, and must not change the installation it explains."""
    for where, cell in _code(notebook):
        if found := NETWORK.search(cell.source) or INSTALL.search(cell.source):
            yield f"{where} installs or downloads: {found[0]}"


@rule
def device_is_a_variable(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """Most readers have no GPU; `device` holds what they have."""
    for where, cell in _code(notebook):
        for call in _calls(cell):
            values = [*call.args, *(k.value for k in call.keywords if k.arg == "device")]
            named = [v.value for v in values if isinstance(v, ast.Constant)]
            takes = _method(call) in {"to", "device"} or any(
                k.arg == "device" for k in call.keywords
            )
            if _method(call) == "cuda" or (takes and any(str(n).startswith("cuda") for n in named)):
                yield f"{where} names cuda where it should use device"


@rule
def compiling_is_literal(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """The line that a lesson is about must be seen in it, under its own name."""
    sources = "\n".join(cell.source for _, cell in _code(notebook))
    if re.search(r"from torch import .*\bcompile\b|torch\._dynamo\.optimize", sources):
        yield "torch.compile is used under another name"
    elif re.search(r"^\s*compiled\w* = ", sources, re.M) and "torch.compile" not in sources:
        yield "something is named compiled, but torch.compile( stands nowhere"


# ---- how it reads ------------------------------------------------------------------------------


@rule
def title_has_the_number(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """Book, slides and folders sort by it, and a reader cites it."""
    chapter = _chapter(notebook)
    if not notebook.cells or not notebook.cells[0].source.startswith(f"# {chapter} · "):
        yield f'the notebook must begin with a title such as "# {chapter} · Name: a claim"'
    elif not path.name.startswith(f"{chapter:02}_"):
        yield f"the file's name does not start with {chapter:02}_"


@rule
def promises_are_kept(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """What the chapter promises at the top, its end answers line by line."""
    if _kind(path) != "lesson":
        return
    text = "\n\n".join(prose for _, prose in _prose(notebook))
    promised = _points(re.search(r"^After this chapter you can$(.*)", text, re.M | re.S))
    kept = _points(re.search(r"^## In short$(.*)", text, re.M | re.S))
    if promised < 2:
        yield 'the list under "After this chapter you can" needs at least two points'
    elif kept < promised:
        yield f'"In short" has {kept} points for {promised} promises'


@rule
def lesson_asks_for_a_guess(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """Who has guessed remembers the answer."""
    if _kind(path) == "lesson" and not any("**Predict.**" in p for _, p in _prose(notebook)):
        yield "a lesson needs at least one **Predict.**"


@rule
def lesson_has_a_quiz(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """Recalling teaches more than reading again."""
    if _kind(path) == "lesson" and not any("quiz.ask(" in c.source for _, c in _code(notebook)):
        yield "a lesson needs a quiz.ask(...)"


@rule
def words_do_not_belittle(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """Who is told that a thing is simple, and does not see it, stops reading."""
    for where, prose in _prose(notebook):
        for word in BANNED_WORDS.findall(prose):
            yield f'{where} says "{word}"'


@rule
def images_are_described(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A reader who cannot see the picture needs its content in words."""
    for where, prose in _prose(notebook):
        described = re.findall(r"!\[(.*?)\]\(", prose, re.S)
        for tag in re.findall(r"<img\b[^>]*>", prose):
            described.append("".join(re.findall(r"\balt=\"([^\"]*)\"", tag)))
        for text in described:
            if len(text.split()) < FEWEST_ALT_WORDS:
                yield f'{where} has an image whose alt text is "{text}"'


@rule
def local_links_lead_somewhere(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A link or a picture that leads nowhere is found by the reader, at the wrong moment."""
    for where, prose in _prose(notebook):
        links = re.findall(r"\]\(\s*([^)\s]+)", prose) + re.findall(r"\bsrc=\"([^\"]+)\"", prose)
        for link in links:
            target = link.partition("#")[0]
            outside = re.match(r"[a-z]+:", link) or not target
            if not outside and not (path.parent / target).exists():
                yield f"{where} links to {target}, which does not exist"


# ---- exercises ---------------------------------------------------------------------------------


@rule
def exercises_are_checked(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """An exercise without an answer that comes back is homework nobody reads."""
    if _kind(path) == "lesson":
        return
    chapter = _chapter(notebook)
    fewest = FEWEST_CHECKS_OF_MODELS if chapter in MODEL_CHAPTERS else FEWEST_CHECKS
    numbers = [n for _, cell in _code(notebook) for n in _checked(cell)]
    if len(set(numbers)) < fewest:
        yield f"{len(set(numbers))} exercises are checked; chapter {chapter} needs {fewest}"
    for number in numbers:
        if not number.startswith(f"{chapter}."):
            yield f"the check {number} does not belong to chapter {chapter}"


@rule
def checks_stand_alone(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A student edits the answer's cell; the check beside it must survive that."""
    for where, cell in _code(notebook):
        if _kind(path) != "lesson" and _checked(cell) and len(parse(cell.source).body) != 1:
            yield f"{where} holds more than its check"


@rule
def checks_say_what_they_must(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A blank that counts as wrong discourages, and a solution that is wrong does worse."""
    wanted = {"exercises": "not answered yet", "solutions": "right"}.get(_kind(path))
    for where, cell in _code(notebook):
        for number in _checked(cell) if wanted else []:
            says = "".join(_text(output).partition("\n")[0] for output in cell.outputs)
            if not says.startswith(f"{number} {wanted}"):
                yield f'{where} must say "{number} {wanted}" and says "{says}"'


@rule
def no_solution_marker_is_left(path: Path, notebook: NotebookNode) -> Iterator[str]:
    """A marker in a notebook means that an answer was not taken out."""
    for where, cell in _numbered(notebook):
        if re.search(r"### (BEGIN|END) SOLUTION", cell.source):
            yield f"{where} holds a SOLUTION marker"


# ---- looking into a notebook -------------------------------------------------------------------


def _kind(path: Path) -> str:
    return path.parent.name if path.parent.name in ("exercises", "solutions") else "lesson"


def _chapter(notebook: NotebookNode) -> int:
    return notebook.metadata.get("course", {}).get("chapter", 0)


def _tags(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


def _numbered(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    for number, cell in enumerate(notebook.cells, 1):
        first = cell.source.strip().partition("\n")[0][:50]
        yield f"cell {number} ({first})", cell


def _code(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    return ((where, cell) for where, cell in _numbered(notebook) if cell.cell_type == "code")


def _prose(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """Return the Markdown cells without the code in them."""
    for where, cell in _numbered(notebook):
        if cell.cell_type == "markdown":
            text = re.sub(r"^(```+|~~~+).*?^\1\s*$", "", cell.source, flags=re.M | re.S)
            yield where, re.sub(r"(`+)[^`].*?\1", "`code`", text)


def _outputs(
    notebook: NotebookNode, compared_only: bool = False
) -> Iterator[tuple[str, NotebookNode]]:
    for where, cell in _code(notebook):
        if not (compared_only and "nbval-ignore-output" in _tags(cell)):
            yield from ((f"the output of {where}", output) for output in cell.outputs)


def _text(output: NotebookNode) -> str:
    """Return what an output says in text; pictures and widgets say nothing."""
    data = output.get("data", {})
    said = [output.get("text"), data.get("text/plain"), data.get("text/html")]
    return "\n".join(text for text in said if text)


def _points(section: re.Match | None) -> int:
    """Count the list items up to the next heading or the next paragraph after the list."""
    points = 0
    for line in section[1].splitlines() if section else []:
        if re.match(r"[-*] |\d+\. ", line):
            points += 1
        elif line.startswith("#") or (points and line.strip() and not line.startswith(" ")):
            break
    return points


def _calls(cell: NotebookNode, inside_functions: bool = True) -> Iterator[ast.Call]:
    """Return the calls in a cell, those in functions that it only defines left out on request."""
    waiting: list[ast.AST] = [parse(cell.source)]
    functions = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    while waiting:
        node = waiting.pop()
        if isinstance(node, functions) and not inside_functions:
            continue
        if isinstance(node, ast.Call):
            yield node
        waiting += ast.iter_child_nodes(node)


def _method(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _is_plotting(call: ast.Call) -> bool:
    return ast.unparse(call.func).startswith("plotting.")


def _draws(call: ast.Call) -> bool:
    owner = ast.unparse(call.func).rpartition(".")[0]
    on_axes = re.match(r"(plt|ax|fig)", owner) and _method(call) in DRAWS_ON_AXES
    return bool(_is_plotting(call) or _method(call) in DRAWS or on_axes)


def _has_image(cell: NotebookNode) -> bool:
    return any(mime.startswith("image/") for out in cell.outputs for mime in out.get("data", {}))


def _checked(cell: NotebookNode) -> list[str]:
    """Return the numbers of the exercises that a cell checks."""
    calls = (c for c in _calls(cell) if ast.unparse(c.func) in ("checks.check", "check") and c.args)
    return [call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)]


def main(names: list[str]) -> int:
    """Print all complaints about the notebooks named, or about all; return the exit code."""
    found = 0
    for path in sorted(ROOT.glob("notebooks/**/*.ipynb")):
        if ".ipynb_checkpoints" in path.parts or (names and not path.name.startswith(tuple(names))):
            continue
        for complaint in complaints(path, nbformat.read(path, as_version=4)):
            found += 1
            print(f"{path.relative_to(ROOT).as_posix()}: {complaint}")
    print(f"{found} complaints by {len(RULES)} rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
