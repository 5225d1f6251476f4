"""Spread the chapters over a day, a week or a term, from the minutes that they declare.

Kind:    plumbing
Public:  PLANS, Plan, Slot, plan_tables, route, spread
Imports: chapters from tools/
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chapters import Chapter

__all__ = ["PLANS", "Plan", "Slot", "plan_tables", "route", "spread"]

# a chapter is not begun, and not cut, for fewer minutes than this; as much is left free in each
# sitting, so that a plan never needs more sittings than it has
SCRAP = 15


@dataclass(frozen=True)
class Slot:
    """One sitting: its name, and the chapters in it with their minutes there."""

    name: str
    parts: tuple[tuple[Chapter, int], ...]


@dataclass(frozen=True)
class Plan:
    """A kind of schedule: how many sittings of how many minutes, and what they are for."""

    title: str
    why: str
    sittings: int
    minutes: int
    exercises: bool  # done in the sittings, or at home
    sitting: Callable[[int], str]

    def cost(self, chapter: Chapter) -> int:
        """Return the minutes that a chapter takes of the sittings."""
        return chapter.minutes if self.exercises else chapter.lesson_minutes

    @property
    def budget(self) -> int:
        """Return the minutes that may be planned."""
        return self.sittings * (self.minutes - SCRAP)


PLANS = (
    Plan(
        "A day",
        "Four sittings of 90 minutes, lessons only; the exercises are for the week after.",
        4,
        90,
        False,
        lambda n: ("morning, first half", "morning, second half", "afternoon, first half",
                   "afternoon, second half")[n],
    ),
    Plan(
        "A week",
        "Five days of up to five hours, each chapter with its exercises.",
        5,
        300,
        True,
        lambda n: ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")[n],
    ),
    Plan(
        "A term",
        "Up to fourteen weeks of one sitting of 90 minutes; the exercises are homework.",
        14,
        90,
        False,
        lambda n: f"week {n + 1}",
    ),
)  # fmt: skip


def route(
    chapters: Sequence[Chapter], minutes: int, cost: Callable[[Chapter], int]
) -> list[Chapter]:
    """Return the chapters to teach in so many minutes, in their order.

    What most other chapters build on comes first, each with all that it needs itself; then what
    else fits, from the front.
    """
    by_number = {chapter.number: chapter for chapter in chapters}
    roots = {n: _roots(n, by_number) for n in by_number}
    followers = {n: sum(n in roots[other] for other in by_number) for n in by_number}
    chosen: set[int] = set()
    for number in sorted(by_number, key=lambda n: (-followers[n], n)):
        together = chosen | roots[number]
        if sum(cost(by_number[n]) for n in together) <= minutes:
            chosen = together
    return [by_number[n] for n in sorted(chosen)]


def _roots(number: int, by_number: dict[int, Chapter]) -> set[int]:
    """Return a chapter's number with those of all chapters that it needs, near and far."""
    needed = [n for n in by_number[number].needs if n in by_number]
    return {number}.union(*(_roots(n, by_number) for n in needed))


def spread(chapters: Sequence[Chapter], plan: Plan) -> list[Slot]:
    """Return the sittings of a plan.

    Where there are sittings enough, each chapter has its own; where there are fewer, none is cut
    that need not be; and else a chapter that a sitting cuts goes on in the next one.
    """
    chosen = route(chapters, plan.budget, plan.cost)
    for whole, alone in ((True, True), (True, False), (False, False)):
        slots = _fill(chosen, plan, whole=whole, alone=alone)
        if len(slots) <= plan.sittings:
            break
    return [Slot(plan.sitting(n), tuple(parts)) for n, parts in enumerate(slots)]


def _fill(chapters: Sequence[Chapter], plan: Plan, *, whole: bool, alone: bool) -> list[list]:
    slots: list[list] = []
    room = 0
    for chapter in chapters:
        left = plan.cost(chapter)
        while left:
            fits = left <= room or (not whole and room >= SCRAP)
            if not slots or room <= 0 or not fits or (alone and left == plan.cost(chapter)):
                slots.append([])
                room = plan.minutes
            now = left if left - room < SCRAP else room  # a few minutes more beat another sitting
            slots[-1].append((chapter, now))
            left, room = left - now, room - now
    return slots


def plan_tables(chapters: Sequence[Chapter], link: Callable[[Chapter], str]) -> str:
    """Return all plans as Markdown; ``link`` makes a link to a chapter."""
    return "\n\n".join(_table(plan, chapters, link) for plan in PLANS)


def _table(plan: Plan, chapters: Sequence[Chapter], link: Callable[[Chapter], str]) -> str:
    slots = spread(chapters, plan)
    rows = [f"### {plan.title}", "", plan.why, "", "| When | Chapters | Minutes |", "|:--|:--|--:|"]
    for slot in slots:
        cells = []
        for chapter, now in slot.parts:
            all_of_it = now == plan.cost(chapter)
            cells.append(
                f"{link(chapter)}{'' if all_of_it else f' ({now} of {plan.cost(chapter)})'}"
            )
        minutes = sum(minutes for _, minutes in slot.parts)
        rows.append(f"| {slot.name} | {', '.join(cells)} | {minutes} |")
    taught = {chapter for slot in slots for chapter, _ in slot.parts}
    left_out = [chapter for chapter in chapters if chapter not in taught]
    if left_out:
        rows += ["", f"To read on alone afterwards: {', '.join(map(link, left_out))}."]
    return "\n".join(rows)
