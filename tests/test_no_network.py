"""Neither a unit test nor a notebook under nbval reaches the network, by whatever way it tries.

192.0.2.1 and example.org are set aside for documentation: nothing answers there.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import nbformat
import pytest

from tests.offline import no_network

ROOT = Path(__file__).resolve().parents[1]


def test_another_host_is_refused():
    with pytest.raises(AssertionError, match=r"reached for the network: 192\.0\.2\.1"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)

    with socket.socket() as client, pytest.raises(AssertionError, match="network"):
        client.connect_ex(("192.0.2.1", 80))


def test_a_datagram_is_refused():
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
        pytest.raises(AssertionError, match=r"reached for the network: 192\.0\.2\.1"),
    ):
        client.sendto(b"hello", ("192.0.2.1", 80))


@pytest.mark.parametrize(
    "look_up", [socket.gethostbyname, lambda name: socket.getaddrinfo(name, 80)]
)
@pytest.mark.parametrize("name", ["example.org", b"example.org"])
def test_a_name_is_not_even_looked_up(look_up, name):
    with pytest.raises(AssertionError, match=r"reached for the network: example\.org$"):
        look_up(name)


def test_a_download_is_refused_by_name():
    with pytest.raises(AssertionError, match=r"reached for the network: example\.org"):
        urllib.request.urlopen("http://example.org", timeout=1)


def test_this_machine_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname(), timeout=1) as client:
            assert client.getpeername() == server.getsockname()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.1.1", "::1", "", None, b"::"])
def test_these_are_this_machine(host):
    assert no_network.is_local(host)


@pytest.mark.parametrize(
    "host", ["example.org", "128.0.0.1", "127.example.org", "1.127.0.0.1", b"x"]
)
def test_these_are_not(host):
    assert not no_network.is_local(host)


# notebooks under nbval

ASKS = """
import socket

try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
except OSError:  # a program that expects a bad network
    pass
"""
ANSWERED_HERE = """
import socket

with socket.create_server(("127.0.0.1", 0)) as server:
    address = server.getsockname()
    socket.create_connection(address, timeout=60).close()
"""
# what a process that this cell starts ends with
CHILD = """
import subprocess
import sys

call = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)"
ran = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
assert "reached for the network: 192.0.2.1" in ran.stderr, ran.stderr
"""
WORKER = """
import multiprocessing
import socket

with multiprocessing.get_context("{method}").Pool(1) as pool:
    pool.apply(socket.getaddrinfo, ("example.org", 80))
"""


def run_under_nbval(folder: Path, code: str, **environ: str) -> subprocess.CompletedProcess:
    """Run one cell as ``course.py test`` runs the notebooks."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code, execution_count=1)])
    nbformat.write(notebook, folder / "asks.ipynb")
    flags = ["--nbval", "--nbval-current-env", "-p", "no:cacheprovider", "-p", "conftest"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *flags, "asks.ipynb"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
    )


def test_a_notebook_that_reaches_for_the_network_fails_and_names_the_host(tmp_path):
    ran = run_under_nbval(tmp_path, ASKS)

    assert ran.returncode == 1
    assert "reached for the network: 192.0.2.1" in ran.stdout


def test_a_notebook_may_talk_to_its_own_machine(tmp_path):
    ran = run_under_nbval(tmp_path, ANSWERED_HERE)

    assert ran.returncode == 0, ran.stdout


def test_a_process_that_a_notebook_starts_is_kept_off_the_network_too(tmp_path):
    ran = run_under_nbval(tmp_path, CHILD)

    assert ran.returncode == 0, ran.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has spawn only, and no fork")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_every_kind_are_kept_off_the_network(tmp_path, method):
    ran = run_under_nbval(tmp_path, WORKER.format(method=method))

    assert ran.returncode == 1
    assert "reached for the network: example.org" in ran.stdout


def test_an_environments_own_sitecustomize_still_runs(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('mine')")
    paths = os.pathsep.join([str(no_network.FOLDER), str(tmp_path)])

    ran = subprocess.run(
        [sys.executable, "-c", "import socket; socket.getaddrinfo('example.org', 80)"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )

    assert ran.stdout == "mine\n"
    assert re.search(r"AssertionError: .* example\.org$", ran.stderr.strip())
