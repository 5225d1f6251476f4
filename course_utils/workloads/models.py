"""Define the workloads that run a model, and those that train one for a step.

The models are small enough that one call takes milliseconds on two cores, and written out, so
that the compiler sees what a reader sees. None of them has trained weights: what a number is does
not change how long it takes.

Kind:    plumbing
Public:  MODELS, STEPS
Imports: torch, torchvision (for one workload), work
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.workloads.work import Pair, Workload, inference, training

__all__ = ["MODELS", "STEPS"]


def _resnet18(device: torch.device) -> Pair:
    from torchvision.models import resnet18

    return _model(resnet18(weights=None), torch.rand(2, 3, 96, 96, device=device))


def _resnet18_batch(device: torch.device) -> Pair:
    from torchvision.models import resnet18

    return _model(resnet18(weights=None), torch.rand(8, 3, 128, 128, device=device))


def _mlp(device: torch.device) -> Pair:
    return _model(_Mlp(), torch.randn(256, 64, device=device))


def _cnn3(device: torch.device) -> Pair:
    return _model(_Cnn3(), torch.rand(8, 1, 64, 64, device=device))


def _unet(device: torch.device) -> Pair:
    return _model(_UNet(), torch.rand(1, 3, 64, 64, device=device))


def _encoder(device: torch.device) -> Pair:
    return _model(_Encoder(), torch.randn(4, 64, 128, device=device))


def _lstm_by_hand(device: torch.device) -> Pair:
    return _model(_Lstm(), torch.randn(16, 12, 32, device=device))


def _model(model: nn.Module, inputs: torch.Tensor) -> Pair:
    return inference(model.eval().requires_grad_(False).to(inputs.device), inputs)


def _training_step(device: torch.device) -> Pair:
    images = torch.rand(64, 1, 28, 28, device=device)
    labels = torch.randint(10, (64,), device=device)
    return training(_small_cnn, F.cross_entropy, images, labels)


def _mlp_step(device: torch.device) -> Pair:
    inputs = torch.randn(256, 64, device=device)
    labels = torch.randint(64, (256,), device=device)
    return training(_Mlp, F.cross_entropy, inputs, labels)


def _encoder_step(device: torch.device) -> Pair:
    words = torch.randn(4, 64, 128, device=device)
    return training(_Encoder, F.mse_loss, words, torch.randn_like(words))


def _small_cnn() -> nn.Module:
    # no bias before a BatchNorm: its gradient is 0 but for rounding, and AdamW would step by that
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 10),
    )


def _convolution(channels: int, features: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(channels, features, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(features),
        nn.ReLU(),
    )


class _Mlp(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 64))


class _Cnn3(nn.Sequential):
    """Tell good parts from faulty ones in grey images, as a camera over a conveyor belt does."""

    def __init__(self) -> None:
        super().__init__(
            _convolution(1, 8),
            nn.MaxPool2d(2),
            _convolution(8, 16),
            nn.MaxPool2d(2),
            _convolution(16, 32),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(32, 2),
        )


class _UNet(nn.Module):
    """Say for each pixel what it belongs to: down twice, and up again beside what was seen."""

    def __init__(self) -> None:
        super().__init__()
        self.fine, self.middle, self.coarse = (
            _convolution(3, 16),
            _convolution(16, 32),
            _convolution(32, 64),
        )
        self.up_to_middle = nn.ConvTranspose2d(64, 32, kernel_size=2, stride=2)
        self.up_to_fine = nn.ConvTranspose2d(32, 16, kernel_size=2, stride=2)
        self.join_middle, self.join_fine = _convolution(64, 32), _convolution(32, 16)
        self.classes = nn.Conv2d(16, 2, kernel_size=1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        fine = self.fine(images)
        middle = self.middle(F.max_pool2d(fine, 2))
        coarse = self.coarse(F.max_pool2d(middle, 2))
        middle = self.join_middle(torch.cat([middle, self.up_to_middle(coarse)], dim=1))
        fine = self.join_fine(torch.cat([fine, self.up_to_fine(middle)], dim=1))
        return self.classes(fine)


class _Encoder(nn.Module):
    """One block as in BERT: every word looks at every word, then each is transformed alone."""

    def __init__(self, width: int = 128, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        # no bias: that of a key changes no weight of a softmax, so its gradient is rounding alone
        self.to_heads = nn.Linear(width, 3 * width, bias=False)
        self.from_heads = nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm_attention, self.norm_output = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        words = self.norm_attention(words + self.attention(words))
        return self.norm_output(words + self.narrow(F.gelu(self.wide(words))))

    def attention(self, words: torch.Tensor) -> torch.Tensor:
        per_head = self.to_heads(words).unflatten(-1, (3, self.heads, -1))
        queries, keys, values = per_head.permute(2, 0, 3, 1, 4)
        scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
        seen = torch.softmax(scores, dim=-1) @ values
        return self.from_heads(seen.transpose(1, 2).flatten(2))


class _Lstm(nn.Module):
    """An LSTM as its formulas: ``torch.compile`` runs ``nn.LSTM`` eagerly, this it compiles."""

    def __init__(self, width: int = 32, memory: int = 64) -> None:
        super().__init__()
        self.memory = memory
        self.from_input = nn.Linear(width, 4 * memory)
        self.from_state = nn.Linear(memory, 4 * memory, bias=False)

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        state = cell = sequence.new_zeros(sequence.shape[0], self.memory)
        for x in sequence.unbind(dim=1):
            take, keep, new, show = (self.from_input(x) + self.from_state(state)).chunk(4, dim=-1)
            cell = torch.sigmoid(keep) * cell + torch.sigmoid(take) * torch.tanh(new)
            state = torch.sigmoid(show) * torch.tanh(cell)
        return state


MODELS = (
    Workload(
        "resnet18",
        "ResNet-18, two images of 96 × 96",
        "Most time goes into convolutions, which come from the same library either way.",
        _resnet18,
    ),
    Workload(
        "resnet18_batch",
        "ResNet-18, eight images of 128 × 128",
        "As above with more to compute: here a memory format counts more than compiling.",
        _resnet18_batch,
    ),
    Workload(
        "mlp",
        "Two linear layers with GELU and LayerNorm, batch 256",
        "Two products of matrices, which come from the same library, and little between them.",
        _mlp,
    ),
    Workload(
        "cnn3",
        "Three convolutions on eight grey images of 64 × 64, good part or faulty",
        "Norm and ReLU are fused behind each convolution, the convolutions stay.",
        _cnn3,
    ),
    Workload(
        "unet",
        "A small U-Net, one image of 64 × 64",
        "Many layers on little data: what lies between the convolutions counts.",
        _unet,
    ),
    Workload(
        "encoder",
        "One block as in BERT, attention written out, four texts of 64 words",
        "Softmax, GELU and the norms are fused; the products of matrices stay.",
        _encoder,
    ),
    Workload(
        "lstm_by_hand",
        "An LSTM from its formulas, 12 steps, batch 16",
        "Hundreds of tiny operations become a few dozen kernels.",
        _lstm_by_hand,
    ),
)

STEPS = (
    Workload(
        "training_step",
        "One step of a small CNN with AdamW, batch 64",
        "The loss and its backward pass are compiled, the optimiser's step is not.",
        _training_step,
        trains=True,
    ),
    Workload(
        "mlp_step",
        "One step of the mlp with AdamW, batch 256",
        "The work is so small that the optimiser's step, which stays eager, counts most.",
        _mlp_step,
        trains=True,
        tolerance=1e-4,
    ),
    Workload(
        "encoder_step",
        "One step of the encoder with AdamW",
        "Forward keeps less for backward where it can compute it again.",
        _encoder_step,
        trains=True,
        tolerance=1e-4,
    ),
)
