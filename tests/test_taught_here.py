"""A function that a chapter builds is the one that the package ships.

``course_utils.training`` and its like may hold only what a lesson wrote in full. Such a function's
docstring ends with "Built in chapter N.", and here its syntax tree is compared with the one in
that lesson. Docstrings and types are left aside: a lesson explains in its own words.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DEFINITIONS = ast.FunctionDef | ast.ClassDef


def taught() -> list[tuple[str, int, DEFINITIONS]]:
    """Return module, chapter and tree of everything that says where it was built."""
    found = []
    for path in sorted((ROOT / "course_utils").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, DEFINITIONS):
                said = re.search(r"Built in chapter (\d+)\.$", ast.get_docstring(node) or "")
                if said:
                    found.append((path.stem, int(said[1]), node))
    return found


def built_in(chapter: int) -> dict[str, DEFINITIONS]:
    """Return what a lesson's cells define, by name; the last version of each counts."""
    (lesson,) = (ROOT / "lessons").glob(f"{chapter:02}_*.md")
    cells = re.findall(r"^```\{code-cell\}.*?\n(.*?)^```$", lesson.read_text("utf-8"), re.M | re.S)
    code = "\n".join(re.sub(r"^:tags:.*$", "", cell, flags=re.M) for cell in cells)
    return {node.name: node for node in ast.parse(code).body if isinstance(node, DEFINITIONS)}


def bare(definition: DEFINITIONS) -> str:
    """Return the tree as text, without docstrings, types of arguments and returned types."""
    tree = ast.parse(ast.unparse(definition))
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, DEFINITIONS) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


TAUGHT = taught()


@pytest.mark.parametrize(("module", "chapter", "shipped"), TAUGHT, ids=[t[2].name for t in TAUGHT])
def test_the_package_ships_what_the_chapter_builds(module, chapter, shipped):
    built = built_in(chapter)

    assert shipped.name in built, f"chapter {chapter} does not build {module}.{shipped.name}"
    assert bare(built[shipped.name]) == bare(shipped)


@pytest.mark.parametrize("module", ["checkpoint", "training"])
def test_a_taught_module_holds_nothing_that_no_chapter_builds(module):
    source = (ROOT / "course_utils" / f"{module}.py").read_text(encoding="utf-8")
    defined = {node.name for node in ast.parse(source).body if isinstance(node, DEFINITIONS)}

    assert defined == {node.name for name, _, node in TAUGHT if name == module}


@pytest.mark.parametrize(
    "call",
    [
        "loss.backward()",
        "optimizer.step()",
        "optimizer.zero_grad()",
        "model.train()",
        "model.eval()",
        "torch.no_grad()",
    ],
)
def test_the_chapter_of_the_loop_shows_each_call_of_it(call):
    calls = {
        ast.unparse(node)
        for definition in built_in(6).values()
        for node in ast.walk(definition)
        if isinstance(node, ast.Call)
    }

    assert call in calls


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("def f(x):\n    return x", "def f(x: int) -> int:\n    'Return x.'\n    return x", True),
        ("def f(x):\n    return x", "def f(x):\n    return -x", False),
        ("def f(x):\n    return x", "def f(x=1):\n    return x", False),
        ("class A:\n    x: int = 1", "class A:\n    'Say.'\n\n    x: int = 1", True),
        ("class A:\n    x: int = 1", "class A:\n    x: float = 1", False),
        ("@a\ndef f(): return 1", "def f(): return 1", False),
    ],
)
def test_the_comparison_sees_code_and_not_words(one, other, same):
    trees = [ast.parse(source).body[0] for source in (one, other)]

    assert (bare(trees[0]) == bare(trees[1])) is same
