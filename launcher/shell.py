"""Run programs, write files whole, and stop with a sentence: what the launcher's parts share."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from course_utils import places

ROOT = places.repository()
ENVIRONMENT = ROOT / ".venv"
PATIENCE = 3  # seconds in which a child may put its things away


class Stop(Exception):
    """Ends the program with one sentence that says what to do, and an exit code."""

    def __init__(self, sentence, code=2):
        """Take the code 2 for a machine that will not do, 1 for a step that failed."""
        super().__init__(sentence)
        self.code = code


def stop_if(sentence):
    # type: (str | None) -> None
    """Stop with this sentence if there is one."""
    if sentence:
        raise Stop(sentence)


def say(sentence):
    # type: (str) -> None
    """Print at once, so that our lines stand between those of the programs that we start."""
    print(sentence, flush=True)


def call(command, environ=None):
    # type: (list[str], dict | None) -> int
    """Run a command in the course's folder and return its exit code; let it end in order."""
    child = subprocess.Popen(command, cwd=str(ROOT), env=environ)
    try:
        return child.wait()
    except KeyboardInterrupt:
        end(child)
        raise


def end(child):
    # type: (subprocess.Popen) -> None
    """Wait until a child has put its things away; subprocess.call would kill it at once.

    Ctrl-C reached it, too. Where only this program was told to end, the child is told now.
    """
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.terminate()
        child.wait()


def answers(command, environ=None):
    # type: (list[str], dict | None) -> bool
    """Run a command silently and say whether it succeeded within a minute."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        return subprocess.run(command, env=environ, timeout=60, **quiet).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def serve(command, folder, environ):
    # type: (list[str], Path, dict) -> int
    """Run a server until it ends and return its exit code; Ctrl-C is the server's to answer."""
    server = subprocess.Popen(command, cwd=str(folder), env=environ)
    signal.signal(signal.SIGTERM, lambda *_: server.terminate())
    while True:
        try:
            return server.wait()
        except KeyboardInterrupt:
            pass  # the server got it too, and asks or ends


def advice():
    # type: () -> str
    """Return what to do after a step failed, as far as the machine shows it."""
    for folder in (str(ROOT), tempfile.gettempdir()):
        if free_gigabytes(folder) < 0.5:
            return f"the disk of {folder} is full: make room and run the same command again."
    return (
        "its last lines say why. Without a network nothing can be fetched: connect this machine"
        " and run the same command again; it goes on from here."
    )


def free_gigabytes(folder):
    # type: (...) -> float
    """Return the free space of the disk that holds a folder."""
    return shutil.disk_usage(str(folder)).free / 1e9


def size_gigabytes(folder):
    # type: (Path) -> float
    """Return what a folder holds; 0 for one that does not exist."""
    files = (Path(at, name) for at, _, names in os.walk(str(folder)) for name in names)
    return sum(path.lstat().st_size for path in files) / 1e9


def digest(content):
    # type: (bytes) -> str
    """Return a short hash."""
    return hashlib.sha256(content).hexdigest()[:16]


def read_record(path):
    # type: (Path) -> dict
    """Return a JSON file's content; an empty record where it is missing or not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def write_whole(path, content):
    # type: (Path, bytes) -> None
    """Write a whole file or nothing, even if the program is killed meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(str(part), str(path))


def remove(path):
    # type: (Path) -> None
    """Delete a file or a folder; a link is deleted and not what it points to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(str(path))
    else:
        path.unlink()
