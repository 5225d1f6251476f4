"""Imports inside the package point one way only, and the front door stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "course_utils"

LAYERS = {
    "__init__": 0,
    "places": 0,
    "doctor": 0,
    "runtime": 0,
    "warmed": 0,
    "unreadable": 0,
    "arguments": 0,
    "benchmark": 1,
    "checkpoint": 1,
    "compile_stack": 1,
    "ledger": 1,
    "data": 1,
    "training": 1,
    "workloads": 1,
    "checks": 1,
    "drift": 2,
    "plotting": 2,
    "quiz": 2,
    "warm": 2,
    "widgets": 2,
    "__main__": 3,
}

FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(path):
    """The name in LAYERS that this file belongs to: a folder counts as one module."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(source):
    """The modules of this package that a source text imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "course_utils":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_utils."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            found |= {parts[1] for parts in names if parts[0] == "course_utils" and parts[1:]}
    return found


def wrong_way(module, source):
    """The imports that do not point to the module's own layer or to a lower one."""
    return {name for name in imported_modules(source) if LAYERS[name] > LAYERS[module]}


def test_every_module_has_a_layer():
    assert {module_of(path) for path in FILES} <= LAYERS.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_point_downwards(path):
    assert wrong_way(module_of(path), path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    "upward",
    [
        "from course_utils import plotting",
        "from course_utils.plotting import curves",
        "import course_utils.plotting",
        "def late():\n    from course_utils import plotting",
    ],
)
def test_an_upward_import_is_seen_in_every_spelling(upward):
    assert wrong_way("runtime", upward) == {"plotting"}


def test_only_compile_stack_touches_private_torch():
    private = ("torch._dynamo", "torch._inductor", "torch._functorch", "torch._logging")
    code = {path: path.read_text(encoding="utf-8") for path in FILES}

    users = {
        module_of(path)
        for path, source in code.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Attribute, ast.ImportFrom, ast.Import))
        if ast.unparse(node).removeprefix("import ").removeprefix("from ").startswith(private)
    }

    assert users <= {"compile_stack"}


def test_importing_the_package_imports_nothing_else():
    code = (
        "import sys; before = set(sys.modules); import course_utils; "
        "print(sorted(m for m in set(sys.modules) - before if not m.startswith('course_utils')))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_public_names_are_the_ones_that_the_docstring_announces():
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstring = ast.get_docstring(tree) or ""
        if "\nPublic:" not in docstring:
            continue

        announced = docstring.split("\nPublic:")[1].split("\nImports:")[0]
        exported = next(
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
        )

        assert {n.strip() for n in announced.split(",")} == set(exported), path.name
