"""Judge how importing torch and torchvision went, by return code and last words.

Kind:    plumbing
Public:  openmp_twice, torch_imports, torchvision_imports
Imports: finding, fixes
"""

from __future__ import annotations

import re

from course_utils.doctor import fixes
from course_utils.doctor.finding import ok, problem, warning

__all__ = ["openmp_twice", "torch_imports", "torchvision_imports"]

# return codes: negative on POSIX, 128 + n through a shell, NTSTATUS on Windows
ILLEGAL_INSTRUCTION = {-4, 132, 0xC000001D, 0xC000001D - 2**32}
ABORT = {-6, 134, 3, 0xC0000409, 0xC0000409 - 2**32}
KILLED = {-9, 137}
CRASH = {-11, 139, 0xC0000005, 0xC0000005 - 2**32}


def torch_imports(facts):
    """Say whether torch can be imported, and if not, what ended it."""
    tried = facts.torch
    if tried is None:
        return []
    if tried.worked:
        return _but_does_it_compute(tried)
    for recognise in (
        _illegal_instruction,
        _openmp_abort,
        _foreign_libraries,
        _windows_dll,
        _old_glibc,
        _broken_numpy,
        _missing_module,
        _ended_by_signal,
    ):
        finding = recognise(facts, tried)
        if finding:
            return [finding]
    return [_other_failure(facts, tried)]


def _but_does_it_compute(tried):
    if isinstance(tried.said.get("addition"), dict):
        found = "torch imports and cannot add: {}".format(tried.said["addition"].get("error"))
        why = "What was imported is not a whole torch."
        return [problem("torch-import", found, why, "python3 course.py (installs torch anew)")]
    where = tried.said.get("file") or "a folder without torch in it"
    return [ok("torch-import", f"import torch works ({where})")]


def _illegal_instruction(facts, tried):
    if tried.code not in ILLEGAL_INSTRUCTION:
        return None
    flags = set(facts.machine.cpu_flags)
    missing = sorted({"avx", "avx2"} - flags) if flags and facts.machine.architecture in X86 else []
    found = "import torch ended with 'illegal instruction'"
    found += "; this CPU does not offer {}".format(" and ".join(missing)) if missing else ""
    return problem(
        "D26",
        found,
        "torch uses instructions that this CPU, or the virtual machine around it, does not have.",
        "In a virtual machine choose the CPU model 'host'; an old computer needs another one.",
    )


X86 = {"x86_64", "AMD64", "amd64"}


def _openmp_abort(facts, tried):
    if "OMP: Error #15" not in tried.error and not (
        tried.code in ABORT and len(facts.openmp_copies) > 1
    ):
        return None
    copies = ", ".join(facts.openmp_copies) or "see 'OMP: Error #15'"
    return problem(
        "D09",
        f"import torch was aborted: two OpenMP libraries in one process ({copies})",
        "conda and pip each brought one. KMP_DUPLICATE_LIB_OK hides it and may give wrong numbers.",
        "Make a fresh environment from one package manager: python3 course.py",
    )


def _foreign_libraries(facts, tried):
    for name in ("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"):
        again = facts.torch_again.get(name)
        if again is not None and again.worked:
            return problem(
                "D08",
                "import torch fails because of {}={}".format(name, facts.switches.get(name, "")),
                "It puts other libraries before torch's own. Without it torch works. It ends in: "
                + tried.last_words,
                fixes.unset(facts, name),
            )
    return None


def _windows_dll(facts, tried):
    code = re.search(r"WinError (126|127|182|193|1114)\b", tried.error)
    if not code:
        return None
    file = re.search(r"([\w.+-]+\.dll)", tried.error)
    found = "WinError {}{}".format(code.group(1), ": " + file.group(1) if file else "")
    if code.group(1) == "193":
        why = "A 32-bit file met a 64-bit Python, or the other way round."
        return problem("D14", found, why, "Make a fresh environment with a 64-bit Python.")
    return problem(
        "D14",
        found + " does not load",
        "The Visual C++ runtime is missing or old. Single DLL files from the web make it worse.",
        "Install the current x64 Visual C++ Redistributable from Microsoft and restart Windows.",
    )


def _old_glibc(facts, tried):
    wanted = re.search(r"version [`']((?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found", tried.error)
    if not wanted:
        return None
    why = "torch's libraries were built for a newer system; this one has {}.".format(
        facts.machine.libc or "an older one"
    )
    fix = "Use a newer release of the distribution, or a fresh environment: python3 course.py"
    return problem("D08", f"The system lacks {wanted.group(1)}", why, fix)


def _broken_numpy(facts, tried):
    if "numpy" not in tried.last_words.lower() and "numpy/__init__.py" not in tried.error:
        return None
    return problem(
        "D10",
        f"numpy is broken and stops torch: {tried.last_words}",
        "torch imports numpy where it finds one.",
        f"{fixes.python_command(facts)} -m pip install --force-reinstall numpy",
    )


def _missing_module(facts, tried):
    named = re.search(r"No module named '([\w.]+)'", tried.last_words)
    if not named:
        return None
    if named.group(1).split(".")[0] == "torch":
        found = f"torch's metadata is there, the package '{named.group(1)}' is not"
    else:
        found = f"torch needs the package '{named.group(1)}', which is missing"
    why = "An installation was interrupted, or a package was removed."
    return problem("torch-import", found, why, _reinstall(facts))


def _ended_by_signal(facts, tried):
    if tried.timed_out:
        why = "A very slow disk, a virus scanner or a network folder; or torch waits for a device."
        fix = "Run the doctor once more: the second time the files are in memory."
        return problem("torch-import", "import torch did not end in time", why, fix)
    if tried.code in KILLED:
        why = "Mostly because memory ran out."
        fix = "Close other programs, or give the container more memory, and try again."
        return problem("torch-import", "The system killed 'import torch'", why, fix)
    if tried.code in CRASH | ABORT:
        found = f"import torch crashed (return code {tried.code})"
        why = "A compiled library is damaged or does not fit. " + tried.last_words
        return problem("torch-import", found, why.strip(), _reinstall(facts))
    return None


def _other_failure(facts, tried):
    found = "import torch fails: {}".format(tried.last_words or "it said nothing")
    return problem("torch-import", found, "The installation is not whole.", _reinstall(facts))


def _reinstall(facts):
    copies = facts.packages.get("torch", ())
    command = fixes.pair(facts, copies[0].version if copies else "")
    return command.replace("--upgrade", "--force-reinstall")


def torchvision_imports(facts):
    """Say whether torchvision can be imported beside torch."""
    tried = facts.torchvision
    if tried is None:
        return []
    broken = tried.said.get("nms") if tried.worked else None
    if tried.worked and not isinstance(broken, dict):
        return [ok("torchvision-import", "import torchvision works, and its operators answer")]
    said = broken.get("error") if isinstance(broken, dict) else tried.last_words
    found = "torchvision does not work: {}".format(said or f"return code {tried.code}")
    why = "Its compiled operators do not load beside this torch."
    fix = f"{_reinstall(facts)}  {fixes.RESTART}"
    return [problem("D01", found, why, fix)]


def openmp_twice(facts):
    """Warn of two OpenMP libraries, and of the variable that hides them (D09)."""
    findings = []
    name = "KMP_DUPLICATE_LIB_OK"
    if facts.switches.get(name):
        found = f"{name}={facts.switches[name]} is set"
        why = "It lets two OpenMP libraries run in one process, which may give wrong numbers."
        findings.append(warning("D09", found, why, fixes.unset(facts, name)))
    if len(facts.openmp_copies) > 1:
        found = "Two OpenMP libraries: {}".format(", ".join(facts.openmp_copies))
        why = "Where one process loads both it is aborted, and Jupyter says 'kernel died'."
        fix = "Make a fresh environment from one package manager: python3 course.py"
        findings.append(warning("D09", found, why, fix))
    return findings
