"""Ask AOTAutograd and Inductor: what is kept, what is fused, and what a stopwatch would say.

Claims about speed are decided here without a clock. What is counted are kernels and bytes, which
are the same on a busy machine and a quiet one.

Kind:    plumbing
Public:  chain, saved_bytes
Imports: ledger.evidence, compile_stack; torch
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

from course_utils import compile_stack
from course_utils.ledger.evidence import Seen, decides, need, observation, weigh

__all__ = ["chain", "saved_bytes"]


def chain(x: torch.Tensor) -> torch.Tensor:
    """Return what six rounds of sine times cosine make of ``x``."""
    for _ in range(6):
        x = torch.sin(x) * torch.cos(x)
    return x


def _one_step(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def _with_kernels(found: compile_stack.Explanation) -> compile_stack.Explanation:
    need(found.kernels, "a kernel that Inductor can build")
    return found


@observation
def explained_chain() -> compile_stack.Explanation:
    """Compile the chain, down to its kernels."""
    return _with_kernels(compile_stack.explain(chain, torch.linspace(-1, 1, 4096)))


@observation
def planned_chain() -> compile_stack.Explanation:
    """Capture the chain and plan its backward pass, without kernels, which would take longer."""
    x = torch.linspace(-1, 1, 4096, requires_grad=True)
    return compile_stack.explain(chain, x, without_inductor=True)


@observation
def explained_step() -> compile_stack.Explanation:
    """Compile a function in which there is nothing to fuse."""
    return _with_kernels(compile_stack.explain(_one_step, torch.linspace(-1, 1, 4096)))


def _operations(found: compile_stack.Explanation) -> int:
    return sum(graph.operations for graph in found.graphs)


def _forward_kernels(found: compile_stack.Explanation) -> int:
    parts = [built for graph in found.graphs for built in graph.built]
    return sum(len(built.kernels) for built in parts if built.part != "backward")


@decides("S2-34")
def small_kernels_are_merged() -> Seen:
    """Count operations before and kernels after."""
    operations, kernels = _operations(explained_chain()), _forward_kernels(explained_chain())
    return weigh(f"{operations} operations in {kernels} kernel", kernels < operations / 2)


@decides("S0-29")
def a_sound_installation_always_gains() -> Seen:
    """Compile one operation, which proves the installation, and count what could be saved."""
    right = torch.equal(torch.compile(_one_step)(torch.ones(8)), torch.full((8,), 2.0))
    operations, kernels = _operations(explained_step()), _forward_kernels(explained_step())
    evidence = f"compiled and right; {operations} kernel in eager, {kernels} compiled"
    return weigh(evidence, right and kernels < operations)


@decides("S3-6")
def compiling_usually_gains() -> Seen:
    """Count kernels where much can be fused, and where nothing can."""
    many, one = _operations(explained_chain()), _forward_kernels(explained_chain())
    same = _forward_kernels(explained_step()) == _operations(explained_step())
    evidence = f"{many} kernels become {one} in a chain; a single one stays one"
    return weigh(evidence, one < many / 2, not same)


@decides("S2-13")
def later_calls_reuse_and_gain() -> Seen:
    """Call three times and count the graphs; then see whether each function has room to gain."""
    calls = [torch.ones(8)] * 3
    graphs = compile_stack.recompilations(_one_step, calls).graphs
    room = _forward_kernels(explained_step()) < _operations(explained_step())
    evidence = f"{graphs} graph in 3 calls; one operation stays one kernel"
    return weigh(evidence, graphs == 1, room)


@decides("S3-4", "S3-11")
def the_stages_can_be_told_apart() -> Seen:
    """Look at what each of the three handed on: a graph, two passes, kernels."""
    (graph,), kernels = planned_chain().graphs, explained_chain().kernels
    evidence = f"{planned_chain().counts}; a backward graph of its own; {len(kernels)} kernel"
    return weigh(evidence, bool(graph.code), bool(graph.backward), bool(kernels))


@decides("S2-3")
def three_parts_are_all() -> Seen:
    """Look for what the three leave out: guards, and a backward pass made ahead of time."""
    found = planned_chain()
    three = bool(found.graphs and explained_chain().kernels)
    more = bool(found.guards) or any(graph.backward for graph in found.graphs)
    guards = "guards" if found.guards else "no guards"
    return weigh(f"beside the three: {guards}, and a backward graph", three, not more)


def saved_bytes(call: Callable[[], object]) -> int:
    """Return the bytes that autograd keeps for the backward pass of a call, each storage once."""
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        result = call()
    del result  # held until here, so that no storage was used twice
    return sum(kept.values())


@decides("S3-7")
def planning_ahead_saves_memory() -> Seen:
    """Count the bytes kept for backward, eager and planned, for a chain and for products."""
    x = torch.linspace(-1, 1, 10_000, requires_grad=True)
    batch, net = torch.ones(16, 64), nn.Sequential(*[nn.Linear(64, 64) for _ in range(3)])
    planned = torch.compile(chain, backend="aot_eager_decomp_partition")
    planned_net = torch.compile(net, backend="aot_eager_decomp_partition")
    planned(x), planned_net(batch)
    before, after = saved_bytes(lambda: chain(x)), saved_bytes(lambda: planned(x))
    net_before, net_after = saved_bytes(lambda: net(batch)), saved_bytes(lambda: planned_net(batch))
    less = f"{before / after:.0f} times fewer bytes" if after < before else "no fewer bytes"
    few = "fewer" if net_after < net_before else "no fewer"
    evidence = f"{less} for a chain of small steps, {few} for matrix products"
    return weigh(evidence, after < before, net_after < net_before)


class _Clock:
    """A clock that moves only when a function of its own is called."""

    def __init__(self) -> None:
        self.now = 0.0

    def takes(self, *seconds: float) -> Callable[[], None]:
        """Return a function that takes these times, and the last of them ever after."""
        waiting = list(seconds)

        def call() -> None:
            self.now += waiting.pop(0) if len(waiting) > 1 else waiting[0]

        return call

    def loop(self, call: Callable[[], None], times: int = 10) -> float:
        """Time a call as the article does: no warm-up, and one trial."""
        start = self.now
        for _ in range(times):
            call()
        return (self.now - start) / times


@decides("S0-28")
def ten_calls_show_the_speed_up() -> Seen:
    """Let the article's loop judge a pair whose truth is known: compiled is twice as fast."""
    clock = _Clock()
    eager, compiled = clock.takes(0.002), clock.takes(3.0, 0.001)
    told = clock.loop(eager) / clock.loop(compiled)
    return weigh(f"it says {told:.3f} where the truth is 2", abs(told - 2) < 0.5)


@decides("S0-30")
def modes_do_what_their_names_say() -> Seen:
    """Read what the two modes set."""
    modes = compile_stack.mode_options()
    overhead, autotune = modes["reduce-overhead"], modes["max-autotune"]
    only_graphs = all("cudagraphs" in option for option in overhead)
    searches = any("autotune" in option for option in autotune)
    return weigh(f"reduce-overhead sets {', '.join(overhead)}", not only_graphs, searches)


@decides("S0-43")
def the_one_line_test_works() -> Seen:
    """Run the line."""
    result = torch.compile(lambda x: x + 1)(torch.tensor(1))
    return weigh(f"it answers {result}", result.item() == 2)
