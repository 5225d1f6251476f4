"""Try the libraries around the compiler: operators, precision, export, profiler.

Kind:    plumbing
Public:  profiled
Imports: ledger.evidence; torch
"""

from __future__ import annotations

import torch
from torch import nn

from course_utils.ledger.evidence import Seen, decides, heard, need, observation, weigh

__all__ = ["profiled"]


@decides("S0-47")
def cuda_events_time_anywhere() -> Seen:
    """Record an event where there is no GPU."""
    need(not torch.cuda.is_available(), "a machine without a GPU")
    try:
        torch.cuda.Event(enable_timing=True).record()
        error = ""
    except Exception as failure:
        error = type(failure).__name__
    return weigh(f"record() raises {error}" if error else "record() works", not error)


@decides("S2-17")
def define_takes_everything_at_once() -> Seen:
    """Call it as the article does."""
    try:
        torch.library.define("ledger::twice", "(Tensor x) -> Tensor", torch.neg, torch.neg)
        error = ""
    except TypeError as failure:
        error = str(failure).split("()")[-1].strip()
    return weigh(f"define() {error}" if error else "define() took all four", not error)


@decides("S2-18")
def torch_library_adds_operations() -> Seen:
    """Add an operation with its fake and its gradient, and let opcheck judge it."""

    @torch.library.custom_op("ledger::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    doubled.register_fake(torch.empty_like)
    doubled.register_autograd(lambda ctx, grad: grad * 2)
    told = torch.library.opcheck(doubled, (torch.ones(3, requires_grad=True),))
    passed = [name for name, outcome in told.items() if outcome == "SUCCESS"]
    return weigh(f"opcheck: {len(passed)} of {len(told)} succeed", len(passed) == len(told) > 0)


@decides("S2-20")
def precision_is_mixed_on_a_cpu() -> Seen:
    """Read the types under autocast, and see the scale halve after an infinite gradient."""
    x, y, model = torch.ones(4, 8), torch.zeros(4, dtype=torch.long), nn.Linear(8, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler.scale(model(x).sum()).backward()
    model.weight.grad.fill_(torch.inf)
    scaler.step(optimizer)
    scaler.update()
    halved = scaler.get_scale() == 4.0
    types = logits.dtype == torch.bfloat16, loss.dtype == torch.float32
    evidence = f"product {logits.dtype}, loss {loss.dtype}; scale 8 becomes {scaler.get_scale():g}"
    return weigh(evidence.replace("torch.", ""), *types, halved)


class _Branch(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x * 2
        return -x


class _Cond(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, (x,))


@decides("S2-29")
def control_flow_is_exported() -> Seen:
    """Export a Python `if` on a value, and torch.cond."""
    x = torch.ones(3)
    try:
        torch.export.export(_Branch(), (x,))
        plain = True
    except Exception:  # its kind has changed from release to release
        plain = False
    exported = torch.export.export(_Cond(), (x,)).module()
    both = torch.equal(exported(x), x * 2) and torch.equal(exported(-x), x)
    names = ("refused", "exported")
    return weigh(f"Python `if` {names[plain]}, torch.cond {names[both]}", plain, both)


@observation
def profiled() -> tuple[object, list[str]]:
    """Profile a product with memory, and ask for CUDA as the article does."""
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with heard() as told, torch.profiler.profile(activities=kinds, profile_memory=True) as profile:
        torch.ones(64, 64) @ torch.ones(64, 64)
    return profile.key_averages(), told


@decides("S2-30")
def one_snippet_profiles_both() -> Seen:
    """Look for operations on the CPU, and for a warning about CUDA."""
    need(not torch.cuda.is_available(), "a machine without a GPU")
    table, told = profiled()
    on_cpu = any(row.key == "aten::mm" for row in table)
    refused = any("CUDA" in text for text in told)
    evidence = f"aten::mm on the CPU; CUDA: {'a warning' if refused else 'no warning'}"
    return weigh(evidence, on_cpu, not refused)


@decides("S2-31")
def the_profiler_suggests() -> Seen:
    """Look for bytes in its table, and for anything by the name of a suggestion."""
    table, _ = profiled()
    memory = any(row.self_cpu_memory_usage > 0 for row in table)
    names = [name for name in dir(torch.profiler) if "suggest" in name or "recommend" in name]
    return weigh(f"bytes per operation: yes; suggestions: {names or 'none'}", memory, names)
