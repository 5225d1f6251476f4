"""Carry a captured graph through AOTAutograd and Inductor, and write down each stage.

Kind:    plumbing
Public:  Lowering, readable
Imports: torch and the standard library; kernels, private, record
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from course_utils.compile_stack import private, record
from course_utils.compile_stack.breaks import first_line

__all__ = ["Lowering", "readable"]


class Lowering:
    """A backend for ``torch.compile`` that keeps a record of each graph it is given.

    With ``build`` false the graphs go through AOTAutograd and no further, which needs no C++
    compiler and costs milliseconds.
    """

    def __init__(self, build: bool) -> None:
        """Start with nothing seen."""
        self.build, self.graphs = build, []
        self.missing: list[str] = []

    def backend(self, graph: torch.fx.GraphModule, inputs: list) -> Callable[..., object]:
        """Record the graph and the stages below it; run it as it is where those fail."""
        notes = _Notes(code=readable(graph), operations=operations_in(graph))
        self.graphs.append(notes)
        # the stages below may change the graph that they are given
        untouched = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
        try:
            return private.lower(graph, inputs, notes, build=self.build)
        except private.Moved as moved:
            self.missing.append(str(moved))
        except Exception as failure:
            notes.not_built = f"{type(failure).__name__}: {first_line(str(failure))}"
        return untouched.forward

    def records(self) -> tuple[record.Graph, ...]:
        """Return what was seen, as plain data."""
        return tuple(notes.record() for notes in self.graphs)


@dataclass
class _Notes:
    """What is heard of one graph while it is lowered."""

    code: str
    operations: int
    joint: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    saved: tuple[record.Saved, ...] = ()
    built: list[record.Built] = field(default_factory=list)
    not_built: str = ""

    def joined(self, joint: torch.fx.GraphModule) -> None:
        self.joint = readable(joint)

    def parted(self, forward: torch.fx.GraphModule, outputs: int) -> None:
        self.saved = tuple(_saved(forward, outputs))

    def part(self, name: str, graph: torch.fx.GraphModule) -> None:
        self.parts[name] = readable(graph)

    def record(self) -> record.Graph:
        return record.Graph(
            code=self.code,
            operations=self.operations,
            joint=self.joint,
            forward=self.parts.get("forward", ""),
            backward=self.parts.get("backward", ""),
            saved=self.saved,
            built=tuple(self.built),
            not_built=self.not_built,
        )


def _saved(forward: torch.fx.GraphModule, outputs: int) -> list[record.Saved]:
    """Return what the forward graph hands out beyond the results of the function."""
    (handed_out,) = next(n for n in forward.graph.nodes if n.op == "output").args
    found = []
    for node in handed_out[outputs:]:
        value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
        if not isinstance(value, torch.Tensor):
            continue  # a size that is not known beforehand
        size = tuple(_number(side) for side in value.shape)
        count = value.element_size()
        for side in size:
            count *= side
        dtype = str(value.dtype).removeprefix("torch.")
        found.append(record.Saved(node.name, dtype, size, count, node.op == "placeholder"))
    return found


def _number(size: object) -> int:
    """Return a size, or for one that may change the value that it had in this call."""
    node = getattr(size, "node", None)
    hint = getattr(node, "hint", None)
    return int(size if hint is None else hint)


def readable(graph: torch.fx.GraphModule) -> str:
    """Return a graph as Python, with the learner's lines as comments and no path of a machine."""
    text = graph.print_readable(print_output=False)
    text = re.sub(r"File: [^\n]+?:(\d+) in (\S+), code: ", r"line \1 in \2: ", text)
    text = re.sub(r"\btorch_dynamo_resume_in_(\w+?)_at_\d+", r"\1", text)
    return re.sub(r"^class [^\n]*\n", "", text).rstrip() + "\n"


def operations_in(graph: torch.fx.GraphModule) -> int:
    """Count what a graph computes; inputs, outputs and constants are no operations."""
    return sum(node.op.startswith("call_") for node in graph.graph.nodes)
