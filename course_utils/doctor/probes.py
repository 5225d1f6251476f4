"""Ask one question each about this machine.

A probe takes the ``System`` and what the probes before it found out, and returns one record of
``facts``. It may raise: ``facts.gather`` writes down what happened and goes on. ``STEPS`` at the
end lists them in the order in which they are asked.

Kind:    plumbing
Public:  STEPS
Imports: facts, jupyter, looking, places, probes_compile, probes_packages, shadows
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from course_utils import places
from course_utils.doctor import probes_compile, probes_packages
from course_utils.doctor.facts import Course, Gpu, Gpus, Machine, Python, Room, Toolkit
from course_utils.doctor.jupyter import jupyter
from course_utils.doctor.looking import entries, plain_name, read_text, tail
from course_utils.doctor.shadows import shadows

__all__ = ["STEPS"]

SWITCHES = re.compile(
    r"TORCH|PYTORCH_|.*INDUCTOR|TRITON|OMP_|MKL_|KMP_|GOMP_|LD_|DYLD_|CUDA_|HIP_|ROCR_|ATEN_"
    r"|PYTHON(PATH|NOUSERSITE|HOME|USERBASE|OPTIMIZE)$|CXX$|CC$|COURSE_"
)
PCI_MAKERS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}

# seconds that a program may take to answer
QUESTION_LIMIT, FAST_LIMIT = 10, 3


def machine(system, known):
    """Describe the operating system and the processor."""
    release = system.read("etc/os-release") if system.platform == "linux" else ""
    identities = re.findall(r"^ID(?:_LIKE)?=(.*)$", release, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", system.read("proc/cpuinfo"), re.MULTILINE)
    return Machine(
        platform=system.platform,
        architecture=system.machine,
        libc=system.libc,
        distributions=tuple(" ".join(identities).replace('"', "").split()),
        wsl="microsoft" in system.kernel.lower(),
        container=_in_container(system),
        translated=_under_rosetta(system),
        administrator=system.administrator,
        cpu_flags=tuple(flags.group(1).split()) if flags else (),
        macos=system.macos,
        encoding=system.encoding,
    )


def _in_container(system):
    marks = ("run/.containerenv", ".dockerenv")
    return system.platform == "linux" and any((system.root / mark).exists() for mark in marks)


def _under_rosetta(system):
    if (system.platform, system.machine) != ("darwin", "x86_64"):
        return False
    asked = system.run(["sysctl", "-n", "sysctl.proc_translated"], QUESTION_LIMIT)
    return asked.out.strip() == "1"


def python(system, known):
    """Describe the interpreter."""
    return Python(
        version=tuple(system.version),
        bits=64 if system.maxsize > 2**32 else 32,
        free_threaded=system.free_threaded,
        executable=system.executable,
        prefix=system.prefix,
        base_prefix=system.base_prefix,
        conda=(Path(system.prefix) / "conda-meta").is_dir(),
        implementation=system.implementation,
    )


def course(system, known):
    """Read what the course asks for from its own files, the one list of versions."""
    repository = places.repository()
    asked = re.search(r'requires-python\s*=\s*"([^"]*)"', read_text(repository / "pyproject.toml"))
    lines = re.findall(
        r"^([A-Za-z0-9_.-]+)\s*([<>=!~][^#;\n]*)", read_text(repository / "requirements.txt"), re.M
    )
    environment = repository / ".venv"
    return Course(
        repository=str(repository),
        python_range=asked.group(1) if asked else "",
        ranges={plain_name(name): ranges.strip() for name, ranges in lines},
        environment=str(environment) if (environment / "pyvenv.cfg").is_file() else None,
    )


def switches(system, known):
    """Return the environment variables that change how torch or Python behave."""
    return {key: value for key, value in sorted(system.environ.items()) if SWITCHES.match(key)}


def missing_preloads(system, known):
    """Return the libraries that LD_PRELOAD names and that are not there."""
    named = re.split(r"[\s:]+", system.environ.get("LD_PRELOAD", ""))
    return tuple(path for path in named if path.startswith("/") and not Path(path).exists())


def learners_files(system, known):
    """Return the files in the working folders that hide a module of the same name."""
    folders = {str(system.folder), str(places.my_work())}
    folders.update(p for p in system.environ.get("PYTHONPATH", "").split(os.pathsep) if p)
    return tuple(path for folder in sorted(folders) for path in shadows(folder))


def room(system, known):
    """Measure memory, shared memory and the disk under the caches."""
    folder = places.cache_root(system.environ, system.platform, system.home)
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return Room(
        memory=_memory(system),
        shared_memory=_size(system, system.root / "dev" / "shm"),
        disk_free=system.disk(str(folder)).free,
    )


def _memory(system):
    # a container may be allowed less than the machine has
    limit = system.read("sys/fs/cgroup/memory.max").strip()
    known = [int(limit)] if limit.isdigit() else []
    return min([*known, system.memory]) if system.memory else None


def _size(system, folder):
    if system.platform != "linux" or not folder.is_dir():
        return None
    return system.disk(str(folder)).total


def gpus(system, known):
    """Ask nvidia-smi for cards and driver, and the PCI bus for cards without a driver."""
    cards = _cards(system)
    program = _nvidia_smi(system)
    if not program:
        return Gpus("absent", cards=cards, amd=_amd(system))
    limit = FAST_LIMIT if known["fast"] else QUESTION_LIMIT
    banner = system.run([program], limit, system.environ)
    if banner.timed_out:
        return Gpus("hung", message=f"no answer within {limit} seconds", cards=cards)
    if not banner.worked:
        message = tail(banner.out + "\n" + banner.err, 2)
        return Gpus("failed", message=message or f"return code {banner.code}", cards=cards)
    cuda = re.search(r"CUDA[^:|\n]*Version\s*:\s*(\d+\.\d+)", banner.out)
    found = _query(system, program, limit)
    message = "" if found else "it named no card"
    return Gpus("answered", found, cuda.group(1) if cuda else "", message, cards)


def _nvidia_smi(system):
    on_path = system.which("nvidia-smi")
    wsl = Path("/usr/lib/wsl/lib/nvidia-smi")  # where WSL keeps its own, often not on PATH
    return on_path or (str(wsl) if "microsoft" in system.kernel.lower() and wsl.exists() else None)


def _query(system, program, limit):
    # an old driver does not know the third field
    for fields in ("name,driver_version,compute_cap", "name,driver_version"):
        command = [program, "--query-gpu=" + fields, "--format=csv,noheader"]
        ran = system.run(command, limit, system.environ)
        rows = [[cell.strip() for cell in line.split(",")] for line in ran.out.splitlines()]
        rows = [row for row in rows if len(row) == fields.count(",") + 1 and row[0]]
        if ran.worked and rows:
            return tuple(Gpu(*row) for row in rows)
    return ()


def _amd(system):
    # ROCm speaks to the card through this file, which belongs to a group of its own
    door = system.root / "dev" / "kfd"
    if system.platform != "linux" or not door.exists():
        return ""
    return "ready" if os.access(str(door), os.R_OK | os.W_OK) else "locked"


def _cards(system):
    devices = system.root / "sys" / "bus" / "pci" / "devices"
    makers = []
    for device in entries(devices) if system.platform == "linux" else []:
        kind = system.read("sys/bus/pci/devices", device, "class")
        if kind.startswith("0x03"):  # display controllers
            maker = system.read("sys/bus/pci/devices", device, "vendor").strip()
            makers.append(PCI_MAKERS.get(maker, maker))
    return tuple(makers)


def toolkit(system, known):
    """Read the version of nvcc, which only people who build extensions need."""
    home = system.environ.get("CUDA_HOME") or system.environ.get("CUDA_PATH") or ""
    program = system.which("nvcc")
    text = "" if not program else system.run([program, "--version"], QUESTION_LIMIT).out
    found = re.search(r"release (\d+\.\d+)", text)
    return Toolkit(found.group(1) if found else "", home, bool(home) and Path(home).is_dir())


# name in Facts, what to say while it runs (nothing for a quick one), probe
STEPS = (
    ("machine", "", machine),
    ("python", "", python),
    ("course", "", course),
    ("packages", "", probes_packages.packages),
    ("leftovers", "", probes_packages.leftovers),
    ("environment_files", "", probes_packages.environment_files),
    ("conda_packages", "", probes_packages.conda_packages),
    ("loaded", "", probes_packages.loaded),
    ("switches", "", switches),
    ("missing_preloads", "", missing_preloads),
    ("shadows", "", learners_files),
    ("compile_child", "", probes_compile.start_compile_trial),
    ("torch", "importing torch in a child process", probes_packages.torch),
    ("torch_again", "", probes_packages.torch_again),
    ("openmp_copies", "", probes_packages.openmp_copies),
    ("compiler", "compiling three lines of C++", probes_compile.compiler),
    ("headers", "", probes_compile.headers),
    ("openmp", "compiling three lines with OpenMP", probes_compile.openmp),
    ("cache", "trying the folder of compiled kernels", probes_compile.cache),
    ("room", "", room),
    ("gpus", "asking nvidia-smi", gpus),
    ("toolkit", "", toolkit),
    ("jupyter", "looking at Jupyter's kernels", jupyter),
    (
        "compile",
        "compiling a function with torch (the first time takes half a minute)",
        probes_compile.compile_trial,
    ),
)
