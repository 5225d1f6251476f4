"""Keep the unit tests off the network, and give each the same random numbers in any order.

A test that needs the network would fail in a train; one that draws its numbers after whatever ran
before it in the same process fails once in fifty runs, and nobody can say why.

Fixtures of this folder do not reach notebooks; what those need stands in the conftest.py above.
"""

from __future__ import annotations

import os
import random
import socket
import sys
from collections.abc import Callable

import pytest

LOCAL = {"localhost", "127.0.0.1", "::1", "0.0.0.0", "", None}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection and every look-up that would leave this machine."""
    monkeypatch.setattr(socket.socket, "connect", _local_only(socket.socket.connect))
    monkeypatch.setattr(socket.socket, "connect_ex", _local_only(socket.socket.connect_ex))
    look_up = socket.getaddrinfo

    def getaddrinfo(host: str | bytes | None, *args: object, **kwargs: object) -> list:
        _refuse_unless_local(host)
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture(autouse=True)
def the_same_random_numbers() -> None:
    """Seed what is loaded; ``TEST_SEED=7`` tries other numbers, to find a test that is lucky."""
    seed = int(os.environ.get("TEST_SEED", "0"))
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def _local_only(connect: Callable) -> Callable:
    def guarded(self: socket.socket, address: object) -> object:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _refuse_unless_local(address[0])
        return connect(self, address)

    return guarded


def _refuse_unless_local(host: str | bytes | None) -> None:
    name = host.decode() if isinstance(host, bytes) else host
    if name not in LOCAL:
        raise AssertionError(f"a unit test reached for the network: {name}")
