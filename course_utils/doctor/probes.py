"""Ask one question each about this machine.

A probe takes the ``System`` and what the probes before it found out, and returns one record of
``facts``. It may raise: ``facts.gather`` writes down what happened and goes on. ``STEPS`` at the
end lists them in the order in which they are asked.

Kind:    plumbing
Public:  STEPS
Imports: children, facts, jupyter, places and the standard library
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from course_utils import places
from course_utils.doctor import children
from course_utils.doctor.facts import (
    CacheFolder,
    Compiled,
    Copy,
    Course,
    Gpu,
    Gpus,
    Headers,
    Import,
    Machine,
    Python,
    Room,
    Toolkit,
    Trial,
)
from course_utils.doctor.jupyter import jupyter
from course_utils.doctor.shadows import shadows

__all__ = ["STEPS"]

PACKAGES = (
    "torch",
    "torchvision",
    "triton",
    "numpy",
    "ipykernel",
    "jupyterlab",
    "ipywidgets",
    "jupyterlab_widgets",
    "anywidget",
)
# what puts foreign libraries or foreign packages before torch's own
PATH_VARIABLES = (
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "DYLD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "PYTHONPATH",
)
SWITCHES = re.compile(
    r"TORCH|PYTORCH_|.*INDUCTOR|TRITON|OMP_|MKL_|KMP_|GOMP_|LD_|DYLD_|CUDA_|HIP_|ROCR_|ATEN_"
    r"|PYTHON(PATH|NOUSERSITE|HOME|USERBASE|OPTIMIZE)$|CXX$|CC$|COURSE_"
)
PCI_MAKERS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}

# time limits in seconds: generous for a slow disk, short enough for a person who waits
IMPORT_LIMIT, COMPILE_LIMIT, BUILD_LIMIT, QUESTION_LIMIT = 60, 120, 30, 10


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
    )


def course(system, known):
    """Read what the course asks for from its own files, the one list of versions."""
    repository = places.repository()
    asked = re.search(r'requires-python\s*=\s*"([^"]*)"', _text(repository / "pyproject.toml"))
    lines = re.findall(
        r"^([A-Za-z0-9_.-]+)\s*([<>=!~][^#;\n]*)", _text(repository / "requirements.txt"), re.M
    )
    environment = repository / ".venv"
    return Course(
        repository=str(repository),
        python_range=asked.group(1) if asked else "",
        ranges={_normal(name): ranges.strip() for name, ranges in lines},
        environment=str(environment) if (environment / "pyvenv.cfg").is_file() else None,
    )


def _text(path):
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _normal(name):
    return re.sub(r"[-_.]+", "_", name).lower()


def packages(system, known):
    """Find every installed copy of the packages that matter, in the order of ``sys.path``."""
    found = {name: [] for name in PACKAGES}
    for folder in _path_folders(system):
        for entry in _entries(folder):
            named = re.match(r"(.+?)-(\d[^-]*)(?:-.*)?\.(?:dist|egg)-info$", entry)
            if named and _normal(named.group(1)) in found:
                version = _metadata_version(folder / entry) or named.group(2)
                found[_normal(named.group(1))].append(Copy(version, str(folder)))
    return {name: tuple(copies) for name, copies in found.items()}


def leftovers(system, known):
    """Find what an interrupted ``pip`` left behind: folders whose first letter became a tilde."""
    return tuple(
        str(folder / entry)
        for folder in _path_folders(system)
        for entry in _entries(folder)
        if entry.startswith(("~orch", "~umpy"))
    )


def _path_folders(system):
    seen = {}
    for entry in system.path:
        folder = Path(entry or system.folder)
        seen.setdefault(os.path.realpath(str(folder)), folder)
    return [folder for folder in seen.values() if folder.is_dir()]


def _entries(folder):
    try:
        return sorted(os.listdir(str(folder)))
    except OSError:
        return []


def _metadata_version(info):
    found = re.search(r"^Version:\s*(\S+)", _text_start(info / "METADATA"), re.MULTILINE)
    return found.group(1) if found else ""


def _text_start(path):
    try:
        with open(str(path), encoding="utf-8", errors="replace") as file:
            return file.read(2000)
    except OSError:
        return ""


def environment_files(system, known):
    """Read the ``environment.yml`` of the working folder and of the course."""
    folders = (system.folder, places.repository())
    files = [folder / ("environment" + end) for folder in folders for end in (".yml", ".yaml")]
    return {str(file): _text(file) for file in files if file.is_file()}


def conda_packages(system, known):
    """List conda's own packages of torch, which pip's torch does not replace cleanly."""
    entries = _entries(Path(system.prefix) / "conda-meta")
    return tuple(
        e[:-5] for e in entries if re.match(r"(pytorch|torchvision|pytorch-cuda)-.*json$", e)
    )


def loaded(system, known):
    """Return the versions of the packages that this process has already imported."""
    return dict(system.loaded)


def switches(system, known):
    """Return the environment variables that change how torch or Python behave."""
    return {key: value for key, value in sorted(system.environ.items()) if SWITCHES.match(key)}


def learners_files(system, known):
    """Return the files in the working folders that hide a module of the same name."""
    folders = {str(system.folder), str(places.my_work())}
    folders.update(p for p in system.environ.get("PYTHONPATH", "").split(os.pathsep) if p)
    return tuple(path for folder in sorted(folders) for path in shadows(folder))


def torch_and_torchvision(system, known):
    """Import torch and, unless ``--fast``, torchvision in one child process."""
    if not _is_there(system, known, "torch"):
        return None, None
    names = ["torch"]
    if not known["fast"] and _is_there(system, known, "torchvision"):
        names.append("torchvision")
    ran = system.run(
        [system.executable, "-c", children.IMPORTS, *names], IMPORT_LIMIT, system.environ
    )
    said = {answer.get("package"): answer for answer in children.answers(ran.out)}
    first = _import(ran, said.get("torch"))
    second = _import(ran, said.get("torchvision")) if len(names) == 2 and first.said else None
    if first.said and len(names) == 2:  # the code and the words are then torchvision's
        first = Import(0, said=first.said)
    return first, second


def _is_there(system, known, name):
    if known.get("packages", {}).get(name):
        return True
    # a package may lie on the path without metadata, copied or half removed
    return any(
        (folder / name).is_dir() or (folder / (name + ".py")).is_file()
        for folder in _path_folders(system)
    )


def _import(ran, said):
    error = "" if ran.worked and said else _tail(ran.err)
    return Import(ran.code, error, ran.timed_out, said or {})


def _tail(text, lines=12):
    return "\n".join(line.rstrip() for line in text.strip().splitlines()[-lines:])


def torch(system, known):
    """Import torch in a child process; keep torchvision's answer for the next probe."""
    first, known["torchvision"] = torch_and_torchvision(system, known)
    return first


def torch_again(system, known):
    """Import a torch that failed once more without each thing that may have come in its way."""
    first = known.get("torch")
    if first is None or first.worked or first.timed_out:
        return {}
    tries = {
        name: (system.without(name), None) for name in PATH_VARIABLES if system.environ.get(name)
    }
    if known.get("shadows"):
        tries["folder"] = (system.environ, system.prefix)
    command = [system.executable, "-c", children.IMPORTS, "torch"]
    found = {}
    for name, (environ, folder) in tries.items():
        ran = system.run(command, IMPORT_LIMIT, environ, folder)
        answers = children.answers(ran.out)
        found[name] = _import(ran, answers[0] if answers else None)
    return found


def openmp_copies(system, known):
    """List the OpenMP libraries of which two in one process abort it."""
    prefix = Path(system.prefix)
    torch_folders = [
        Path(copy.folder) / "torch" for copy in known.get("packages", {}).get("torch", ())
    ]
    folders = [prefix / "Library" / "bin", prefix / "lib"] + [f / "lib" for f in torch_folders[:1]]
    found = {}
    for folder in folders:
        for entry in _entries(folder):
            if re.match(r"lib(iomp5|omp)(md)?\.(dll|so|dylib)", entry):
                # within a folder the names are links to one library
                found.setdefault(os.path.realpath(str(folder)), str(folder / entry))
    return tuple(found.values())


def compiler(system, known):
    """Compile three lines with the compiler that Inductor will take."""
    if _no_need_to_compile(known):
        return None
    return _build(system, children.CPP, openmp=False)


def openmp(system, known):
    """Compile three lines that use OpenMP, as every CPU kernel does."""
    first = known.get("compiler")
    if first is None or not first.works:
        return None
    return _build(system, children.OPENMP, openmp=True)


def _no_need_to_compile(known):
    return known["fast"] and known.get("torch") is None


def _build(system, source, openmp, target=None):
    command, chosen_by = _compiler_command(system)
    name = " ".join(command)
    others = tuple(c for c in ("g++", "clang++") if c != name and system.which(c))
    if not system.which(command[0]):
        return Trial(name, found=False, works=False, chosen_by=chosen_by, others=others)
    with _temporary_folder() as folder:
        code = folder / "trial.cpp"
        code.write_text(source, encoding="utf-8")
        target = target or folder / "trial.so"
        ran = system.run(
            command + _options(system, openmp, code, target),
            BUILD_LIMIT,
            system.environ,
            str(folder),
        )
        works = ran.worked and target.is_file()
    said = "" if works else _tail(ran.err + "\n" + ran.out) or "it ran and built nothing"
    if ran.timed_out:
        said = f"it did not finish within {BUILD_LIMIT} seconds\n{said}"
    return Trial(name, found=True, works=works, output=said, chosen_by=chosen_by, others=others)


def _compiler_command(system):
    asked = system.environ.get("CXX", "").strip()
    if asked:
        whole_is_a_path = system.which(asked) is not None
        return ([asked] if whole_is_a_path else asked.split()), "CXX"
    return [{"darwin": "clang++", "win32": "cl"}.get(system.platform, "g++")], ""


def _options(system, openmp, code, target):
    if system.platform == "win32":
        return ["/nologo", "/LD"] + ["/openmp"] * openmp + [str(code), "/Fe:" + str(target)]
    flags = ["-fopenmp"]
    if system.platform == "darwin":
        flags = ["-Xclang", "-fopenmp", *_openmp_of_the_mac(system), "-lomp"]
    return ["-shared", "-fPIC", str(code), "-o", str(target)] + (flags if openmp else [])


def _openmp_of_the_mac(system):
    # Apple's clang brings no OpenMP; torch looks in these places too
    places_to_look = [system.environ.get("OMP_PREFIX"), system.environ.get("CONDA_PREFIX")]
    places_to_look += ["/opt/homebrew/opt/libomp", "/usr/local/opt/libomp"]
    for place in places_to_look:
        if place and (Path(place) / "include" / "omp.h").is_file():
            return ["-I" + place + "/include", "-L" + place + "/lib"]
    return []


def _temporary_folder():
    import tempfile  # here, for it imports random, which a learner's file may hide

    class Folder(tempfile.TemporaryDirectory):
        def __enter__(self):
            return Path(super().__enter__())

    return Folder(prefix="course-doctor-")


def headers(system, known):
    """Look for ``Python.h``, which the wrapper of every compiled kernel includes."""
    return Headers(system.include, (Path(system.include) / "Python.h").is_file())


def cache(system, known):
    """Make the folder of compiled kernels, write in it, and load a library from it."""
    path, chosen = _cache_path(system, known)
    if path is None:
        return None
    failed_at, error = _try_to_write(path)
    loaded = None
    if not failed_at and known.get("compiler") and known["compiler"].works:
        failed_at, error = _try_to_load(system, path)
        loaded = not failed_at
    return CacheFolder(str(path), chosen, failed_at, error, _owner(path), loaded)


def _cache_path(system, known):
    chosen = system.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if chosen:
        return Path(chosen), True
    torch = known.get("torch")
    if torch is None or not torch.said:
        return None, False
    said = torch.said
    root = places.cache_root(system.environ, system.platform, system.home)
    return places.compile_cache(said.get("version"), said.get("capability"), root), False


def _try_to_write(path):
    stage = "make"
    try:
        path.mkdir(parents=True, exist_ok=True)
        stage = "write"
        file = path / f"course-doctor-{os.getpid()}.txt"
        file.write_text("written by the doctor\n", encoding="utf-8")
        file.unlink()
    except OSError as error:
        return stage, str(error)
    return "", ""


def _try_to_load(system, path):
    library = path / f"course-doctor-{os.getpid()}.so"
    try:
        built = _build(system, children.CPP, openmp=False, target=library)
        if not built.works:
            return "load", built.output
        ran = system.run([system.executable, "-c", children.LOAD, library], QUESTION_LIMIT)
        return ("", "") if ran.worked else ("load", _tail(ran.err, 1))
    finally:
        if library.exists():
            library.unlink()


def _owner(path):
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return path.owner()
    except (NotImplementedError, KeyError, OSError):
        return ""


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
        return Gpus("absent", cards=cards)
    limit = 3 if known["fast"] else QUESTION_LIMIT
    banner = system.run([program], limit, system.environ)
    if banner.timed_out:
        return Gpus("hung", message=f"no answer within {limit} seconds", cards=cards)
    if not banner.worked:
        message = _tail(banner.out + "\n" + banner.err, 2)
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


def _cards(system):
    devices = system.root / "sys" / "bus" / "pci" / "devices"
    makers = []
    for device in _entries(devices) if system.platform == "linux" else []:
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


def compile_trial(system, known):
    """Compile one function forward and backward for real and compare it with eager."""
    torch, folder = known.get("torch"), known.get("cache")
    if known["fast"] or torch is None or not torch.worked:
        return None
    environ = dict(system.environ)
    if folder is not None:
        environ["TORCHINDUCTOR_CACHE_DIR"] = folder.path
    ran = system.run([system.executable, "-c", children.COMPILE], COMPILE_LIMIT, environ)
    said = (children.answers(ran.out) or [{}])[0]
    return Compiled(
        code=ran.code,
        compiled=said.get("compiled"),
        difference=said.get("difference"),
        error=said.get("error", "") if said else _tail(ran.err),
        timed_out=ran.timed_out,
        fallback=said.get("fallback"),
        seconds=said.get("seconds"),
    )


# name in Facts, what to say while it runs (nothing for a quick one), probe
STEPS = (
    ("machine", "", machine),
    ("python", "", python),
    ("course", "", course),
    ("packages", "", packages),
    ("leftovers", "", leftovers),
    ("environment_files", "", environment_files),
    ("conda_packages", "", conda_packages),
    ("loaded", "", loaded),
    ("switches", "", switches),
    ("shadows", "", learners_files),
    ("torch", "importing torch in a child process", torch),
    ("torch_again", "", torch_again),
    ("openmp_copies", "", openmp_copies),
    ("compiler", "compiling three lines of C++", compiler),
    ("headers", "", headers),
    ("openmp", "compiling three lines with OpenMP", openmp),
    ("cache", "trying the folder of compiled kernels", cache),
    ("room", "", room),
    ("gpus", "asking nvidia-smi", gpus),
    ("toolkit", "", toolkit),
    ("jupyter", "looking at Jupyter's kernels", jupyter),
    (
        "compile",
        "compiling a function with torch (the first time takes half a minute)",
        compile_trial,
    ),
)
