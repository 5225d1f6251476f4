"""Make calls of older texts, and hear what torch says today.

Kind:    plumbing
Public:  deprecated
Imports: ledger.evidence; torch
"""

from __future__ import annotations

import io
from collections.abc import Callable

import torch
from torch import nn

from course_utils.ledger.evidence import Seen, decides, heard, weigh

__all__ = ["deprecated"]


def deprecated(call: Callable[[], object]) -> bool:
    """Make a call, and say whether it warned that it is deprecated."""
    with heard() as told:
        call()
    return any("deprecated" in text for text in told)


def _signed(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x * 2
    return -x


def _scaled(x: torch.Tensor, **scales: float) -> torch.Tensor:
    return x * scales.get("first", 1.0)


@decides("S0-3")
def torchscript_refuses_a_convolution() -> Seen:
    """Script a convolution, and a function that takes arguments by any name."""
    convolution = torch.jit.script(nn.Conv2d(1, 1, 3))
    runs = convolution(torch.ones(1, 1, 4, 4)).shape == (1, 1, 2, 2)
    try:
        torch.jit.script(_scaled)
        refused = False
    except Exception:  # its kind belongs to the TorchScript compiler
        refused = True
    names = ("scripted", "refused")
    evidence = f"convolution {names[not runs]}, **keywords {names[refused]}"
    return weigh(evidence, refused, not runs)


@decides("S2-25")
def torchscript_is_looked_after() -> Seen:
    """Listen to the entrance."""
    warned = deprecated(lambda: torch.jit.script(_signed))
    return weigh(f"torch.jit.script {'is deprecated' if warned else 'is silent'}", not warned)


@decides("S3-20")
def torchscript_gave_static_graphs() -> Seen:
    """Look at the graph of a scripted function, and capture one with Dynamo."""
    graphs = []

    def keep(graph: torch.fx.GraphModule, inputs: list) -> Callable:
        graphs.append(graph)
        return graph.forward

    scripted = torch.jit.script(_signed)
    torch.compile(lambda x: x * 2, backend=keep)(torch.ones(2))
    return weigh("a graph from each", "prim::If" in str(scripted.graph), len(graphs) == 1)


@decides("S2-27")
def scripting_is_for_branches() -> Seen:
    """Script a function with an `if`, run both branches, and listen."""
    with heard() as told:
        scripted = torch.jit.script(_signed)
        right = all(torch.equal(scripted(x), _signed(x)) for x in (torch.ones(2), -torch.ones(2)))
    warned = any("deprecated" in text for text in told)
    evidence = f"both branches right, {'deprecated' if warned else 'no warning'}"
    return weigh(evidence, right, not warned)


@decides("S2-2")
def old_programs_run_as_they_are() -> Seen:
    """Save and load weights, which is as old as PyTorch, and then a whole model."""
    model, weights, whole = nn.Linear(2, 1), io.BytesIO(), io.BytesIO()
    torch.save(model.state_dict(), weights)
    torch.save(model, whole)
    weights.seek(0), whole.seek(0)
    loads_weights = set(torch.load(weights)) == {"weight", "bias"}
    try:
        torch.load(whole)
        loads_model = True
    except Exception:
        loads_model = False
    evidence = f"weights load, a whole model {'loads' if loads_model else 'is refused'}"
    return weigh(evidence, loads_weights, loads_model)


@decides("S2-19")
def amp_lives_in_cuda() -> Seen:
    """Listen to the old name and to the new one."""
    old = deprecated(lambda: torch.cuda.amp.GradScaler())
    new = deprecated(lambda: torch.amp.GradScaler("cpu"))
    return weigh(f"torch.cuda.amp {'warns' if old else 'is silent'}", not old and not new)


@decides("S2-28")
def dynamo_export_is_there() -> Seen:
    """Look for it."""
    there = hasattr(torch.onnx, "dynamo_export")
    return weigh(f"torch.onnx {'has' if there else 'has no'} dynamo_export", there)


@decides("S2-21")
def dtensor_lives_under_the_old_name() -> Seen:
    """Import by the old name, and ask the class where it lives."""
    from torch.distributed._tensor import DTensor

    home = DTensor.__module__.split("._")[0]
    return weigh(f"the old name leads to {home}", "_tensor" in DTensor.__module__)


@decides("S3-10")
def export_leads_to_torchscript() -> Seen:
    """Look for the name, and listen to where it is said to lead."""
    there = callable(torch.export.export)
    script = not deprecated(lambda: torch.jit.script(_signed))
    return weigh("torch.export is there, TorchScript is deprecated", there, script)
