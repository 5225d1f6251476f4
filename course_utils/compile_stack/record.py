"""Keep what every stage made of a function as plain data, with a text that can be printed.

The record holds texts and numbers, no tensor and no graph of torch's, so that it can be kept,
compared and written as JSON without keeping a model alive.

Kind:    plumbing; chapter 8 prints it
Public:  Built, Bytecode, Drawing, Explanation, Graph, Kernel, Node, Saved, Stage, plural,
         readable_bytes
Imports: the standard library; breaks and guards
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.compile_stack.breaks import Break
from course_utils.compile_stack.guards import Guard

__all__ = [
    "Built",
    "Bytecode",
    "Drawing",
    "Explanation",
    "Graph",
    "Kernel",
    "Node",
    "Saved",
    "Stage",
    "plural",
    "readable_bytes",
]


@dataclass(frozen=True)
class Bytecode:
    """One function that Dynamo rewrote, as bytecode in words, before and after."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Node:
    """One operation of a graph that is drawn.

    ``kernel`` counts from 1, and 0 is none; ``is_saved`` says that backward needs it.
    """

    name: str
    operation: str
    size: str
    inputs: tuple[str, ...]
    kernel: int = 0
    is_saved: bool = False


@dataclass(frozen=True)
class Drawing:
    """The operations of one graph, to be drawn: ``stage`` names the text it belongs to."""

    stage: str
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Saved:
    """A tensor that forward hands to backward; ``is_input`` says that it exists in any case."""

    name: str
    dtype: str
    size: tuple[int, ...]
    bytes: int
    is_input: bool

    def __str__(self) -> str:
        """Return name, kind and size in one line."""
        line = f"{self.name}: {self.dtype}{list(self.size)}, {readable_bytes(self.bytes)}"
        return line + (" (an input or a parameter)" if self.is_input else "")

    __repr__ = __str__


@dataclass(frozen=True)
class Kernel:
    """One call that the generated code makes: a kernel of its own, or one of a library's.

    ``number`` counts the calls of its part from 1; a drawing has the same numbers.

    The bytes are estimated: each argument counts once, whole, by its size and dtype. What a cache
    spares and what is read twice is not known here.
    """

    number: int
    name: str
    operations: tuple[str, ...]
    reads: int
    writes: int
    is_generated: bool
    source: str = ""

    @property
    def fused(self) -> bool:
        """Whether several operations became this one kernel."""
        return self.is_generated and len(self.operations) > 1

    def __str__(self) -> str:
        """Return the kernel, its operations and its estimated traffic in one line."""
        traffic = f"reads {readable_bytes(self.reads)}, writes {readable_bytes(self.writes)}"
        if not self.is_generated:
            return f"{self.number}, {self.name} of a library: {traffic}"
        operations = ", ".join(self.operations) or "not known"
        return f"{self.number}, {self.name} ({operations}): {traffic}"

    __repr__ = __str__


@dataclass(frozen=True)
class Built:
    """What Inductor generated for one direction.

    ``wrapper`` is the Python that calls the kernels, ``code`` the whole file.
    """

    part: str
    wrapper: str
    kernels: tuple[Kernel, ...]
    code: str


@dataclass(frozen=True)
class Graph:
    """One graph that Dynamo captured, and what the stages below made of it."""

    code: str
    operations: int
    joint: str = ""
    forward: str = ""
    backward: str = ""
    saved: tuple[Saved, ...] = ()
    built: tuple[Built, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    not_built: str = ""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of forward and backward."""
        return tuple(kernel for built in self.built for kernel in built.kernels)


@dataclass(frozen=True)
class Stage:
    """A stage of the compiler: its name, one sentence, and what it holds as text."""

    name: str
    summary: str
    text: str


@dataclass(frozen=True)
class Explanation:
    """What every stage of the compiler made of one call of a function."""

    name: str
    source: str
    bytecode: tuple[Bytecode, ...]
    graphs: tuple[Graph, ...]
    breaks: tuple[Break, ...]
    guards: tuple[Guard, ...]
    missing: tuple[str, ...] = ()

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of all graphs, forward before backward."""
        return tuple(kernel for graph in self.graphs for kernel in graph.kernels)

    @property
    def saved_bytes(self) -> int:
        """Bytes that forward keeps for backward, inputs and parameters not counted."""
        saved = (one for graph in self.graphs for one in graph.saved)
        return sum(one.bytes for one in saved if not one.is_input)

    @property
    def moved_bytes(self) -> int:
        """Bytes that all kernels read and write together: an estimate, see ``Kernel``."""
        return sum(kernel.reads + kernel.writes for kernel in self.kernels)

    @property
    def counts(self) -> str:
        """The counts in one line, such as ``1 graph, 0 breaks, 1 kernel``."""
        found = [plural(len(self.graphs), "graph"), plural(len(self.breaks), "break")]
        if any(graph.built for graph in self.graphs):
            found.append(plural(len(self.kernels), "kernel"))
        return ", ".join(found)

    def stage(self, name: str) -> Stage:
        """Return the stage of this name."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(f"no stage {name!r}; there are {', '.join(s.name for s in self.stages)}")

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages from the source to the kernels; those that this call had not are left out."""
        return tuple(stage for stage in _stages(self) if stage.text)

    def __str__(self) -> str:
        """Return the counts, then each break, graph and guard in a line of its own."""
        return "\n".join([f"{self.name}: {self.counts}", *(f"  {line}" for line in _lines(self))])

    __repr__ = __str__


def _lines(found: Explanation) -> Iterator[str]:
    for one, times in Counter(found.breaks).items():
        again = "" if times == 1 else f" ({times} times)"
        yield f"break in {one}{again}" if one.line else f"break: {one}{again}"
        yield f"  {one.remedy}"
    for number, graph in enumerate(found.graphs, 1):
        yield f"graph {number}: {plural(graph.operations, 'operation')}"
        yield from (f"  {line}" for line in _graph_lines(graph))
    if found.guards:
        yield "used again while"
        yield from (f"  {line}" for line in _guard_lines(found.guards))
    yield from found.missing


def _guard_lines(guards: tuple[Guard, ...]) -> Iterator[str]:
    """Say the first dozen of the learner's own conditions, and count the others."""
    weights = [guard for guard in guards if guard.kind == "parameter"]
    own = [guard for guard in guards if guard.yours and guard not in weights]
    yield from map(str, own[:12])
    if len(own) > 12:
        yield f"and {len(own) - 12} more of yours"
    if weights:
        yield f"and {plural(len(weights), 'parameter')} or buffers as they are"
    others = len(guards) - len(own) - len(weights)
    if others:
        yield f"and {plural(others, 'thing')} that torch checks of its own"


def _graph_lines(graph: Graph) -> Iterator[str]:
    kept = [one for one in graph.saved if not one.is_input]
    if graph.backward:
        held = readable_bytes(sum(one.bytes for one in kept))
        yield f"saved for backward: {plural(len(kept), 'tensor')}, {held}"
    for built in graph.built:
        for kernel in built.kernels:
            yield f"{built.part} kernel {kernel}"
    if graph.kernels:
        yield "(bytes are estimated from the kernels' arguments)"
    if graph.not_built:
        yield f"not built: {graph.not_built}"


def _stages(found: Explanation) -> Iterator[Stage]:
    yield Stage("source", "what you wrote", found.source)
    yield Stage(
        "bytecode",
        f"what Python runs; {plural(len(found.bytecode), 'function')} rewritten",
        "\n\n".join(
            f"{b.name}, before\n{b.before}\n{b.name}, after\n{b.after}" for b in found.bytecode
        ),
    )
    yield Stage(
        "breaks",
        plural(len(found.breaks), "break"),
        "\n".join(f"{one}\n  {one.remedy}" for one in found.breaks),
    )
    yield Stage(
        "guards",
        f"{plural(len(found.guards), 'condition')} that must still hold",
        "\n".join(map(str, found.guards)),
    )
    yield from _graph_stages(found.graphs)


def _graph_stages(graphs: tuple[Graph, ...]) -> Iterator[Stage]:
    what = {
        "captured graph": ("code", "the operations that Dynamo saw"),
        "joint graph": ("joint", "forward and backward in one, by AOTAutograd"),
        "forward graph": ("forward", "what runs in the call"),
        "backward graph": ("backward", "what runs in `backward()`"),
    }
    for name, (attribute, summary) in what.items():
        yield Stage(name, summary, _numbered([getattr(graph, attribute) for graph in graphs]))
    yield Stage(
        "saved",
        "what forward hands to backward",
        _numbered(["\n".join(map(str, graph.saved)) for graph in graphs]),
    )
    yield Stage(
        "kernels",
        "what was fused, and an estimate of the bytes that each kernel moves",
        _numbered(
            ["\n".join(f"{b.part} kernel {k}" for b in g.built for k in b.kernels) for g in graphs]
        ),
    )
    code = [[k.source for b in g.built for k in b.kernels if k.source] for g in graphs]
    yield Stage(
        "kernel code",
        "the loops that Inductor wrote",
        _numbered(["\n\n".join(dict.fromkeys(one)) for one in code]),
    )
    yield Stage(
        "wrapper",
        "the Python that Inductor wrote around the kernels",
        _numbered(["\n\n".join(b.wrapper for b in g.built) for g in graphs]),
    )


def _numbered(texts: list[str]) -> str:
    """Join the texts of several graphs, each under its number; one alone needs none."""
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"graph {i}\n{text}" for i, text in enumerate(texts, 1) if text)


def readable_bytes(count: int) -> str:
    """Return a number of bytes with a unit that fits it.

    >>> readable_bytes(4_194_304)
    '4.2 MB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return plural(count, "byte")


def plural(count: int, thing: str) -> str:
    """Return ``1 graph`` or ``2 graphs``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
