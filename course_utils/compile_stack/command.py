"""Explain a function in a file from a shell: ``python -m course_utils explain FILE:FUNCTION``.

Kind:    plumbing
Public:  main
Imports: torch and the standard library; the rest of this folder
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import torch

from course_utils.compile_stack import Explanation, explain
from course_utils.compile_stack.page import html_page

__all__ = ["main"]


class _Unusable(Exception):
    """What was asked for cannot be explained; the message says why and what to do."""


def main(arguments: list[str]) -> int:
    """Explain what the arguments name, and return the exit code."""
    options = _options(arguments)
    try:
        function, args = _asked_for(options.target, options.inputs)
        found = explain(function, *args, without_inductor=options.without_inductor)
        text = _text(found, options)
    except _Unusable as problem:
        print(problem, file=sys.stderr)
        return 2
    except SystemExit as ended:
        print(
            f"The code of {options.target} ended the program (code {ended.code}) before there was "
            "anything to explain; put what runs it under `if __name__ == '__main__':`.",
            file=sys.stderr,
        )
        return 1
    except Exception as failure:  # the learner's own code failed: their line, not ours
        print("".join(traceback.format_exception_only(failure)).strip(), file=sys.stderr)
        return 1
    written = _write(options.html, html_page(found)) if options.html else 0
    print(text)
    return written


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m course_utils explain",
        description="Run a function of a file once under the compiler, and show what every stage "
        "made of it.",
    )
    parser.add_argument("target", metavar="FILE:FUNCTION", help="what to explain")
    parser.add_argument(
        "--inputs",
        metavar="CODE",
        help="what to call it with, as Python that knows torch and the file's names, such as "
        "'torch.ones(3), 2' (the file's `inputs` if not given)",
    )
    parser.add_argument("--stage", help="show this stage whole, such as guards or kernels")
    parser.add_argument("--json", action="store_true", help="print data instead of the text")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page into FILE")
    parser.add_argument(
        "--without-inductor",
        action="store_true",
        help="stop before kernels are built: takes milliseconds and needs no C++ compiler",
    )
    return parser.parse_args(arguments)


def _asked_for(target: str, inputs: str | None) -> tuple[Callable[..., object], tuple]:
    """Run the file and return the function and the arguments to call it with."""
    # a path on Windows has a colon of its own
    file, colon, name = target.rpartition(":")
    if not colon or not file:
        raise _Unusable(f"{target} names no function; write FILE:FUNCTION, such as step.py:step")
    if not Path(file).is_file():
        raise _Unusable(f"There is no file {file}")
    names = runpy.run_path(file, run_name="explained")
    function = names.get(name)
    if not callable(function):
        raise _Unusable(f"{file} defines no function {name}")
    args = _inputs(inputs, names, function, file)
    return function, args if isinstance(args, tuple) else (args,)


def _inputs(code: str | None, names: dict, function: Callable[..., object], file: str) -> object:
    if code is not None:
        try:
            return eval(code, {"torch": torch, **names})  # the learner's own, on their machine
        except Exception as failure:
            raise _Unusable(f"--inputs {code!r} is no use: {failure}") from failure
    if "inputs" in names:
        return names["inputs"]
    try:
        inspect.signature(function).bind()
    except TypeError:
        raise _Unusable(
            f"{function.__name__} needs arguments: define `inputs` in {file}, or give "
            "--inputs 'torch.ones(3)'"
        ) from None
    except ValueError:  # written in C: nothing is known of its arguments
        pass
    return ()


def _text(found: Explanation, options: argparse.Namespace) -> str:
    if options.json:
        data = dataclasses.asdict(found)
        if options.stage:
            data = dataclasses.asdict(_stage(found, options.stage))
        return json.dumps(data, indent=2)
    if options.stage:
        return _stage(found, options.stage).text
    return str(found)


def _stage(found: Explanation, name: str) -> object:
    try:
        return found.stage(name)
    except KeyError as unknown:
        raise _Unusable(unknown.args[0]) from None


def _write(file: Path, text: str) -> int:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as failure:
        print(f"{file} cannot be written: {failure}", file=sys.stderr)
        return 1
    print(f"Written to {file}", file=sys.stderr)
    return 0
