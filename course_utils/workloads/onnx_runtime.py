"""Run a model in ONNX Runtime, where that is installed, as the measure of what others reach.

Kind:    plumbing
Public:  in_onnx_runtime, missing
Imports: torch; onnx, onnxscript and onnxruntime where they are installed
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable

import torch
from torch import nn

__all__ = ["in_onnx_runtime", "missing"]

_PACKAGES = ("onnx", "onnxscript", "onnxruntime")


def missing() -> str:
    """Return in a sentence which packages are not installed, or nothing."""
    absent = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if not absent:
        return ""
    return f"not installed; `python -m pip install {' '.join(absent)}` adds it"


def in_onnx_runtime(
    function: Callable[..., torch.Tensor], inputs: tuple[torch.Tensor, ...]
) -> Callable[[], torch.Tensor]:
    """Return a call of a function in ONNX Runtime, on as many threads as torch has.

    Exporting belongs to the first call, as compiling does.
    """
    prepared = []

    def call() -> torch.Tensor:
        if not prepared:
            prepared.append(_session(function, inputs))
        session, fed = prepared[0]
        return torch.from_numpy(session.run(None, fed)[0])

    return call


def _session(function: Callable[..., torch.Tensor], inputs: tuple[torch.Tensor, ...]) -> tuple:
    import onnxruntime

    model = function if isinstance(function, nn.Module) else _Formula(function)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter's, about its own parts
        program = torch.onnx.export(model, inputs, dynamo=True, verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(
        program.model_proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [one.name for one in session.get_inputs()]
    fed = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
    return session, fed


class _Formula(nn.Module):
    """A function as a module, which the exporter asks for."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)
