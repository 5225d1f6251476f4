"""The unit tests cannot reach the network, by whatever way they try."""

from __future__ import annotations

import socket
import urllib.request

import pytest


def test_another_host_is_refused():
    with pytest.raises(AssertionError, match=r"reached for the network: 192\.0\.2\.1"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)

    with socket.socket() as client, pytest.raises(AssertionError, match="network"):
        client.connect_ex(("192.0.2.1", 80))


def test_a_name_is_not_even_looked_up():
    with pytest.raises(AssertionError, match=r"reached for the network: example\.org"):
        urllib.request.urlopen("http://example.org", timeout=1)


def test_this_machine_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname(), timeout=1) as client:
            assert client.getpeername() == server.getsockname()
