"""Train the models of chapter 10 with several seeds: how right are they, and how long did it take?

What is trained is the lesson's own code, read from ``lessons/10_cnn.md``: its functions and
classes, none of its figures. Each seed holds out other digits, draws other starting weights and
shuffles in another order. In the same run, ``training.fit`` is held against a loop written by
hand and, where ``lightning`` can be imported, against its Trainer: in turns, by processor time,
which a neighbour on the machine adds little to. Returns 1 if a model missed its aim.

    python tools/accuracies.py [--seeds 5] [--rounds 40] [--json FILE]
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import logging
import os
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from lesson_text import Target, read
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from course_utils import data, runtime, training

ROOT = Path(__file__).resolve().parents[1]
DIGITS = {"linear": "make_linear", "dense": "make_dense", "CNN": "make_cnn"}
UNET = "U-Net"
# what the mean and the worst of all seeds must reach
AIMS = {"CNN": (0.99, 0.985), UNET: (0.9, 0.9)}
TEST_SCENES = 10_000  # added to the seed of the test scenes, so that none is trained on
EPOCHS = 3  # in one timed training
RESAMPLES = 2000


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables, and return 1 if a model missed its aim."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=count, default=5, help="how many to try (5)")
    parser.add_argument("--rounds", type=count, default=40, help="of timing (40)")
    parser.add_argument("--json", type=new_file, metavar="FILE", help="write every figure there")
    options = parser.parse_args(arguments)

    runtime.start(10)
    torch.set_num_threads(1)  # as in the lesson
    lesson = definitions(ROOT)
    found = accuracies(lesson, range(options.seeds))
    timed = trainers(lesson, options.rounds)
    print(accuracy_table(found), trainer_table(timed), sep="\n\n")
    if options.json:
        figures = {"models": found, "trainers": timed, "shares": shares(timed)}
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    return int(bool(missed(found)))


def count(text: str) -> int:
    """Return a number from the command line, which must be at least 1."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"needs a number of at least 1, not {text!r}")
    return int(text)


def new_file(text: str) -> Path:
    """Return a file's path; refuse it now where writing would fail after minutes of work."""
    path = Path(text)
    if not text or path.is_dir() or not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot be written; name a file in a folder that is there and yours"
        )
    return path


def definitions(root: Path) -> dict[str, object]:
    """Return what the lesson imports and defines, without running anything else of it."""
    kept = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    notebook = read(Target(root, "lessons", "10_cnn"))
    names: dict[str, object] = {"device": torch.device("cpu")}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source)
            tree.body = [statement for statement in tree.body if isinstance(statement, kept)]
            exec(compile(tree, "lessons/10_cnn.md", "exec"), names)
    return names


# ---- how right ---------------------------------------------------------------------------------


def accuracies(lesson: Mapping, seeds: Sequence[int]) -> dict[str, list[dict[str, float]]]:
    """Return for each model and seed its score on what was held out, and the seconds it took."""
    makers = {name: lesson[make] for name, make in DIGITS.items()}
    found = {name: [digits_score(lesson, make, s) for s in seeds] for name, make in makers.items()}
    return found | {UNET: [unet_score(lesson, seed) for seed in seeds]}


def digits_score(lesson: Mapping, make: Callable, seed: int) -> dict[str, float]:
    """Train one model of digits; the score is the share of 360 new ones that is right."""
    features, labels = data.digits("train", seed=seed)
    runtime.seed(seed)
    model = make()
    taken = _stopwatch(lambda: lesson["train"](model, features, labels, seed=seed))
    score = lesson["share_right"](model, *data.digits("held out", seed=seed))
    return {"score": score} | taken


def unet_score(lesson: Mapping, seed: int) -> dict[str, float]:
    """Train the U-Net; the score is the intersection over union on 200 new scenes."""
    scenes, masks = lesson["make_scenes"](300, seed=seed)
    runtime.seed(seed)
    model = lesson["UNet"]()
    taken = _stopwatch(lambda: lesson["train_unet"](model, scenes, masks, seed=seed))
    test = lesson["make_scenes"](200, seed=seed + TEST_SCENES)
    return {"score": lesson["share_covered"](model, *test)} | taken


def _stopwatch(call: Callable[[], object]) -> dict[str, float]:
    """Return the seconds of one call on the clock on the wall, and those of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return {"seconds": time.perf_counter() - wall, "processor": time.process_time() - processor}


def missed(found: Mapping[str, list[dict[str, float]]]) -> list[str]:
    """Return the models whose mean or worst score is below its aim."""
    short = []
    for name, (mean, worst) in AIMS.items():
        scores = [one["score"] for one in found[name]]
        if statistics.mean(scores) < mean or min(scores) < worst:
            short.append(name)
    return short


def accuracy_table(found: Mapping[str, list[dict[str, float]]]) -> str:
    """Return the scores as a Markdown table."""
    seeds = len(next(iter(found.values())))
    lines = [
        f"Share of 360 held-out digits that is right, and for the U-Net intersection over union; "
        f"{seeds} seeds, torch {torch.__version__}, one thread",
        "",
        "| model | mean | worst | best | spread (sd) | processor seconds | longest on the wall |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, runs in found.items():
        scores = [run["score"] for run in runs]
        processor = statistics.median(run["processor"] for run in runs)
        spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
        lines.append(
            f"| {name} | {statistics.mean(scores):.2%} | {min(scores):.2%} | {max(scores):.2%} | "
            f"{spread:.2%} | {processor:.1f} | {max(run['seconds'] for run in runs):.1f} |"
        )
    short = missed(found)
    lines += ["", f"Below its aim: {', '.join(short)}" if short else "All aims are reached."]
    return "\n".join(lines)


# ---- how fast ----------------------------------------------------------------------------------


def trainers(lesson: Mapping, rounds: int) -> dict[str, list[float]]:
    """Time a few epochs of the CNN by each trainer, in turns, in seconds of processor time."""
    features, labels = data.digits("train")
    images = TensorDataset(features, labels)
    candidates = {"loop by hand": by_hand, "training.fit": by_fit}
    if importlib.util.find_spec("lightning"):
        candidates["Lightning"] = by_lightning
    calls = {}
    for name, trainer in candidates.items():
        runtime.seed(0)
        calls[name] = _call(trainer, lesson["make_cnn"](), images)
    return turns(calls, rounds)


def turns(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return the processor time of each call, taken in turns, every other round backwards."""
    for call in calls.values():
        call()  # warm-up
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name in list(calls)[:: -1 if turn % 2 else 1]:
            samples[name].append(_stopwatch(calls[name])["processor"])
    return samples


def by_hand(model, optimizer, loader) -> None:
    """Train by the loop of section 6.2, which also adds up the mean loss."""
    for _ in range(EPOCHS):
        model.train()
        total = 0.0
        for x, y in loader:
            x, y = x.to("cpu"), y.to("cpu")
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)


def by_fit(model, optimizer, loader) -> None:
    """Train by the course's own function."""
    options = {"epochs": EPOCHS, "device": "cpu", "report": None}
    training.fit(model, F.cross_entropy, optimizer, loader, **options)


def by_lightning(model, optimizer, loader) -> None:
    """Train by Lightning's Trainer, with all its extras off; it notes the mean loss as well."""
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def training_step(self, batch, number):
            x, y = batch
            loss = F.cross_entropy(self.model(x), y)
            self.log("loss", loss, on_step=False, on_epoch=True, batch_size=len(y))
            return loss

        def configure_optimizers(self):
            return optimizer

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    off = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it advises more workers, which would cost more here
        options = dict.fromkeys(off, False) | {"max_epochs": EPOCHS, "accelerator": "cpu"}
        lightning.Trainer(devices=1, **options).fit(Module(), loader)


def _call(trainer: Callable, model: torch.nn.Module, images: TensorDataset) -> Callable[[], None]:
    order = torch.Generator().manual_seed(0)
    loader = DataLoader(images, batch_size=32, shuffle=True, generator=order)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    return lambda: trainer(model, optimizer, loader)


def shares(samples: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float, float]]:
    """Return how many times as long as the first each one took, with a 95 % interval.

    The samples of one round were taken moments apart, so each is held against its neighbour. The
    median of these ratios stands for all; the interval comes from drawing the rounds again.

    >>> shares({"one": [1.0, 2.0, 1.0], "other": [1.1, 2.2, 1.1]})["other"]
    (1.1, 1.1, 1.1)
    """
    found, dice = {}, random.Random(0)
    baseline = next(iter(samples.values()))
    for name, times in samples.items():
        ratios = [one / other for one, other in zip(times, baseline, strict=True)]
        drawn = (statistics.median(dice.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
        drawn = sorted(drawn)
        low, high = drawn[RESAMPLES // 40], drawn[-RESAMPLES // 40 - 1]
        found[name] = (statistics.median(ratios), low, high)
    return found


def trainer_table(samples: Mapping[str, Sequence[float]]) -> str:
    """Return the times as a Markdown table, as shares of the loop by hand."""
    rounds = len(next(iter(samples.values())))
    lines = [
        f"{EPOCHS} epochs of the CNN, {rounds} rounds in turns, processor time, one thread",
        "",
        "| trainer | seconds, median | times the loop by hand (95 % interval) |",
        "|---|---|---|",
    ]
    for name, (share, low, high) in shares(samples).items():
        seconds = statistics.median(samples[name])
        lines.append(f"| {name} | {seconds:.3f} | {share:.3f} ({low:.3f} to {high:.3f}) |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
