"""Say what a claim is: a sentence that somebody wrote, a verdict, and what the verdict rests on.

A verdict without a reason is one more claim. So each claim is decided in one of three ways: by a
probe, which asks the machine again on every run; by reading, where history or another system is
meant; or not at all, and then it says what it would take.

Kind:    plumbing; chapter 18 is about it
Public:  ARTICLES, Claim, FALSE, HALF, OPEN, THEN, TRUE, VERDICTS, agree
Imports: the standard library only
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ARTICLES",
    "FALSE",
    "HALF",
    "OPEN",
    "THEN",
    "TRUE",
    "VERDICTS",
    "Claim",
    "agree",
]

TRUE = "true"
THEN = "true then"
HALF = "half"
FALSE = "false"
OPEN = "not decidable here"
VERDICTS = (TRUE, THEN, HALF, FALSE, OPEN)

# by subject: what we were given of the articles bears no titles
ARTICLES = {
    "S0": "a practical guide to installing PyTorch 2 with Dynamo and Inductor",
    "S2": "a tour of the architecture and the API of PyTorch 2",
    "S3": "an introduction to PyTorch 2 with an installation on Windows",
}


@dataclass(frozen=True)
class Claim:
    """One sentence of an article, in our words, and what became of it.

    Args:
        id: article and number, such as ``"S0-29"``.
        says: what the article claims.
        verdict: one of ``VERDICTS``.
        today: what is right today.
        shown: the chapter, or the section, that shows it: ``"13"`` or ``"9.6"``.
        read: what was read, where reading decided; beside a probe, what reading adds.
        needs: what it would take to decide it, where nothing here can.
    """

    id: str
    says: str
    verdict: str
    today: str
    shown: str
    read: str = ""
    needs: str = ""

    def __post_init__(self) -> None:
        """Refuse a verdict that is none, and an open question that does not say what it needs."""
        if self.verdict not in VERDICTS:
            raise ValueError(f"{self.id}: a verdict is one of {', '.join(VERDICTS)}")
        if (self.verdict == OPEN) != bool(self.needs):
            raise ValueError(f"{self.id}: what is {OPEN!r}, and only that, says what it needs")

    @property
    def article(self) -> str:
        """The article that it comes from, by its subject."""
        return ARTICLES.get(self.id.partition("-")[0], "you")

    def __str__(self) -> str:
        """Return the claim, its verdict and what is right, for a person."""
        lines = [f"{self.id}: {self.verdict}", f"  claim  {self.says}", f"  today  {self.today}"]
        lines += [f"  read   {self.read}"] if self.read else []
        lines += [f"  needs  {self.needs}"] if self.needs else []
        return "\n".join([*lines, f"  shown  {self.where}"])

    __repr__ = __str__

    @property
    def where(self) -> str:
        """The place in this course, in words."""
        return f"section {self.shown}" if "." in self.shown else f"chapter {self.shown}"


def agree(stored: str, live: str) -> bool:
    """Tell whether what a probe saw bears out the verdict that is stored.

    What was true *then* must have ceased to be wholly true, and what a probe cannot decide on
    this machine contradicts nothing.

    >>> agree("true then", "half"), agree("true then", "true"), agree("false", "half")
    (True, False, False)
    """
    if live == OPEN:
        return True
    return live in (FALSE, HALF) if stored == THEN else live == stored
