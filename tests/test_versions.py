"""One list of versions: everything that names a version agrees with requirements.txt.

Each check is a function from texts to complaints, and each is shown a text that was tampered with,
so that no check can pass by looking at nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("requirements.txt", "requirements.lock", "requirements-dev.txt", "environment.yml")
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in (*NAMES, "pyproject.toml")}
DISCONTINUED = {"pytorch", "pytorch-cuda", "pytorch-nightly", "nvidia", "defaults"}
BY_CONDA = {"python", "nodejs", "pip"}
CUDA = ("nvidia-", "cuda-", "triton")


def lines(text: str) -> list[str]:
    """Return the lines that pip reads as requirements."""
    stripped = (line.partition(" #")[0].strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith(("#", "-"))]


def requirements(text: str) -> list[Requirement]:
    """Parse a requirements file."""
    return [Requirement(line) for line in lines(text)]


def names(text: str) -> set[str]:
    """Return the names of the packages of a requirements file, spelt as pip compares them."""
    return {canonicalize_name(requirement.name) for requirement in requirements(text)}


def complain_about_conda(environment: str, pyproject: str) -> list[str]:
    """Say what environment.yml brings in besides Python, Node and our one list."""
    content = yaml.safe_load(environment)
    found = [f"channel {name}" for name in content["channels"] if name in DISCONTINUED]
    found += [f"channel {name}" for name in {*content["channels"]} - {"conda-forge", "nodefaults"}]
    if "nodefaults" not in content["channels"]:
        found.append("conda adds its default channels unless nodefaults stands there")
    for entry in content["dependencies"]:
        if isinstance(entry, dict):
            found += [f"pip entry {line}" for line in entry["pip"] if line != "-r requirements.txt"]
        elif "::" in entry or re.split(r"[ =<>!]", entry)[0] not in BY_CONDA:
            found.append(f"conda package {entry}")
    if {"pip": ["-r requirements.txt"]} not in content["dependencies"]:
        found.append("requirements.txt is not installed")
    python = next(entry for entry in content["dependencies"] if str(entry).startswith("python"))
    if f'requires-python = "{python.removeprefix("python").strip()}"' not in pyproject:
        found.append(f"another range of Pythons: {python}")
    return found


def complain_about_lock(required: str, lock: str) -> list[str]:
    """Say which requirement the lock lacks or holds outside its range, on any Python of ours."""
    found = []
    for minor in range(10, 15):
        machine = {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.5"}
        held = {
            canonicalize_name(pin.name): pin.specifier
            for pin in requirements(lock)
            if pin.marker is None or pin.marker.evaluate(machine)
        }
        for requirement in requirements(required):
            pin = held.get(canonicalize_name(requirement.name))
            if pin is None:
                found.append(f"{requirement.name} is not in the lock for Python 3.{minor}")
            elif not requirement.specifier.contains(exact(pin)):
                found.append(f"{requirement.name}{pin} lies outside {requirement.specifier}")
    return found


def exact(specifier: SpecifierSet) -> Version:
    """Return the one version that a pin allows."""
    (only,) = specifier
    assert only.operator == "==", f"not an exact pin: {specifier}"
    return Version(only.version)


def complain_about_torch(required: str, lock: str) -> list[str]:
    """Say where the two versions of torch that the course is for are not what is asked for."""
    allowed = {requirement.name: requirement.specifier for requirement in requirements(required)}
    expected = {
        "torch": {"2.13.1": False, "2.14.0": True, "2.14.1": True, "2.15.0": True, "2.16.0": False},
        "torchvision": {"0.28.1": False, "0.29.1": True, "0.30.0": True, "0.31.0": False},
    }
    found = [
        f"{name} {version} is {'refused' if wanted else 'allowed'}"
        for name, versions in expected.items()
        for version, wanted in versions.items()
        if allowed[name].contains(version) is not wanted
    ]
    pins = {line.replace(" ", "") for line in lines(lock)}
    return found + [pin for pin in ("torch==2.14.1", "torchvision==0.29.1") if pin not in pins]


def complain_about_cuda(lock: str) -> list[str]:
    """Say which CUDA packages the lock would bring to a machine that asked for the CPU build."""
    return [name for name in sorted(names(lock)) if name.startswith(CUDA)]


def complain_about_addresses(text: str) -> list[str]:
    """Say which lines send pip to a place; where packages come from is each machine's business."""
    sends = re.compile(r"://|--?(extra-)?index|--?i\b|--find-links|-f\s|--trusted-host|\bfile:")
    return [line for line in text.splitlines() if sends.search(line.partition("#")[0])]


def complain_about_development(development: str, required: str) -> list[str]:
    """Say where requirements-dev.txt is a second list instead of an addition."""
    first = next(line for line in development.splitlines() if line and not line.startswith("#"))
    found = [] if first == "-r requirements.txt" else [f"it begins with {first}"]
    found += [f"{name} stands in requirements.txt" for name in names(development) & names(required)]
    for requirement in requirements(development):
        if [one.operator for one in requirement.specifier] != ["=="]:
            found.append(f"{requirement} is no exact version")
    return found


def complain_about_pyproject(pyproject: str) -> list[str]:
    """Say where pyproject.toml names what to install."""
    return re.findall(r"^(?:optional-)?dependencies\b.*|^\[dependency-groups\]", pyproject, re.M)


CHECKS = {
    "conda": (complain_about_conda, ("environment.yml", "pyproject.toml")),
    "lock": (complain_about_lock, ("requirements.txt", "requirements.lock")),
    "torch": (complain_about_torch, ("requirements.txt", "requirements.lock")),
    "cuda": (complain_about_cuda, ("requirements.lock",)),
    "development": (complain_about_development, ("requirements-dev.txt", "requirements.txt")),
    "pyproject": (complain_about_pyproject, ("pyproject.toml",)),
    **{f"addresses of {name}": (complain_about_addresses, (name,)) for name in NAMES},
}


@pytest.mark.parametrize("check", CHECKS)
def test_everything_that_names_a_version_agrees(check):
    function, files = CHECKS[check]

    assert function(*(TEXTS[name] for name in files)) == []


TAMPERED = [
    ("conda", "environment.yml", "  - conda-forge", "  - pytorch\n  - conda-forge", "pytorch"),
    ("conda", "environment.yml", "  - conda-forge", "  - conda-forge\n  - nvidia", "nvidia"),
    ("conda", "environment.yml", "  - nodefaults", "  - defaults", "defaults"),
    ("conda", "environment.yml", "  - nodefaults\n", "", "nodefaults"),
    ("conda", "environment.yml", "  - nodejs", "  - pytorch-cuda=11.8", "pytorch-cuda=11.8"),
    ("conda", "environment.yml", "  - nodejs", "  - nvidia::pip", "nvidia::pip"),
    (
        "conda",
        "environment.yml",
        "      - -r req",
        "      - torch==2.14.1\n      - -r req",
        "torch",
    ),
    ("conda", "environment.yml", "      - -r requirements.txt", "      - torch", "not installed"),
    ("conda", "environment.yml", ">=3.10,<3.15", ">=3.11,<3.15", "range of Pythons"),
    ("lock", "requirements.txt", "jupytext>=1.17", "jupytext>=99", "jupytext"),
    ("lock", "requirements.txt", "anywidget>", "newcomer>=1\nanywidget>", "newcomer is not in"),
    ("lock", "requirements.lock", "numpy==2.2.6 ;", "numpy==1.2.6 ;", "numpy==1.2.6 lies outside"),
    (
        "torch",
        "requirements.txt",
        "torch>=2.14,<2.16",
        "torch>=2.13,<2.16",
        "torch 2.13.1 is allow",
    ),
    (
        "torch",
        "requirements.txt",
        "torch>=2.14,<2.16",
        "torch>=2.14,<2.15",
        "torch 2.15.0 is refus",
    ),
    ("torch", "requirements.txt", "torch>=2.14,<2.16", "torch>=2.14", "torch 2.16.0 is allowed"),
    ("torch", "requirements.lock", "torch==2.14.1", "torch==2.14.0", "torch==2.14.1"),
    ("torch", "requirements.lock", "torchvision==0.29.1", "torchvision==0.29.0", "torchvision=="),
    ("cuda", "requirements.lock", "tomli==", "nvidia-cublas==13.1\ntomli==", "nvidia-cublas"),
    ("cuda", "requirements.lock", "tomli==", "triton==3.8.0\ntomli==", "triton"),
    ("development", "requirements-dev.txt", "-r requirements.txt\n", "", "begins with"),
    ("development", "requirements-dev.txt", "nbval==", "NumPy==2.4.6\nnbval==", "numpy stands in"),
    ("development", "requirements-dev.txt", "nbval==", "nbval>=", "no exact version"),
    (
        "pyproject",
        "pyproject.toml",
        "[build-system]",
        'dependencies = ["torch"]\n[build-system]',
        "torch",
    ),
    *(
        (f"addresses of {name}", name, TEXTS[name][:1], f"{address}\n{TEXTS[name][:1]}", address)
        for name in NAMES
        for address in (
            "--extra-index-url https://mirror.example/simple",
            "-i https://mirror.example/simple",
            "--find-links wheels",
            "torch @ https://mirror.example/torch.whl",
        )
    ),
]


@pytest.mark.parametrize(("check", "file", "old", "new", "complaint"), TAMPERED)
def test_a_tampered_file_is_complained_about(check, file, old, new, complaint):
    function, files = CHECKS[check]
    assert old in TEXTS[file]
    texts = {**TEXTS, file: TEXTS[file].replace(old, new, 1)}

    found = function(*(texts[name] for name in files))

    assert complaint in "\n".join(found)


def test_every_marker_of_the_lock_can_be_read():
    for requirement in requirements(TEXTS["requirements.lock"]):
        assert requirement.marker is None or isinstance(requirement.marker, Marker)
        assert exact(requirement.specifier)
