"""Run the ledger from a shell: ``python -m course_utils ledger [ID ...] [--verdict false]``.

Kind:    plumbing
Public:  main
Imports: ledger
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from course_utils import ledger
from course_utils.ledger.runner import Run

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Run the probes that are asked for; return 1 when a verdict does not stand."""
    options = _options(arguments)
    try:
        ids = _chosen(options.ids, options.verdict)
    except ValueError as unknown:
        words = str(unknown)
        print(words if words.endswith("?") else f"{words}.", file=sys.stderr)
        return 2
    found = ledger.run(*ids, report=_progress)
    print(json.dumps(_as_data(found), indent=2) if options.json else found)
    for result in found.fallen:
        print(f"{result.claim.id} does not stand on this machine.", file=sys.stderr)
    return 1 if found.fallen else 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m course_utils ledger",
        description="Ask this machine again about each public claim on PyTorch 2 that chapter 18 "
        "collects. Ends with code 1 when a stored verdict does not stand.",
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="such as S0-29; all claims if none")
    parser.add_argument("--verdict", choices=ledger.VERDICTS, help="only claims with this verdict")
    parser.add_argument("--json", action="store_true", help="print data instead of the table")
    return parser.parse_args(arguments)


def _chosen(ids: list[str], verdict: str | None) -> list[str]:
    claims = [ledger.claim(id) for id in ids] or ledger.claims()
    chosen = [claim.id for claim in claims if verdict in (None, claim.verdict)]
    if not chosen:
        raise ValueError(f"none of these claims is {verdict!r}")
    return chosen


def _progress(sentence: str) -> None:
    # on standard error, so that the table alone can be sent into a file
    print(f"{sentence} ...", file=sys.stderr, flush=True)


def _as_data(found: Run) -> dict:
    rows = [
        {
            **asdict(result.claim),
            "article": result.claim.article,
            "status": result.status,
            "live": result.live or None,
            "evidence": result.evidence,
        }
        for result in found.results
    ]
    return {"claims": rows, "verdicts": found.verdicts, "statuses": found.statuses}
