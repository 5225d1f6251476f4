"""Say where chapter 2 explains a finding.

Sections are named by their headings, and a test looks for each of them in the lesson's text: a
heading that changes there must change here.

Kind:    plumbing
Public:  SECTIONS, section
Imports: nothing
"""

from __future__ import annotations

__all__ = ["SECTIONS", "section"]

# heading in lessons/02_install_and_check.md -> ids of the findings that it explains
SECTIONS = {
    "2.2 Five questions, as a drawing and as a function": ("D05", "D11", "platform"),
    "2.3 Pip, uv, conda, and mirrors": (
        "D16",
        "D17",
        "D18",
        "D37",
        "D40",
        "leftovers",
        "packages",
        "torch",
    ),
    "2.4 Three numbers called CUDA": ("D03", "D07"),
    "2.5 The doctor, line by line": ("D21", "D33", "disk", "encoding", "memory", "room"),
    "2.6 Break a machine": ("D01", "D02", "D20"),
    "2.7 One cause, many symptoms": ("D29", "D31", "O10"),
    "2.8 Three proofs": ("compile",),
    "2.10 Switches that nobody hears": ("D24", "D26", "D34", "cache-cpu"),
    "2.11 Messages, and what they mean": (
        "D08",
        "D09",
        "D10",
        "D14",
        "D15",
        "D25",
        "torch-import",
        "torchvision-import",
    ),
}


def section(id: str) -> str:
    """Return the number of the section that explains a finding, or nothing.

    >>> section("D31")
    '2.7'
    """
    for heading, ids in SECTIONS.items():
        if id in ids:
            return heading.split()[0]
    return ""
