"""Ask the installed packages what they are and what they need.

Kind:    plumbing
Public:  build, requirements
Imports: ledger.evidence, probes.files; torch, packaging
"""

from __future__ import annotations

import importlib.metadata
import inspect
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import torch
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from course_utils.ledger.evidence import Seen, decides, need, weigh
from course_utils.ledger.probes.files import compiler_sources

__all__ = ["build", "requirements"]


def build() -> str:
    """Return the CUDA that torch was built for, such as ``"13.0"``."""
    need(torch.version.cuda, "a CUDA build of torch")
    return torch.version.cuda


def requirements() -> list[str]:
    """Return the names of the packages that torch requires."""
    return [Requirement(text).name for text in importlib.metadata.requires("torch") or []]


def _allows_python(version: str) -> bool:
    needed = importlib.metadata.metadata("torch")["Requires-Python"]
    return version in SpecifierSet(needed)


@decides("S0-18")
def torch_installs_under_python_3_9() -> Seen:
    """Read from torch's metadata whether pip would take it under Python 3.9."""
    needed = importlib.metadata.metadata("torch")["Requires-Python"]
    return weigh(f"Requires-Python: {needed}", _allows_python("3.9"))


@decides("S3-16")
def torch_installs_under_python_3_11() -> Seen:
    """Read from torch's metadata whether pip would take it under Python 3.11."""
    needed = importlib.metadata.metadata("torch")["Requires-Python"]
    return weigh(f"Requires-Python: {needed}", _allows_python("3.11"))


@decides("S3-2")
def nothing_is_newer_than_2_9() -> Seen:
    """Compare the installed version with 2.9."""
    version = Version(torch.__version__)
    return weigh(f"torch {version.base_version} is installed", version < Version("2.10"))


@decides("S0-13")
def torch_is_built_for_cuda_11_and_not_12() -> Seen:
    """Read the CUDA that this torch was built for."""
    return weigh(f"torch.version.cuda is {build()}", build() in ("11.7", "11.8"))


@decides("S2-5", "S2-7")
def torch_is_built_for_cuda_11_8() -> Seen:
    """Read the CUDA that this torch was built for."""
    return weigh(f"torch.version.cuda is {build()}", build() == "11.8")


@decides("S2-6")
def an_rtx_40_needs_cuda_12_1() -> Seen:
    """Look for code that a card of capability 8.9 can run: its own major version, not newer."""
    codes = [arch for arch in torch.cuda.get_arch_list() if arch in ("sm_80", "sm_86", "sm_89")]
    has_code = bool(build() and codes)
    return weigh(f"CUDA {build()} brings {', '.join(codes)}", build() == "12.1" and has_code)


@decides("S0-7")
def capability_7_0_is_enough() -> Seen:
    """Compare what Triton asks for with the oldest generation that this build holds code for."""
    need(build(), "a CUDA build of torch")
    oldest = min(int(arch.removeprefix("sm_")) for arch in torch.cuda.get_arch_list())
    asked = "CUDA Capability >= 7.0" in compiler_sources()
    evidence = f"Triton asks for 7.0, the build begins at {oldest / 10}"
    return weigh(evidence, asked, oldest <= 70)


@decides("S0-14")
def the_compiler_needs_the_toolkit() -> Seen:
    """Look for the assembler that the GPU compiler uses."""
    found = find_spec("triton")
    need(found and found.origin, "triton, which comes with the CUDA build on Linux")
    assemblers = Path(found.origin).parent.glob("backends/nvidia/bin/ptxas*")
    names = sorted(path.name for path in assemblers)
    return weigh(f"triton brings {', '.join(names) or 'no assembler'}", not names)


@decides("S0-41")
def the_toolkit_comes_first() -> Seen:
    """See whether torch requires CUDA's libraries as packages, or has no CUDA at all."""
    libraries = [name for name in requirements() if name.startswith(("nvidia-", "cuda-"))]
    evidence = f"torch requires {', '.join(libraries[:2])}" if libraries else "built without CUDA"
    if torch.version.cuda and not libraries:
        evidence = "torch has CUDA, and requires none of its libraries"
    return weigh(evidence, bool(torch.version.cuda) and not libraries)


@decides("S0-40")
def a_script_may_source_bashrc() -> Seen:
    """Add a line to the system's own template of .bashrc, source it in a script, look for it."""
    template = Path("/etc/skel/.bashrc")
    need(shutil.which("bash") and template.exists(), "bash, and a template of .bashrc")
    with tempfile.TemporaryDirectory() as home:
        text = template.read_text(encoding="utf-8")
        Path(home, ".bashrc").write_text(f"{text}\nLEDGER=set\n", encoding="utf-8")
        script = 'source "$HOME/.bashrc"; echo "${LEDGER-unset}"'
        done = subprocess.run(
            ["bash", "-c", script],
            env={"HOME": home, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
        )
    return weigh(f"its last line stays {done.stdout.strip()}", done.stdout.strip() == "set")


@decides("S0-46")
def compiling_takes_over_the_settings() -> Seen:
    """Look for settings of optimiser and loader in what torch.compile takes, and in its effect."""
    arguments = set(inspect.signature(torch.compile).parameters)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.5, 0.6))
    model.compile(backend="eager")
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    kept = optimizer.defaults["betas"] == (0.5, 0.6)
    takes = arguments & {"params", "lr", "betas", "pin_memory", "optimizer"}
    return weigh(f"takes none of them, betas stay {optimizer.defaults['betas']}", takes, not kept)


@decides("S3-18")
def the_check_can_fail() -> Seen:
    """Read the source of the check."""
    last = inspect.getsource(torch.cpu.is_available).strip().splitlines()[-1].strip()
    return weigh(f"its source ends in `{last}`", last != "return True")


@decides("S3-19")
def a_device_prints_its_name() -> Seen:
    """Print it."""
    return weigh(f"it prints {torch.device('cpu')}", str(torch.device("cpu")) == "cpu")
