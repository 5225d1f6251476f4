"""Stand between the doctor and the machine, so that a test can put another machine there.

Everything that a probe may ask is a field of ``System``. ``this_system`` fills them with the
real ones; a test replaces what it wants: ``replace(this_system(), platform="win32", run=fake)``.

Kind:    plumbing
Public:  Ran, Started, System, decode, run, start, this_system
Imports: the standard library only
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Ran", "Started", "System", "decode", "run", "start", "this_system"]


@dataclass(frozen=True)
class Ran:
    """How a program ended: its return code (negative: killed by that signal) and its words."""

    code: int | None
    out: str = ""
    err: str = ""
    timed_out: bool = False
    missing: bool = False

    @property
    def worked(self) -> bool:
        """Say whether the program ran to its end without complaint."""
        return self.code == 0 and not self.timed_out


@dataclass(frozen=True)
class System:
    """The machine as the probes see it."""

    platform: str
    machine: str
    kernel: str
    libc: str
    version: tuple
    maxsize: int
    free_threaded: bool
    executable: str
    prefix: str
    base_prefix: str
    include: str
    path: tuple
    environ: Mapping
    loaded: Mapping
    in_notebook: bool
    folder: Path
    home: Path | None
    run: Callable
    which: Callable
    disk: Callable
    memory: int | None = None
    administrator: bool = False
    macos: str = ""
    encoding: str = ""
    implementation: str = "CPython"
    start: Callable | None = None
    root: Path = field(default=Path("/"))

    def read(self, *parts: str) -> str:
        """Return the text of a file below the root, or "" where there is none."""
        try:
            return self.root.joinpath(*parts).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def without(self, *names: str) -> dict:
        """Return the environment without some of its variables."""
        return {key: value for key, value in self.environ.items() if key not in names}


def this_system() -> System:
    """Return the machine that runs this program."""
    return System(
        platform=sys.platform,
        machine=_machine(),
        kernel=os.uname().release if hasattr(os, "uname") else "",
        libc=_libc(),
        version=tuple(sys.version_info[:3]),
        maxsize=sys.maxsize,
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        executable=sys.executable,
        prefix=sys.prefix,
        base_prefix=sys.base_prefix,
        include=sysconfig.get_paths()["include"],
        path=tuple(sys.path),
        environ=_environ(),
        loaded=_loaded(),
        in_notebook=_in_notebook(),
        folder=_folder(),
        home=_home(),
        run=run,
        start=start,
        which=shutil.which,
        disk=shutil.disk_usage,
        memory=_memory(),
        administrator=getattr(os, "geteuid", lambda: 1)() == 0,
        macos=_macos(),
        encoding=sys.getfilesystemencoding(),
        implementation={"cpython": "CPython", "pypy": "PyPy"}.get(
            sys.implementation.name, sys.implementation.name
        ),
    )


def run(command, timeout: float, env=None, folder=None) -> Ran:
    """Run a program with a time limit, its children included."""
    return start(command, env, folder).wait(timeout)


def start(command, env=None, folder=None) -> Started:
    """Start a program and go on; ``wait`` for it later, or ``stop`` it."""
    # killing only the program would leave its children holding the pipe, and the wait would go on
    options = {"start_new_session": True} if os.name == "posix" else {}
    try:
        child = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=folder,
            **options,
        )
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        return Started(None, Ran(None, err=f"{type(error).__name__}: {error}", missing=missing))
    return Started(child)


class Started:
    """A program that runs, or the answer that it could not be started."""

    def __init__(self, child, answer=None):
        """Keep the process."""
        self._child, self._answer = child, answer

    def wait(self, timeout: float) -> Ran:
        """Return how it ended, or how far it came within the limit."""
        if self._answer is None:
            self._answer = self._end_of_it(timeout)
        return self._answer

    def stop(self) -> None:
        """End it, with its children, if it still runs."""
        if self._answer is None:
            _end(self._child)
            _rest(self._child)
            self._answer = Ran(self._child.returncode)

    def _end_of_it(self, timeout):
        child = self._child
        try:
            out, err = child.communicate(timeout=timeout)
            return Ran(child.returncode, decode(out), decode(err))
        except subprocess.TimeoutExpired:
            _end(child)
            out, err = _rest(child)
            return Ran(child.returncode, out, err, timed_out=True)
        except (
            BaseException
        ):  # Ctrl-C reaches this process only, the child is in a group of its own
            _end(child)
            raise


def decode(raw: bytes) -> str:
    """Turn a program's output into text, whatever its encoding.

    Windows programs may answer in UTF-16; the second byte of ASCII text is then zero.

    >>> decode("NVIDIA".encode("utf-16")), decode(b"caf\\xe9")
    ('NVIDIA', 'caf\\ufffd')
    """
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", errors="replace")
    if raw[1:2] == b"\0":
        return raw.decode("utf-16-le", errors="replace")
    return raw.decode("utf-8", errors="replace")


def _end(child):
    try:
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL)
        else:
            subprocess.call(
                ["taskkill", "/F", "/T", "/PID", str(child.pid)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
    except OSError:
        child.kill()


def _rest(child):
    # what was said before the limit often names the cause
    try:
        out, err = child.communicate(timeout=2)
        return decode(out), decode(err)
    except (subprocess.TimeoutExpired, ValueError, OSError):
        return "", ""


def _machine():
    if hasattr(os, "uname"):
        return os.uname().machine
    # a 32-bit program on 64-bit Windows sees its own size in the first variable
    return os.environ.get("PROCESSOR_ARCHITEW6432") or os.environ.get("PROCESSOR_ARCHITECTURE", "")


def _macos():
    if sys.platform != "darwin":
        return ""
    import platform  # here, for a learner's file may hide it

    return platform.mac_ver()[0]


def _libc():
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        musl = any(Path("/lib").glob("ld-musl-*")) if sys.platform == "linux" else False
        return "musl" if musl else ""


def _environ():
    """Return the variables that the reader set, without what an imported package added."""
    # scikit-learn sets these for its own process, spelled this way
    added = {"KMP_DUPLICATE_LIB_OK": "True", "KMP_INIT_AT_FORK": "FALSE"}
    if "sklearn" not in sys.modules:
        added = {}
    return {name: value for name, value in os.environ.items() if added.get(name) != value}


def _loaded():
    names = ("torch", "torchvision", "numpy")
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in names}
    return {name: str(version) for name, version in found.items() if version}


def _in_notebook():
    try:
        shell = sys.modules["IPython"].get_ipython()
    except (KeyError, AttributeError):
        return False
    return hasattr(shell, "kernel")


def _folder():
    try:
        return Path.cwd()
    except OSError:  # the folder was deleted while a program stood in it
        return Path(os.path.expanduser("~"))


def _home():
    try:
        return Path.home()
    except (RuntimeError, KeyError):
        return None


def _memory():
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
