"""Refuse every connection and every look-up of a name that would leave this machine.

A test or a lesson that needs the network fails in a train, and one that reaches for it without
needing it fails there too, later and with a message about something else. Python reports what it
does with sockets to audit hooks, whichever library asks, so one hook sees all of it. An audit hook
cannot be taken out again: what is under test cannot switch it off.

``tests/conftest.py`` installs it for the unit tests. Notebooks run in processes of their own, which
start others in turn (data loading workers, ``torchrun``): those find ``sitecustomize.py`` beside
this file on their PYTHONPATH, put there by the conftest.py at the top.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

__all__ = ["FOLDER", "install", "is_local"]

FOLDER = Path(__file__).parent
LOOK_UPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
SENDS = {"socket.connect", "socket.sendto", "socket.sendmsg"}


def install() -> None:
    """Watch this process from now on."""
    sys.addaudithook(_refuse_to_leave)


def is_local(host: str | bytes | None) -> bool:
    """Say whether a host is this machine, without asking anybody.

    >>> is_local("127.0.1.1"), is_local("localhost"), is_local("127.example.org")
    (True, True, False)
    """
    name = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else host
    if name in (None, "", "localhost", "0.0.0.0", "::", "::1") or name == socket.gethostname():
        return True
    parts = str(name).split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isdigit() for part in parts)


def _refuse_to_leave(event: str, args: tuple) -> None:
    if event in LOOK_UPS:
        host = args[0]
    elif event in SENDS and args[0].family in (socket.AF_INET, socket.AF_INET6) and args[1]:
        host = args[1][0]
    else:
        return
    if not is_local(host):
        # no OSError, which a program that expects a bad network would catch
        raise AssertionError(f"a test reached for the network: {_shown(host)}")


def _shown(host: str | bytes) -> str:
    return host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
