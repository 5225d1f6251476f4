"""Keep the claims of all articles, and find them by their ids.

Kind:    plumbing
Public:  claim, claims
Imports: ledger.claim and the files of claims
"""

from __future__ import annotations

import difflib

from course_utils.ledger import core_tour, install_guide, introduction
from course_utils.ledger.claim import Claim

__all__ = ["claim", "claims"]

_ALL = (*install_guide.CLAIMS, *core_tour.CLAIMS, *introduction.CLAIMS)
_BY_ID = {claim.id: claim for claim in _ALL}


def claims(verdict: str | None = None) -> tuple[Claim, ...]:
    """Return all claims, or those with a verdict such as ``"false"``.

    >>> len(claims())
    102
    """
    return tuple(claim for claim in _ALL if verdict in (None, claim.verdict))


def claim(id: str) -> Claim:
    """Return the claim with this id.

    >>> claim("S3-18").verdict
    'false'
    """
    if id not in _BY_ID:
        close = difflib.get_close_matches(id, _BY_ID, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise ValueError(f'there is no claim "{id}"{hint}')
    return _BY_ID[id]
