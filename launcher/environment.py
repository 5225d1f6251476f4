"""Make the folder .venv and install into it; go on where an earlier try was interrupted."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from course_utils.doctor import builds
from launcher.machine import python_range, refusal, refuse_disk, this_machine
from launcher.progress import explain, watch
from launcher.shell import (
    ENVIRONMENT,
    ROOT,
    Stop,
    advice,
    answers,
    call,
    digest,
    read_record,
    remove,
    say,
    stop_if,
    write_whole,
)

LOCK = ROOT / "requirements.lock"
STATE = ENVIRONMENT / ".course.json"  # says that the folder is ours, and how far it has come


def environment_python(folder, system):
    # type: (Path, str) -> Path
    """Return the Python of a virtual environment.

    >>> environment_python(Path("x"), "win32").as_posix()
    'x/Scripts/python.exe'
    """
    return folder / ("Scripts/python.exe" if system == "win32" else "bin/python")


PYTHON = environment_python(ENVIRONMENT, sys.platform)


def prepare(options):
    # type: (argparse.Namespace) -> str
    """Return a Python in which everything is installed; install what is missing."""
    if options.here:
        return prepare_here(options)
    state = read_state()
    choice = choose(options, state)
    wanted = fingerprint(choice)
    if state.get("installed") == wanted and PYTHON.exists():
        return str(PYTHON)
    build = check(choice)
    make_environment(dict(choice, python="{}.{}".format(*sys.version_info)))
    install(str(PYTHON), choice, build, LOCK)
    update_state(installed=wanted)
    return str(PYTHON)


def prepare_here(options):
    # type: (argparse.Namespace) -> str
    """Install into the Python that runs this program what it lacks, and return it."""
    choice = choose(options, {})
    build = check(choice)
    if options.torch is None and importlib.util.find_spec("torch"):
        build = builds.Build(None, "it is installed already", build.gigabytes)
    install(sys.executable, choice, build, ROOT / "requirements.txt")
    return sys.executable


def choose(options, state):
    # type: (argparse.Namespace, dict) -> dict
    """Return which torch is wanted: as asked for now, else as last time, else ``auto``."""
    if options.torch or options.torch_index is not None:
        index = options.torch_index
        if index is not None and "://" not in index:
            if not index or not Path(index).is_dir():
                raise Stop(
                    f"{index or 'An empty name'} is neither an address nor a folder that exists."
                )
            index = str(Path(index).resolve())
        return {"torch": options.torch or "auto", "index": index}
    return {"torch": state.get("torch", "auto"), "index": state.get("index")}


def fingerprint(choice):
    # type: (dict) -> str
    """Return a hash of everything that an installation depends on, its folder included."""
    parts = [sys.version, str(ROOT), json.dumps(choice, sort_keys=True)]
    parts += [path.read_text(encoding="utf-8") for path in (LOCK, ROOT / "pyproject.toml")]
    return digest("\0".join(parts).encode())


def check(choice):
    # type: (dict) -> builds.Build
    """Return the build of torch for this machine; stop where the course cannot be installed."""
    gpus = [] if choice["torch"] == "cpu" else builds.nvidia_gpus()
    try:
        build = builds.choose_torch(choice["torch"], sys.platform, gpus, this_machine().processor)
    except builds.NoBuild as no_build:
        raise Stop(str(no_build)) from None
    supported = python_range((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    stop_if(refusal(this_machine(), supported, build.gigabytes))
    return build


def make_environment(wanted):
    # type: (dict) -> None
    """Make .venv, also where ours is half made or was made for something else.

    A folder that this program did not make is used if it works, and never deleted.
    """
    state = read_state()
    empty = not (ENVIRONMENT.exists() and any(ENVIRONMENT.iterdir()))
    works = not empty and pip_answers()
    if not state.get("ours", empty):
        if not works:
            raise Stop(f"{ENVIRONMENT} was not made by course.py and does not work; move it away.")
        return update_state(ours=False, **wanted)
    if works and all(state.get(key) == value for key, value in wanted.items()):
        return forget_half_installed()
    if importlib.util.find_spec("ensurepip") is None:
        raise Stop(
            "This Python cannot make environments; on Debian and Ubuntu `sudo apt install "
            "python3-venv` adds what is missing."
        )
    say(f"Making {ENVIRONMENT}")
    # first of all, so that a rerun knows whose folder it is
    write_state(dict(wanted, ours=True))
    for path in ENVIRONMENT.iterdir():
        if path != STATE:
            remove(path)
    if call([sys.executable, "-m", "venv", str(ENVIRONMENT)]) != 0:
        raise Stop(f"{ENVIRONMENT} could not be made; {advice()}", code=1)


def install(python, choice, build, requirements):
    # type: (str, dict, builds.Build, Path) -> None
    """Install torch in the build that was chosen, then everything else, then course_utils."""
    say(f"torch: {'taken from ' + choice['index'] if choice['index'] else build.why}")
    if choice["index"] or build.backend:
        pip_install(python, [pin("uv")], "uv")
        install_torch(python, choice, build)
    pip_install(python, ["-r", str(requirements)], f"what {requirements.name} lists")
    pip_install(python, ["--no-deps", "--no-build-isolation", "-e", str(ROOT)], "course_utils")


def pip_install(python, arguments, what):
    # type: (str, list[str], str) -> None
    """Let pip install something and show how far it is; stop with a sentence where it fails."""
    say(f"Installing {what}")
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    log = ROOT / "_build" / "pip.log"
    if watch(command, log) != 0:
        reason = explain(log.read_text(encoding="utf-8", errors="replace"))
        raise Stop(f"pip could not install {what}: {reason}", code=1)


def install_torch(python, choice, build):
    # type: (str, dict, builds.Build) -> None
    """Install torch and torchvision alone, from where uv finds the build that was chosen."""
    command = torch_command(python, choice, build)
    # a try without downloads says within seconds whether that place answers
    quick = dict(os.environ, UV_HTTP_RETRIES="0")
    if answers([*command, "--dry-run"], quick) and call(command) == 0:
        return
    source = choice["index"] or "PyTorch's own index"
    if choice["index"] or choice["torch"] != "auto":
        build_name = f"the {build.backend} build of " if build.backend else ""
        raise Stop(
            f"{source} does not give {build_name}{pin('torch')}: connect this machine, or name "
            "another place with --torch-index, or take what pip has with --torch auto.",
            code=1,
        )
    say(f"{source} does not answer, so torch comes in pip's build; it runs on a CPU as well.")
    if sys.platform == "linux":  # there it is the one with CUDA
        stop_if(refuse_disk(this_machine(), builds.CUDA_GIGABYTES))


def torch_command(python, choice, build):
    # type: (str, dict, builds.Build) -> list[str]
    """Return uv's command for torch; what torch needs is left to pip and its configuration."""
    command = [python, "-m", "uv", "pip", "install", "--python", python, "--no-deps"]
    if choice["index"] is None:
        command += ["--torch-backend", build.backend]
    elif "://" in choice["index"]:
        command += ["--default-index", choice["index"]]
    else:
        command += ["--no-index", "--find-links", choice["index"]]
    return [*command, pin("torch"), pin("torchvision")]


def forget_half_installed():
    # type: () -> None
    """Remove the traces of packages at which pip was killed, so that pip installs them again."""
    folders = [*ENVIRONMENT.glob("lib/python*/site-packages"), ENVIRONMENT / "Lib/site-packages"]
    for folder in filter(Path.is_dir, folders):
        for path in folder.iterdir():
            # pip writes INSTALLER after the last file, and moves what it replaces to names with ~
            half = path.suffix == ".dist-info" and not (path / "INSTALLER").exists()
            if half or path.name.startswith("~"):
                remove(path)


def pip_answers():
    # type: () -> bool
    """Say whether .venv holds a Python that starts and a pip that works."""
    return answers([str(PYTHON), "-m", "pip", "--version"])


def examine(python):
    # type: (str) -> None
    """Let the doctor look at a new environment; stop where the course would not work."""
    state = read_state()
    ours = python == str(PYTHON)
    if ours and state.get("examined") == state["installed"]:
        return
    command = [python, "-m", "course_utils", "doctor", "--fast"]
    done = subprocess.run(command, cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 2:
        say(done.stdout.decode("utf-8", "replace"))
        raise Stop("The doctor found something that must be repaired first; see above.", code=1)
    if done.returncode != 0:
        say("The doctor has advice for you: python3 course.py doctor")
    if ours:
        update_state(examined=state["installed"])


def install_development(python):
    # type: (str) -> None
    """Install what tests, book and slides need beyond the course itself."""
    if sys.version_info < (3, 11):
        raise Stop("Tests and book need Python 3.11 or newer, since Sphinx does; the course 3.10.")
    requirements = ROOT / "requirements-dev.txt"
    wanted = digest(requirements.read_bytes() + LOCK.read_bytes())
    if python != str(PYTHON) or read_state().get("development") != wanted:
        listed = ["-r", str(requirements), "-c", str(LOCK)]
        pip_install(python, listed, f"what {requirements.name} lists")
        if python == str(PYTHON):
            update_state(development=wanted)
    install_assets(python)


def install_assets(python):
    # type: (str) -> None
    """Install the scripts and styles of book and slides, if there is an npm to do it."""
    npm = shutil.which("npm")  # npm.cmd on Windows, which needs its whole name
    if npm is None:
        return
    installed = ROOT / "node_modules" / ".course-lock"
    wanted = digest((ROOT / "package-lock.json").read_bytes())
    if not installed.exists() or installed.read_text() != wanted:
        if call([npm, "ci", "--no-audit", "--no-fund"]) != 0:
            raise Stop(f"npm could not install what the book needs; {advice()}", code=1)
        write_whole(installed, wanted.encode())
    if call([python, "tools/vendor_assets.py"]) != 0:
        raise Stop("tools/vendor_assets.py failed; its message stands above.", code=1)


def pin(package):
    # type: (str) -> str
    """Return the line of a package in requirements.lock, such as ``torch==2.14.1``."""
    return re.search(rf"^{package}==[^\s;]+", LOCK.read_text(encoding="utf-8"), re.M).group()


def versions(python):
    # type: (str) -> dict
    """Return the versions of the main packages in an environment."""
    script = """
import json, platform, sys
found = {"Python version": platform.python_version()}
if sys.version_info < (3, 8):  # it cannot run the course, but it can say where things lie
    sys.exit(print(json.dumps(found)))
from importlib import metadata
for name in ("torch", "torchvision", "numpy", "jupyterlab", "course-utils"):
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        found[name] = "not installed"
print(json.dumps(found))
"""
    return json.loads(subprocess.check_output([python, "-c", script]).decode())


def read_state():
    # type: () -> dict
    """Return what is known of .venv; an empty record where it is not ours."""
    return read_record(STATE)


def write_state(state):
    # type: (dict) -> None
    """Replace what is known of .venv."""
    write_whole(STATE, json.dumps(state, indent=1, sort_keys=True).encode())


def update_state(**changes):
    # type: (object) -> None
    """Add to what is known of .venv."""
    write_state(dict(read_state(), **changes))
