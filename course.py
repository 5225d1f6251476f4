#!/usr/bin/env python3
"""Take a bare Python to a running course with one command.

    python3 course.py              install what is missing, then open the chapters in JupyterLab
    python3 course.py doctor       say what is wrong with this machine, and what to do
    python3 course.py speedup      measure what torch.compile gives you here
    python3 course.py test         run everything that the tests run
    python3 course.py COMMAND --help

Everything is installed into the folder .venv beside this file, and every step can be interrupted:
the same command goes on where it stopped. This file needs nothing but Python; what
the commands are made of stands in the folder launcher.
"""

import argparse
import json
import os
import signal
import sys

if sys.version_info < (3, 7):  # noqa: UP036 (old Pythons read this file first)
    sys.exit("This course needs Python 3.10 to 3.14, and this is an older one.")

from course_utils import places
from launcher.environment import PYTHON, examine, install_development, prepare, versions
from launcher.shell import ROOT, Stop, call, say, serve
from launcher.steps import (
    INSTRUCTORS_BOOK,
    STEPS,
    changed_notebooks,
    command_line,
    quick_steps,
    run_step,
)
from launcher.student import deliver, first_notebook


def main(arguments=None):
    # type: (list[str] | None) -> int
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a folder's name may not fit the console's letters
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end as after Ctrl-C, children too
    try:
        options = read_arguments(sys.argv[1:] if arguments is None else arguments)
        return options.command(options)
    except Stop as stop:
        print(stop, file=sys.stderr)
        return stop.code
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.", file=sys.stderr)
        return 130
    except OSError as error:  # a full disk, a folder that may not be written
        where_it_failed = error.filename or ROOT
        print(
            f"{error.strerror or error}: {where_it_failed}. Make room or make it writable, and run "
            "the same command again.",
            file=sys.stderr,
        )
        return 1


def read_arguments(arguments):
    # type: (list[str]) -> argparse.Namespace
    """Turn the command line into options; no command means ``lab``."""
    ours, passed_on = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        ours, passed_on = arguments[:at], arguments[at + 1 :]
    if not ours or (ours[0].startswith("-") and ours[0] not in ("-h", "--help")):
        ours = ["lab", *ours]
    options, unknown = make_parser().parse_known_args(ours)
    strays = unknown if options.command is lab else unknown + passed_on
    if strays and options.command in (lab, test, book, where):
        raise Stop(f"course.py {ours[0]} does not know {' '.join(strays)}; try --help.")
    options.passed_on = unknown + passed_on
    return options


def make_parser():
    # type: () -> argparse.ArgumentParser
    """Return the parser of all commands; each explains itself with its docstring."""
    parser = argparse.ArgumentParser(
        prog="course.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND")
    for command in (lab, test, doctor, speedup, warm, book, slides, notebooks, where):
        name, text = command.__name__, command.__doc__
        one = commands.add_parser(
            name, help=text.splitlines()[0], description=text, allow_abbrev=False
        )
        one.set_defaults(command=command)
        one.add_argument("--here", action="store_true", help="use this Python and no .venv")
        if command not in (doctor, where):
            add_torch_options(one)
    choices = commands.choices
    choices["test"].add_argument("--quick", action="store_true", help="what one lesson needs")
    choices["test"].add_argument("--only", action="append", choices=list(STEPS), help="this step")
    choices["book"].add_argument(
        "--for-instructors", action="store_true", help="with the key to exercises and quizzes"
    )
    choices["where"].add_argument("--json", action="store_true", help="print it for a program")
    return parser


def add_torch_options(parser):
    # type: (argparse.ArgumentParser) -> None
    """Let a command that may install choose the build of torch."""
    parser.add_argument("--torch", choices=["auto", "cpu", "cuda"], help="which build of torch")
    parser.add_argument(
        "--torch-index", metavar="URL_OR_FOLDER", help="take torch from this mirror or folder only"
    )


# the commands


def lab(options):
    """Install what is missing and open the chapters in JupyterLab.

    Your copies of the chapters lie in my_work, and nothing there is ever overwritten. Arguments
    after -- go to JupyterLab: course.py lab -- --no-browser --port 9000
    """
    python = prepare(options)
    examine(python)
    work = places.my_work()
    for name, beside in deliver(ROOT / "notebooks", work):
        say(f"{name} has changed since you got it: yours is untouched, the new one is {beside}")
    command = [python, "-m", "jupyterlab", "--LabApp.news_url=None", *first_notebook(work)]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # containers run as root, and JupyterLab asks to confirm
    # a kernel named python3 in the user's home must not win over the one of .venv
    environ = dict(os.environ, JUPYTER_PREFER_ENV_PATH="1")
    say(f"Opening JupyterLab in {work} (Ctrl-C ends it)")
    return serve(command + options.passed_on, work, environ)


def test(options):
    """Run everything that the tests run, and print each step with its seconds."""
    python = prepare(options)
    install_development(python)
    if options.quick:
        chosen = quick_steps(changed_notebooks())
    else:
        chosen = {name: STEPS[name] for name in STEPS if name in (options.only or STEPS)}
    results = [(name, *run_step(name, step, python)) for name, step in chosen.items()]
    say("")
    for name, outcome, seconds in results:
        say(f"{outcome:<8} {seconds:7.1f} s  {name}")
    return 1 if any(outcome == "FAILED" for _, outcome, _ in results) else 0


def doctor(options):
    """Say what is wrong with this machine and what to do about it.

    It works before anything is installed. All further arguments go to the doctor, such as --json
    and --fast.
    """
    python = sys.executable if options.here or not PYTHON.exists() else str(PYTHON)
    return call([python, "-m", "course_utils", "doctor", *options.passed_on])


def speedup(options):
    """Measure what torch.compile gives you on this machine.

    All further arguments go to the measurement: names of workloads, --json, --plot FILE.
    """
    return call([prepare(options), "-m", "course_utils", "speedup", *options.passed_on])


def warm(options):
    """Compile ahead what the chapters compile, once for all users of the environment.

    All further arguments go on: numbers of chapters, --folder DIR, --again, --json.
    """
    return call([prepare(options), "-m", "course_utils", "warm", *options.passed_on])


def book(options):
    """Build the book from the stored outputs of the notebooks, into _build/book.

    With --for-instructors it goes to _build/instructors and holds the key to exercises and quizzes.
    """
    python = prepare(options)
    install_development(python)
    step = INSTRUCTORS_BOOK if options.for_instructors else STEPS["book"]
    environ = dict(os.environ, **step.environ)
    [words] = step.commands
    code = call(command_line(python, words), environ)
    if code == 0:
        say(f"The book begins at {ROOT / words[-1] / 'index.html'}")
    return code


def slides(options):
    """Build the slides from the notebooks; with --pdf print them to PDF, too.

    Further arguments go to tools/build_slides.py, such as the names of chapters.
    """
    return use_tool("tools/build_slides.py", options)


def notebooks(options):
    """Build the notebooks whose text has changed, or with --all every one.

    Further arguments go to tools/build_notebooks.py.
    """
    return use_tool("tools/build_notebooks.py", options)


def where(options):
    """Print the folders, the cache and the versions in use."""
    python = sys.executable if options.here or not PYTHON.exists() else str(PYTHON)
    found = {
        "course": str(ROOT),
        "my work": str(places.my_work()),
        "cache": str(places.cache_root()),
        "Python": python,
    }
    found.update(versions(python))
    if options.json:
        say(json.dumps(found, indent=2))  # in ASCII, so that no console changes a name
    else:
        say("\n".join(f"{name:<12} {value}" for name, value in found.items()))
    return 0


def use_tool(script, options):
    # type: (str, argparse.Namespace) -> int
    """Run one of our tools with everything installed that it may need."""
    python = prepare(options)
    install_development(python)
    return call([python, script, *options.passed_on])


if __name__ == "__main__":
    sys.exit(main())
