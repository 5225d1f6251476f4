"""Ask programs that run in a process of their own, under other variables or other hands.

Some claims are about a Python that has not started yet, and some would leave a mark in this one:
a debugger, a group of processes, workers. Each program stands in ``ledger/alone/``.

Kind:    plumbing
Public:  alone_under_debugger, in_adverse_conditions, one_rank, switched, without_compiler
Imports: ledger.evidence, probes.files; torch
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import torch

from course_utils.ledger.evidence import Seen, decides, in_child, need, program, weigh
from course_utils.ledger.probes.files import compiler_sources

__all__ = [
    "alone_under_debugger",
    "in_adverse_conditions",
    "one_rank",
    "switched",
    "without_compiler",
]


@program
def in_adverse_conditions() -> tuple[dict, str]:
    """Compile without torchvision, with another nvcc, under loud variables, beside workers."""
    with tempfile.TemporaryDirectory() as folder:
        nvcc = Path(folder, "nvcc")
        nvcc.write_text("#!/bin/sh\necho Cuda compilation tools, release 12.4\n", encoding="utf-8")
        nvcc.chmod(0o755)
        return in_child(
            "in_adverse_conditions",
            PATH=os.pathsep.join([folder, os.environ.get("PATH", "")]),
            TORCHDYNAMO_VERBOSE="1",
            TORCHDYNAMO_LOG_LEVEL="2",
        )


@decides("S0-5")
def conda_and_torchvision_stop_dynamo() -> Seen:
    """Compile where torchvision cannot be imported, and search the sources for conda's setting."""
    said, _ = in_adverse_conditions()
    reads_conda = "auto_activate" in compiler_sources()
    evidence = "compiled, and right, without torchvision; no source names conda's setting"
    return weigh(evidence, not said["equal"], reads_conda)


@decides("S0-23")
def torchvision_is_needed() -> Seen:
    """Compile where torchvision cannot be imported."""
    said, _ = in_adverse_conditions()
    right = "compiled, and right" if said["equal"] else "compiled, and wrong"
    return weigh(f"{right}, without torchvision", not said["equal"])


@decides("S0-15")
def another_nvcc_breaks_it() -> Seen:
    """Compile where an nvcc that calls itself 12.4 comes first on the path."""
    need(os.name == "posix", "a system on which a script can stand in for nvcc")
    said, _ = in_adverse_conditions()
    right = "compiled, and right" if said["equal"] else "compiled, and wrong"
    return weigh(f"{right}, beside an nvcc of 12.4", not said["equal"])


@decides("S0-19")
def the_two_variables_show_dynamo() -> Seen:
    """Read what a compilation without a fault prints under both of them."""
    _, noise = in_adverse_conditions()
    told = [line for line in noise.splitlines() if "dynamo" in line.lower()]
    return weigh(f"{len(told)} lines about Dynamo", bool(told))


@program
def switched() -> dict:
    """Run under three variables, two of which are known to be heard."""
    said, _ = in_child(
        "switched",
        TORCHDYNAMO_DISABLE="1",
        ATEN_CPU_CAPABILITY="default",
        TORCH_CUDA_ARCH_LIST="7.0",
    )
    return said


@decides("S0-22")
def the_variable_switches_off() -> Seen:
    """Count the graphs under it."""
    graphs = switched()["graphs"]
    return weigh(f"{graphs} graphs under TORCHDYNAMO_DISABLE=1", graphs == 0)


@decides("S0-9")
def the_package_needs_avx_512() -> Seen:
    """Compute with the same package after asking it for no wide instructions at all."""
    said = switched()
    evidence = f"the same package computes with {said['capability']}, chosen when it starts"
    return weigh(evidence, not said["right"])


@decides("S0-10")
def only_a_rebuild_changes_the_instructions() -> Seen:
    """Ask for other instructions by a variable, without building anything."""
    capability = switched()["capability"]
    evidence = f"ATEN_CPU_CAPABILITY=default gives {capability}, without a rebuild"
    return weigh(evidence, capability not in ("DEFAULT", "NO AVX"))


@program
def without_compiler() -> dict:
    """Name a C++ compiler that does not exist, and an empty cache."""
    with tempfile.TemporaryDirectory() as empty:
        said, _ = in_child("no_compiler", CXX="no-such-compiler", TORCHINDUCTOR_CACHE_DIR=empty)
    return said


@decides("S0-4")
def torch_brings_a_whole_compiler() -> Seen:
    """Capture and compile without a C++ compiler."""
    said = without_compiler()
    missing = "No working C++ compiler" in said["error"]
    found = "no working C++ compiler found" if missing else "none needed"
    evidence = f"captured without a C++ compiler; for a kernel: {found}"
    return weigh(evidence, said["captured"], not said["error"])


@decides("S0-24")
def the_list_proves_that_it_works() -> Seen:
    """Ask for the list on a machine that cannot compile."""
    said = without_compiler()
    need(said["listed"], "a torch that lists Inductor")
    works = not said["error"]
    return weigh(f"inductor is listed, and compiling {'works' if works else 'fails'}", works)


@decides("S0-26")
def a_failed_build_is_nvccs() -> Seen:
    """Read whom the failure of a build blames."""
    blamed = "nvcc" if "nvcc" in without_compiler()["error"].lower() else "the C++ compiler"
    return weigh(f"the error names {blamed}", blamed == "nvcc")


@program
def alone_under_debugger() -> dict:
    """Call the debugger inside a compiled function, and watch another from outside."""
    said, _ = in_child("under_debugger", keys="c\n" * 10)
    return said


@decides("S0-34")
def pdb_falls_back_in_silence() -> Seen:
    """Count the graphs around the call, and listen for a warning."""
    said = alone_under_debugger()
    evidence = f"{said['pieces']} graphs, {'a' if said['warned'] else 'no'} warning"
    refused = "refused" if said["refused"] else "accepted"
    silent = not said["warned"] and not said["refused"]
    return weigh(f"{evidence}; {refused} with fullgraph", said["pieces"] == 0, silent)


@decides("S0-35")
def a_debugger_stops_compiling() -> Seen:
    """Compile under a debugger, and count graphs and stops."""
    said = alone_under_debugger()
    evidence = f"{said['graphs']} graph under it; {said['compiled_stops']} stops inside"
    return weigh(evidence, said["graphs"] == 0, said["compiled_stops"] == 0)


@decides("S3-13")
def breakpoints_stop_as_before() -> Seen:
    """Set a breakpoint, and count the stops in eager and in compiled code."""
    said = alone_under_debugger()
    evidence = f"stops: {said['eager_stops']} in eager, {said['compiled_stops']} in compiled code"
    return weigh(evidence, said["eager_stops"] > 0, said["compiled_stops"] > 0)


@decides("S0-38")
def workers_block_each_other() -> Seen:
    """See whether all batches came."""
    batches = in_adverse_conditions()[0]["batches"]
    return weigh(f"{batches} of 8 batches came and went through", batches != 8)


@decides("S0-39")
def workers_fill_their_caches() -> Seen:
    """Count the files in the workers' own cache folders."""
    said, _ = in_adverse_conditions()
    need(said["folders"], "a system on which workers start")
    evidence = f"{said['files']} files in {said['folders']} folders"
    return weigh(evidence, said["files"] > 0)


@program
def one_rank() -> dict:
    """Form a group of one process."""
    need(torch.distributed.is_available(), "a torch with its distributed part")
    said, _ = in_child("one_rank")
    return said


@decides("S2-22")
def a_mesh_of_gpus_needs_gpus() -> Seen:
    """Ask for a mesh of GPUs where there is none."""
    need(torch.version.cuda, "a CUDA build of torch")
    need(not torch.cuda.is_available(), "a machine without a GPU")
    given = one_rank()["cuda_mesh"]
    evidence = f"without a GPU it answers {given}"
    return weigh(evidence, given == "cuda", torch.cuda.is_available())


@decides("S2-23")
def a_word_is_a_placement() -> Seen:
    """Hand over the article's list, and one of the right length."""
    said = one_rank()
    evidence = f"{said['too_many']}, then {said['a_word']}; [Shard(1)] works"
    return weigh(evidence, "Error" not in said["too_many"], "Error" not in said["a_word"])


@decides("S3-9")
def ddp_and_fsdp_train() -> Seen:
    """Train one step with each."""
    said = one_rank()
    return weigh("one step with each, gradients for all weights", said["ddp"], said["fsdp"])
