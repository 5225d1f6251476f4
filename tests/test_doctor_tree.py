"""tree finds the build of torch for any machine, keeps the way it went, and promises nothing."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from course_utils.doctor import releases, tree
from course_utils.doctor.tree import choose
from launcher import machine

CARDS = {
    "none": {},
    "Tesla K80": {"capability": "3.7", "driver": "470.256.02"},
    "GeForce GTX 1080": {"capability": "6.1", "driver": "581.15"},
    "Tesla V100": {"capability": "7.0", "driver": "580.65"},
    "Tesla T4": {"capability": "7.5", "driver": "580.65"},
    "NVIDIA": {"capability": "8.9", "driver": "550.90"},
    "GeForce RTX 5090": {"capability": "12.0", "driver": "570.1"},
    "NVIDIA of next year": {"capability": "13.0", "driver": "620"},
    "AMD": {},
    "Intel": {},
}


def card(name, **changes):
    """The arguments that put one of these cards into a machine."""
    return {"gpu": name, **CARDS[name], **changes}


# the whole tree: what is there -> (build, what uv calls it, words of the reason)
WAYS = [
    ({}, ("cpu", "cpu", "no NVIDIA GPU answers")),
    ({"wanted": "cpu", **card("Tesla T4")}, ("cpu", "cpu", "you asked for it")),
    (card("Tesla T4"), ("cu130", None, "Tesla T4 with driver 580 runs it")),
    (card("Tesla V100"), ("cu126", "cu126", "too old for CUDA 13")),
    (card("GeForce GTX 1080"), ("cu126", "cu126", "compute capability 6.1")),
    (card("NVIDIA"), ("cu126", "cu126", "driver 550 is older than the 580 of CUDA 13")),
    (card("NVIDIA", driver="580"), ("cu130", None, "the card with driver 580")),
    (card("NVIDIA", driver="579.99"), ("cu126", "cu126", "driver 579 is older")),
    (card("NVIDIA", driver="524"), ("cpu", "cpu", "update it to 580 or newer")),
    (card("GeForce GTX 1080", driver="524"), ("cpu", "cpu", "update it to 525 or newer")),
    (card("Tesla K80"), ("cpu", "cpu", "too old for torch's CUDA builds")),
    (card("GeForce RTX 5090"), ("cpu", "cpu", "has driver 570; update it to 580")),
    (card("GeForce RTX 5090", driver="580"), ("cu130", None, "runs it")),
    (card("NVIDIA of next year"), ("cpu", "cpu", "CUDA 13.0 has no code for")),
    (card("NVIDIA", driver=""), ("cpu", "cpu", "does not answer")),
    (card("AMD"), ("cpu", "cpu", "ROCm is taken by hand")),
    (card("AMD", wanted="rocm"), ("rocm", None, "ROCm 7.14, which uv does not know")),
    (card("AMD", system="win32"), ("cpu", None, "exists for Linux only")),
    (card("AMD", system="win32", wanted="rocm"), ("", None, "Linux only")),
    (card("Intel"), ("cpu", "cpu", "no NVIDIA GPU answers")),
    ({"wanted": "cuda"}, ("cu130", None, "although no NVIDIA GPU answers")),
    ({"wanted": "cu126"}, ("cu126", "cu126", "although no NVIDIA GPU answers")),
    (card("NVIDIA", driver="580", wanted="cu132"), ("cu132", "cu132", "runs it")),
    (card("Tesla V100", wanted="cu132"), ("", None, "too old")),
    (card("GeForce RTX 5090", wanted="cuda"), ("", None, "update it to 580 or newer")),
    ({"system": "win32"}, ("cpu", None, "no NVIDIA GPU")),
    (card("Tesla T4", system="win32"), ("cu130", "cu130", "runs it")),
    (card("Tesla V100", system="Windows"), ("cu126", "cu126", "too old for CUDA 13")),
    ({"system": "Windows", "architecture": "ARM64"}, ("", None, "WSL")),
    ({"system": "Windows", "architecture": "x86"}, ("", None, "no package")),
    ({"system": "macOS", "architecture": "arm64"}, ("mac", None, "Apple's GPU")),
    ({"system": "macOS", "architecture": "arm64", "macos": "13.6"}, ("", None, "update macOS")),
    ({"system": "macOS", "architecture": "arm64", "macos": "14"}, ("mac", None, "Apple's GPU")),
    ({"system": "macOS", "architecture": "x86_64"}, ("", None, "Intel Macs")),
    ({"system": "macOS", "architecture": "arm64", "wanted": "cuda"}, ("", None, "CUDA does not")),
    ({"architecture": "aarch64"}, ("cpu", "cpu", "no NVIDIA")),
    ({"architecture": "arm64", **card("Tesla T4")}, ("cpu", "cpu", "too old")),
    (card("NVIDIA", architecture="aarch64", capability="11.0", driver="580"), ("cu130", None, "")),
    (card("NVIDIA", capability="11.0", driver="580"), ("cpu", "cpu", "has no code for")),
    ({"architecture": "ppc64le"}, ("", None, "no package for Linux on ppc64le")),
    ({"system": "freebsd14"}, ("", None, "freebsd14")),
    ({"libc": "glibc 2.27"}, ("", None, "glibc 2.27")),
    ({"libc": "glibc 2.28"}, ("cpu", "cpu", "")),
    ({"libc": "musl"}, ("", None, "musl")),
    ({"python": "3.9.19"}, ("", None, "too old")),
    ({"python": "3.10.0"}, ("cpu", "cpu", "")),
    ({"python": "3.14.1"}, ("", None, "torchvision refuses")),
    ({"python": "3.14.2"}, ("cpu", "cpu", "")),
    ({"python": "3.15.0"}, ("", None, "too new")),
    ({"network": "mirror"}, ("cu130", None, "this network does not reach")),
    ({"network": "none"}, ("cu130", None, "carry the folder here")),
    ({"network": "mirror", **card("Tesla T4", system="win32")}, ("cpu", None, "not reach")),
    ({"network": "mirror", **card("Tesla T4")}, ("cu130", None, "runs it")),
]


@pytest.mark.parametrize(("asked", "wanted"), WAYS, ids=[str(asked) for asked, _ in WAYS])
def test_each_machine_gets_its_build_and_the_reason(asked, wanted):
    choice = choose(**asked)

    assert (choice.build, choice.backend) == wanted[:2]
    assert wanted[2] in choice.why


def every_machine():
    """All combinations of what may be asked: some thousand machines."""
    yield from itertools.product(
        [("linux", "x86_64"), ("linux", "aarch64"), ("win32", "AMD64"), ("darwin", "arm64")],
        CARDS,
        tree.NETWORKS,
        tree.WANTED,
    )


def test_every_machine_ends_in_a_build_with_commands_or_in_a_reason():
    for (system, processor), name, network, wanted in every_machine():
        choice = choose(system, processor, **card(name), network=network, wanted=wanted)

        assert choice.why and choice.steps, (system, processor, name, network, wanted)
        assert bool(choice.build) == bool(choice.gigabytes)
        assert not choice.build or choice.commands
        assert choice.backend in (None, *releases.BACKENDS)


def test_a_build_that_a_card_cannot_run_is_never_taken_for_it():
    for (system, processor), name, network, wanted in every_machine():
        choice = choose(system, processor, **card(name), network=network, wanted=wanted)
        if choice.build not in releases.MAJOR or "driver" not in CARDS[name] or wanted == "cpu":
            continue
        numbers = tuple(int(n) for n in CARDS[name]["capability"].split("."))
        processor = "aarch64" if processor == "aarch64" else "x86_64"
        runs = tree.has_code_for(numbers, releases.ARCHITECTURES[choice.build, processor])

        # where only pip's build can be had it serves the CPU, and that is said
        assert runs or any("the GPU" in limit for limit in choice.limits), (name, network, wanted)


def test_plain_pip_is_told_only_where_it_brings_that_build():
    for (system, processor), name, network, wanted in every_machine():
        choice = choose(system, processor, **card(name), network=network, wanted=wanted)
        if choice.backend is None and choice.build not in ("", "rocm"):
            assert choice.build == releases.PLAIN_PIP[system]
            assert not any("uv" in command.split() for command in choice.commands)


def test_code_for_a_later_card_of_the_same_generation_does_not_run():
    assert not tree.has_code_for((8, 0), ((7, 5), (8, 6)))
    assert tree.has_code_for((8, 6), ((7, 5), (8, 6)))


def test_what_will_not_work_is_said():
    windows = choose("win32", **card("Tesla T4"))
    pascal = choose(**card("GeForce GTX 1080"))
    mac = choose("darwin", "arm64")

    assert any("triton" in limit for limit in windows.limits)
    assert any("triton needs capability 7.0" in limit for limit in pascal.limits)
    assert any("torch 2.15 and newer" in limit for limit in pascal.limits)
    assert any("CUDA" in limit for limit in mac.limits)
    assert choose(**card("Tesla T4")).limits == ()


def test_the_way_is_kept_question_by_question():
    steps = choose(**card("Tesla V100")).steps

    assert [step.answer[:3] for step in steps] == ["yes", "yes", "yes", "yes", "no:", "yes", "no"]
    assert "CUDA 13.0 (capability 7.5 to 12.0, driver 580" in steps[4].question
    assert choose("win32", "ARM64").steps[-1].answer == "no"


def test_text_shows_way_reason_commands_and_limits():
    choice = choose(**card("GeForce GTX 1080"))

    text = str(choice)

    for words in (
        choice.why,
        *choice.commands,
        *choice.limits,
        *(s.question for s in choice.steps),
    ):
        assert words in text
    assert "The CUDA 12.6 build (8 GB of disk)" in text
    assert str(choose("win32", "ARM64")).splitlines()[2].startswith("No build: ")


@pytest.mark.parametrize("wrong", [{"wanted": "cu999"}, {"network": "slow"}])
def test_a_word_that_the_tree_does_not_know_is_refused(wrong):
    with pytest.raises(ValueError, match="wanted is one of"):
        choose(**wrong)


@pytest.mark.parametrize("python", [(3, 9, 1), (3, 10, 0), (3, 14, 1), (3, 14, 2), (3, 15, 0)])
@pytest.mark.parametrize("libc", ["glibc 2.27", "glibc 2.28", ""])
@pytest.mark.parametrize("macos", ["13.6", "14.0"])
@pytest.mark.parametrize(
    "system",
    [
        ("linux", "x86_64"),
        ("linux", "aarch64"),
        ("linux", "ppc64le"),
        ("win32", "amd64"),
        ("win32", "arm64"),
        ("darwin", "arm64"),
        ("darwin", "x86_64"),
    ],
)
def test_the_front_door_refuses_what_the_tree_refuses(python, libc, macos, system):
    name, processor = system
    at_the_door = machine.Machine(
        python, "CPython", 64, name, processor, libc, macos, free_gigabytes=99.0, writable=True
    )

    refused = machine.refusal(at_the_door, ((3, 10), (3, 15)), 8) is not None
    choice = choose(*system, python=".".join(map(str, python)), libc=libc, macos=macos)

    assert refused == (not choice.build)


def test_the_data_are_literals_with_a_date_and_the_range_of_the_course():
    code = ast.parse(Path(releases.__file__).read_text(encoding="utf-8"))
    assigned = [node for node in code.body if isinstance(node, ast.Assign)]
    root = Path(__file__).parents[1]
    pyproject = (root / "pyproject.toml").read_text(encoding="utf-8")
    lock = (root / "requirements.lock").read_text(encoding="utf-8")

    for node in assigned:
        ast.literal_eval(node.value)  # raises for anything that has to be computed
    assert date.fromisoformat(releases.CHECKED) <= date.today()
    assert releases.PYTHONS == ((3, 10), (3, 14)) and '">=3.10,<3.15"' in pyproject
    for name, version in zip(("torch", "torchvision"), releases.PAIR, strict=True):
        assert re.search(rf"^{name}=={re.escape(version)}\.", lock, re.MULTILINE)


def test_every_build_is_known_everywhere():
    assert set(releases.GIGABYTES) == set(releases.BUILDS)
    assert {build for build, _ in releases.ARCHITECTURES} == set(releases.MAJOR)
    assert set(releases.MAJOR.values()) <= set(releases.DRIVERS)
    assert set(releases.BACKENDS) <= set(releases.BUILDS)
    assert set(releases.PLAIN_PIP) == set(releases.PROCESSORS)


def test_uv_knows_each_build_by_the_name_that_it_is_told():
    command = [sys.executable, "-m", "uv", "pip", "install", "--help"]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    said = " ".join(done.stdout.split())
    known = re.search(r"possible values: (auto, cpu, [^\]]*)\]", said).group(1).split(", ")
    assert set(releases.BACKENDS) <= set(known), done.stderr
    assert "rocm" + releases.ROCM not in known  # once uv knows it, the tree can name a command


def test_a_change_of_the_driver_table_changes_the_choice(monkeypatch):
    monkeypatch.setitem(releases.DRIVERS, 13, 600)

    assert choose(**card("Tesla T4")).build == "cu126"


def test_choices_compare_by_value():
    assert choose() == choose("Linux", "amd64")
    assert replace(choose(), why="") != choose()
