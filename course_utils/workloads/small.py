"""Define the workloads that are a formula on one or two tensors.

Kind:    plumbing
Public:  SMALL
Imports: torch, work
"""

from __future__ import annotations

import math

import torch

from course_utils.workloads.work import Pair, Workload, inference

__all__ = ["SMALL"]


def _pointwise_chain(device: torch.device) -> Pair:
    def chain(x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = (x * 1.01 + 0.5).clamp(0.0, 2.0) - 0.25
        return x

    return inference(chain, torch.rand(1_000_000, device=device))


def _gelu_by_hand(device: torch.device) -> Pair:
    def gelu(x: torch.Tensor) -> torch.Tensor:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1 + torch.tanh(inner))

    return inference(gelu, torch.randn(1024, 1024, device=device))


def _tiny_function(device: torch.device) -> Pair:
    def square(x: torch.Tensor) -> torch.Tensor:
        return x * x + 2 * x + 1

    return inference(square, torch.rand(10, 10, device=device))


def _masked_softmax(device: torch.device) -> Pair:
    def softmax(scores: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        scores = scores.masked_fill(hidden, -math.inf)
        weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        return weights / weights.sum(dim=-1, keepdim=True)

    scores = torch.randn(16, 256, 256, device=device)
    later = torch.ones(256, 256, dtype=torch.bool, device=device).triu(diagonal=1)
    return inference(softmax, scores, later)


def _layernorm_by_hand(device: torch.device) -> Pair:
    def layer_norm(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = (centred * centred).mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + 1e-5) * scale + shift

    x = torch.randn(2048, 512, device=device)
    return inference(layer_norm, x, torch.rand(512, device=device), torch.rand(512, device=device))


SMALL = (
    Workload(
        "pointwise_chain",
        "16 small operations on a million numbers",
        "Eager reads and writes four megabytes for each operation, compiled code once.",
        _pointwise_chain,
    ),
    Workload(
        "gelu_by_hand",
        "GELU from its formula, 1024 × 1024",
        "Nine passes over memory become one.",
        _gelu_by_hand,
    ),
    Workload(
        "tiny_function",
        "x² + 2x + 1 on 100 numbers",
        "Checking that the compiled code still fits costs more than the work.",
        _tiny_function,
    ),
    Workload(
        "masked_softmax",
        "Softmax from its formula under a causal mask, 16 × 256 × 256",
        "Six passes over memory become few, each row staying in the cache.",
        _masked_softmax,
    ),
    Workload(
        "layernorm_by_hand",
        "LayerNorm from its formula, 2048 × 512",
        "Two sums over a row and what follows them are fused; a row fits the cache.",
        _layernorm_by_hand,
    ),
)
