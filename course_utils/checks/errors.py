"""Run code that is meant to fail, show how, and fail if it does not.

A lesson about an error goes stale without a sound when the error goes away. ``expect`` prints the
message for the reader and turns a missing or different error into a failure for the tests.

Kind:    plumbing; no chapter explains it
Public:  expect
Imports: the standard library only
"""

from __future__ import annotations

import re
from types import TracebackType

__all__ = ["expect"]

_LINES = 4
_WIDTH = 240


class expect:
    """Print the error that the block raises; fail when nothing or something else is raised.

    Args:
        error: the type that the block must raise.
        text: words that the message must contain, letter by letter.

    >>> with expect(ZeroDivisionError, "division by zero"):
    ...     1 / 0
    ZeroDivisionError: division by zero
    """

    def __init__(self, error: type[BaseException], text: str = "") -> None:
        """Remember what must come."""
        self._error = error
        self._text = text

    def __enter__(self) -> None:
        """Start the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        _: TracebackType | None,
    ) -> bool:
        """Print an expected error and swallow it; let any other through."""
        if raised is None:
            raise AssertionError(f"nothing was raised, {self._wanted()} was expected")
        message = _clean(str(raised))
        if isinstance(raised, self._error) and self._text in message:
            print(f"{type(raised).__name__}: {_first_lines(message)}")
            return True
        _annotate(raised, f"{self._wanted()} was expected here")
        return False

    def _wanted(self) -> str:
        return self._error.__name__ + (f' with "{self._text}"' if self._text else "")


def _annotate(error: BaseException, note: str) -> None:
    if not hasattr(error, "add_note"):  # Python 3.10
        raise AssertionError(note) from error
    error.add_note(note)


def _clean(message: str) -> str:
    """Take out colours and addresses, which differ from run to run."""
    message = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", message)
    return re.sub(r"0x[0-9a-fA-F]{4,}", "0x...", message).strip()


def _first_lines(message: str) -> str:
    """Return the first paragraph, cut where it gets long."""
    lines = message.split("\n\n")[0].split("\n")
    kept = [
        line if len(line) <= _WIDTH else line[:_WIDTH].rsplit(" ", 1)[0] + " ..."
        for line in lines[:_LINES]
    ]
    return "\n".join([*kept, "..."] if len(lines) > _LINES else kept)
