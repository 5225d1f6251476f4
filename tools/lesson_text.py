"""Read a chapter's text as the notebook it stands for, and refuse what would be lost.

The texts in ``lessons/`` are MyST Markdown. That format drops some things without a word (an
empty Markdown cell, a leading ``+++``), and a slip in a marker or a tag would show only much
later. Here each of them is refused with one sentence that names the file and the line.

Kind:    plumbing of the build
Public:  Refused, Target, blank, built_from, modules, parse, read, targets
Imports: jupytext's MyST reader, nbformat
"""

from __future__ import annotations

import ast
import hashlib
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from jupytext.myst import MystMetadataParsingError, myst_to_notebook
from nbformat import NotebookNode

TAGS = {"setup", "nbval-ignore-output", "remove-cell", "slide", "no-slide"}
FRONT_MATTER = {"jupytext", "kernelspec", "course"}
# what jupytext's reader adds on its own
ADDED = {"jupyter", "source_map"}
COURSE_KEYS = {"chapter", "reading_minutes", "run_seconds"}
MOST_SECONDS = {"lessons": 60, "exercises": 30, "solutions": 30}
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# not a wrapped line of Python, which may begin with "!= x" or "% x"
MAGIC = re.compile(r"^([ \t]*)(?:![^=]|%%?\w).*$", re.M)
BLOCK = re.compile(
    r"^[ \t]*### BEGIN SOLUTION[^\n]*\n(.*?)^([ \t]*)### END SOLUTION[^\n]*$", re.M | re.S
)


class Refused(Exception):
    """Says in one sentence why a text or a notebook cannot be accepted."""


@dataclass(frozen=True)
class Target:
    """A notebook to be made: ``kind`` is "lessons", "exercises" or "solutions"."""

    root: Path
    kind: str
    name: str

    @property
    def text(self) -> Path:
        """Return the text that people edit."""
        folder = "lessons" if self.kind == "lessons" else "lessons/exercises"
        return self.root / folder / f"{self.name}.md"

    @property
    def notebook(self) -> Path:
        """Return the notebook that students open."""
        folder = "notebooks" if self.kind == "lessons" else f"notebooks/{self.kind}"
        return self.root / folder / f"{self.name}.ipynb"

    def __str__(self) -> str:
        """Return the notebook's path as seen from the repository."""
        return self.notebook.relative_to(self.root).as_posix()


def targets(root: Path, names: Iterable[str] = ()) -> list[Target]:
    """Return every notebook to be made, or those that the names mean."""
    lessons = [Target(root, "lessons", p.stem) for p in root.glob("lessons/*.md")]
    exercises = [
        Target(root, kind, path.stem)
        for path in root.glob("lessons/exercises/*.md")
        for kind in ("exercises", "solutions")
    ]
    found = sorted(lessons + exercises, key=lambda target: (target.name, target.kind != "lessons"))
    names = list(names)
    for name in names:
        if not any(_means(name, target) for target in found):
            raise Refused(f"no text is named {name}; there are {[t.name for t in lessons]}")
    return [t for t in found if not names or any(_means(name, t) for name in names)]


def _means(name: str, target: Target) -> bool:
    folder, _, stem = re.sub(r"\.(md|ipynb)$", "", name).rpartition("/")
    # the exercises' text makes the solutions too
    kinds = {"exercises": {"exercises", "solutions"}, "solutions": {"solutions"}}
    kinds |= {"lessons": {"lessons"}, "notebooks": {"lessons"}, "": set(MOST_SECONDS)}
    kind = folder.rpartition("/")[2]
    return target.kind in kinds.get(kind, ()) and f"{target.name}_".startswith(f"{stem}_")


# ---- from text to notebook ---------------------------------------------------------------------


def read(target: Target) -> NotebookNode:
    """Return the notebook that the text stands for, not executed.

    Its ``metadata.lines`` says for each cell where the text has it; it is not stored.
    """
    text = target.text.read_text(encoding="utf-8")
    where = target.text.relative_to(target.root).as_posix()
    for line, complaint in _lossy(text):
        raise Refused(f"{where}:{line}: {complaint}")
    try:
        notebook = myst_to_notebook(text, add_source_map=True)
    except (MystMetadataParsingError, yaml.YAMLError) as error:
        raise Refused(f"{where}: {' '.join(str(error).split())}") from error
    course = _course(notebook, target.kind, where)
    lines = [max(1, line) for line in notebook.metadata.source_map]
    for line, cell in zip(lines, notebook.cells, strict=True):
        if unknown := set(cell.metadata) - {"tags"}:
            raise Refused(f"{where}:{line}: a cell may have tags only, not {sorted(unknown)}")
        if unknown := set(cell.metadata.get("tags", [])) - TAGS:
            raise Refused(
                f"{where}:{line}: unknown cell tag {sorted(unknown)}; there are {sorted(TAGS)}"
            )
        if cell.cell_type == "code":
            _check_code(cell.source, target.kind, f"{where}:{line}")
            cell.source = _variant(cell.source, target.kind)
            cell.outputs, cell.execution_count = [], None
    _give_ids(notebook.cells)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    course["built_from"] = built_from(target.root, text, notebook.cells, course["chapter"])
    notebook.metadata = nbformat.from_dict({**METADATA, "course": course, "lines": lines})
    return notebook


def _lossy(text: str) -> Iterator[tuple[int, str]]:
    """Find what MyST would drop without a word: a leading +++ and an empty Markdown cell."""
    if not text.startswith("---\n"):
        yield 1, "the front matter is missing; copy it from another text and adapt `course`"
        return
    start = text.count("\n", 0, text.find("\n---\n", 3) + 1) + 1
    fence, opened, waiting, seen = "", 0, 0, False
    for line, row in enumerate(text.splitlines()[start:], start + 1):
        opening = re.match(r"(`{3,}|~{3,})", row)
        if waiting and (row.startswith("+++") or (opening and row.lstrip("`~")[:6] == "{code-")):
            yield waiting, "nothing follows this +++, so the format would drop the empty cell"
        if fence:
            fence = "" if opening and row.strip().startswith(fence) else fence
        elif opening:
            fence, opened, waiting = opening[1], line, 0
        elif row.startswith("+++"):
            if not seen and not row[3:].strip():
                yield line, "a leading +++ separates nothing, and the format would drop it"
            waiting = line
        elif row.strip():
            waiting = 0
        seen = seen or bool(row.strip())
    if waiting:
        yield waiting, "nothing follows this +++, so the format would drop the empty cell"
    if fence:
        yield opened, f"a {fence} fence is never closed"


def _course(notebook: NotebookNode, kind: str, where: str) -> dict:
    if unknown := set(notebook.metadata) - FRONT_MATTER - ADDED:
        raise Refused(f"{where}:1: unknown key in the front matter: {sorted(unknown)}")
    course = notebook.metadata.get("course")
    if not isinstance(course, dict):
        raise Refused(f"{where}:1: the front matter has no `course` entry")
    if unknown := set(course) - COURSE_KEYS:
        raise Refused(f"{where}:1: unknown key under `course`: {sorted(unknown)}")
    needed = COURSE_KEYS if kind == "lessons" else {"chapter"}
    for key in sorted(needed | set(course)):
        if not isinstance(course.get(key), int) or course[key] < 1:
            raise Refused(f"{where}:1: `course` must say {key}, as a whole number from 1 on")
    if course.get("run_seconds", 1) > MOST_SECONDS[kind]:
        raise Refused(f"{where}:1: run_seconds may be {MOST_SECONDS[kind]} at most")
    return dict(course)


def _check_code(source: str, kind: str, where: str) -> None:
    inside = False
    for row in source.splitlines():
        begins, ends = "### BEGIN SOLUTION" in row, "### END SOLUTION" in row
        if (begins or ends) and kind == "lessons":
            raise Refused(f"{where}: a lesson has no blanks; move the SOLUTION to the exercises")
        if (begins and inside) or (ends and not inside):
            raise Refused(f"{where}: BEGIN SOLUTION and END SOLUTION do not come in pairs")
        inside = (inside or begins) and not ends
    if inside:
        raise Refused(f"{where}: BEGIN SOLUTION without END SOLUTION")
    try:
        parse(source)
        for block in BLOCK.finditer(source):
            parse(textwrap.dedent(block[1]))
    except SyntaxError as error:
        raise Refused(f"{where}: this cell is not Python: {error.msg}") from error


def parse(source: str) -> ast.Module:
    """Return a cell's syntax tree; a magic or shell line counts as ``pass``."""
    return ast.parse(MAGIC.sub(r"\1pass", source))


def _variant(source: str, kind: str) -> str:
    if kind == "solutions":
        return re.sub(r"^[ \t]*### (BEGIN|END) SOLUTION[^\n]*(\n|\Z)", "", source, flags=re.M)
    return BLOCK.sub(lambda block: blank(block[1], block[2]), source).rstrip("\n")


def blank(answer: str, indent: str = "") -> str:
    """Return what the student finds in place of an answer.

    A name that the answer assigns stays assigned, so that later cells still run.

    >>> blank("mean = x.mean()")
    'mean = ...  # your answer'
    """
    names = list(dict.fromkeys(_assigned(parse(textwrap.dedent(answer)).body)))
    rows = [f"{indent}{name} = ...  # your answer" for name in names]
    return "\n".join(rows or [f"{indent}...  # your answer"])


def _assigned(statements: list[ast.stmt]) -> Iterator[str]:
    if statements and isinstance(statements[-1], ast.Return):
        return  # the end of a function: nothing after it could read a name
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for target in getattr(statement, "targets", None) or [statement.target]:
                names = (n for n in ast.walk(target) if isinstance(n, ast.Name))
                yield from (name.id for name in names if isinstance(name.ctx, ast.Store))
        elif isinstance(statement, ast.With | ast.If):  # these always run, or may
            yield from _assigned(statement.body)


def _give_ids(cells: list[NotebookNode]) -> None:
    seen: dict[str, int] = {}
    for cell in cells:
        stem = hashlib.sha256((cell.cell_type + cell.source).encode()).hexdigest()[:8]
        seen[stem] = seen.get(stem, 0) + 1
        cell["id"] = stem if seen[stem] == 1 else f"{stem}-{seen[stem]}"


# ---- what a notebook is made from --------------------------------------------------------------


def built_from(root: Path, text: str, cells: list[NotebookNode], chapter: int) -> str:
    """Return a hash of all that the outputs depend on: text, versions, imported modules."""
    digest = hashlib.sha256(text.encode())
    for path in [root / "requirements.lock", *modules(root, cells, chapter)]:
        digest.update(path.read_text(encoding="utf-8").encode() if path.exists() else b"")
    return digest.hexdigest()[:16]


def modules(root: Path, cells: list[NotebookNode], chapter: int) -> list[Path]:
    """Return the files of course_utils that these cells import, directly or not."""
    trees = [parse(cell.source) for cell in cells if cell.cell_type == "code"]
    waiting = [name for tree in trees for name in _imports(tree, "")]
    # a check is looked up by its number, and a quiz asks the questions of other chapters too
    strings = (n.value for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Constant))
    asked = [re.fullmatch(r"(\d+)\.[a-z]\d+", s) for s in strings if isinstance(s, str)]
    own = {f"course_utils.checks.ch{n:02}" for n in [chapter, *(int(m[1]) for m in asked if m)]}
    found: dict[str, Path] = {}
    while waiting:
        name = waiting.pop()
        path = _module_file(root, name)
        foreign = re.fullmatch(r"course_utils\.checks\.ch\d\d", name) and name not in own
        if path is None or name in found or foreign:
            continue
        found[name] = path
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting += [package, *_imports(ast.parse(path.read_text(encoding="utf-8")), package)]
        if name in ("course_utils.checks", "course_utils.quiz"):
            waiting += own
    # a widget's browser half lies beside it
    sides = [p.with_suffix(s) for p in found.values() for s in (".js", ".css")]
    return sorted({*found.values(), *(side for side in sides if side.exists())})


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            yield from [base, *(f"{base}.{alias.name}" for alias in node.names)]


def _module_file(root: Path, name: str) -> Path | None:
    if not name.startswith("course_utils."):  # the package itself imports nothing
        return None
    path = root.joinpath(*name.split("."))
    candidates = [path / "__init__.py", path.with_suffix(".py")]
    return next((candidate for candidate in candidates if candidate.exists()), None)
