"""Say what a workload is: one piece of work, done in two ways.

Kind:    plumbing
Public:  Pair, Workload, inference, training
Imports: torch, runtime
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from course_utils import runtime

__all__ = ["Pair", "Workload", "inference", "training"]


@dataclass(frozen=True)
class Pair:
    """One piece of work done in two ways.

    ``eager`` and ``compiled`` do it once and return tensors to compare; ``function`` and
    ``inputs`` are what ``torch.compile`` gets to see of it.
    """

    eager: Callable[[], object]
    compiled: Callable[[], object]
    function: Callable[..., object]
    inputs: tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Workload:
    """A kind of work: what it is, why it gains or loses, and how to set it up on a device.

    ``tolerance`` is how far apart the results of both halves may lie: sums are added in another
    order, and a step of AdamW makes that rounding larger.
    """

    name: str
    title: str
    why: str
    make: Callable[[torch.device], Pair]
    tolerance: float = 1e-5
    trains: bool = False


def inference(function: Callable[..., object], *inputs: torch.Tensor) -> Pair:
    """Return a function, or a model that does not learn, eager and compiled."""
    compiled = torch.compile(function)
    return Pair(lambda: function(*inputs), lambda: compiled(*inputs), function, inputs)


def training(
    make_model: Callable[[], nn.Module],
    loss_function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    inputs: torch.Tensor,
    targets: torch.Tensor,
) -> Pair:
    """Return one step with AdamW, its loss eager and compiled, each half with its own model."""

    def learner(compile_it: bool) -> tuple[Callable[[], object], Callable[..., torch.Tensor]]:
        runtime.seed(0)  # both halves start from the same weights
        model = make_model().to(inputs.device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

        def loss_of(inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            return loss_function(model(inputs), targets)

        forward = torch.compile(loss_of) if compile_it else loss_of

        def step() -> list[torch.Tensor]:
            optimizer.zero_grad()
            loss = forward(inputs, targets)
            loss.backward()
            optimizer.step()
            return [loss.detach(), *model.parameters()]

        return step, loss_of

    eager, loss_of = learner(compile_it=False)
    compiled, _ = learner(compile_it=True)
    return Pair(eager, compiled, loss_of, (inputs, targets))
