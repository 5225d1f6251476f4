"""Carry a captured graph through AOTAutograd and Inductor, and write down each stage.

Kind:    plumbing
Public:  Lowering, readable
Imports: torch and the standard library; kernels, private, record
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch

from course_utils.compile_stack import kernels, private, record
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
        notes.draw("captured graph", graph, {})
        self.graphs.append(notes)
        # the stages below may change the graph that they are given
        untouched = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
        try:
            return private.lower(graph, inputs, notes, build=self.build)
        except private.Moved as moved:
            self.missing.append(str(moved))
        except Exception as failure:
            notes.not_built = f"{type(failure).__name__}: {first_line(str(failure))}"
        finally:
            self.missing += [notes.unread] if notes.unread else []
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
    unread: str = ""
    drawings: dict[str, tuple[record.Node, ...]] = field(default_factory=dict)

    def joined(self, joint: torch.fx.GraphModule) -> None:
        self.joint = readable(joint)

    def parted(self, forward: torch.fx.GraphModule, outputs: int) -> None:
        self.saved = tuple(_saved(forward, outputs))

    def part(self, name: str, graph: torch.fx.GraphModule) -> None:
        self.parts[name] = readable(graph)
        self.draw(f"{name} graph", graph, {})

    def draw(self, stage: str, graph: torch.fx.GraphModule, kernels: dict[str, int]) -> None:
        saved = {one.name for one in self.saved} if stage == "forward graph" else set()
        self.drawings[stage] = tuple(_nodes(graph, kernels, saved))

    def built_from(self, name: str, graph: torch.fx.GraphModule, made: object) -> None:
        """Read the code that Inductor generated for one part."""
        code = getattr(made, "source_code", None)
        if not code:
            self.unread = private.not_available("the generated code")
            return
        mapping = getattr(made, "inductor_provenance_mapping_str", None)
        made_of = json.loads(mapping or "{}").get("cppCodeToPost", {})
        computed = [node for node in graph.graph.nodes if node.op.startswith("call_")]
        nodes = {
            mark: [(node.name, _operation(node)) for node in computed if node.name in names]
            for mark, names in made_of.items()
        }
        inputs = [_given(node) for node in graph.graph.nodes if node.op == "placeholder"]
        try:
            built, numbers = kernels.read_generated(name, code, inputs, _WIDTHS, nodes)
        except Exception as failure:  # written differently by a later torch: show it as it is
            self.unread = private.not_available(f"reading the kernels ({type(failure).__name__})")
            built, numbers = record.Built(name, code, (), code), {}
        self.built.append(built)
        self.draw(f"{name} graph", graph, numbers)

    def record(self) -> record.Graph:
        return record.Graph(
            code=self.code,
            operations=self.operations,
            joint=self.joint,
            forward=self.parts.get("forward", ""),
            backward=self.parts.get("backward", ""),
            saved=self.saved,
            built=tuple(self.built),
            drawings=tuple(record.Drawing(stage, nodes) for stage, nodes in self.drawings.items()),
            not_built=self.not_built,
        )


def _saved(forward: torch.fx.GraphModule, outputs: int) -> list[record.Saved]:
    """Return what the forward graph hands out beyond the results of the function."""
    (handed_out,) = next(n for n in forward.graph.nodes if n.op == "output").args
    inputs = {n.name for n in forward.graph.nodes if n.op == "placeholder"}
    for node in forward.graph.nodes:  # another view of an input takes no memory of its own
        if node.op.startswith("call_") and _operation(node) in kernels.VIEWS:
            if all(source.name in inputs for source in node.all_input_nodes):
                inputs.add(node.name)
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
        found.append(record.Saved(node.name, dtype, size, count, node.name in inputs))
    return found


def _nodes(
    graph: torch.fx.GraphModule, numbers: dict[str, int], saved: set[str]
) -> Iterator[record.Node]:
    """Yield what a drawing shows: what is computed, and of the inputs what it is computed from.

    Views are left out, since they compute nothing; what uses one is drawn as using its source.
    What is ``saved`` is marked, in place of a line to the result for each.
    """
    seen_through: dict[str, list[str]] = {}
    for node in graph.graph.nodes:
        needed = [
            n.name for n in node.all_input_nodes if node.op != "output" or n.name not in saved
        ]
        sources = dict.fromkeys(source for name in needed for source in seen_through[name])
        name, is_input = _operation(node), node.op in ("placeholder", "get_attr")
        if node.op.startswith("call_") and name in kernels.VIEWS and sources:
            seen_through[node.name] = list(sources)
            continue
        seen_through[node.name] = [node.name]
        value = node.meta.get("val", node.meta.get("example_value"))
        size = str([_number(side) for side in value.shape]) if _is_tensor(value) else ""
        shown = _input_name(node.name) if is_input else "result" if node.op == "output" else name
        number, is_saved = numbers.get(node.name, 0), node.name in saved
        yield record.Node(node.name, shown, size, tuple(sources), number, is_saved)


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def _input_name(name: str) -> str:
    """Return a learner's name for an input: Dynamo calls ``x`` ``l_x_``."""
    name = re.sub(r"^[lg]_(.+?)_$", r"\1", name)
    return re.sub(r"_(?:modules|parameters|buffers)_", ".", name)


_WIDTHS = {
    str(dtype).removeprefix("torch."): dtype.itemsize
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}


def _given(node: torch.fx.Node) -> kernels.Buffer | int:
    """Return what an input of a graph is: a tensor's extent, or a size."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return _number(value) if value is not None else 0
    count = 1
    for side in value.shape:
        count *= _number(side)
    return kernels.Buffer(count, value.element_size())


def _operation(node: torch.fx.Node) -> str:
    """Return the name of an operation without its overload, such as ``mul``."""
    name = getattr(node.target, "_opname", None) or getattr(node.target, "__name__", node.target)
    return str(name)


def _number(size: object) -> int:
    """Return a size, or for one that may change the value that it had in this call."""
    node = getattr(size, "node", None)
    hint = getattr(node, "hint", None)
    return int(size if hint is None else hint)


def readable(graph: torch.fx.GraphModule) -> str:
    """Return a graph as Python, with the learner's lines as comments and no path of a machine."""
    text = graph.print_readable(print_output=False)
    text = re.sub(r"File: [^\n]+?:(\d+) in (\S+), code: ", r"line \1 in \2: ", text)
    text = text.replace("Backward of forward node: line", "backward of line")
    text = re.sub(r"\btorch_dynamo_resume_in_(\w+?)_at_\d+", r"\1", text)
    return re.sub(r"^class [^\n]*\n", "", text).rstrip() + "\n"


def operations_in(graph: torch.fx.GraphModule) -> int:
    """Count what a graph computes; inputs, outputs and constants are no operations."""
    return sum(node.op.startswith("call_") for node in graph.graph.nodes)
