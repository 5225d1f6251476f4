"""Keep the unit tests off the network, and give each the same random numbers in any order.

A test that needs the network would fail in a train; one that draws its numbers after whatever ran
before it in the same process fails once in fifty runs, and nobody can say why.

What is here does not reach notebooks; the conftest.py above sees to those.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator

import pytest

from tests.offline import no_network

no_network.install()  # for all tests of this process, and from the first import on


@pytest.fixture(autouse=True)
def the_same_random_numbers() -> None:
    """Seed what is loaded; ``TEST_SEED=7`` tries other numbers, to find a test that is lucky."""
    seed = int(os.environ.get("TEST_SEED", "0"))
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


@pytest.fixture(autouse=True)
def pip_stays_outside() -> Iterator[None]:
    """Refuse a test that imports pip, after which no test in this process could compile.

    Setuptools steps back for pip, and later refuses to be imported, which ``torch.compile`` does.
    Where pip lies, ``importlib.metadata.distribution("pip").locate_file("pip")`` tells as well.
    """
    yield
    assert "pip" not in sys.modules, "this test imported pip; run it in a process of its own"
