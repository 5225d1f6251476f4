"""Keep a ledger of public claims about PyTorch 2, and ask this machine about each again.

Articles age, and so does what we write about them. So a verdict is stored here with the probe
that reached it, and each run of the ledger runs the probes anew: a verdict that this machine
contradicts names itself. What reading decided says what was read; what nothing here can decide
says what it would take.

Kind:    plumbing; chapter 18 shows it
Public:  Claim, Result, Run, Seen, VERDICTS, ask, check, claim, claims, need, probe_of, run, weigh
Imports: the standard library; compile_stack, runtime and torch once a probe is asked for
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from course_utils.ledger.claim import VERDICTS, Claim
from course_utils.ledger.evidence import Seen, need, probe_of, weigh
from course_utils.ledger.shelf import claim, claims

if TYPE_CHECKING:
    from course_utils.ledger.runner import Result, Run, ask, check, run

__all__ = [
    "VERDICTS",
    "Claim",
    "Result",
    "Run",
    "Seen",
    "ask",
    "check",
    "claim",
    "claims",
    "need",
    "probe_of",
    "run",
    "weigh",
]

_NEEDS_TORCH = {"Result", "Run", "ask", "check", "run"}


def __getattr__(name: str) -> object:
    if name in _NEEDS_TORCH:
        return getattr(importlib.import_module("course_utils.ledger.runner"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
