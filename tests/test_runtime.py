"""runtime.start leaves every notebook with the same seeds, device, cache and silence."""

import logging
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from course_utils import places, runtime


@pytest.fixture(autouse=True)
def nothing_leaks(monkeypatch):
    """start sets variables and warning filters; every test gets its own."""
    for name in ("COURSE_DEVICE", "COURSE_STRICT", "TORCHINDUCTOR_CACHE_DIR", "KINETO_LOG_LEVEL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    with warnings.catch_warnings():
        yield


def draws():
    return random.random(), np.random.rand(), torch.rand(1).item()


def test_all_three_generators_repeat_after_the_same_seed():
    runtime.seed(7)
    first = draws()
    runtime.seed(7)

    assert draws() == first


def test_another_seed_gives_other_numbers_in_all_three_generators():
    runtime.seed(7)
    first = draws()
    runtime.seed(8)

    assert all(a != b for a, b in zip(first, draws(), strict=True))


def test_starting_a_chapter_seeds_the_generators():
    runtime.start(3)
    first = draws()
    runtime.start(3)

    assert draws() == first


def test_the_device_of_the_environment_wins(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "meta")

    assert runtime.device() == torch.device("meta")


def test_an_accelerator_that_does_not_answer_is_not_chosen(monkeypatch):
    def current_accelerator(check_available=False):
        return None if check_available else torch.device("cuda")

    monkeypatch.setattr(torch.accelerator, "current_accelerator", current_accelerator)

    assert runtime.device() == torch.device("cpu")


def test_compiled_kernels_lie_in_a_folder_named_after_version_and_cpu():
    place = runtime.start(3)

    expected = places.compile_cache(torch.__version__, torch.backends.cpu.get_cpu_capability())
    assert place.cache == expected
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(expected)


def test_a_lower_cpu_capability_gets_another_folder():
    code = "from course_utils import runtime; print(runtime.start(3).cache)"

    def cache(capability):
        env = {**os.environ, "ATEN_CPU_CAPABILITY": capability}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert "DEFAULT" in cache("default")
    assert cache("default") != cache("avx2")


def test_a_cache_folder_that_the_reader_chose_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))

    assert runtime.start(3).cache == tmp_path


def test_the_line_says_chapter_python_torch_and_device():
    line = str(runtime.start(3))

    for part in ("Chapter 3", sys.prefix, torch.__version__, str(runtime.device())):
        assert part in line
    assert "\n" not in line


def test_the_missing_cuda_runtime_is_not_reported():
    runtime.start(3)

    assert not logging.getLogger("torch.utils.cpp_extension").isEnabledFor(logging.WARNING)


@pytest.mark.parametrize("category", [FutureWarning, DeprecationWarning])
def test_under_the_tests_a_deprecated_torch_call_is_an_error(monkeypatch, category):
    monkeypatch.setenv("COURSE_STRICT", "1")

    runtime.start(3)

    with pytest.raises(category):
        warnings.warn("`torch.jit.script` is deprecated.", category, stacklevel=1)


def test_a_student_is_only_warned(monkeypatch):
    monkeypatch.delenv("COURSE_STRICT", raising=False)

    runtime.start(3)

    with pytest.warns(FutureWarning):
        warnings.warn("`torch.jit.script` is deprecated.", FutureWarning, stacklevel=1)


def test_other_libraries_may_deprecate_what_they_like(monkeypatch):
    monkeypatch.setenv("COURSE_STRICT", "1")

    runtime.start(3)

    with pytest.warns(DeprecationWarning):
        warnings.warn("matplotlib.foo is deprecated.", DeprecationWarning, stacklevel=1)


@pytest.mark.parametrize(("threads", "says"), [(1, ", 1 thread"), (2, ", 2 threads")])
def test_a_place_counts_threads_as_people_do(threads, says):
    place = runtime.Place(1, torch.device("cpu"), threads, Path("cache"))

    assert str(place).endswith(says)
