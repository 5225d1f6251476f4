"""Gather what is to be known about this installation, once, without judging it.

A broken installation breaks its own diagnosis: importing torch may raise, hang or kill the
process. So the facts are gathered first, by probes that have a time limit and run what may crash
in a child process; a probe that fails leaves a line in ``Facts.failed`` and the others go on. The
rules read the finished record and touch nothing.

Kind:    plumbing; chapter 2 reads what it finds
Public:  CacheFolder, Compiled, Copy, Course, Facts, Gpu, Gpus, Headers, Import, Jupyter,
         Kernel, Machine, Python, Room, Toolkit, Trial, gather
Imports: probes, system and the standard library
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = [
    "CacheFolder",
    "Compiled",
    "Copy",
    "Course",
    "Facts",
    "Gpu",
    "Gpus",
    "Headers",
    "Import",
    "Jupyter",
    "Kernel",
    "Machine",
    "Python",
    "Room",
    "Toolkit",
    "Trial",
    "gather",
]


@dataclass(frozen=True)
class Machine:
    """The operating system and the processor."""

    platform: str
    architecture: str
    libc: str = ""
    distributions: tuple = ()
    wsl: bool = False
    container: bool = False
    translated: bool = False
    administrator: bool = False
    cpu_flags: tuple = ()
    macos: str = ""
    encoding: str = ""


@dataclass(frozen=True)
class Python:
    """The interpreter that runs the doctor."""

    version: tuple
    bits: int
    free_threaded: bool
    executable: str
    prefix: str
    base_prefix: str
    conda: bool = False
    implementation: str = "CPython"


@dataclass(frozen=True)
class Course:
    """What the course asks for, and where it was installed."""

    repository: str
    python_range: str = ""
    ranges: Mapping = field(default_factory=dict)
    environment: str | None = None


@dataclass(frozen=True)
class Copy:
    """One installed copy of a package, as its metadata says."""

    version: str
    folder: str


@dataclass(frozen=True)
class Import:
    """How importing a package in a child process went.

    ``code`` is the child's return code, negative when a signal ended it; ``said`` is what the
    package answered about itself, and empty where the import failed.
    """

    code: int | None
    error: str = ""
    timed_out: bool = False
    said: Mapping = field(default_factory=dict)

    @property
    def worked(self) -> bool:
        """Say whether the package could be imported."""
        return bool(self.said) and self.code == 0

    @property
    def last_words(self) -> str:
        """Return the last line of its complaint, which names the error."""
        lines = self.error.strip().splitlines()
        return lines[-1].strip() if lines else ""


@dataclass(frozen=True)
class Trial:
    """How compiling a few lines went."""

    compiler: str
    found: bool
    works: bool
    output: str = ""
    chosen_by: str = ""
    others: tuple = ()


@dataclass(frozen=True)
class Headers:
    """Where this Python's C headers should be, and whether they are."""

    folder: str
    present: bool


@dataclass(frozen=True)
class CacheFolder:
    """Whether the folder of compiled kernels can be used.

    ``failed_at`` is "make", "write" or "load", or empty where all went well; ``loaded`` is None
    where nothing could be built to try it.
    """

    path: str
    chosen: bool
    failed_at: str = ""
    error: str = ""
    owner: str = ""
    mode: str = ""
    loaded: bool | None = None


@dataclass(frozen=True)
class Room:
    """How much memory and disk there is, in bytes; None where it cannot be seen."""

    memory: int | None = None
    shared_memory: int | None = None
    disk_free: int | None = None


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA card as nvidia-smi describes it."""

    name: str
    driver: str = ""
    capability: str = ""


@dataclass(frozen=True)
class Gpus:
    """What nvidia-smi said (``state``: absent, answered, failed, hung) and which cards are there.

    ``cards`` holds the makers of the graphics cards on the PCI bus, which needs no driver. ``amd``
    says how AMD's driver stands: ready, locked (this user may not use it), or empty.
    """

    state: str
    gpus: tuple = ()
    cuda: str = ""
    message: str = ""
    cards: tuple = ()
    amd: str = ""


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit, which the course does not need."""

    nvcc: str = ""
    home: str = ""
    home_exists: bool = False


@dataclass(frozen=True)
class Kernel:
    """A kernel that Jupyter offers, and the Python that it starts."""

    name: str
    file: str
    python: str
    prefix: str = ""
    torch: bool | None = None


@dataclass(frozen=True)
class Jupyter:
    """The notebook's side: kernels, and the two halves of ipywidgets.

    ``server`` is the environment of the JupyterLab that the shell would start, where that is
    another one than this Python's.
    """

    in_notebook: bool
    kernels: tuple = ()
    manager: str = ""
    server: str = ""


@dataclass(frozen=True)
class Compiled:
    """How a real ``torch.compile`` went, forward and backward, beside eager."""

    code: int | None
    compiled: bool | None = None
    difference: float | None = None
    error: str = ""
    timed_out: bool = False
    fallback: str | None = None
    modules: tuple = ()
    seconds: float | None = None


@dataclass(frozen=True)
class Facts:
    """One machine. None stands where nobody looked; ``failed`` says where looking failed."""

    machine: Machine | None = None
    python: Python | None = None
    course: Course | None = None
    packages: Mapping = field(default_factory=dict)
    leftovers: tuple = ()
    loaded: Mapping = field(default_factory=dict)
    switches: Mapping = field(default_factory=dict)
    missing_preloads: tuple = ()
    shadows: tuple = ()
    torch: Import | None = None
    torch_again: Mapping = field(default_factory=dict)
    environment_files: Mapping = field(default_factory=dict)
    conda_packages: tuple = ()
    torchvision: Import | None = None
    openmp_copies: tuple = ()
    compiler: Trial | None = None
    headers: Headers | None = None
    openmp: Trial | None = None
    cache: CacheFolder | None = None
    room: Room | None = None
    gpus: Gpus | None = None
    toolkit: Toolkit | None = None
    jupyter: Jupyter | None = None
    compile: Compiled | None = None
    fast: bool = False
    failed: Mapping = field(default_factory=dict)


def gather(fast: bool = False, system=None, progress: Callable | None = None) -> Facts:
    """Ask every probe and return one record.

    Args:
        fast: leave out torchvision and the compile trial, which take most of the time.
        system: the machine to ask; the real one when left out.
        progress: called with a few words before each probe that takes a while.
    """
    from course_utils.doctor import probes
    from course_utils.doctor.system import this_system

    system = this_system() if system is None else system
    known = {"fast": fast}
    failed = {}
    try:
        for name, saying, probe in probes.STEPS:
            if saying and progress:
                progress(saying)
            try:
                known[name] = probe(system, known)
            except Exception as error:  # whatever it is, the other probes have something to say
                failed[name] = f"could not tell: {type(error).__name__}: {error}"
    finally:
        child = known.pop("compile_child", None)
        if child is not None:
            child.stop()
    failed.pop("compile_child", None)  # then it is started when it is asked
    return Facts(failed=failed, **known)
