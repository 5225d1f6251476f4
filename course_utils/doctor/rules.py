"""Judge the facts: each rule a small pure function, the most basic cause first.

A broken installation shows many symptoms of one cause. ``RULES`` lists the rules in the order of
cause and effect; ``after`` names the rules whose problem explains this one's findings away, so
that nobody reinstalls torch who only has to restart the kernel. What could not be looked at is
"unknown", never "ok".

Kind:    plumbing; chapter 2 reads its findings
Public:  RULES, Finding, Rule, Verdict, judge, verdict
Imports: the modules of rules, chapter, finding
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from course_utils.doctor import (
    rules_compile,
    rules_gpu,
    rules_import,
    rules_install,
    rules_notebook,
    rules_packages,
)
from course_utils.doctor.chapter import section
from course_utils.doctor.finding import Finding, unknown

__all__ = ["RULES", "Finding", "Rule", "Verdict", "judge", "verdict"]


@dataclass(frozen=True)
class Rule:
    """One question to the facts.

    ``needs`` names the facts it reads, ``after`` the rules whose problems it would only repeat.
    """

    name: str
    group: str
    ask: Callable
    needs: tuple = ()
    after: tuple = ()


# what makes torch unusable, and what makes compiling impossible: later rules would repeat it
NO_GROUND = ("running kernel", "notebook's Python", "platform", "Python")
NO_TORCH = (*NO_GROUND, "torch", "shadowing files", "packages outside", "torch imports")
NO_COMPILE = (*NO_TORCH, "compiler", "headers", "OpenMP", "cache folder", "switched off")

RULES = (
    Rule("running kernel", "Python", rules_install.running_kernel, ("loaded", "packages")),
    Rule(
        "notebook's Python",
        "Python",
        rules_install.notebooks_python,
        ("course", "python", "packages", "jupyter"),
    ),
    Rule("platform", "Machine", rules_install.platform, ("machine",)),
    Rule(
        "Python",
        "Python",
        rules_install.python_version,
        ("python", "course"),
        ("notebook's Python", "platform"),
    ),
    Rule("shadowing files", "Python", rules_install.shadowing_files, ("shadows",)),
    Rule(
        "packages outside",
        "Packages",
        rules_packages.packages_outside,
        ("torch", "python"),
        (*NO_GROUND, "shadowing files"),
    ),
    Rule(
        "torch",
        "Packages",
        rules_packages.torch_installed,
        ("packages", "torch", "course"),
        (*NO_GROUND, "shadowing files", "packages outside"),
    ),
    Rule(
        "torch imports",
        "Packages",
        rules_import.torch_imports,
        ("torch",),
        (*NO_GROUND, "shadowing files", "packages outside"),
    ),
    Rule(
        "NumPy",
        "Packages",
        rules_packages.numpy_pair,
        ("packages",),
        (*NO_GROUND, "shadowing files", "packages outside"),
    ),
    Rule(
        "matching pair",
        "Packages",
        rules_packages.matching_pair,
        ("packages", "torch"),
        (*NO_GROUND, "shadowing files", "packages outside", "torch imports"),
    ),
    Rule(
        "torchvision imports",
        "Packages",
        rules_import.torchvision_imports,
        ("torch",),
        (*NO_TORCH, "matching pair"),
    ),
    Rule(
        "other packages",
        "Packages",
        rules_packages.other_packages,
        ("packages", "course"),
        (*NO_GROUND, "shadowing files", "torch"),
    ),
    Rule("leftovers", "Packages", rules_packages.leftovers, ("leftovers",)),
    Rule("conda and pip", "Packages", rules_packages.conda_and_pip, ("conda_packages",)),
    Rule(
        "OpenMP twice",
        "Packages",
        rules_import.openmp_twice,
        ("openmp_copies", "switches"),
        ("torch imports",),
    ),
    Rule("switched off", "Compiling", rules_compile.switched_off, ("switches",)),
    Rule("compiler", "Compiling", rules_compile.compiler, ("compiler",), NO_TORCH),
    Rule("headers", "Compiling", rules_compile.headers, ("headers",), NO_TORCH),
    Rule("OpenMP", "Compiling", rules_compile.openmp, ("openmp",), (*NO_TORCH, "compiler")),
    Rule("cache folder", "Compiling", rules_compile.cache_folder, ("cache",), NO_TORCH),
    Rule("compile works", "Compiling", rules_compile.compile_works, ("compile",), NO_COMPILE),
    Rule("room", "Machine", rules_compile.room, ("room",)),
    Rule("GPU", "Machine", rules_gpu.gpu_usable, ("gpus",), NO_TORCH),
    Rule("CUDA toolkit", "Machine", rules_gpu.toolkit, ("toolkit",), NO_TORCH),
    Rule("kernels", "Notebooks", rules_notebook.kernels, ("jupyter", "packages"), NO_GROUND),
    Rule("widgets", "Notebooks", rules_notebook.widgets, ("jupyter", "packages"), NO_GROUND),
    Rule("encoding", "Settings", rules_compile.encoding, ("machine",)),
    Rule("other switches", "Settings", rules_compile.other_switches, ("switches",)),
)


def judge(facts) -> list:
    """Return what all rules found, without what merely follows from an earlier problem."""
    findings = []
    stopped = {}
    for rule in RULES:
        if _follows(rule, stopped):
            continue
        said = _ask(rule, facts)
        stops = {finding.stops for finding in said if finding.status == "problem"}
        if stops:
            stopped[rule.name] = "course" if "course" in stops else "compile"
        findings += [_completed(rule, finding) for finding in said]
    return findings


# rule and id of a finding -> what repairs.plan could do about it
REPAIRS = {
    ("compile works", "D24"): "cache",
    ("kernels", "D31"): "kernel",
    ("cache folder", "D20"): "cache-folder",
    ("cache folder", "D21"): "cache-folder",
    ("torch", "torch"): "pair",
    ("torch imports", "torch-import"): "pair",
    ("matching pair", "D01"): "pair",
    ("torchvision imports", "D01"): "pair",
    ("other packages", "D01"): "pair",
}


def _completed(rule, finding):
    """Return a finding with its heading, its place in the chapter and its repair."""
    serious = finding.status in ("problem", "warning")
    return replace(
        finding,
        group=rule.group,
        section=section(finding.id),
        repair=REPAIRS.get((rule.name, finding.id), "") if serious else "",
    )


def _follows(rule, stopped):
    # what stops only torch.compile explains nothing about packages
    return any(
        stopped.get(name) == "course" or (name in stopped and rule.group == "Compiling")
        for name in rule.after
    )


def _ask(rule, facts):
    lost = [name for name in rule.needs if name in facts.failed]
    if lost:
        return [unknown(rule.name, f"{rule.name}: {facts.failed[lost[0]]}")]
    try:
        return rule.ask(facts)
    except Exception as error:  # a doctor that raises helps nobody
        said = f"could not judge: {type(error).__name__}: {error}"
        return [unknown(rule.name, f"{rule.name}: {said}")]


@dataclass(frozen=True)
class Verdict:
    """The last word: how far this machine carries, and what to do first."""

    code: int
    sentence: str
    first: str = ""


def verdict(facts, findings) -> Verdict:
    """Say in one sentence what this machine may do: exit code 0, 1 or 2."""
    problems = [finding for finding in findings if finding.status == "problem"]
    for finding in problems:
        if finding.stops == "course":
            return Verdict(2, f"Not yet: {finding.found}", finding.fix)
    if problems:
        backend = (facts.compile.fallback if facts.compile else None) or "aot_eager"
        sentence = "All chapters can be done, without the speed-up: torch.compile does not work "
        sentence += f"here yet (fallback: backend='{backend}')."
        return Verdict(1, sentence, problems[0].fix)
    if facts.torch is None or not facts.torch.worked:
        return Verdict(
            2, "Not yet: whether torch works could not be told.", "Run the doctor again."
        )
    if facts.compile is None and facts.fast:
        return Verdict(0, "Nothing stands in the way, as far as a fast look can tell.")
    if facts.compile is None or facts.compile.timed_out or "compile" in facts.failed:
        sentence = "All chapters can be done; whether torch.compile works could not be told."
        return Verdict(1, sentence, "Run the doctor again.")
    return Verdict(0, "This machine can do all chapters, with torch.compile.")
