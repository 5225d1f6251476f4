"""Make up machines for the doctor to judge: healthy ones, and any of them with one thing broken.

Nobody breaks a computer in order to learn what the doctor says about it. The rules read a record
and touch nothing, so a record that was made up is judged as a real one is.

Kind:    plumbing; chapter 2 and its exercises break these machines
Public:  change, laptop, with_card
Imports: facts
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from course_utils.doctor import facts

__all__ = ["change", "laptop", "with_card"]

GIB = 2**30
HOME = "/opt/course"
RANGES = {
    "torch": ">=2.14,<2.16",
    "torchvision": ">=0.29,<0.31",
    "numpy": ">=1.26,<3",
    "jupyterlab": ">=4.4,<5",
    "ipykernel": ">=6.29,<8",
    "ipywidgets": ">=8.1,<9",
    "anywidget": ">=0.9,<1",
}
VERSIONS = {
    "torch": "2.14",
    "torchvision": "0.29",
    "numpy": "2.4",
    "jupyterlab": "4.6",
    "ipykernel": "7.4",
    "ipywidgets": "8.1",
    "anywidget": "0.11",
}
TORCH_SAYS = {
    "package": "torch",
    "version": "2.14+cpu",
    "file": HOME + "/.venv/lib/python3.12/site-packages/torch/__init__.py",
    "cuda": None,
    "hip": None,
    "capability": "AVX2",
    "addition": 4.0,
    "numpy": [1.0, 1.0],
    "architectures": [],
    "gpu_works": False,
    "mps_works": False,
    "modules": ["collections", "random", "types"],
}
VISION_SAYS = {"package": "torchvision", "version": "0.29+cpu", "cuda": None, "nms": [0]}


def laptop(**parts: object) -> facts.Facts:
    """Return a healthy Linux laptop without a graphics card, changed as ``change`` does it.

    >>> laptop().compiler.works
    True
    """
    prefix = HOME + "/.venv"
    healthy = facts.Facts(
        machine=facts.Machine(
            "linux", "x86_64", "glibc 2.39", ("ubuntu", "debian"), cpu_flags=("avx", "avx2")
        ),
        python=facts.Python((3, 12), 64, False, ".venv/bin/python", prefix, "/usr"),
        course=facts.Course(HOME, ">=3.10,<3.15", RANGES, prefix),
        packages=_copies(VERSIONS),
        torch=facts.Import(0, said=TORCH_SAYS),
        torchvision=facts.Import(0, said=VISION_SAYS),
        compiler=facts.Trial("g++", found=True, works=True),
        headers=facts.Headers("/usr/include/python3.12", True),
        openmp=facts.Trial("g++", found=True, works=True),
        cache=facts.CacheFolder(HOME + "/cache/torch-2.14-AVX2", chosen=False, loaded=True),
        room=facts.Room(16 * GIB, 8 * GIB, 80 * GIB),
        gpus=facts.Gpus("absent", cards=("Intel",)),
        toolkit=facts.Toolkit(),
        jupyter=facts.Jupyter(False, (), "5.0"),
        compile=facts.Compiled(0, True, 0.0, seconds=3.0),
    )
    return change(healthy, **parts)


def with_card(
    name: str = "GeForce RTX 3060",
    capability: str = "8.6",
    driver: str = "580.95",
    driver_cuda: str = "13.0",
    **parts: object,
) -> facts.Facts:
    """Return the laptop with an NVIDIA card and the CUDA 13.0 build of torch.

    Args:
        name: the card, as its driver calls it.
        capability: its compute capability.
        driver: the version of its driver.
        driver_cuda: the newest CUDA that this driver serves, as nvidia-smi prints it.
        parts: what is different, as ``change`` takes it.
    """
    says = {
        "version": "2.14+cu130",
        "cuda": "13.0",
        "gpu_works": True,
        "architectures": ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"],
    }
    card = facts.Gpu(name, driver, capability)
    machine = laptop(
        torch={"said": says},
        torchvision={"said": {"version": "0.29+cu130", "cuda": 13000}},
        gpus={"state": "answered", "gpus": (card,), "cuda": driver_cuda, "cards": ("NVIDIA",)},
    )
    return change(machine, **parts)


def change(whole: facts.Facts, **parts: object) -> facts.Facts:
    """Return a machine with some of its facts replaced.

    A dictionary replaces entries of a record and leaves the others: ``compiler={"works": False}``.
    Anything else replaces the whole: ``compile=None``. A package is named by its version, or by
    None where it is missing: ``packages={"torchvision": "0.24"}``.

    >>> change(laptop(), compiler={"found": False}).compiler.compiler
    'g++'
    """
    if "packages" in parts:
        parts["packages"] = _copies(parts["packages"])
    new = {name: _merged(getattr(whole, name), part) for name, part in parts.items()}
    return replace(whole, **new)


def _merged(old: object, new: object) -> object:
    if not isinstance(new, Mapping):
        return new
    if isinstance(old, Mapping):
        return {**old, **new}
    return replace(old, **{name: _merged(getattr(old, name), part) for name, part in new.items()})


def _copies(versions: Mapping) -> dict:
    folder = HOME + "/.venv/lib/python3.12/site-packages"
    return {n: (facts.Copy(v, folder),) if v else () for n, v in versions.items()}
