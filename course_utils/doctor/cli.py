"""Run the doctor from a terminal: ``python -m course_utils doctor [--json] [--repair ID]``...

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
    if options.schema:
        import json

        _print(json.dumps(report.schema.schema(), indent=2) + "\n")
        return 0
    facts, findings, verdict = examine(fast=options.fast, progress=_progress())
    _clear_progress()
    if options.bundle:
        return _bundle(options.bundle, facts, findings, verdict)
    if options.repair:
        return _repair(options, facts, findings)
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
        "not work; 2 not yet. Without --repair nothing is changed on the machine but its compile "
        "cache; with it the code is 0 where the finding is gone and 1 where it is not.",
    )
    parser.add_argument("--json", action="store_true", help="print facts and findings as JSON")
    parser.add_argument(
        "--fast", action="store_true", help="leave out torchvision and the trial of torch.compile"
    )
    parser.add_argument("--schema", action="store_true", help="describe that JSON, as JSON Schema")
    parser.add_argument(
        "--bundle",
        metavar="FILE",
        help="write the report for an instructor, without names, tokens and home folders",
    )
    parser.add_argument(
        "--repair", metavar="ID", help="do the repair of this finding, after showing and asking"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask before --repair")
    return parser.parse_args(argv)


def _bundle(file, facts, findings, verdict):
    from course_utils.doctor import bundle
    from course_utils.doctor.system import this_system

    try:
        with open(file, "x", encoding="utf-8") as target:
            target.write(bundle.bundle(facts, findings, verdict, this_system()))
    except OSError as error:  # it exists, or the folder cannot be written to
        _print(f"{file} cannot be written: {error.strerror}\n")
        return 2
    _print(
        f"Written: {file}\nNames, tokens, addresses and home folders were taken out. It is a text "
        "file: read it before you send it.\n"
    )
    return verdict.code


def _repair(options, facts, findings):
    from course_utils.doctor import examine, repairs
    from course_utils.doctor.system import this_system

    id = options.repair
    kinds = [finding.repair for finding in findings if finding.id == id and finding.repair]
    if not kinds:
        able = sorted({finding.id for finding in findings if finding.repair})
        _print(f"There is nothing to repair about {id}. ")
        _print("These can be: {}\n".format(", ".join(able)) if able else "Nothing else either.\n")
        return 1
    try:
        repair = repairs.plan(kinds[0], facts, this_system())
        _print("\n".join([repair.title, *("  - " + step for step in repair.steps)]) + "\n")
        _print(f"To take it back: {repair.undo}\n")
        if not options.yes and not _agreed():
            _print("Nothing was done.\n")
            return 1
        _print(repair.do() + "\n")
    except (repairs.Refused, OSError) as refused:
        _print(f"Not repaired: {refused}\n")
        return 1
    _, findings, _ = examine(fast=options.fast, progress=_progress())
    _clear_progress()
    left = any(finding.id == id and finding.repair for finding in findings)
    _print(f"{id} is still there.\n" if left else f"{id} is gone.\n")
    return 1 if left else 0


def _agreed():
    if not sys.stdin or not sys.stdin.isatty():
        _print("Nobody is there to agree: add --yes.\n")
        return False
    try:
        return input("Do this? [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        return False


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
