"""Measure chapter 12 over several seeds: modes of the ring, and how many digits are recognised.

A lesson shows one run, and one run may be luck. Here the functions of the lesson's own text run
again with other seeds: nothing is written twice, so the table is about what students see.

    python tools/accuracies_gan.py --seeds 0 1 2 3 4 --json gan.json

Kind:    plumbing of the course's own figures
Public:  lesson, measure
Imports: lesson_text, torch; the lesson brings the rest
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

import lesson_text

ROOT = Path(__file__).resolve().parents[1]
COUNT = 1000  # drawings to judge, 100 of each digit where one can choose
DEFINITIONS = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef


def lesson(name: str = "12_gan", *, keep: Sequence[str] = ("data.digits(",)) -> dict:
    """Return the names that a lesson defines, without running what it trains.

    The setup cell runs whole; of the others only imports, functions and classes, and statements
    in which a text of ``keep`` stands.
    """
    names: dict = {"__name__": name}
    notebook = lesson_text.read(lesson_text.Target(ROOT, "lessons", name))
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        tree = lesson_text.parse(cell.source)
        if "setup" not in cell.metadata.get("tags", []):
            tree.body = [s for s in tree.body if _is_wanted(s, keep)]
        exec(compile(tree, f"lessons/{name}.md", "exec"), names)
    return names


def measure(gan: dict, seed: int) -> dict[str, float]:
    """Play, train the judge and both generators with one seed; return what each reached."""
    gan["runtime"].seed(seed)
    gan["reader"] = gan["train_reader"]()
    found = _of_the_judge(gan)
    for label, options in {"plain": {}, "cured": {"momentum": 0.5, "penalty": 1.0}}.items():
        (_, shots), seconds = _timed(lambda o=options: gan["play"](seed=seed, **o))
        reached = [gan["modes_reached"](shot) for shot in shots]
        found |= {f"ring {label}: modes, mean": sum(reached) / len(reached)}
        found |= {f"ring {label}: modes, end": min(reached[-4:]), f"ring {label}: s": seconds}
    plain, seconds = _timed(lambda: gan["train_gan"](seed=seed))
    with torch.no_grad():
        found |= _judged(gan, "GAN", plain(gan["noise"](COUNT, 16)).cpu())
    found["GAN: s"] = seconds
    conditional, seconds = _timed(lambda: gan["train_conditional"](seed=seed))
    wanted = torch.arange(10).repeat(COUNT // 10)
    with torch.no_grad():
        drawn = gan["draw"](conditional, wanted).cpu()
    digit, sure = gan["read"](drawn)
    found |= _judged(gan, "conditional", drawn)
    found["conditional: as asked"] = (sure & (digit == wanted)).float().mean().item()
    return found | {"conditional: s": seconds}


def _of_the_judge(gan: dict) -> dict[str, float]:
    digit, sure = gan["read"](gan["held_out"])
    right = (digit == gan["held_labels"]).float().mean().item()
    return {"judge: right": right, "judge: real recognised": sure.float().mean().item()}


def _judged(gan: dict, name: str, drawn: torch.Tensor) -> dict[str, float]:
    share, each = gan["report"](drawn)
    yardstick = gan["nearest"](gan["held_out"]).values
    distance = gan["nearest"](drawn).values
    return {
        f"{name}: recognised": share,
        f"{name}: digits present": int((each > 0.01).sum()),
        f"{name}: rarest digit": each.min().item(),
        f"{name}: distance / real": (distance.median() / yardstick.median()).item(),
        f"{name}: copies": (distance < yardstick.min() / 2).float().mean().item(),
    }


def _timed(work: Callable[[], object]) -> tuple:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def _is_wanted(statement: ast.stmt, keep: Sequence[str]) -> bool:
    if isinstance(statement, DEFINITIONS):
        return True
    return isinstance(statement, ast.Assign) and any(k in ast.unparse(statement) for k in keep)


def main() -> None:
    """Print a table, one column for each seed, and write it as JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--json", type=Path, help="a file to write the figures to")
    options = parser.parse_args()
    gan = lesson()
    results = {seed: measure(gan, seed) for seed in options.seeds}
    print(f"{'seed':26}", *(f"{seed:>7}" for seed in results), "   mean")
    for row in results[options.seeds[0]]:
        values = [result[row] for result in results.values()]
        print(f"{row:26}", *(f"{v:7.3f}" for v in values), f"{sum(values) / len(values):7.3f}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
