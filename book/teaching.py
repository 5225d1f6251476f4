"""Write a page for the instructor of each chapter, from what the chapter and its checks say.

What students will predict wrongly, and why, is known already: each exercise lists the mistakes
that its check recognises. Beside a lesson's own questions that is most of a teacher's manual, and
it changes with the chapter.

Kind:    plumbing
Public:  compiling_sections, pages, predictions, teaching_page
Imports: nbformat, chapters from tools/; exercise_pages and sections beside it
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import nbformat
from chapters import Chapter
from exercise_pages import answers, words
from nbformat import NotebookNode
from sections import Section, blocks, located, plain_links

__all__ = ["compiling_sections", "pages", "predictions", "teaching_page"]

PREDICT = re.compile(r"\*\*Predict\b")


def pages(chapters: Sequence[Chapter]) -> str:
    """Return the list of these pages as Markdown, for a page in the folder above them."""
    rows = ["| | Chapter | Lesson | Exercises | Builds on |", "|--:|:--|--:|--:|:--|"]
    for chapter in chapters:
        needs = ", ".join(map(str, chapter.needs)) or "–"
        rows.append(
            f"| {chapter.number} | [{chapter.title}](teaching/{chapter.name}.md) | "
            f"{chapter.lesson_minutes} min | {chapter.exercise_minutes} min | {needs} |"
        )
    return "\n".join(rows)


def teaching_page(
    chapter: Chapter,
    notebooks: Path,
    find: Callable[[str], object],
    *,
    with_answers: bool = False,
) -> str:
    """Return the page of one chapter as Markdown.

    Args:
        chapter: what ``read_chapters`` found.
        notebooks: their folder.
        find: gives an exercise or a question by its id.
        with_answers: add the key to the exercises and the quiz, which students should not have.
    """
    lesson, exercises, solutions = (
        _read(notebooks / folder / f"{chapter.name}.ipynb")
        for folder in ("", "exercises", "solutions")
    )
    own = f"{chapter.number}.q"
    questions = [find(id) for id in asked(lesson) if id.startswith(own)]
    keys = answers(exercises, solutions)
    parts = [
        f"# {chapter.number} · {chapter.title.split(':')[0]}, for the instructor",
        _lead(chapter),
        "## What it takes",
        *_demands(chapter, lesson, exercises),
        "## What they can do afterwards",
        "\n".join(f"- {goal}" for goal in chapter.goals),
        "## Questions to ask",
        *_predictions(chapter, lesson),
        *_questions(questions, with_answers),
        "## What they will get wrong, and why",
        *_mistakes(chapter, exercises, keys, find),
    ]
    if with_answers:
        parts += ["## Key to the exercises", *_key(exercises, keys)]
    return "\n\n".join(parts) + "\n"


def _read(path: Path) -> NotebookNode:
    # a chapter may be there before its exercises
    return nbformat.read(path, as_version=4) if path.exists() else nbformat.v4.new_notebook()


def predictions(notebook: NotebookNode) -> Iterator[tuple[Section, str]]:
    """Yield what a lesson lets its readers predict, with the section where it stands."""
    for section, markdown in located(notebook):
        found = blocks(markdown)
        for block, following in zip(found, [*found[1:], ""], strict=True):
            if PREDICT.match(block) or (PREDICT.search(block) and "stop and say" not in block):
                goes_on = block.rstrip().endswith(":") and not following.startswith("#")
                yield section, plain_links(f"{block}\n\n{following}" if goes_on else block)


def asked(notebook: NotebookNode) -> list[str]:
    """Return the ids of the quiz questions of a notebook, in their order."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    calls = re.findall(r"quiz\.ask\(([^)]*)\)", code)
    return list(dict.fromkeys(id for call in calls for id in re.findall(r"[\"'](\d+\.q\d+)", call)))


def compiling_sections(notebook: NotebookNode) -> list[Section]:
    """Return the sections with a cell that builds kernels, which wants a C++ compiler."""
    found = [section for section, source in located(notebook, "code") if _builds_kernels(source)]
    return list(dict.fromkeys(found))


def _builds_kernels(source: str) -> bool:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic
        return False
    nodes = list(ast.walk(tree))
    calls = [(ast.unparse(n.func), {k.arg for k in n.keywords}) for n in nodes if _is_call(n)]
    calls += [
        (ast.unparse(decorator), set())
        for node in nodes
        for decorator in getattr(node, "decorator_list", [])
        if not _is_call(decorator)
    ]
    return any(
        (name == "torch.compile" and "backend" not in given)
        or (name.endswith("compile_stack.explain") and "without_inductor" not in given)
        or name in ("workloads.speedup_demo", "workloads.run", "workloads.run_all")
        for name, given in calls
    )


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call)


# ---- the parts of a page -----------------------------------------------------------------------


def _lead(chapter: Chapter) -> str:
    here = f"../../notebooks/{chapter.name}.ipynb"
    exercises = f"../../notebooks/exercises/{chapter.name}.ipynb"
    deck = f'<a href="../../slides/{chapter.name}.html">its slides</a>'
    return (
        f"This page belongs to [{chapter.title}]({here}), {deck} and [its exercises]({exercises})."
    )


def _demands(chapter: Chapter, lesson: NotebookNode, exercises: NotebookNode) -> Iterator[str]:
    yield (
        f"**Time.** {chapter.lesson_minutes} minutes for the lesson and "
        f"{chapter.exercise_minutes} for the exercises. Running all its cells takes up to "
        f"{chapter.run_seconds} s on two cores."
    )
    paragraphs = [block for _, markdown in located(lesson) for block in blocks(markdown)]
    needs = [plain_links(block) for block in paragraphs if block.startswith("You need ")][:1]
    if needs:
        yield "**Before it.** Students read:"
        yield "\n".join(f"> {line}" for line in needs[0].splitlines())
    places = {
        "the lesson": compiling_sections(lesson),
        "the exercises": compiling_sections(exercises),
    }
    named = [_in_sections(where, found) for where, found in places.items() if found]
    yield (
        f"**A C++ compiler** is needed by {' and by '.join(named)}."
        if named
        else "**A C++ compiler** is not needed."
    )
    yield (
        "**A GPU** is not needed. Where there is one, the cells with `device` use it."
        if any(re.search(r"\bdevice\b(?! = place)", s) for _, s in located(lesson, "code"))
        else "**A GPU** is not needed and not used."
    )


def _in_sections(where: str, sections: Sequence[Section]) -> str:
    names = ", ".join(section.number or section.title for section in sections)
    return f"{where} in section{'s' if len(sections) > 1 else ''} {names}"


def _predictions(chapter: Chapter, lesson: NotebookNode) -> Iterator[str]:
    seen: Section | None = None
    for section, question in predictions(lesson):
        if section != seen:
            # a level above the headings of a section, so that the contents beside the page list it
            yield f"### [{section.title}](../../notebooks/{chapter.name}.ipynb#{section.slug})"
        seen = section
        yield question.replace("**Predict.** ", "").replace("**Predict**", "Predict")


def _questions(questions: Sequence[object], with_answers: bool) -> Iterator[str]:
    if questions:
        yield "### The quiz"
    for question in questions:
        items = "".join(_option(option, with_answers) for option in question.options)
        yield f"<p>{words(question.text)}</p>\n<ul>{items}</ul>"


def _option(option: object, with_answers: bool) -> str:
    if not with_answers:
        return f"<li>{words(option.text)}</li>"
    mark = "<strong>Right:</strong> " if option.right else ""
    return f"<li>{mark}{words(option.text)} <em>{words(option.because)}</em></li>"


def _mistakes(
    chapter: Chapter, exercises: NotebookNode, ids: Sequence[str], find: Callable[[str], object]
) -> Iterator[str]:
    yield (
        "These are the mistakes that the checks know by name. Where a check finds one in an answer "
        "it says so, with the reason."
    )
    titles = {s.number: s for s, _ in located(exercises) if s.number}
    silent = []
    for id in ids:
        # two ways of making one mistake have one name
        mistakes = {mistake.name: mistake for mistake in find(id).mistakes}.values()
        if not mistakes:
            silent.append(id)
            continue
        items = "".join(
            f"<li><strong>{words(mistake.name)}</strong>: {words(mistake.because)}</li>"
            for mistake in mistakes
        )
        title, slug = (titles[id].title, titles[id].slug) if id in titles else (id, "")
        yield f"### [{title}](../../notebooks/exercises/{chapter.name}.ipynb#{slug})"
        yield f"<ul>{items}</ul>"
    if silent:
        yield f"Other checks run the answer and say what it did, without a list: {_ranges(silent)}."


def _ranges(ids: Sequence[str]) -> str:
    """Return ids in words, neighbours drawn together.

    >>> _ranges(["9.4", "9.6", "9.7", "9.8"])
    '9.4, 9.6 to 9.8'
    """
    runs: list[list[int]] = []
    for id in ids:
        number = int(id.split(".")[1])
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    chapter = ids[0].split(".")[0]
    named = [
        f"{chapter}.{run[0]}" + (f" to {chapter}.{run[-1]}" if len(run) > 1 else "") for run in runs
    ]
    return ", ".join(named)


def _key(exercises: NotebookNode, keys: dict[str, list[str]]) -> Iterator[str]:
    titles = {s.number: s.title for s, _ in located(exercises) if s.number}
    for id, sources in keys.items():
        yield f"### {titles.get(id, id)}"
        for source in sources:
            yield f"```python\n{source}\n```"
