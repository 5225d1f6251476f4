"""Run the doctor from a terminal: ``python -m course_utils doctor [--json] [--fast]``.

Kind:    plumbing
Public:  main
Imports: the rest of the doctor, late, since a learner's file may keep it from starting
"""

from __future__ import annotations

import os
import sys

from course_utils.doctor.shadows import shadows

__all__ = ["main"]


def main(argv=None) -> int:
    """Examine this machine, print the report and return 0, 1 or 2 (see --help)."""
    try:
        options = _options(sys.argv[1:] if argv is None else argv)
        from course_utils.doctor import examine, probes, report, rules  # noqa: F401 (all of it)
    except (ImportError, AttributeError) as error:
        return _cannot_start(error)
    facts, findings, verdict = examine(fast=options.fast, progress=_progress())
    _clear_progress()
    if options.json:
        _print(report.json_text(facts, findings, verdict) + "\n")
    else:
        _print(report.text(findings, verdict, _wants_colour(), _is_plain(sys.stdout)))
    return verdict.code


def _options(argv):
    import argparse

    parser = argparse.ArgumentParser(
        prog="python -m course_utils doctor",
        description="Say whether this machine can do the course, and if not, what to do first.",
        epilog="Exit code: 0 all chapters, with torch.compile; 1 all chapters, torch.compile does "
        "not work; 2 not yet. Nothing is changed on the machine but its compile cache.",
    )
    parser.add_argument("--json", action="store_true", help="print facts and findings as JSON")
    parser.add_argument(
        "--fast", action="store_true", help="leave out torchvision and the trial of torch.compile"
    )
    return parser.parse_args(argv)


def _cannot_start(error):
    hiding = shadows(os.getcwd())
    if not hiding:
        raise error
    lines = [f"The doctor cannot start: {error}"]
    lines += [f"{path} hides a module of the same name: rename it." for path in hiding]
    _print("\n".join(lines) + "\n")
    return 2


def _progress():
    if not sys.stderr.isatty():
        return None

    def show(saying):
        # one line that is written over again and again
        sys.stderr.write(f"\r\033[K{saying} ...")
        sys.stderr.flush()

    return show


def _clear_progress():
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


def _wants_colour():
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def _is_plain(stream):
    try:
        "✓→·✗".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def _print(words):
    try:
        sys.stdout.write(words)
        sys.stdout.flush()
    except UnicodeEncodeError:  # a path may hold letters that this terminal does not know
        encoding = sys.stdout.encoding or "ascii"
        sys.stdout.write(words.encode(encoding, "backslashreplace").decode(encoding))
    except BrokenPipeError:  # the reader has seen enough, as in "doctor | head -3"
        sys.stdout = open(os.devnull, "w")


if __name__ == "__main__":
    sys.exit(main())
