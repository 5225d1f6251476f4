"""The steps of ``course.py test`` as a table, and what runs them."""

import os
import shutil
import subprocess
import time
from typing import Dict, NamedTuple, Tuple  # noqa: UP035 (Python 3.7 reads this file)

from launcher.shell import ROOT, call, say


class Step(NamedTuple):
    """One step of ``course.py test``: what to run in our environment, and what it needs."""

    commands: Tuple[Tuple[str, ...], ...]  # noqa: UP006
    needs: Tuple[str, ...] = ()  # noqa: UP006 (keys of REMEDIES)
    environ: Dict[str, str] = {}  # noqa: UP006, RUF012


# the CPU, no deprecated call, and compiled kernels of their own
TEST_ENVIRON = {
    "COURSE_DEVICE": "cpu",
    "COURSE_STRICT": "1",
    "COURSE_CACHE": str(ROOT / "_build" / "cache"),
}
REMEDIES = {
    "a C++ compiler": "Linux: sudo apt install g++, macOS: xcode-select --install, Windows: the "
    "C++ Build Tools of Visual Studio",
    "npm": "install Node.js from nodejs.org or with conda",
    "Chromium": "Linux: sudo apt install chromium, elsewhere: install Chromium or Chrome",
}
UNIT_TESTS = ("pytest", "-rs", "-n", "2", "tests", "--ignore", "tests/browser")
BOOK = ("sphinx", "-c", "book", "-b", "html", "-W", "--keep-going", ".")
STRICT = ("pytest", "-n", "2", "--dist", "loadfile", "--nbval", "--nbval-current-env")
STRICT += ("--nbval-sanitize-with", "tests/nbval_sanitize.cfg", "--nbval-cell-timeout", "120")
LINT = (("ruff", "check", "."), ("ruff", "format", "--check", "."))
STEPS = {
    "lint": Step(LINT),
    "unit": Step((UNIT_TESTS,)),
    "notebooks": Step(((*STRICT, "notebooks"),), ("a C++ compiler",)),
    # what a processor without vector instructions computes must pass too
    "notebooks-default": Step(
        ((*STRICT, "notebooks"),), ("a C++ compiler",), {"ATEN_CPU_CAPABILITY": "default"}
    ),
    "book": Step(((*BOOK, "_build/book"),), ("npm",)),
    "slides": Step((("tools/build_slides.py",),), ("npm",)),
    "browser": Step((("pytest", "tests/browser"),), ("npm", "Chromium")),
}


# the book with the key to exercises and quizzes, beside the one that students get
INSTRUCTORS_BOOK = Step(((*BOOK, "_build/instructors"),), ("npm",), {"COURSE_ANSWERS": "1"})


def quick_steps(changed):
    # type: (list[str]) -> dict[str, Step]
    """Return the steps that a change to one lesson needs."""
    steps = {"lint": STEPS["lint"], "house rules": Step((("tools/house_rules.py",),))}
    if changed:
        steps["changed notebooks"] = Step(((*STRICT, *changed),), ("a C++ compiler",))
    return steps


def changed_notebooks():
    # type: () -> list[str]
    """Return the notebooks that differ from the last commit, or all where git cannot tell."""
    git = ["git", "-c", "core.quotepath=off"]
    names = set()
    for words in (
        ["diff", "--name-only", "--diff-filter=d", "HEAD"],
        ["ls-files", "--others", "--exclude-standard"],
    ):
        command = [*git, *words, "--", "notebooks"]
        try:
            names.update(subprocess.check_output(command, cwd=str(ROOT)).decode().splitlines())
        except (OSError, subprocess.CalledProcessError):  # no git, or no repository
            names.update(path.relative_to(ROOT).as_posix() for path in ROOT.glob("notebooks/**/*"))
    return sorted(name for name in names if name.endswith(".ipynb"))


def run_step(name, step, python):
    # type: (str, Step, str) -> tuple[str, float]
    """Run one step and return its outcome and its seconds."""
    lacking = [tool for tool in step.needs if not has(tool)]
    if lacking:
        for tool in lacking:
            say(f"\n{name} was not run, since it needs {tool} ({REMEDIES[tool]})")
        return ("FAILED" if os.environ.get("CI") == "true" else "not run"), 0.0
    environ = dict(os.environ, **TEST_ENVIRON)
    environ.update(step.environ)
    started = time.monotonic()
    say(f"\n== {name}")
    codes = [call(command_line(python, words), environ) for words in step.commands]
    return ("FAILED" if any(codes) else "passed"), time.monotonic() - started


def has(tool, which=shutil.which):
    # type: (str, ...) -> bool
    """Say whether this machine has a tool that a step needs."""
    programs = {
        "a C++ compiler": [os.environ.get("CXX", "g++"), "g++", "clang++", "cl"],
        "npm": ["npm"],
        "Chromium": ["chromium", "chromium-browser", "google-chrome", "chrome"],
    }
    return any(which(program) for program in programs[tool])


def command_line(python, words):
    # type: (str, tuple) -> list[str]
    """Return the command for a step's words: a script of ours, or a module.

    >>> command_line("python", ("pytest", "tests"))
    ['python', '-m', 'pytest', 'tests']
    """
    return [python, *words] if words[0].endswith(".py") else [python, "-m", *words]
