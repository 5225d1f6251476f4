"""Say in one sentence why nothing was compiled.

Kind:    plumbing
Public:  in_words, switched_off
Imports: the standard library
"""

from __future__ import annotations

import os

__all__ = ["in_words", "switched_off"]

_CAUSES = {  # what stands in the error, whatever its class: what it means
    "InvalidCxxCompiler": (
        "torch.compile needs a C++ compiler and found none; "
        "`python -m course_utils doctor` says how to get one"
    ),
    "Python.h": (
        "the headers of Python (Python.h) are missing; "
        "`python -m course_utils doctor` says how to get them"
    ),
    "CppCompileError": (
        "the C++ compiler was found and failed; "
        "`python -m course_utils doctor` tries it and shows what it says"
    ),
}


def in_words(error: str) -> str:
    """Return a sentence for an error of the compiler.

    By its text: with a warm cache the same cause comes as an exception of another class.
    """
    known = (sentence for sign, sentence in _CAUSES.items() if sign in error)
    lines = error.strip().splitlines()
    sentence = next(known, lines[0])
    # what the compiler itself complained of, without the folders before it
    complaints = [line.split("error:")[-1].strip() for line in lines if " error:" in line]
    if "CppCompileError" in error and complaints and complaints[0] not in sentence:
        sentence = f"{sentence} ({complaints[0]})"
    return f"Nothing was compiled: {sentence}."


def switched_off() -> str:
    """Return the sentence for a compiler that built no graph and raised nothing."""
    switches = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
    on = [f"{name}={os.environ[name]}" for name in switches if os.environ.get(name, "0") != "0"]
    because = f"the environment sets {' and '.join(on)}" if on else "torch did not say why"
    return f"Nothing was compiled: torch.compile built no graph, {because}."
