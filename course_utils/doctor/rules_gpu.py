"""Judge graphics cards and drivers, which the course can use and never needs.

A machine without a card is as good as any: nothing here stops the course.

Kind:    plumbing
Public:  gpu_usable, toolkit
Imports: finding, fixes, tables, versions
"""

from __future__ import annotations

from course_utils.doctor import fixes, tables
from course_utils.doctor.finding import note, ok, unknown
from course_utils.doctor.versions import release

__all__ = ["gpu_usable", "toolkit"]

CPU_IS_ENOUGH = "The course runs on the CPU all the same."


def gpu_usable(facts):
    """Say whether there is a card, and if torch does not use it, which of four causes it is."""
    gpus, said = facts.gpus, (facts.torch.said if facts.torch else {})
    if facts.machine.platform == "darwin":
        return _mac(said)
    if gpus.state == "hung":
        fix = "Restart the computer; its driver does not answer."
        return [unknown("D03", "nvidia-smi: " + gpus.message, CPU_IS_ENOUGH, fix)]
    if gpus.state == "failed":
        why = "The NVIDIA driver is missing or was updated and waits for a restart. "
        fix = "Restart the computer; if that does not help install the NVIDIA driver anew."
        return [note("D03", "nvidia-smi fails: " + gpus.message, why + CPU_IS_ENOUGH, fix)]
    if gpus.state == "absent":
        return _without_driver(gpus, said)
    if not gpus.gpus:
        return [unknown("D02", "nvidia-smi answers and names no card", CPU_IS_ENOUGH)]
    if not said:
        return [note("D02", f"{_names(gpus)}; torch was not asked")]
    return _with_driver(facts, gpus, said)


def _mac(said):
    works = said.get("mps_works") is True
    found = "The Mac's GPU (MPS) can be used" if works else "No GPU in use; the CPU is enough"
    return [ok("D02", found)]


def _without_driver(gpus, said):
    if said.get("gpu_works") is True:  # ROCm, and systems that hide nvidia-smi
        return [ok("D02", "torch can use a GPU")]
    if "NVIDIA" in gpus.cards:
        fix = "Install the NVIDIA driver, if you want to use the card."
        found = "An NVIDIA card is there, its driver is not"
        return [note("D02", found, CPU_IS_ENOUGH, fix)]
    return [ok("D02", "No GPU that torch could use; the CPU is enough")]


def _with_driver(facts, gpus, said):
    if said.get("hip"):
        found = f"torch is built for AMD (ROCm), the card is {_names(gpus)}"
        return [note("D02", found, CPU_IS_ENOUGH, fixes.pair(facts, said["version"], "auto"))]
    if not isinstance(said.get("cuda"), str):
        found = f"CPU build of torch installed, GPU found: {_names(gpus)}"
        fix = fixes.pair(facts, str(said.get("version")), "auto")
        return [note("D02", found, CPU_IS_ENOUGH, fix)]
    hidden = _hidden_by_variable(facts, gpus)
    if hidden:
        return [hidden]
    return (
        _old_driver(facts, gpus, said)
        or _new_card(facts, gpus, said)
        or _works_or_not(facts, gpus, said)
    )


def _hidden_by_variable(facts, gpus):
    value = facts.switches.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return None
    named = [part.strip() for part in value.split(",")]
    # torch stops reading at the first entry that does not exist
    if named[0].isdigit() and int(named[0]) < len(gpus.gpus):
        return None
    if named[0].startswith(("GPU-", "MIG-")) and facts.torch.said.get("gpu_works") is True:
        return None
    found = f"CUDA_VISIBLE_DEVICES={value!r} hides {_names(gpus)}"
    return note("D02", found, CPU_IS_ENOUGH, fixes.unset(facts, "CUDA_VISIBLE_DEVICES"))


def _old_driver(facts, gpus, said):
    needs = release(said["cuda"])[0]
    driver = release(gpus.gpus[0].driver)
    offers = release(gpus.cuda)
    oldest = tables.OLDEST_DRIVER.get(needs)
    # within one major version any driver serves, so only the majors are compared
    too_old = offers[0] < needs if offers else bool(driver and oldest and driver[0] < oldest)
    if not too_old:
        return []
    found = "The driver ({}{}) is older than torch's CUDA {}".format(
        gpus.gpus[0].driver or "version unknown",
        ", up to CUDA " + gpus.cuda if gpus.cuda else "",
        said["cuda"],
    )
    why = "Installing a CUDA toolkit changes nothing: torch brings its own. " + CPU_IS_ENOUGH
    fix = "Install a newer NVIDIA driver{}, or a build of torch for the old one: {}".format(
        f" ({oldest} or newer)" if oldest else "",
        fixes.pair(facts, str(said.get("version")), "auto"),
    )
    return [note("D03", found, why, fix)]


def _new_card(facts, gpus, said):
    built_for = said.get("architectures")
    if not isinstance(built_for, list) or not built_for:
        return []
    numbers = [_number(name) for name in built_for]
    for gpu in gpus.gpus:
        card = release(gpu.capability)
        if len(card) == 2 and not _has_code_for(card, numbers, built_for):
            return [_no_code(facts, gpu, card, [n for n in numbers if n], built_for)]
    return []


def _number(name):
    digits = "".join(c for c in name.partition("_")[2] if c.isdigit())
    return (int(digits[:-1]), int(digits[-1])) if len(digits) >= 2 else None


def _has_code_for(card, numbers, names):
    # code runs on later cards of the same major version; compute_NN is compiled on the fly
    for number, name in zip(numbers, names):  # noqa: B905 (strict= is unknown to Python 3.9)
        if number and number[0] == card[0] and number <= card:
            return True
        if number and name.startswith("compute_") and number <= card:
            return True
    return False


def _no_code(facts, gpu, card, numbers, built_for):
    newer = bool(numbers) and card > max(numbers)
    found = "{} ({}) is {} than this build of torch knows: {}".format(
        gpu.name, gpu.capability, "newer" if newer else "older", " ".join(built_for)
    )
    where = "a newer CUDA" if newer else "an older CUDA"
    why = "torch finds the card and the first operation fails ('no kernel image'). "
    fix = "Take torch from a build for {}: {}".format(
        where, fixes.pair(facts, str(facts.torch.said.get("version")), "auto")
    )
    return note("D05", found, why + "Until then set COURSE_DEVICE=cpu.", fix)


def _works_or_not(facts, gpus, said):
    if said.get("gpu_works") is True:
        return [ok("D02", f"torch can use {_names(gpus)}")]
    found = f"{_names(gpus)} is there and torch does not see it"
    fix = "Restart the computer; in a container start it with --gpus all."
    return [note("D02", found, CPU_IS_ENOUGH, fix)]


def _names(gpus):
    return ", ".join(gpu.name for gpu in gpus.gpus)


def toolkit(facts):
    """Say that nvcc's version does not matter here, where somebody may worry (D07)."""
    kit = facts.toolkit
    cuda = facts.torch.said.get("cuda") if facts.torch else None
    harmless = "This matters only to people who build extensions; torch brings its own CUDA."
    if kit.nvcc and isinstance(cuda, str) and kit.nvcc != cuda:
        return [note("D07", f"nvcc {kit.nvcc} differs from torch's {cuda}", harmless)]
    if kit.home and not kit.home_exists:
        return [note("D07", f"CUDA_HOME={kit.home} does not exist", harmless)]
    return []
