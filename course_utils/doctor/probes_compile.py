"""Try what torch.compile needs: compiler, headers, OpenMP, cache folder, and then itself.

Whether a program called g++ exists says little; whether it compiles three lines says enough.

Kind:    plumbing; part of probes
Public:  cache, compile_trial, compiler, folder_works, headers, openmp, start_compile_trial
Imports: children, facts, looking, places, probes_packages and the standard library
"""

from __future__ import annotations

import os
from pathlib import Path

from course_utils import places
from course_utils.doctor import children
from course_utils.doctor.facts import CacheFolder, Compiled, Headers, Trial
from course_utils.doctor.looking import tail
from course_utils.doctor.probes_packages import is_there

__all__ = [
    "cache",
    "compile_trial",
    "compiler",
    "folder_works",
    "headers",
    "openmp",
    "start_compile_trial",
]

# seconds: the first compilation on a cold cache takes half a minute, on a busy machine far more
COMPILE_LIMIT, BUILD_LIMIT, LOAD_LIMIT = 180, 30, 10


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
    said = "" if works else tail(ran.err + "\n" + ran.out) or "it ran and built nothing"
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
    owner, mode = _owner_and_mode(path)
    return CacheFolder(str(path), chosen, failed_at, error, owner, mode, loaded)


def folder_works(system, path: Path) -> bool:
    """Say whether a folder can be written to and a library built in it can be loaded."""
    return not _try_to_write(path)[0] and not _try_to_load(system, path)[0]


def _cache_path(system, known):
    """Return the folder, and whether the reader chose it in place of the course's own."""
    own = _own_cache_path(system, known)
    asked = system.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if asked:  # in a notebook runtime.start has set it, to the course's own
        return Path(asked), own is None or Path(asked) != own
    return own, False


def _own_cache_path(system, known):
    torch = known.get("torch")
    said = torch.said if torch is not None else {}
    if not isinstance(said.get("capability"), str):  # torch did not say on what it computes
        return None
    root = places.cache_root(system.environ, system.platform, system.home)
    return places.compile_cache(said.get("version"), said["capability"], root)


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
        ran = system.run([system.executable, "-c", children.LOAD, library], LOAD_LIMIT)
        return ("", "") if ran.worked else ("load", tail(ran.err, 1))
    finally:
        if library.exists():
            library.unlink()


def _owner_and_mode(path):
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return path.owner(), oct(path.stat().st_mode)[-3:]
    except (NotImplementedError, KeyError, OSError):  # Windows, or a user without a name
        return "", ""


def start_compile_trial(system, known):
    """Start the trial of torch.compile, so that it runs beside the other questions.

    It takes most of the doctor's time. Where the cache folder lies depends on what torch says of
    itself, so the child fills in the two words that are not known yet.
    """
    if known["fast"] or system.start is None or not is_there(system, known, "torch"):
        return None
    command = [system.executable, "-c", children.COMPILE]
    if not system.environ.get("TORCHINDUCTOR_CACHE_DIR"):
        root = places.cache_root(system.environ, system.platform, system.home)
        command.append(str(places.compile_cache("{torch}", "{capability}", root)))
    return system.start(command, system.environ)


def compile_trial(system, known):
    """Compile one function forward and backward for real and compare it with eager."""
    torch, folder, child = known.get("torch"), known.get("cache"), known.get("compile_child")
    if known["fast"] or torch is None or not torch.worked:
        return None
    environ = dict(system.environ)
    if folder is not None:
        environ["TORCHINDUCTOR_CACHE_DIR"] = folder.path
    if child is not None:
        ran = child.wait(COMPILE_LIMIT)
    else:
        ran = system.run([system.executable, "-c", children.COMPILE], COMPILE_LIMIT, environ)
    said = (children.answers(ran.out) or [{}])[0]
    return Compiled(
        code=ran.code,
        compiled=said.get("compiled"),
        difference=said.get("difference"),
        error=said.get("error", "") if said else tail(ran.err),
        timed_out=ran.timed_out,
        fallback=said.get("fallback"),
        modules=tuple(said.get("modules", ())),
        seconds=said.get("seconds"),
    )
