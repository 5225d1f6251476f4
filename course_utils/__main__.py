"""Run a tool of the course from a shell: ``python -m course_utils doctor | speedup | warm``...

A command must work when its neighbour cannot: the doctor runs where torch is missing or broken.
So nothing is imported here before the command is known.

Kind:    plumbing
Public:  main
Imports: the standard library; then what the command needs (doctor, workloads, warm...)
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["main"]

_COMMANDS = {
    "doctor": "check this installation and say what to do (works without torch)",
    "speedup": "measure ready workloads, eager and compiled",
    "explain": "show what every stage of the compiler made of a function in a file",
    "warm": "compile ahead what the chapters compile, for all users of this Python",
    "ledger": "ask this machine again about each public claim that chapter 18 collects",
    "drift": "run the chapters under another torch and list the cells that differ",
    "where": "show folders, cache and versions",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, and return the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview())
        return 0
    command, rest = arguments[0], arguments[1:]
    if command not in _COMMANDS:
        print(
            f"There is no command {command!r}; there are {', '.join(_COMMANDS)}.", file=sys.stderr
        )
        return 2
    try:
        commands = {
            "doctor": _doctor,
            "speedup": _speedup,
            "explain": _explain,
            "warm": _warm,
            "ledger": _ledger,
            "drift": _drift,
            "where": _where,
        }
        return commands[command](rest)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def _overview() -> str:
    lines = [f"  {name:<8} {what}" for name, what in _COMMANDS.items()]
    usage = "usage: python -m course_utils COMMAND [--help] [...]"
    return "\n".join([usage, "", *lines])


def _doctor(arguments: list[str]) -> int:
    from course_utils.doctor import cli

    return cli.main(arguments)


def _speedup(arguments: list[str]) -> int:
    options = _speedup_options(arguments)
    try:
        from course_utils import runtime, workloads
    except ImportError as missing:
        print(_cannot_import("speedup", missing), file=sys.stderr)
        return 1
    if options.list:
        print(_list([workloads.get(name) for name in workloads.names()], options.json))
        return 0
    asked = [*options.workloads, *([options.recipes] if options.recipes else [])]
    unknown = [name for name in asked if name not in workloads.names()]
    if unknown:
        print(
            f"There is no workload {unknown[0]!r}; there are {', '.join(workloads.names())}.",
            file=sys.stderr,
        )
        return 2

    refused = _cannot_start(runtime)
    if refused:
        print(refused, file=sys.stderr)
        return 1
    if options.recipes:
        return _recipes(options, workloads)
    chosen = workloads.names() if options.all else options.workloads or workloads.USUAL
    demo = workloads.speedup_demo(*chosen, rounds=options.rounds, report=_progress)
    data, texts, failed = workloads.as_data(demo), [str(demo)], 0
    if options.roofline:
        found = workloads.roofline_of(demo, report=_progress)
        data["roofline"] = workloads.roofline_as_data(found)
        texts.append(str(found))
    print(json.dumps(data, indent=2) if options.json else "\n\n".join(texts))
    if options.roofline:
        failed = _plot_roofline(found, options.roofline)
    return (_plot(demo, options.plot) if options.plot else 0) or failed


def _list(found: Sequence, as_data: bool) -> str:
    if as_data:
        rows = [{"name": one.name, "title": one.title, "why": one.why} for one in found]
        return json.dumps(rows, indent=2)
    return "\n".join(f"{one.name:<18} {one.title}. {one.why}" for one in found)


def _recipes(options: argparse.Namespace, workloads) -> int:
    try:
        found = workloads.recipes(options.recipes, rounds=options.rounds, report=_progress)
    except ValueError as refused:
        print(f"{refused}.", file=sys.stderr)
        return 2
    print(json.dumps(workloads.recipes_as_data(found), indent=2) if options.json else found)
    return _plot(found, options.plot) if options.plot else 0


def _speedup_options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m course_utils speedup",
        description="Measure ready workloads, eager and compiled. Without a C++ compiler the "
        "eager half is measured alone, and a sentence says so.",
    )
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help="which; the usual five if none"
    )
    parser.add_argument("--all", action="store_true", help="measure all workloads (minutes)")
    parser.add_argument("--list", action="store_true", help="show the workloads and stop")
    parser.add_argument("--json", action="store_true", help="print data instead of the table")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the speed-ups into FILE")
    parser.add_argument(
        "--roofline", type=Path, metavar="FILE", help="count bytes too, and draw a roofline"
    )
    parser.add_argument(
        "--recipes", metavar="WORKLOAD", help="what makes this one fast on a CPU, each way measured"
    )
    parser.add_argument(
        "--rounds",
        type=_rounds,
        default=30,
        help="timed blocks of each half, at least 5; fewer once six seconds are up (30)",
    )
    options = parser.parse_args(arguments)
    if options.recipes and (options.workloads or options.all or options.roofline):
        parser.error("--recipes measures one workload and nothing else; leave out the rest")
    return options


def _rounds(text: str) -> int:
    if not text.isdecimal() or int(text) < 5:
        raise argparse.ArgumentTypeError(f"needs a number of at least 5, not {text}")
    return int(text)


def _progress(sentence: str) -> None:
    # on standard error, so that the table alone can be sent into a file
    print(f"{sentence} ...", file=sys.stderr, flush=True)


def _plot(demo, file: Path) -> int:
    from course_utils import plotting

    if not demo.ratios:
        print("Nothing was compiled, so there is no speed-up to draw.", file=sys.stderr)
        return 0
    return _draw(lambda: plotting.timing_bars(demo), file)


def _plot_roofline(found, file: Path) -> int:
    from course_utils import plotting

    machine = found.machine
    return _draw(
        lambda: plotting.roofline(found.points, bandwidth=machine.bandwidth, peak=machine.peak),
        file,
    )


def _draw(draw: Callable[[], object], file: Path) -> int:
    try:
        draw().savefig(file, dpi=150)
    except (OSError, ValueError) as failure:  # no such folder, or no such kind of picture
        print(f"{file} cannot be drawn: {failure}", file=sys.stderr)
        return 1
    print(f"Drawn in {file}", file=sys.stderr)
    return 0


def _explain(arguments: list[str]) -> int:
    return _with_torch("explain", "compile_stack", arguments)


def _warm(arguments: list[str]) -> int:
    from course_utils import warm

    return warm.main(arguments)


def _ledger(arguments: list[str]) -> int:
    return _with_torch("ledger", "ledger", arguments)


def _with_torch(name: str, module: str, arguments: list[str]) -> int:
    """Run the ``command`` of a module that needs torch, or say what is in the way."""
    try:
        from course_utils import runtime

        command = importlib.import_module(f"course_utils.{module}.command")
    except ImportError as missing:
        print(_cannot_import(name, missing), file=sys.stderr)
        return 1
    refused = "" if {"-h", "--help"} & set(arguments) else _cannot_start(runtime)
    if refused:
        print(refused, file=sys.stderr)
        return 1
    return command.main(arguments)


def _drift(arguments: list[str]) -> int:
    from course_utils.drift import command

    return command.main(arguments)


def _cannot_start(runtime) -> str:
    """Start as a chapter does; return in a sentence what is in the way, or nothing."""
    import torch

    try:
        place = runtime.start(0)
        torch.empty(1, device=place.device)
    # torch knows no such device or was built without it, or nobody has such a home
    except (RuntimeError, AssertionError) as error:
        told = str(error).partition("\n")[0].rstrip(".")
        return f"{told}; look at COURSE_DEVICE, COURSE_CACHE and COURSE_WARM."
    try:
        place.cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.cache):
            return ""
    except OSError as error:
        return (
            f"{place.cache}, where compiled code would lie, cannot be written to "
            f"({error.strerror}); let COURSE_CACHE name a folder of your own."
        )


def _cannot_import(command: str, missing: ImportError) -> str:
    return (
        f"{command} needs torch and its companions, and {missing.name} cannot be imported; "
        "`python -m course_utils doctor` says why."
    )


def _where(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m course_utils where", description="Show folders, cache and versions."
    )
    parser.add_argument("--json", action="store_true", help="print data instead of lines")
    options = parser.parse_args(arguments)

    from course_utils import places, warmed

    try:
        found, parts = _places(), warmed.contents()
    except (OSError, RuntimeError) as refused:  # a folder that may not be read, or nobody's home
        print(f"{refused}.", file=sys.stderr)
        return 1
    if options.json:
        warm = [warmed.as_data(part) for part in parts]
        print(json.dumps({**found, "compiled ahead": warm}, indent=2))
        return 0
    for name, value in found.items():
        print(f"{name:<14} {value}")
    refused = places.in_the_way(Path(found["cache"]))
    if refused:
        print(f"{refused}; let COURSE_CACHE name a folder of your own.", file=sys.stderr)
    for part in parts or ["nothing; `python -m course_utils warm` does"]:
        print(f"{'compiled ahead':<14} {part}")
    return 0


def _places() -> dict[str, str]:
    import importlib.metadata  # here: the doctor must also start under Python 3.7, which lacks it

    from course_utils import places

    found = {
        "course": str(places.repository()),
        "my work": str(places.my_work()),
        "cache": str(places.cache_root()),
        "python": f"{platform.python_version()} at {sys.executable}",
    }
    for package in ("torch", "torchvision", "numpy", "matplotlib", "jupyterlab"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


if __name__ == "__main__":
    # end as after Ctrl-C, with what was started and what lies among temporary files
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # a folder's name, or a sign such as ×, may not fit the letters of the console or the file
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main())
