"""Watch eager code run, and count the bytes that its operations move and the arithmetic they do.

Each tensor counts once and whole where an operation reads it, and once where it writes it; views
move nothing. Arithmetic counts as torch counts it for products and convolutions: a multiplication
and its addition are two. Any other operation counts as one for each number that it takes in or
hands out, whichever are more, and what only moves numbers computes nothing.

Kind:    plumbing
Public:  Counted, count
Imports: torch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import TorchDispatchMode  # where torch's own manual has it from
from torch.utils.flop_counter import flop_registry

__all__ = ["Counted", "count"]


@dataclass(frozen=True)
class Counted:
    """Operations and bytes of one call."""

    operations: int
    bytes: int


def count(call: Callable[[], object]) -> Counted:
    """Run ``call`` and count its eager operations, those of a backward pass too.

    >>> x = torch.ones(1000)
    >>> count(lambda: x * 2 + 1)
    Counted(operations=2000, bytes=16000)
    """
    with _Watch() as watch:
        call()
    return Counted(watch.operations, watch.bytes)


# memory that is handed out, or looked at in another shape, before anything is read or written
_FREE = frozenset("_unsafe_view empty empty_like empty_strided new_empty new_empty_strided".split())
_FILLS = frozenset("fill_ full full_like new_zeros ones ones_like zero_ zeros zeros_like".split())
_COPIES = frozenset({"_to_copy", "cat", "clone", "copy_", "stack"})


class _Watch(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.operations = self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        packet = func.overloadpacket
        name = packet.__name__
        if func.is_view or name in _FREE:
            return result
        # the target of a copy is not read
        given = [] if name in _FILLS else list(_tensors(args[1:] if name == "copy_" else args))
        made = list(_tensors(result))
        self.bytes += _bytes(given) + _bytes(made)
        if packet in flop_registry:
            self.operations += flop_registry[packet](*args, **kwargs, out_val=result)
        elif name not in _FILLS and name not in _COPIES:
            self.operations += max((tensor.numel() for tensor in (*given, *made)), default=0)
        return result


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _tensors(one)


def _bytes(tensors: list[torch.Tensor]) -> int:
    """Return the bytes of different tensors; an expanded one has no more than its memory."""
    different = {id(tensor): tensor for tensor in tensors}.values()
    return sum(min(t.numel() * t.element_size(), t.untyped_storage().nbytes()) for t in different)
