"""Choose a build of torch as a person would: one question after another, each with its answer.

One version of torch comes in several builds, and pip picks by operating system alone: on Linux
everybody gets the 5 GB of CUDA 13, on Windows nobody gets a GPU. What suits a machine depends on
its system, processor, Python, card, driver and network. ``choose`` asks for them in that order and
keeps the way it went, so a student can follow it, ``course.py`` can act on it and a test can try
every machine. What the releases support stands in ``releases``.

Kind:    plumbing; chapter 2 lets the reader play with it
Public:  Choice, Step, choose, has_code_for
Imports: releases, versions and the standard library; parses under Python 3.7
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from course_utils.doctor import releases
from course_utils.doctor.versions import release

__all__ = ["Choice", "Step", "choose", "has_code_for"]

SYSTEMS = {"linux": "Linux", "win32": "Windows", "darwin": "macOS"}
# one processor, several names
PROCESSORS = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
NOT_NVIDIA = ("amd", "radeon", "intel", "apple")
WANTED = ("auto", "cuda", "cpu", "cu126", "cu130", "cu132", "rocm")
NETWORKS = ("open", "mirror", "none")
PAIR = '"torch=={}.*" "torchvision=={}.*"'.format(*releases.PAIR)


@dataclass(frozen=True)
class Step:
    """One question on the way through the tree, and its answer."""

    question: str
    answer: str


@dataclass(frozen=True)
class Choice:
    """Where the way through the tree ended.

    ``build`` is a key of ``releases.BUILDS``, or empty where no build fits; ``backend`` is what
    ``uv pip install --torch-backend`` calls it, or None where plain pip brings it.
    """

    build: str
    why: str
    commands: tuple = ()
    limits: tuple = ()
    steps: tuple = ()
    backend: str | None = None
    gigabytes: int = 0

    @property
    def name(self) -> str:
        """Return what a person calls this build."""
        return f"the {releases.BUILDS[self.build]} build" if self.build else "no build"

    def __str__(self) -> str:
        """Return the way, the reason, the commands and the limits as text."""
        width = max((len(step.question) for step in self.steps), default=0)
        lines = [f"{step.question:{width}}  {step.answer}" for step in self.steps]
        disk = f" ({self.gigabytes} GB of disk)" if self.build else ""
        lines += ["", f"{self.name[0].upper()}{self.name[1:]}{disk}: {self.why}"]
        lines += [f"    {command}" for command in self.commands]
        lines += [f"Will not work: {limit}" for limit in self.limits]
        return "\n".join(lines)

    __repr__ = __str__


def choose(
    system: str = "linux",
    architecture: str = "x86_64",
    python: str = "3.12",
    gpu: str = "none",
    capability: str = "",
    driver: str = "",
    network: str = "open",
    wanted: str = "auto",
    libc: str = "glibc 2.39",
    macos: str = "15",
) -> Choice:
    """Return the build of torch for a machine, with the way that led to it.

    Args:
        system: ``sys.platform``, or its name in words: ``"Linux"``, ``"Windows"``, ``"macOS"``.
        architecture: ``platform.machine()``; ``"arm64"`` and ``"aarch64"`` mean the same.
        python: the version of Python.
        gpu: the card, or who made it: ``"NVIDIA"``, ``"AMD"``, ``"Intel"``, ``"none"``.
        capability: compute capability of an NVIDIA card, such as ``"8.9"``.
        driver: version of its driver, such as ``"580.65"``.
        network: ``"open"``, ``"mirror"`` (pip reaches one, nothing else is reached), ``"none"``.
        wanted: ``"auto"``, ``"cuda"`` or the name of a build, as in ``releases.BUILDS``.
        libc: the C library of a Linux.
        macos: the version of a macOS.

    >>> choose("Linux", gpu="NVIDIA", capability="8.9", driver="581").build
    'cu130'
    >>> choose("Windows", "arm64").build
    ''
    """
    if wanted not in WANTED or network not in NETWORKS:
        raise ValueError(f"wanted is one of {WANTED}, network one of {NETWORKS}")
    names = {word.lower(): key for key, word in SYSTEMS.items()}
    system = names.get(system.lower(), system.lower())
    processor = PROCESSORS.get(architecture.lower(), architecture.lower())
    steps: list = []
    refusal = (
        _no_package(steps, system, processor)
        or _too_old_system(steps, system, libc, macos)
        or _no_python(steps, python)
    )
    if refusal:
        return replace(refusal, steps=tuple(steps))
    if system == "darwin":
        choice = _mac(steps, wanted)
    else:
        card = _Card(gpu, release(capability), release(driver)[:1])
        choice = _linux_or_windows(steps, system, processor, card, wanted)
    if choice.build:
        choice = _with_commands(steps, system, choice, network)
    return replace(choice, steps=tuple(steps))


def has_code_for(card: tuple, generations: tuple) -> bool:
    """Say whether a build for these generations runs on a card of this compute capability.

    Code runs on later cards of the same major version, and on no others.

    >>> has_code_for((8, 9), ((7, 5), (8, 6))), has_code_for((12, 0), ((7, 5), (8, 6)))
    (True, False)
    """
    return any(number[0] == card[0] and number <= card for number in generations)


@dataclass(frozen=True)
class _Card:
    name: str
    capability: tuple
    driver: tuple

    @property
    def is_nvidia(self):
        return bool(self.maker) and self.maker not in NOT_NVIDIA

    @property
    def maker(self):
        first = (self.name.split() or [""])[0].lower()
        return "" if first in ("none", "no") else first

    def __str__(self):
        return "the card" if self.name.upper() == "NVIDIA" else self.name


# is there a package at all?


def _no_package(steps, system, processor):
    known = releases.PROCESSORS.get(system, ())
    exists = processor in [PROCESSORS.get(name, name) for name in known]
    name = SYSTEMS.get(system, system)
    shown = "arm64" if processor == "aarch64" and system != "linux" else processor
    steps.append(Step(f"Is there a package for {name} on {shown}?", _yes(exists)))
    if exists:
        return None
    if system == "win32":
        why = "torch has no package for Windows on this processor; WSL is a Linux, which has one"
        return Choice("", why, ("wsl --install",))
    if system == "darwin":
        why = (
            "torch left Intel Macs after version 2.2: take another machine or an online notebook "
            "service. On Apple silicon install the arm64 Python, for this one is translated"
        )
        return Choice("", why)
    return Choice("", f"torch has no package for {name} on {shown}; take another machine")


def _too_old_system(steps, system, libc, macos):
    if system == "linux":
        oldest, have = releases.LIBC, release(libc.partition(" ")[2])
        fits = libc.startswith("glibc") and have >= oldest
        question, found = "Is the C library glibc {}.{} or newer?".format(*oldest), libc
        advice = "take a newer release of the distribution, or a Debian or Ubuntu container"
    elif system == "darwin":
        fits = release(macos) >= releases.MACOS
        question, found = "Is it macOS {} or newer?".format(*releases.MACOS), f"macOS {macos}"
        advice = "update macOS"
    else:
        return None
    steps.append(Step(question, _yes(fits)))
    return None if fits else Choice("", f"torch's packages do not run on {found}; {advice}")


def _no_python(steps, python):
    first, last = releases.PYTHONS
    have = release(python)
    excluded = have in releases.EXCLUDED_PYTHONS
    fits = first <= have[:2] <= last and not excluded
    question = "Is it Python {}.{} to {}.{}, and not 3.14.1?".format(*first, *last)
    steps.append(Step(question, _yes(fits)))
    if fits:
        return None
    why = "Python {} {}".format(
        python,
        "is the one that torchvision refuses"
        if excluded
        else "is too old for torch"
        if have[:2] < first
        else "is too new for torch",
    )
    return Choice("", why, (f"uv python install {last[0]}.{last[1] - 1}",))


# which build?


def _mac(steps, wanted):
    steps.append(Step("Is it a Mac?", "yes"))
    if wanted not in ("auto", "cpu"):
        why = "CUDA does not exist on macOS; leave out --torch and use the Mac's GPU"
        return Choice("", why)
    limits = ("CUDA; the Mac's own GPU is called MPS", "float64 on that GPU")
    return Choice("mac", "it serves Apple's GPU too", limits=limits)


def _linux_or_windows(steps, system, processor, card, wanted):
    if wanted == "cpu":
        return _cpu("you asked for it")
    if wanted == "rocm" or (wanted == "auto" and card.maker in ("amd", "radeon")):
        return _amd(steps, system, wanted)
    answers = card.is_nvidia and bool(card.driver) and len(card.capability) == 2
    steps.append(Step("Does an NVIDIA card answer?", _yes(answers)))
    if answers:
        return _nvidia(steps, system, processor, card, wanted)
    if wanted == "cuda" or wanted in releases.MAJOR:
        build = "cu130" if wanted == "cuda" else wanted
        why = "you asked for it, although no NVIDIA GPU answers here"
        return Choice(build, why, limits=("the GPU, before there is a card and a driver",))
    if card.is_nvidia:
        return _cpu("the driver of the card does not answer", "the card, before its driver answers")
    if card.maker:
        return _cpu(
            "no NVIDIA GPU answers here", f"{card.name}'s card, which the course leaves out"
        )
    return _cpu("no NVIDIA GPU answers here")


def _amd(steps, system, wanted):
    steps.append(Step("Does an NVIDIA card answer?", "no, an AMD card is there"))
    steps.append(Step("Is it Linux, for which ROCm builds exist?", _yes(system == "linux")))
    if system != "linux":
        if wanted == "rocm":
            return Choice("", "torch has ROCm builds for Linux only; WSL is one")
        return _cpu("ROCm, which AMD cards need, exists for Linux only", "the AMD card")
    if wanted == "rocm":
        why = f"you asked for ROCm {releases.ROCM}, which uv does not know"
        return Choice("rocm", why, limits=("a card that AMD's ROCm does not list",))
    return _cpu(
        "it runs on any machine, and ROCm is taken by hand",
        "the AMD card, until you take the ROCm build in place of this one",
    )


def _nvidia(steps, system, processor, card, wanted):
    lacks = {}
    for build in [wanted] if wanted in releases.MAJOR else ["cu130", "cu126"]:
        generations = releases.ARCHITECTURES[(build, processor)]
        kind, lack = _lack(build, generations, card)
        steps.append(Step(_question(build, generations), f"no: {lack}" if lack else "yes"))
        if not lack:
            return _cuda(system, build, card, list(lacks))
        lacks[kind] = lacks.get(kind, lack)
    if list(lacks) == ["old"]:
        reason = f"{card} ({_number(card.capability)}) is too old for torch's CUDA builds"
    else:  # a driver can be updated, a card cannot
        reason = lacks.get("driver") or lacks.get("new")
    if wanted != "auto":
        return Choice("", f"no CUDA build of this torch serves your GPU: {reason}")
    return _cpu(reason, f"the GPU: {reason}")


def _question(build, generations):
    return "Is it right for {} (capability {}.{} to {}.{}, driver {} or newer)?".format(
        releases.BUILDS[build], *generations[0], *generations[-1], _oldest_driver(build)
    )


def _lack(build, generations, card):
    name = releases.BUILDS[build]
    if card.capability < generations[0]:
        return "old", f"{card} ({_number(card.capability)}) is too old for {name}"
    if not has_code_for(card.capability, generations):
        return "new", f"{name} has no code for {card} ({_number(card.capability)})"
    if card.driver[0] < _oldest_driver(build):
        oldest = _oldest_driver(build)
        return "driver", f"{card} has driver {card.driver[0]}; update it to {oldest} or newer"
    return "", ""


def _oldest_driver(build):
    return releases.DRIVERS[releases.MAJOR[build]]


def _number(capability):
    return "compute capability {}.{}".format(*capability)


def _cuda(system, build, card, lacks):
    why = f"{card} with driver {card.driver[0]} runs it"
    if lacks == ["old"]:
        why = f"{card} ({_number(card.capability)}) is too old for CUDA 13"
    elif lacks == ["driver"]:
        newest = _oldest_driver("cu130")
        why = f"driver {card.driver[0]} is older than the {newest} of CUDA 13"
    limits = []
    if system not in releases.TRITON_SYSTEMS:
        limits.append("torch.compile on the GPU; it needs triton, which has no package here")
    elif card.capability < releases.TRITON:
        limits.append(
            "torch.compile on the GPU; triton needs capability {}.{}".format(*releases.TRITON)
        )
    if build == "cu126":
        limits.append(f"torch {_next_torch()} and newer; this is the last with CUDA 12.6")
    return Choice(build, why, limits=tuple(limits))


def _next_torch():
    major, minor = release(releases.PAIR[0])
    return f"{major}.{minor + 1}"


def _cpu(why, limit=""):
    return Choice("cpu", why, limits=(limit,) if limit else ())


# how is it had?


def _with_commands(steps, system, choice, network):
    pips = releases.PLAIN_PIP[system]
    plain = choice.build == pips
    steps.append(Step("Is it what plain pip brings here?", _yes(plain)))
    if choice.build == "rocm":
        commands = ("choose ROCm in the table on PyTorch's own page, and copy the line",)
        return replace(choice, commands=commands, gigabytes=releases.GIGABYTES["rocm"])
    if network != "open":
        steps.append(Step("Does PyTorch's own index answer?", f"no, network: {network}"))
        if not plain:
            choice = _what_pip_has(choice, pips)
        return _without_network(choice) if network == "none" else _by_pip(choice)
    return _by_pip(choice) if plain else _by_uv(choice)


def _what_pip_has(choice, pips):
    why = f"{choice.name} lies where this network does not reach, and pip brings this one"
    limits = choice.limits
    if choice.build in releases.MAJOR:  # the card was promised a build of its own
        limits = (*limits, "the GPU")
    return Choice(pips, why, limits=limits)


def _by_pip(choice):
    return replace(
        choice,
        commands=(f"python -m pip install {PAIR}",),
        gigabytes=releases.GIGABYTES[choice.build],
    )


def _by_uv(choice):
    # uv knows where each build of torch lies
    install = "python -m uv pip install --python python --torch-backend={} {}"
    return replace(
        choice,
        backend=choice.build,
        commands=("python -m pip install uv", install.format(choice.build, PAIR)),
        gigabytes=releases.GIGABYTES[choice.build],
    )


def _without_network(choice):
    download = f"python -m pip download --dest wheels {PAIR}"
    install = f"python -m pip install --no-index --find-links wheels {PAIR}"
    return replace(
        choice,
        why=choice.why + "; download on a computer of the same kind and carry the folder here",
        commands=(download, install),
        gigabytes=releases.GIGABYTES[choice.build],
    )


def _yes(answer):
    return "yes" if answer else "no"
