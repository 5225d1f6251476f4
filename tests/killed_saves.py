"""Kill saves at random moments and count what was lost: ``python -m tests.killed_saves 200``.

One process imports torch and then forks a child for each kill, so that 200 of them take seconds.
The child saves one checkpoint after the other under the same name and reports each that is done;
it dies by SIGKILL, which no program can catch. Whoever looks at the file afterwards must find the
last one that was reported, or a later one, whole.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from course_utils import checkpoint

__all__ = ["Found", "kill_saves"]

NUMBERS = 200_000  # in one checkpoint: large enough for most kills to hit the writing


@dataclass
class Found:
    """What was found after the kills."""

    kills: int = 0
    in_the_middle: int = 0
    unreadable: int = 0
    lost: int = 0

    def __str__(self) -> str:
        """Return one line for a person."""
        return (
            f"{self.kills} kills, {self.in_the_middle} of them while a file was being written: "
            f"{self.unreadable} unreadable checkpoints, {self.lost} lost earlier ones"
        )


def kill_saves(kills: int, folder: Path, *, seed: int = 0, save=checkpoint.save) -> Found:
    """Kill so many savers and return what was found."""
    torch.set_num_threads(1)
    moments, found, path = random.Random(seed), Found(), folder / "run.pt"
    for turn in range(kills):
        before = set(folder.iterdir())
        reported = _last_report_of_a_killed_saver(
            path, turn * 1_000_000, moments.uniform(0, 0.02), save
        )
        found.kills += 1
        found.in_the_middle += any(f.suffix == ".part" for f in set(folder.iterdir()) - before)
        try:
            kept = checkpoint.load(path)["states"]["number"]
        except checkpoint.CheckpointError as error:
            print(error, file=sys.stderr)
            found.unreadable += 1
        else:
            found.lost += kept < reported
    return found


def _last_report_of_a_killed_saver(path: Path, first: int, seconds: float, save) -> int:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _save_for_ever(path, first, writer, save)
    os.close(writer)
    with os.fdopen(reader, "rb") as reports:
        said = reports.read(8)  # the first save is done
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        said += reports.read()
    os.waitpid(child, 0)
    return int.from_bytes(said[-8:], "little")


def _save_for_ever(path: Path, first: int, writer: int, save) -> None:
    try:
        for number in itertools.count(first):  # grows from saver to saver
            states = {"number": number, "weights": torch.full((NUMBERS,), float(number))}
            parts = {"kinds": {}, "history": {}, "random": None}
            save(path, {"format": checkpoint.FORMAT, "states": states} | parts)
            os.write(writer, number.to_bytes(8, "little"))
    finally:
        os._exit(1)  # never into the parent's code


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(kill_saves(int(sys.argv[1]), Path(folder)))
