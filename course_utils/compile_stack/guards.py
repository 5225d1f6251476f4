"""Say in words what must still hold for a compiled function to be used again, and what did not.

Before each call of a compiled function its guards are checked: the sizes and the type of every
tensor, numbers, globals, whether gradients are recorded. Torch writes them as code for itself
(``___check_type_id(L['s'], 94561)``) and its reports of failures likewise.

Kind:    plumbing; chapter 8 reads the guards, chapter 9 the failures
Public:  Fact, Guard, checked, failed, in_order, own_names, readable_name
Imports: torch and the standard library, nothing else of this package
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch

__all__ = ["Fact", "Guard", "checked", "failed", "in_order", "own_names", "readable_name"]


@dataclass(frozen=True)
class Guard:
    """One condition: what it is about, its kind, and the condition in words.

    ``yours`` is False for what torch checks about itself, such as that none of a layer's hooks
    is set: true of nearly every compiled function, and rarely worth a look.
    """

    about: str
    kind: str
    words: str
    yours: bool = True

    def __str__(self) -> str:
        """Return the condition in words."""
        return self.words

    __repr__ = __str__


@dataclass(frozen=True)
class Fact:
    """What torch said of one guard, taken out of torch's own objects."""

    kind: str
    name: str
    value: object
    code: tuple[str, ...]


def checked(facts: list[Fact]) -> tuple[Guard, ...]:
    """Return the guards in words."""
    free = {size for fact in facts if fact.kind == "SHAPE_ENV" for size in _sizes_in(fact.code)}
    found = [guard for fact in facts for guard in _in_words(fact, free)]
    return in_order(found)


def in_order(found: Iterable[Guard]) -> tuple[Guard, ...]:
    """Return each guard once, the learner's own before torch's, tensors before the rest."""
    unique = {guard.words: guard for guard in found}.values()
    return tuple(sorted(unique, key=lambda guard: (not guard.yours, _ORDER.get(guard.kind, 9))))


_ORDER = {kind: i for i, kind in enumerate("tensor size value global type mode parameter".split())}

_MODES = {  # what torch calls it: what it means to a reader
    "DETERMINISTIC_ALGORITHMS": "deterministic algorithms are asked for or not, as now",
    "GLOBAL_STATE": "the default dtype, autocast and the number of threads are as now",
    "TORCH_FUNCTION_STATE": "no mode of torch is on that was off",
    "DEFAULT_DEVICE": "the default device is as now",
    "AUTOGRAD_SAVED_TENSORS_HOOKS": "no hooks watch what is saved for backward",
}
_SAME = ("CLOSURE_MATCH", "FUNCTION_MATCH", "CLASS_MATCH", "BUILTIN_MATCH", "MODULE_MATCH")


def _in_words(fact: Fact, free: set[tuple[str, int]]) -> Iterator[Guard]:
    """Say one guard; ``free`` are the sizes that may change, by tensor and dimension."""
    name, kind, value = readable_name(fact.name), fact.kind, fact.value
    yours = not any(sign in fact.name for sign in ("__import_torch", "__builtins_dict"))
    yours = yours and name not in ("args", "kwargs")  # of torch's wrapper around a module
    place = "global" if "G['" in fact.name else "value"
    if kind == "TENSOR_MATCH" and isinstance(value, torch.Tensor):
        is_weight = "_parameters[" in fact.name or "_buffers[" in fact.name
        words = f"`{name}` is {_tensor(name, value, free)}"
        yield Guard(name, "parameter" if is_weight else "tensor", words, yours)
    elif kind == "SHAPE_ENV":
        yield from (Guard("", "size", _relation(code)) for code in fact.code)
    elif kind == "GRAD_MODE":
        is_on = "are" if torch.is_grad_enabled() else "are not"
        yield Guard("", "mode", f"gradients {is_on} recorded")
    elif kind in _MODES:
        yield Guard("", "mode", _MODES[kind], yours=False)
    elif kind in ("CONSTANT_MATCH", "EQUALS_MATCH", "BOOL_MATCH", "NONE_MATCH"):
        yield Guard(name, place, f"`{name}` is {_short(value)}", yours)
    elif kind == "SEQUENCE_LENGTH" and hasattr(value, "__len__"):
        words = f"`{name}` is a {type(value).__name__} with {len(value)} entries"
        yield Guard(name, "type", words, yours)
    elif kind == "TYPE_MATCH":
        is_torchs = name.endswith(("._modules", "._parameters", "._buffers"))
        words = f"`{name}` is of type {type(value).__name__}"
        yield Guard(name, "type", words, yours and not is_torchs)
    elif kind in _SAME:
        words = f"`{name}` is the same {_kind_of(value)} as now"
        yield Guard(name, "global", words, yours and not _is_torchs(value))
    elif kind == "DUPLICATE_INPUT" and fact.code:
        both = [readable_name(part) for part in fact.code[0].split(" is ")]
        yield Guard(name, "value", f"`{'` and `'.join(both)}` are the same object", yours)
    elif kind in ("EMPTY_NN_MODULE_HOOKS_DICT", "NOT_PRESENT_IN_GENERIC_DICT"):
        yield Guard(name, "type", f"`{name}` is as torch made it", yours=False)
    else:
        yours = yours and "._modules" not in name
        for code in fact.code or (f"{kind} {fact.name}",):
            yield Guard(name, "value", f"`{_plain_code(code)}`", yours)


def _tensor(name: str, value: torch.Tensor, free: set[tuple[str, int]]) -> str:
    sizes = ["any" if (name, i) in free else str(size) for i, size in enumerate(value.shape)]
    size = "(" + ", ".join(sizes) + ("," if len(sizes) == 1 else "") + ")"
    dtype = str(value.dtype).removeprefix("torch.")
    words = f"a {dtype} tensor of size {size} on {value.device}"
    if value.layout == torch.strided and not value.is_contiguous() and not free:
        words += f" with strides {value.stride()}"
    return words + (", with requires_grad" if value.requires_grad else "")


def _is_torchs(value: object) -> bool:
    home = getattr(value, "__module__", None) or getattr(value, "__name__", "")
    return str(home).split(".")[0] == "torch"


def _kind_of(value: object) -> str:
    names = {"builtin_function_or_method": "function", "type": "class"}
    return names.get(type(value).__name__, type(value).__name__)


def _short(value: object, longest: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= longest else text[: longest - 3] + "..."


def own_names(function: Callable[..., object]) -> Callable[[str], str]:
    """Return what says ``self`` and the parameters' names for those of torch's own wrapper.

    Torch calls a module of a library through a function of its own, ``fn(*args, **kwargs)``.
    """
    if not isinstance(function, torch.nn.Module):
        return str
    parameters = list(inspect.signature(function.forward).parameters)

    def parameter(found: re.Match[str]) -> str:
        place = int(found[2])
        name = parameters[place] if place < len(parameters) else parameters[-1]
        return f"L['{name}']" if found[1].startswith("L") else name

    def rename(text: str) -> str:
        text = re.sub(r"(L\['args'\]|\bargs)\[(\d+)\]", parameter, text)
        return re.sub(r"\bfn(?=\.|'\]|$)", "self", text)

    return rename


def readable_name(source: str) -> str:
    """Return what a learner calls a thing that torch names by how it reaches it.

    >>> readable_name("L['s']._modules['conv']._parameters['weight']")
    's.conv.weight'
    >>> readable_name("G['__builtins_dict___3']['len']")
    'len'
    """
    name = re.sub(r"G\['__builtins_dict___\d+'\]\['(\w+)'\]", r"\1", source)
    name = re.sub(r"[LG]\['([^']+)'\]", r"\1", name)
    name = re.sub(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", r".\1", name)
    return re.sub(r"__import_(\w+)", lambda m: m[1].replace("_dot_", "."), name)


_SIZE = r"([^\s(]+?)\.size\(\)\[(\d+)\]"


def _sizes_in(codes: Iterable[str]) -> Iterator[tuple[str, int]]:
    for code in codes:
        for source, dimension in re.findall(_SIZE, code):
            yield readable_name(source), int(dimension)


def _relation(code: str) -> str:
    """Say a condition on sizes, such as that size 0 is at least 2."""

    def size(found: re.Match[str]) -> str:
        return f"size {found[2]} of `{readable_name(found[1])}`"

    words = re.sub(_SIZE, size, code.split("  #")[0].strip())
    two_sided = re.fullmatch(r"(\d+) <= (size \d+ of `[^`]+`) and \2 <= (\d+)", words)
    if two_sided:
        return f"{two_sided[2]} is from {two_sided[1]} to {two_sided[3]}"
    one_sided = re.fullmatch(r"(\d+) <= (size \d+ of `[^`]+`)", words)
    return f"{one_sided[2]} is at least {one_sided[1]}" if one_sided else words


def _plain_code(code: str) -> str:
    return readable_name(code.split("  #")[0].strip())


def failed(reason: str) -> str:
    """Say why compiled code did not fit a call, given what torch says about it.

    >>> failed("0/0: tensor 'x' size mismatch at index 0. expected 64, actual 37")
    'size 0 of `x` is 37, not 64'
    """
    told = re.sub(r"^\d+/\d+: ", "", reason.split("\nUser stack trace")[0])
    told = told.split("  #")[0].strip()
    for pattern, words in _FAILURES:
        found = re.search(pattern, told)
        if found:
            return words(*found.groups()) if callable(words) else words.format(*found.groups())
    return _relation(_plain_code(told)) + " does not hold" if _is_code(told) else told


def _is_code(told: str) -> bool:
    return bool(re.search(r"==|<=|>=|!=|<|>|\bis\b|hasattr|___check", told))


def _other_dtype(name: str, expected: str, actual: str) -> str:
    return f"`{name}` is {_DTYPES.get(actual, actual)}, not {_DTYPES.get(expected, expected)}"


_DTYPES = {  # torch's C++ side has its own names for them
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
}

_STATES = {
    "grad_mode": "gradients were switched on or off",
    "num_threads": "the number of threads is another",
    "default_dtype": "the default dtype is another",
    "autocast": "autocast was switched on or off, or has another dtype",
    "deterministic": "deterministic algorithms were switched on or off",
}


def _other_state(what: str) -> str:
    return next((words for part, words in _STATES.items() if part in what), f"{what} changed")


_FAILURES = (
    (r"tensor '(.+?)' size mismatch at index (\d+)\. expected (\d+), actual (\d+)",
     "size {1} of `{0}` is {3}, not {2}"),
    (r"tensor '(.+?)' stride mismatch at index (\d+)\. expected (\d+), actual (\d+)",
     "stride {1} of `{0}` is {3}, not {2}"),
    (r"tensor '(.+?)' rank mismatch\. expected (\d+), actual (\d+)",
     "`{0}` has {2} dimensions, not {1}"),
    (r"tensor '(.+?)' dtype mismatch\. expected (\w+), actual (\w+)", _other_dtype),
    (r"tensor '(.+?)' requires_grad mismatch\. expected requires_grad=0",
     "`{0}` requires a gradient, and did not"),
    (r"tensor '(.+?)' requires_grad mismatch\. expected requires_grad=1",
     "`{0}` requires no gradient, and did"),
    (r"tensor '(.+?)' .*device.*expected (\S+), actual (\S+)", "`{0}` is on {2}, not on {1}"),
    (r"expected type of '(.+?)' to be a tensor type, but found (.+)", "`{0}` is no tensor"),
    (r"GLOBAL_STATE changed: (.+)", _other_state),
    (r"^(\d+) <= (\S+)\.size\(\)\[(\d+)\]$", "size {2} of `{1}` is less than {0}"),
    (r"^___check_type_id\((.+?), \d+\), type=<class '(?:.*\.)?(\w+)'>",
     lambda name, kind: f"`{readable_name(name)}` is not of type {kind}"),
    (r"^___check_obj_id\((.+?), \d+\)",
     lambda name: f"`{readable_name(name)}` is another object"),
    (r"^(.+?) (?:==|is) (.+)$",
     lambda name, value: f"`{readable_name(name)}` is no longer {value}"),
    (r"^len\((.+?)\)", lambda name: f"`{readable_name(name)}` has another length"),
)  # fmt: skip
