"""Run in a process of its own: one notebook's cells, or one small function.

What it prints goes nowhere; events go to the parent, one line of JSON each. A cell that fails
is told, and the next one runs: what compiles there is worth having too.

Kind:    plumbing
Public:  main
Imports: the standard library; then IPython or torch, failures, runtime
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from course_utils.warm.pieces import cells

__all__ = ["main"]


def main(arguments: list[str]) -> None:
    """Run the notebook that the arguments name, or without one the first small function."""
    tell = _tell_parent()
    if arguments:
        _run_cells(Path(arguments[0]), tell)
    else:
        _compile_one(tell)


def _tell_parent() -> Callable[..., None]:
    """Return what sends an event; everything else that is printed is dropped."""
    parent = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)

    def tell(**event: object) -> None:
        print(json.dumps(event), file=parent, flush=True)

    return tell


def _run_cells(path: Path, tell: Callable[..., None]) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.showtraceback = lambda *args, **kwargs: None  # told below, in one line
    sources = cells(path)
    for number, source in enumerate(sources, 1):
        done = shell.run_cell(source, store_history=False)
        error = done.error_before_exec or done.error_in_exec
        if error is not None:
            tell(failed=number, error=f"{type(error).__name__}: {error}")
        tell(cell=number, of=len(sources))


def _compile_one(tell: Callable[..., None]) -> None:
    """Translate torch's headers, which every later function needs, and say what torch this is."""
    import torch

    from course_utils import runtime

    place = runtime.start(0)
    x = torch.arange(64.0)
    try:
        right = torch.compile(lambda x: x * 2 + 1)(x).equal(x * 2 + 1)
    except Exception as failure:  # whatever stops the compiler, the parent shall say it
        from course_utils.workloads.failures import in_words

        return tell(failed=1, error=in_words(f"{type(failure).__name__}: {failure}"))
    if not right:
        return tell(failed=1, error="A compiled function gave wrong numbers.")
    return tell(
        torch=torch.__version__,
        capability=torch.backends.cpu.get_cpu_capability(),
        library=os.path.dirname(torch.__file__),
        threads=torch.get_num_threads(),
        cache=str(place.cache),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
