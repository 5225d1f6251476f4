"""Measure chapter 12 over several seeds: modes of the ring, and how many digits are recognised.

A lesson shows one run, and one run may be luck. Here the functions of the lesson's own text run
again with other seeds: nothing is written twice, so the table is about what students see.
Returns 1 if a conditional GAN missed the aim: 80 % recognised, all ten digits present.

    python tools/accuracies_gan.py [--seeds 5] [--json FILE]

Kind:    plumbing of the course's own figures
Public:  definitions, main, measure, missed
Imports: accuracies, lesson_text, torch, runtime; the lesson brings the rest
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from accuracies import count, new_file
from lesson_text import Target, read

from course_utils import runtime

ROOT = Path(__file__).resolve().parents[1]
COUNT = 1000  # drawings to judge, 100 of each digit where one can choose
LEAST_RECOGNISED = 0.8
DEFINITIONS = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table with one column for each seed; return 1 if a seed missed the aim."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=count, default=5, help="how many to try (5)")
    parser.add_argument("--json", type=new_file, metavar="FILE", help="write every figure there")
    options = parser.parse_args(arguments)

    runtime.start(12)
    torch.set_num_threads(1)  # as in the lesson
    gan = definitions(ROOT)
    results = {seed: measure(gan, seed) for seed in range(options.seeds)}
    print(table(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2), encoding="utf-8")
    return int(bool(missed(results)))


def definitions(root: Path) -> dict:
    """Return what the lesson imports and defines and its digits; nothing of it is trained."""
    names: dict = {"device": torch.device("cpu")}
    for cell in read(Target(root, "lessons", "12_gan")).cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source)
            tree.body = [statement for statement in tree.body if _is_kept(statement)]
            exec(compile(tree, "lessons/12_gan.md", "exec"), names)
    return names


def missed(results: Mapping[int, Mapping[str, float]]) -> list[int]:
    """Return the seeds whose conditional GAN missed the aim."""
    return [
        seed
        for seed, found in results.items()
        if found["conditional: recognised"] <= LEAST_RECOGNISED
        or found["conditional: digits present"] < 10
    ]


def table(results: Mapping[int, Mapping[str, float]]) -> str:
    """Return the figures as text: a row for each figure, a column for each seed, and the mean."""
    rows = [f"{'seed':26}" + "".join(f"{seed:8}" for seed in results) + "    mean"]
    for name in next(iter(results.values())):
        values = [found[name] for found in results.values()]
        columns = [*values, sum(values) / len(values)]
        rows.append(f"{name:26}" + "".join(f"{value:8.3f}" for value in columns))
    return "\n".join(rows)


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


def _is_kept(statement: ast.stmt) -> bool:
    is_data = isinstance(statement, ast.Assign) and "data.digits(" in ast.unparse(statement)
    return is_data or isinstance(statement, DEFINITIONS)


if __name__ == "__main__":
    sys.exit(main())
