"""Say which names of this torch are close to one that is missing; runs in the lesson's kernel.

Kind:    plumbing
Public:  close_names
Imports: the standard library only
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import re

__all__ = ["close_names"]


def close_names(error: BaseException | None, source: str, namespace: dict) -> list[str]:
    """Return names that could have been meant where an error says that one is missing.

    >>> import math
    >>> try:
    ...     math.sqroot
    ... except AttributeError as error:
    ...     close_names(error, "", {})
    ['sqrt']
    """
    try:
        missing, there = _looked_up(error, source, namespace)
    except Exception:  # an object that cannot be asked has no names to offer
        return []
    return difflib.get_close_matches(missing, there, n=3, cutoff=0.6) if missing else []


def _looked_up(error: BaseException | None, source: str, namespace: dict) -> tuple[str, list[str]]:
    """Return the missing name, and those that stand where it was looked for."""
    message = str(error)
    if isinstance(error, AttributeError) and error.name:
        return error.name, dir(error.obj)
    found = re.search(r"cannot import name '(\w+)' from '([\w.]+)'", message)
    if found:
        return found[1], dir(importlib.import_module(found[2]))
    found = re.search(r"unexpected keyword argument '(\w+)'", message)
    if found:
        return found[1], _parameters(found[1], source, namespace)
    return "", []


def _parameters(keyword: str, source: str, namespace: dict) -> list[str]:
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and keyword in {given.arg for given in call.keywords}:
            first, *path = ast.unparse(call.func).split(".")
            function = namespace[first]
            for name in path:
                function = getattr(function, name)
            return list(inspect.signature(function).parameters)
    return []
