"""Judge graphics cards and drivers, which the course can use and never needs.

A machine without a card is as good as any: nothing here stops the course.

Kind:    plumbing
Public:  gpu_usable, toolkit
Imports: finding, fixes, releases, tree, versions
"""

from __future__ import annotations

from course_utils.doctor import fixes, releases, tree
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
    if said.get("mps_works") is True:
        return [ok("D02", "The Mac's GPU (MPS) can be used")]
    if said.get("mps_built") is True:  # a virtual machine, or a Mac that is only reached from afar
        return [ok("D02", "torch knows the Mac's GPU (MPS) and finds none; the CPU is enough")]
    return [ok("D02", "No GPU in use; the CPU is enough")]


def _without_driver(gpus, said):
    if said.get("gpu_works") is True:  # ROCm, and systems that hide nvidia-smi
        return [ok("D02", "torch can use a GPU")]
    if said.get("hip"):
        return [_without_amd_driver(gpus, said)]
    if "NVIDIA" in gpus.cards:
        fix = "Install the NVIDIA driver, if you want to use the card."
        found = "An NVIDIA card is there, its driver is not"
        return [note("D02", found, CPU_IS_ENOUGH, fix)]
    return [ok("D02", "No GPU that torch could use; the CPU is enough")]


def _without_amd_driver(gpus, said):
    found = "torch is built for AMD (ROCm {}) and sees no card".format(said["hip"])
    if gpus.amd == "locked":
        fix = 'sudo usermod -aG render,video "$USER", then log out and in again'
        return note("D02", found + ": this user may not use it", CPU_IS_ENOUGH, fix)
    fix = "Install AMD's driver; in a container start it with --device=/dev/kfd --device=/dev/dri."
    return note("D02", found, CPU_IS_ENOUGH, fix)


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
    oldest = releases.DRIVERS.get(needs)
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
    fix = "Install a newer NVIDIA driver{}".format(f" ({oldest} or newer)" if oldest else "")
    older = _other_build(facts, gpus.gpus[0])
    if older:
        fix += f", or a build of torch for the old one: {older}"
    return [note("D03", found, why, fix)]


def _other_build(facts, gpu):
    """Return the command for the build that suits this card and driver, if there is one."""
    if not gpu.capability:  # an old driver does not tell it
        return fixes.pair(facts, str(facts.torch.said.get("version")), "auto")
    choice = tree.choose(
        facts.machine.platform,
        facts.machine.architecture,
        gpu=gpu.name,
        capability=gpu.capability,
        driver=gpu.driver,
        wanted="auto",
    )
    if choice.build not in releases.MAJOR:
        return ""
    # the pair is named, since an older build ends with an older torch
    return fixes.pair(facts, releases.PAIR[0], choice.build)


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
    command = _other_build(facts, gpu)
    if not command:
        fix = "Set COURSE_DEVICE=cpu: no build of this torch serves the card as it is."
        return note("D05", found, why + CPU_IS_ENOUGH, fix)
    fix = f"Take torch from a build for {where}: {command}"
    return note("D05", found, why + "Until then set COURSE_DEVICE=cpu.", fix)


def _works_or_not(facts, gpus, said):
    if said.get("gpu_works") is True:
        return [ok("D02", f"torch can use {_names(gpus)}"), *_no_triton(facts, gpus)]
    found = f"{_names(gpus)} is there and torch does not see it"
    fix = "Restart the computer; in a container start it with --gpus all."
    return [note("D02", found, CPU_IS_ENOUGH, fix)]


def _no_triton(facts, gpus):
    why = "torch.compile needs triton for a card. Eager works on it, and compiling on the CPU."
    fix = "Set COURSE_DEVICE=cpu for the chapters that compile."
    if facts.machine.platform not in releases.TRITON_SYSTEMS and not facts.packages.get("triton"):
        return [note("D15", "There is no triton for the GPU here", why, fix)]
    capability = release(gpus.gpus[0].capability)
    if capability and capability < releases.TRITON:
        found = f"{gpus.gpus[0].name} ({gpus.gpus[0].capability}) is too old for triton"
        return [note("D15", found, why, fix)]
    return []


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
