"""Say where two results differ, from the coarsest difference to the finest.

``torch.equal`` answers yes or no. A learner needs to know what kind of thing differs: a list in
place of a tensor, a shape, a dtype, or one number among ten thousand. So the comparison goes in
that order and stops at the first difference.

Kind:    plumbing; no chapter explains it
Public:  Difference, Rules, difference, show
Imports: torch, numpy
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import torch

__all__ = ["Difference", "Rules", "difference", "show"]

_SMALL = 24  # elements; more are described, not printed
_LINE = 72  # characters of a tuple that is shown whole
_LONG = 240  # characters of any value
_DEEP = 20  # lists in lists


@dataclass(frozen=True)
class Rules:
    """How strictly two results are compared; see ``Exercise`` for the words."""

    atol: float = 0.0
    rtol: float = 0.0
    requires_grad: bool = False
    strides: bool = False


@dataclass(frozen=True)
class Difference:
    """What came, what was expected, and a sentence where those two do not say enough."""

    got: str
    expected: str
    note: str = ""


def difference(got: object, expected: object, rules: Rules | None = None) -> Difference | None:
    """Return the first difference of two results, or None where they are equal.

    NaN equals NaN, ``torch.Size`` equals a tuple, ``True`` is not 1, and an int is accepted for a
    float of the same value, but not the reverse.

    >>> difference(torch.zeros(2, 1), torch.zeros(2)).note
    'the shape is (2, 1), expected (2,)'
    """
    try:
        return _difference(got, expected, rules or Rules())
    except Exception as error:  # an object of the answer's own may do anything when it is compared
        note = f"comparing the two raised {type(error).__name__}"
        return Difference(show(got), show(expected), note)


def _difference(got: object, expected: object, rules: Rules) -> Difference | None:
    if _kind(got) != _kind(expected) and not (_kind(got), _kind(expected)) == ("int", "float"):
        return Difference(show(got), show(expected), _wrong_kind(got, expected))
    if isinstance(expected, torch.Tensor):
        return _tensors(got, expected, rules)
    if isinstance(expected, np.ndarray):
        return _arrays(got, expected, rules)
    if isinstance(expected, (tuple, list)):
        return _sequences(got, expected, rules)
    if isinstance(expected, dict):
        return _dicts(got, expected, rules)
    if _equal(got, expected, rules):
        return None
    return Difference(show(got), show(expected))


def show(value: object, digits: int = 4) -> str:
    """Return a value as a short text without addresses; big tensors are described.

    >>> show(torch.zeros(100, 10))
    'a float32 tensor of shape (100, 10)'
    """
    try:
        return _shown(value, digits, ())
    except (Exception, SystemExit) as error:
        return f"{_article(type(value).__name__)} whose repr raises {type(error).__name__}"


def _shown(value: object, digits: int, around: tuple[int, ...]) -> str:
    """Show a value that lies inside the lists ``around``, which it may hold in turn."""
    if isinstance(value, torch.Tensor):
        return _show_tensor(value, digits)
    if type(value) in (tuple, list):
        return _show_sequence(value, digits, around)
    if isinstance(value, torch.nn.Module):
        return f"a {type(value).__name__}"
    if callable(value) and hasattr(value, "__name__"):
        return "a lambda" if value.__name__ == "<lambda>" else value.__name__
    text = repr(value[: 2 * _LONG] if type(value) in (str, bytes) else value)
    return _cut(re.sub(r" at 0x[0-9a-f]+", "", text[: 10 * _LONG]))


def _kind(value: object) -> str:
    """Name the kind of a value the way a learner would."""
    if isinstance(value, torch.Tensor):
        return "tensor"
    if isinstance(value, np.ndarray):
        return "NumPy array"
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    for kind in (int, float, complex, str, tuple, list, dict, set):
        if isinstance(value, kind):
            return kind.__name__
    return type(value).__name__


def _wrong_kind(got: object, expected: object) -> str:
    note = f"{_article(_kind(expected))} is expected, this is {_article(_kind(got))}"
    if isinstance(got, torch.Tensor) and isinstance(expected, (bool, int, float)):
        return f"{note}; `.item()` takes the number out of a tensor"
    if callable(got) and not callable(expected):
        return f"{note}; pass what it returns, not the function itself"
    return note


def _article(kind: str) -> str:
    return "None" if kind == "NoneType" else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _tensors(got: torch.Tensor, expected: torch.Tensor, rules: Rules) -> Difference | None:
    features = {
        "the shape is": lambda t: tuple(t.shape),
        "the dtype is": lambda t: _dtype(t.dtype),
        "the layout is": lambda t: str(t.layout).removeprefix("torch."),
        "the device is": lambda t: "meta" if t.is_meta else "one that holds numbers",
    }
    for words, feature in features.items():
        if feature(got) != feature(expected):
            note = f"{words} {feature(got)}, expected {feature(expected)}"
            return Difference(show(got), show(expected), note)

    if expected.is_meta:  # a tensor without numbers
        return None
    differs = _differing(_plain(got), _plain(expected), rules)
    if differs.any():
        return _values(got, expected, differs)

    if rules.requires_grad and got.requires_grad != expected.requires_grad:
        note = f"requires_grad is {got.requires_grad}, expected {expected.requires_grad}"
        return Difference(show(got), show(expected), note)
    if rules.strides and got.stride() != expected.stride():
        note = f"the strides are {got.stride()}, expected {expected.stride()}"
        return Difference(show(got), show(expected), note)
    return None


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().cpu()
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def _differing(got: torch.Tensor, expected: torch.Tensor, rules: Rules) -> torch.Tensor:
    if expected.is_floating_point() or expected.is_complex():
        if expected.element_size() == 1:  # eight-bit floats cannot be compared as they are
            got, expected = got.float(), expected.float()
        return ~torch.isclose(got, expected, atol=rules.atol, rtol=rules.rtol, equal_nan=True)
    return got != expected


def _values(got: torch.Tensor, expected: torch.Tensor, differs: torch.Tensor) -> Difference:
    if expected.numel() <= _SMALL:
        for digits in (4, 8, 17):  # two numbers that print alike must not look alike
            shown = show(got, digits), show(expected, digits)
            if shown[0] != shown[1]:
                break
        return Difference(*shown)
    first = tuple(differs.nonzero()[0].tolist())
    note = (
        f"{int(differs.sum())} of {differs.numel()} elements differ, the first at {list(first)}: "
        f"{got[first].item()}, expected {expected[first].item()}"
    )
    return Difference(show(got), show(expected), note)


def _arrays(got: np.ndarray, expected: np.ndarray, rules: Rules) -> Difference | None:
    for feature in ("shape", "dtype"):
        came, wanted = getattr(got, feature), getattr(expected, feature)
        if came != wanted:
            note = f"the {feature} is {came}, expected {wanted}"
            return Difference(show(got), show(expected), note)
    if expected.dtype.kind in "fc":
        equal = np.allclose(got, expected, atol=rules.atol, rtol=rules.rtol, equal_nan=True)
    else:
        equal = np.array_equal(got, expected)
    return None if equal else Difference(show(got), show(expected))


def _sequences(got: tuple | list, expected: tuple | list, rules: Rules) -> Difference | None:
    kind = _kind(expected)
    if len(got) != len(expected):
        note = f"the {kind} has {_count(len(got))}, expected {len(expected)}"
        return Difference(show(got), show(expected), note)
    for index, pair in enumerate(zip(got, expected, strict=True)):
        if found := difference(*pair, rules):
            whole = show(got), show(expected)
            if whole[0] != whole[1] and max(map(len, whole)) <= _LINE:
                return Difference(*whole, found.note and f"in element {index}: {found.note}")
            return _inside(found, f"in element {index} of the {kind}")
    return None


def _dicts(got: dict, expected: dict, rules: Rules) -> Difference | None:
    if got.keys() != expected.keys():
        note = f"the keys are {show(list(got))}, expected {show(list(expected))}"
        return Difference(show(got), show(expected), note)
    for key in expected:
        if found := difference(got[key], expected[key], rules):
            return _inside(found, f"in the entry {show(key)}")
    return None


def _inside(found: Difference, where: str) -> Difference:
    return replace(found, note=f"{where}: {found.note}" if found.note else where)


def _equal(got: object, expected: object, rules: Rules) -> bool:
    if isinstance(expected, str):
        return got.strip() == expected.strip()
    if isinstance(expected, (float, complex)):
        return bool(
            np.isclose(got, expected, atol=rules.atol, rtol=rules.rtol, equal_nan=True),
        )
    return bool(got == expected)


def _show_tensor(tensor: torch.Tensor, digits: int) -> str:
    if tensor.is_meta or tensor.layout != torch.strided:
        kind = "meta" if tensor.is_meta else str(tensor.layout).removeprefix("torch.")
        return f"a {kind} tensor of shape {tuple(tensor.shape)}"
    if tensor.numel() > _SMALL:
        return f"{_article(_dtype(tensor.dtype))} tensor of shape {tuple(tensor.shape)}"
    # torch's own printing obeys options that the learner may have changed
    wide = {torch.bfloat16: torch.float32}.get(tensor.dtype, tensor.dtype)
    if tensor.dtype.is_floating_point and tensor.element_size() == 1:
        wide = torch.float32
    values = np.array2string(
        tensor.detach().cpu().to(wide).resolve_conj().resolve_neg().numpy(),
        max_line_width=88,
        precision=digits,
        separator=", ",
        prefix="tensor(",
        threshold=_SMALL + 1,
        floatmode="maxprec",
    )
    usual = (torch.float32, torch.int64, torch.bool, torch.complex64)
    return f"tensor({values}{'' if tensor.dtype in usual else f', dtype={tensor.dtype}'})"


def _show_sequence(value: tuple | list, digits: int, around: tuple[int, ...]) -> str:
    if id(value) in around or len(around) > _DEEP:
        return "[...]" if isinstance(value, list) else "(...)"
    items, length = [], 0
    for item in value[:_SMALL]:
        items.append(_shown(item, digits, (*around, id(value))))
        length += len(items[-1])
        if length > _LONG:  # the rest would be cut off; of lists in lists it can be endless
            break
    inner = ", ".join(items)
    if len(value) > _SMALL:
        inner += ", ..."
    if isinstance(value, list):
        return _cut(f"[{inner}]")
    return _cut(f"({inner},)" if len(value) == 1 else f"({inner})")


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else text[:_LONG] + "..."


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _count(length: int) -> str:
    return f"{length} element" + ("" if length == 1 else "s")
