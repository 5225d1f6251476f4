"""Show on one line what pip is doing, in place of the five hundred lines that it would print.

pip's whole output goes to a log file. If it fails, the reason is read from there.
"""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path  # noqa: F401 (read by the type comments)

from launcher.shell import ROOT, say

PATIENCE = 0.5  # seconds between two looks at the log
QUIET_PATIENCE = 15  # the same where the output is a file and each look would be a line

AGAIN = "and run the same command again"
REASONS = (  # the first that pip's output holds
    (r"No space left on device|Errno 28\b", f"the disk is full; make room {AGAIN}."),
    (
        r"NewConnectionError|name resolution|getaddrinfo failed|ConnectTimeout|ProxyError",
        f"no package index answers; connect this machine to the network {AGAIN}.",
    ),
    (
        r"externally-managed-environment",
        "this Python belongs to the system; leave out --here, or use an environment of your own.",
    ),
    (r"Permission denied|Errno 13\b", "a folder cannot be written to; leave out --here."),
    (r"from versions: none", f"the package index has nothing for this Python; look at it {AGAIN}."),
)


def watch(command, log):
    # type: (list[str], Path) -> int
    """Run pip, show its progress, and return its exit code."""
    log.parent.mkdir(parents=True, exist_ok=True)
    started, line = time.monotonic(), ""
    shown = started
    with log.open("wb") as output:
        pip = subprocess.Popen(command, cwd=str(ROOT), stdout=output, stderr=subprocess.STDOUT)
    try:
        while pip.poll() is None:
            time.sleep(0.1)
            now = time.monotonic()
            if now - shown > (PATIENCE if sys.stdout.isatty() else QUIET_PATIENCE):
                shown = now
                line = f"{now - started:5.0f} s  {status(log.read_text('utf-8', 'replace'))}"
                rewrite(line)
    finally:
        if pip.poll() is None:
            pip.terminate()  # pip must not go on behind the back of a program that ended
            pip.wait()
        if line and sys.stdout.isatty():
            rewrite("")
    return pip.returncode


def status(output):
    # type: (str) -> str
    """Say in a few words what pip's output tells.

    >>> status("Collecting torch==2.14.1\\n  Downloading torch-2.14.1-cp311.whl (555.0 MB)\\n")
    '1 package found, fetching torch (555.0 MB)'
    """
    installing = re.search(r"^Installing collected packages: (.*)", output, re.M)
    if installing:
        return f"installing {count(len(installing.group(1).split(',')))}"
    found = set(
        re.findall(r"^(?:Collecting|Requirement already satisfied:) ([\w-]+)", output, re.M)
    )
    fetched = re.findall(r"Downloading (?:\S*/)?([^-/\s]+)-\S+ (\(.*\))", output)
    words = f"{count(len(found))} found"
    return f"{words}, fetching {' '.join(fetched[-1])}" if fetched else words


def explain(output):
    # type: (str) -> str
    """Say what pip's output tells about its failure, and what to do; the end of it if unknown.

    >>> explain("OSError: [Errno 28] No space left on device")
    'the disk is full; make room and run the same command again.'
    """
    for pattern, sentence in REASONS:
        if re.search(pattern, output):
            return sentence
    end = "\n    ".join(output.splitlines()[-12:])
    return f"this is the end of what it printed:\n    {end}"


def count(number):
    # type: (int) -> str
    """Return ``1 package`` or ``7 packages``."""
    return f"{number} package" if number == 1 else f"{number} packages"


def rewrite(line):
    # type: (str) -> None
    """Print a line over the one before it, on a terminal; below it, in a file."""
    if not sys.stdout.isatty():
        return say(line)
    width = shutil.get_terminal_size().columns - 1
    print("\r" + line[:width].ljust(width) + ("" if line else "\r"), end="", flush=True)
