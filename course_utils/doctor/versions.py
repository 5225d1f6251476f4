"""Read and compare version numbers where no package is installed.

``packaging`` does this better, and the doctor must run where it is missing. Numbers are compared
as numbers: as text, "2.9" would come after "2.14".

Kind:    plumbing
Public:  inside, local, release, short
Imports: the standard library only
"""

from __future__ import annotations

import re

__all__ = ["inside", "local", "release", "short"]


def release(version: str) -> tuple:
    """Return the numbers before any letter, or an empty tuple where there are none.

    >>> release("2.14.1+cu130"), release("2.15.0a0"), release("unknown")
    ((2, 14, 1), (2, 15, 0), ())
    """
    found = re.match(r"\s*v?(\d+(?:\.\d+)*)", version or "")
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()


def local(version: str) -> str:
    """Return the build tag after the plus sign.

    >>> local("2.14.1+cu130"), local("2.14.1")
    ('cu130', '')
    """
    return (version or "").partition("+")[2]


def short(version: str) -> str:
    """Return major and minor.

    >>> short("2.14.1+cpu")
    '2.14'
    """
    return ".".join(str(part) for part in release(version)[:2])


def inside(version: str, ranges: str) -> bool:
    """Say whether a version satisfies a list such as ``">=3.10,!=3.14.1,<3.15"``.

    >>> inside("2.14.1", ">=2.14,<2.16"), inside("2.9.1", ">=2.14,<2.16")
    (True, False)
    """
    return all(_satisfies(release(version), part.strip()) for part in ranges.split(",") if part)


def _satisfies(have, condition):
    operator, wanted = re.match(r"(>=|<=|==|!=|~=|>|<)\s*(.+)", condition).groups()
    want = release(wanted)
    if operator == "~=":  # at least this, and the same up to the last number but one
        return _order(have, want) >= 0 and have[: len(want) - 1] == want[:-1]
    if wanted.endswith(".*"):  # only == and != know this form
        return (have[: len(want)] == want) == (operator == "==")
    order = _order(have, want)
    return {
        ">=": order >= 0,
        "<=": order <= 0,
        "==": order == 0,
        "!=": order != 0,
        ">": order > 0,
        "<": order < 0,
    }[operator]


def _order(have, want):
    length = max(len(have), len(want))
    have, want = (numbers + (0,) * (length - len(numbers)) for numbers in (have, want))
    return (have > want) - (have < want)
