"""Find where each term of the course is introduced, and say it in the words of that place.

Lessons set a term in bold where they say what it is; the glossary in CONTRIBUTING.md lists the
words that mean one thing everywhere. A list of terms made from both cannot disagree with them.

Kind:    plumbing
Public:  Term, find_terms, glossary, terms_page
Imports: nbformat; sections beside it
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from nbformat import NotebookNode
from sections import Section, blocks, located, plain_links

__all__ = ["Term", "find_terms", "glossary", "terms_page"]

BOLD = re.compile(r"\*\*([^*\n`.:,;!?()\"]{2,32})\*\*")
# "a **stride**", "is called **contiguous**"
INTRODUCED = re.compile(r"\b(an?|the|called|is|one|rule,)\s$", re.IGNORECASE)
# "**Momentum** keeps a velocity": a sentence that begins with the term and says what it does
SENTENCE_BEGINS = re.compile(r"(^|[.!?:]\s)$")
VERB = re.compile(r"\s(?!this\b|was\b)\w+s\s")
# a sentence that says little without the one before it
POINTS_BACK = re.compile(r"This|That|These|Those|It|The idea|What remains|For classes|The second")
NOT_TERMS = {"predict", "find", "note"}


@dataclass(frozen=True)
class Term:
    """A term with the sentence that introduces it and where that stands."""

    word: str
    sentence: str
    chapter: str
    section: Section


def glossary(contributing: str) -> dict[str, str]:
    """Return the words of the glossary of CONTRIBUTING.md with what each means."""
    table = contributing.partition("### Words")[2].partition("\n## ")[0]
    rows = re.findall(r"^\|([^|]+)\|([^|]+)\|[^|]*\|$", table, flags=re.MULTILINE)
    return {
        word.strip(): means.strip()
        for words, means in rows
        for word in words.replace("`", "").split(",")
        if word.strip() != "word" and not words.startswith("--")
    }


def find_terms(lessons: Mapping[str, NotebookNode], words: Sequence[str] = ()) -> list[Term]:
    """Return the terms of the lessons, each where it is introduced first, by the alphabet.

    Args:
        lessons: notebooks by their names, in reading order.
        words: terms that must be found, even where no lesson sets them in bold.
    """
    found: dict[str, Term] = {}
    for name, lesson in lessons.items():
        for section, block in _paragraphs(lesson):
            for word, at in _introduced(block):
                key = word.lower()
                term = Term(word, _sentence(block, at), name, section)
                found.setdefault(key, term)
    for word in words:
        if word.lower() not in found:
            mention = _first_mention(lessons, word)
            if mention:
                found[word.lower()] = mention
    return sorted(found.values(), key=lambda term: term.word.lower())


def terms_page(terms: Sequence[Term], means: Mapping[str, str], prefix: str) -> str:
    """Return the list of terms as Markdown; ``prefix`` leads to the folder of the notebooks."""
    parts = []
    for letter, group in groupby(terms, key=_letter):
        parts.append(f"## {letter}")
        for term in group:
            place = f"[{term.section.title}]({prefix}{term.chapter}.ipynb#{term.section.slug})"
            saying = means.get(term.word) or means.get(term.word.lower())
            told = f"{saying[0].upper()}{saying[1:]}." if saying else term.sentence
            parts.append(f"**{term.word}** · {place}\\\n{told}")
    return "\n\n".join(parts)


def _letter(term: Term) -> str:
    return term.word[0].upper() if term.word[0].isalpha() else "0–9"


def _paragraphs(lesson: NotebookNode) -> Iterator[tuple[Section, str]]:
    for section, markdown in located(lesson):
        if section.title != "In short":
            yield from ((section, block) for block in blocks(markdown) if block[:3] != "```")


def _introduced(block: str) -> Iterator[tuple[str, int]]:
    for match in BOLD.finditer(block):
        before, after = block[: match.start()], block[match.end() :]
        line = before.rpartition("\n")[2]
        begins = SENTENCE_BEGINS.search(before) and not line.strip(" ").startswith(("-", "|"))
        if (
            (INTRODUCED.search(before) and not line.startswith("|"))
            or (begins and VERB.match(after) and len(match[1].split()) < 3)
            or (line in ("- ", "* ") and re.match(r" (is|and \*\*)", after))
            or (line == "| " and after.startswith(" |"))
        ) and match[1].lower() not in NOT_TERMS:
            yield match[1].strip(), match.start()


def _sentence(block: str, at: int) -> str:
    """Return the sentence around a place of a paragraph; of a table, the row without its bars."""
    line_start = block.rfind("\n", 0, at) + 1
    if block.startswith("|"):
        cells = block[line_start:].partition("\n")[0].strip("| ").split(" | ")
        return f"{plain_links(': '.join([cells[0], ', '.join(cells[1:])]))}."
    if re.match(r"[-*] ", block):
        block, at = block[line_start + 2 :].partition("\n- ")[0], 0
    text = plain_links(" ".join(block.split()))
    at = len(" ".join(block[:at].split())) if at else 0
    ends = [m.end() for m in re.finditer(r"[.!?](?=\s+[A-Z(*`])", text)]
    starts = [0, *(end for end in ends if end <= at)]
    start = starts[-1]
    if len(starts) > 1 and POINTS_BACK.match(text[start:].lstrip()):
        start = starts[-2]
    end = min((end for end in ends if end > at), default=len(text))
    return text[start:end].strip()


def _first_mention(lessons: Mapping[str, NotebookNode], word: str) -> Term | None:
    """Return where a word stands first: as code or stressed, and only then anywhere."""
    plain = re.escape(word)
    for pattern in (rf"`(\w+\.)?{plain}`|\*{plain}\*", rf"(?<!\w){plain}(?!\w)"):
        for name, lesson in lessons.items():
            for section, block in _paragraphs(lesson):
                match = re.search(pattern, block)
                if match and not block.startswith("#"):
                    return Term(word, _sentence(block, match.start()), name, section)
    return None
