"""Hold ``compile_stack.explain`` against torch's own figures, on models that are not ours.

``python tools/compare_explain.py [--without-inductor]`` prints a table: graphs and breaks as we
count them and as ``torch._dynamo.explain`` does, the kernels and the bytes that they move, what is
saved for backward, and what an explanation costs beside a compile of the same model.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
import torchvision

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from course_utils import runtime  # noqa: E402
from course_utils.benchmark import aligned  # noqa: E402
from course_utils.compile_stack import Explanation, explain, record  # noqa: E402
from tests import test_compile_stack_models as models  # noqa: E402


def main() -> None:
    """Print the table, a line for each model as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--without-inductor", action="store_true", help="build no kernels")
    quick = parser.parse_args().without_inductor
    runtime.start(0)
    rows = [
        ["", "graphs", "torch's", "breaks", "torch's", "kernels", "moved", "saved", "explain", ""]
    ]
    for make in (*models.MODELS, ssdlite):
        rows.append(_row(make, quick))
        print(f"{rows[-1][0]}: done", file=sys.stderr, flush=True)
    print("\n".join(aligned(rows)))


def ssdlite() -> tuple[torch.nn.Module, tuple]:
    """Return a detection model, whose graphs are cut by sizes that depend on values."""
    make = torchvision.models.detection.ssdlite320_mobilenet_v3_large
    model = make(weights=None, weights_backbone=None, num_classes=3)
    return model.eval(), ([torch.rand(3, 100, 120)],)


def _row(make: Callable[[], tuple], quick: bool) -> list[str]:
    function, inputs = make()
    quick = quick or make is ssdlite  # its hundred kernels would take minutes
    found, _ = _timed(lambda: explain(function, *inputs, without_inductor=quick))
    found, spent = _timed(lambda: explain(function, *inputs, without_inductor=quick))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch._dynamo.explain(function)(*inputs)
    torch.compiler.reset()
    return [
        make.__name__,
        str(len(found.graphs)),
        str(theirs.graph_count),
        str(len(found.breaks)),
        str(theirs.graph_break_count),
        *_built(found),
        f"{spent:.1f} s",
        "" if quick else f"compile, also warm: {_compile_seconds(function, inputs):.1f} s",
    ]


def _built(found: Explanation) -> list[str]:
    generated = sum(kernel.is_generated for kernel in found.kernels)
    kernels = f"{generated} + {len(found.kernels) - generated}" if found.kernels else "-"
    return [kernels, *map(record.readable_bytes, (found.moved_bytes, found.saved_bytes))]


def _compile_seconds(function: Callable, inputs: tuple) -> float:
    """Time the same compile without an explanation: no graph from a cache, kernels from it."""
    settings = torch._inductor.config.patch(fx_graph_cache=False)
    both = torch._functorch.config.patch(
        enable_autograd_cache=False, force_non_lazy_backward_lowering=True
    )
    with settings, both, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, seconds = _timed(lambda: torch.compile(function)(*inputs))
    torch.compiler.reset()
    return seconds


def _timed(call: Callable[[], object]) -> tuple[object, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    main()
