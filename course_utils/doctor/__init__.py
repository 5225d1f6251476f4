"""Say what is wrong with this installation, and what to do.

``facts`` gathers one record, ``rules`` judge it, ``report`` shows it; ``cli`` is the command and
``diagnose`` the call for a notebook. It works before torch is installed and when it is broken:
standard library only, and every file parses under Python 3.7.

Kind:    plumbing; chapter 2 reads the report line by line
Public:  Diagnosis, diagnose, examine
Imports: the modules below, late, so that importing this stays quick
"""

from __future__ import annotations

__all__ = ["Diagnosis", "diagnose", "examine"]


class Diagnosis:
    """What the doctor found; a notebook shows it as a table, ``print`` as text.

    ``findings`` are the judgements, ``facts`` what they rest on, ``code`` is 0 (all chapters, with
    torch.compile), 1 (all chapters, torch.compile does not work) or 2 (not yet).
    """

    def __init__(self, facts, findings, verdict):
        """Keep the three parts together."""
        self.facts, self.findings, self.verdict = facts, findings, verdict

    @property
    def code(self) -> int:
        """Return the exit code that the command would have."""
        return self.verdict.code

    def __str__(self) -> str:
        """Return the report as text."""
        from course_utils.doctor import report

        return report.text(self.findings, self.verdict)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from course_utils.doctor import report

        return report.html(self.findings, self.verdict)


def diagnose(fast: bool = False) -> Diagnosis:
    """Examine the Python that runs this notebook.

    Args:
        fast: leave out torchvision and the trial of torch.compile.
    """
    return Diagnosis(*examine(fast=fast))


def examine(fast: bool = False, system=None, progress=None):
    """Gather, judge and return (facts, findings, verdict); the arguments are those of gather."""
    from course_utils.doctor import facts, rules

    found = facts.gather(fast=fast, system=system, progress=progress)
    findings = rules.judge(found)
    return found, findings, rules.verdict(found, findings)
