"""Count the exercises, the answers tried and the verdicts that were not what they should be."""

from __future__ import annotations

from collections import Counter

from tests.answers.trials import chapters, module, trials


def main() -> int:
    """Print one line per chapter and the faults; return 1 if there are any."""
    total: Counter[str] = Counter()
    print("chapter  exercises  right  wrong  mistakes  blanks  misdiagnosed")
    for chapter in chapters():
        counted, faults = _try(chapter)
        print(_line(str(chapter), counted))
        print("".join(f"    {fault}\n" for fault in faults), end="")
        total += counted
    print(_line("all", total))
    return 1 if total["misdiagnosed"] else 0


def _try(chapter: int) -> tuple[Counter[str], list[str]]:
    counted: Counter[str] = Counter(exercises=len(module(chapter).EXERCISES))
    faults = []
    for trial in trials(chapter):
        counted[trial.kind] += 1
        if fault := trial.fault():
            counted["misdiagnosed"] += 1
            faults.append(f"{trial}: {fault}")
    return counted, faults


def _line(name: str, counted: Counter[str]) -> str:
    columns = ["exercises", "right", "wrong", "mistake", "blank", "misdiagnosed"]
    widths = [9, 5, 5, 8, 6, 12]
    cells = [f"{counted[c]:>{width}}" for c, width in zip(columns, widths, strict=True)]
    return "  ".join([f"{name:>7}", *cells])


if __name__ == "__main__":
    raise SystemExit(main())
