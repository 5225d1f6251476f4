"""Say where the course keeps its things on this machine.

Three programs must agree on these folders: ``course.py``, which runs before anything is
installed, the doctor, which runs when everything is broken, and the notebooks. So they stand
here, once, with nothing but the standard library.

Kind:    plumbing; no chapter explains it
Public:  cache_root, cache_setting, compile_cache, header_folder, in_the_way, my_work,
         repository, warm_folder
Imports: the standard library only; parses under Python 3.7
"""

import getpass
import os
import re
import sys
import tempfile
from pathlib import Path

__all__ = [
    "cache_root",
    "cache_setting",
    "compile_cache",
    "header_folder",
    "in_the_way",
    "my_work",
    "repository",
    "warm_folder",
]


def repository():
    # type: () -> Path
    """Return the folder that holds ``course.py``, ``lessons/`` and this package."""
    return Path(__file__).resolve().parents[1]


def my_work():
    # type: () -> Path
    """Return the folder in which the student works; git ignores it."""
    return repository() / "my_work"


def cache_root(environ=None, platform=sys.platform, home=None):
    # type: (...) -> Path
    """Return the folder for everything that can be made again.

    ``COURSE_CACHE`` overrides it, and then what ``cache_setting`` holds; otherwise it lies where
    each platform expects caches. A user without a home folder (a container) gets one below the
    repository.
    """
    environ = os.environ if environ is None else environ
    if environ.get("COURSE_CACHE"):
        return _named("COURSE_CACHE", environ)
    chosen = _chosen_for_this_project()
    if chosen:
        return Path(chosen)
    if platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "pytorch-course" / "Cache"
    if platform != "darwin" and environ.get("XDG_CACHE_HOME"):
        return Path(environ["XDG_CACHE_HOME"]) / "pytorch-course"
    try:
        home = Path.home() if home is None else Path(home)
    except RuntimeError:  # what pathlib raises where no home can be found
        return repository() / "_build" / "cache"
    if platform == "darwin":
        return home / "Library" / "Caches" / "pytorch-course"
    return home / ".cache" / "pytorch-course"


def cache_setting():
    # type: () -> Path
    """Return the file whose one line chooses the cache folder of this project, if it exists.

    ``doctor --repair`` writes it; git ignores it.
    """
    return repository() / ".course-cache"


def _named(variable, environ):
    # type: (str, ...) -> Path
    """Return the folder that a variable names; raise a sentence where ~ means nobody's home."""
    try:
        return Path(environ[variable]).expanduser().absolute()
    except RuntimeError:  # what pathlib raises for ~somebody whom this machine does not know
        told = variable + " is " + environ[variable] + ", and this machine knows no such user"
        raise RuntimeError(told + "; name a folder of your own") from None


def _chosen_for_this_project():
    # type: () -> str
    try:
        return cache_setting().read_text(encoding="utf-8").strip()
    except (OSError, ValueError):  # mostly: there is none
        return ""


def in_the_way(folder):
    # type: (Path) -> str
    """Return in a sentence why nothing can be laid into a folder, or nothing."""
    for place in [folder, *folder.parents]:
        try:
            if place.is_dir():
                return (
                    "" if os.access(str(place), os.W_OK) else str(place) + " is not yours to write"
                )
            if place.exists():
                return str(place) + " is a file, not a folder"
        except OSError as error:
            return str(place) + " cannot be looked at: " + str(error.strerror)
    return ""


def compile_cache(torch_version, capability, root=None):
    # type: (str, str, Path | None) -> Path
    """Return the folder in which TorchInductor keeps what it compiled.

    Inductor's own key leaves out the instruction set of the CPU: a cache filled at AVX512 and
    read at AVX2 gives wrong numbers without a word. So the folder's name holds it. And Inductor
    splits the compiler's command at blanks, so a folder below "Ada Lovelace" cannot be compiled
    into: then it lies where temporary files do.

    Args:
        torch_version: ``torch.__version__``, the build tag included.
        capability: ``torch.backends.cpu.get_cpu_capability()``, such as ``"AVX512"``.
        root: where caches lie; ``cache_root()`` when left out.

    >>> compile_cache("2.14.1+cpu", "AVX2", Path("caches")).name
    'torch-2.14.1+cpu-AVX2'
    """
    root = cache_root() if root is None else root
    if re.search(r"\s", str(root)):
        root = Path(tempfile.gettempdir(), "pytorch-course-" + re.sub(r"\W", "_", _user()))
    return root / "inductor" / f"torch-{torch_version}-{capability}".replace(" ", "_")


def warm_folder(environ=None, prefix=sys.prefix):
    # type: (...) -> Path
    """Return the folder of what was compiled ahead for all users of this Python.

    It lies in the environment: the paths of an environment are part of the name of everything
    compiled with it, and who may write there may change what its users run anyway.
    ``COURSE_WARM`` names another one.
    """
    environ = os.environ if environ is None else environ
    if environ.get("COURSE_WARM"):
        return _named("COURSE_WARM", environ)
    return Path(prefix) / "share" / "pytorch-course"


def header_folder(temporary=None, user=None):
    # type: (str | None, str | None) -> Path
    """Return where TorchInductor keeps torch's headers once they are translated.

    Whatever ``TORCHINDUCTOR_CACHE_DIR`` says, that is among the temporary files of each user.
    """
    temporary = tempfile.gettempdir() if temporary is None else temporary
    user = _user("uid_{}".format(getattr(os, "getuid", int)())) if user is None else user
    owner = re.sub(r'[\\/:*?"<>|]', "_", user)
    return Path(temporary, "torchinductor_" + owner, "precompiled_headers")


def _user(nameless="user"):
    # type: (str) -> str
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container may give its user no name
        return nameless
