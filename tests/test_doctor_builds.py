"""builds chooses torch's build for every kind of machine, and says why."""

import pytest

from course_utils.doctor import builds
from course_utils.doctor.builds import Gpu, choose_torch
from course_utils.doctor.system import Ran

NEW = Gpu("GeForce RTX 4070", (8, 9), 581)
NEW_WITH_OLD_DRIVER = Gpu("GeForce RTX 4070", (8, 9), 550)
VOLTA = Gpu("Tesla V100", (7, 0), 580)
TURING = Gpu("Tesla T4", (7, 5), 580)
BLACKWELL_WITH_OLD_DRIVER = Gpu("GeForce RTX 5090", (12, 0), 570)
KEPLER = Gpu("Tesla K80", (3, 7), 470)
ANCIENT_DRIVER = Gpu("GeForce GTX 1080", (6, 1), 470)


@pytest.mark.parametrize(
    ("system", "gpus", "backend", "gigabytes"),
    [
        ("linux", [], "cpu", 3),
        ("linux", [NEW], None, 8),  # plain pip brings CUDA 13.0
        ("linux", [TURING], None, 8),
        ("linux", [NEW_WITH_OLD_DRIVER], "cu126", 8),
        ("linux", [VOLTA], "cu126", 8),
        ("linux", [KEPLER], "cpu", 3),
        ("linux", [ANCIENT_DRIVER], "cpu", 3),
        ("linux", [BLACKWELL_WITH_OLD_DRIVER], "cpu", 3),  # CUDA 12.6 has no kernels for it
        ("linux", [KEPLER, NEW], None, 8),
        ("win32", [], None, 3),  # plain pip brings the CPU build
        ("win32", [NEW], "cu130", 8),
        ("win32", [VOLTA], "cu126", 8),
        ("darwin", [], None, 3),
    ],
)
def test_auto_takes_what_the_machine_can_run(system, gpus, backend, gigabytes):
    build = choose_torch("auto", system, gpus)

    assert (build.backend, build.gigabytes) == (backend, gigabytes)


@pytest.mark.parametrize(
    ("system", "backend"), [("linux", "cpu"), ("win32", None), ("darwin", None)]
)
@pytest.mark.parametrize("gpus", [[], [NEW]])
def test_cpu_is_the_cpu_build_whatever_the_machine_has(system, backend, gpus):
    build = choose_torch("cpu", system, gpus)

    assert (build.backend, build.gigabytes) == (backend, 3)


@pytest.mark.parametrize(("system", "backend"), [("linux", None), ("win32", "cu130")])
def test_cuda_can_be_asked_for_before_the_gpu_is_there(system, backend):
    build = choose_torch("cuda", system, [])

    assert build.backend == backend
    assert "although no NVIDIA GPU answers" in build.why


@pytest.mark.parametrize(
    ("system", "gpus", "words"),
    [
        ("darwin", [], "does not exist on macOS"),
        ("linux", [KEPLER], "too old for torch's CUDA builds"),
        ("linux", [ANCIENT_DRIVER], "has driver 470; update it to 525 or newer"),
        ("linux", [BLACKWELL_WITH_OLD_DRIVER], "has driver 570; update it to 580 or newer"),
    ],
)
def test_cuda_that_cannot_be_had_is_refused_with_the_reason(system, gpus, words):
    with pytest.raises(builds.NoBuild, match=words):
        choose_torch("cuda", system, gpus)


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        (NEW, "RTX 4070 with driver 581"),
        (NEW_WITH_OLD_DRIVER, "driver 550 is older than the 580 of CUDA 13"),
        (VOLTA, "compute capability 7.0) is too old for CUDA 13"),
        (ANCIENT_DRIVER, "update it to 525"),
    ],
)
def test_the_reason_names_the_gpu_or_its_driver(gpu, words):
    assert words in choose_torch("auto", "linux", [gpu]).why


def _nvidia_smi(output, code=0):
    return lambda command, timeout: Ran(code, output)


def _present(program):
    return f"/usr/bin/{program}"


def test_gpus_are_read_from_nvidia_smi():
    table = "NVIDIA A100, 40GB, 8.0, 580.65.06\nTesla T4, 7.5, 580.65.06\n"

    gpus = builds.nvidia_gpus(_nvidia_smi(table), _present)

    assert gpus == [Gpu("NVIDIA A100, 40GB", (8, 0), 580), Gpu("Tesla T4", (7, 5), 580)]


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9),
        ("No devices were found", 0),
        ("Tesla T4, [N/A], 580.65.06", 0),
        ("", 0),
    ],
)
def test_an_nvidia_smi_without_an_answer_means_no_gpu(output, code):
    assert builds.nvidia_gpus(_nvidia_smi(output, code), _present) == []


def test_a_machine_without_nvidia_smi_runs_nothing():
    assert builds.nvidia_gpus(run=None, which=lambda program: None) == []


@pytest.mark.parametrize("ran", [Ran(None, missing=True), Ran(0, "T4, 7.5, 580", timed_out=True)])
def test_an_nvidia_smi_that_hangs_or_breaks_means_no_gpu(ran):
    def run(command, timeout):
        assert timeout <= 10
        return ran

    assert builds.nvidia_gpus(run, _present) == []
