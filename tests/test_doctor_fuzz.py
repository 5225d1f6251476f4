"""Whatever a program prints or a file holds, the doctor reads it and goes on."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from course_utils.doctor import bundle, facts, jupyter, probes, probes_packages, report, rules
from course_utils.doctor import system as doctors
from course_utils.doctor.builds import nvidia_gpus
from course_utils.doctor.system import Ran, decode
from tests.doctor_machines import laptop, with_card
from tests.test_doctor_facts import BANNER, CARD, NEW_BANNER, machine

# of each parser; COURSE_FUZZ_ROUNDS=1500 tries eighteen thousand inputs in all, in two minutes
ROUNDS = int(os.environ.get("COURSE_FUZZ_ROUNDS", "60"))
CPUINFO = "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu sse2 avx avx2 avx512f\n"
NVCC = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4, V12.4.131\n"
KERNEL = '{"argv": ["python", "-m", "ipykernel_launcher"], "language": "python", "env": {}}'
METADATA = "Metadata-Version: 2.1\nName: torch\nVersion: 2.14.1+cu130\nRequires-Dist: numpy\n"
RELEASE = 'NAME="Debian GNU/Linux"\nID=debian\nID_LIKE="ubuntu"\nVERSION_ID="12"\n'
ENVIRONMENT = "name: x\nchannels:\n  - pytorch\ndependencies:\n  - pip:\n    - torch==2.14\n"
PACKAGE = '{"name": "@jupyter-widgets/jupyterlab-manager", "version": "5.0.16"}'


def mutations(text, seed):
    """Yield damaged forms of a text: bytes changed, cut, doubled, put in, or nothing but noise."""
    choose = random.Random(seed)
    raw = text.encode()
    for number in range(ROUNDS):
        yield _noise(choose) if number % 10 == 0 else _damage(bytearray(raw), choose)


def _noise(choose):
    return bytes(choose.randrange(256) for _ in range(choose.randrange(200)))


def _damage(raw, choose):
    for _ in range(choose.randint(1, 6)):
        at = choose.randrange(len(raw) + 1)
        kind = choose.randrange(5)
        if kind == 0:
            raw[at : at + 1] = bytes([choose.randrange(256)])
        elif kind == 1:
            del raw[at : at + choose.randrange(20)]
        elif kind == 2:
            raw[at:at] = raw[: choose.randrange(60)]
        elif kind == 3:
            raw[at:at] = choose.choice(
                [b"\0", b"\n", b"\xff\xfe", b"]", b"{", b"9" * 30, b"\x1b[31m"]
            )
        else:
            raw[at:] = b""
    if choose.randrange(8) == 0:
        return bytes(raw).decode("utf-8", "replace").encode("utf-16")
    return bytes(raw)


def write(root, name, raw):
    """Write a file below a root, in its folder."""
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(raw)
    return file


def judged(whole):
    """Judge a machine and show it in every form; rules may not fall back on "could not judge"."""
    findings = rules.judge(whole)
    verdict = rules.verdict(whole, findings)
    for form in (report.text, report.html):
        assert form(findings, verdict)
    assert report.json_text(whole, findings, verdict)
    return [finding for finding in findings if "could not judge" in finding.found]


@pytest.mark.parametrize("banner", [BANNER, NEW_BANNER], ids=["banner", "new banner"])
def test_nvidia_smi_may_print_anything(tmp_path, banner):
    answers = zip(mutations(banner, 1), mutations(CARD, 2), strict=True)
    for raw_banner, raw_card in answers:
        said = {True: decode(raw_card), False: decode(raw_banner)}

        def run(command, *_, said=said):
            return Ran(0, said["--query-gpu" in " ".join(map(str, command))])

        here = machine(tmp_path, run=run, which=lambda name: name)
        found = probes.gpus(here, {"fast": False})

        assert found.state == "answered"
        assert judged(replace(with_card(), gpus=found)) == [], (raw_banner, raw_card)
        assert isinstance(
            nvidia_gpus(lambda *_, said=said: Ran(0, said[True]), lambda name: name), list
        )


def test_nvcc_may_print_anything(tmp_path):
    for raw in mutations(NVCC, 3):
        here = machine(
            tmp_path, run=lambda *_, raw=raw: Ran(0, decode(raw)), which=lambda name: name
        )

        kit = probes.toolkit(here, {})

        assert judged(replace(with_card(), toolkit=kit)) == [], raw


@pytest.mark.parametrize(("name", "text"), [("proc/cpuinfo", CPUINFO), ("etc/os-release", RELEASE)])
def test_files_of_the_system_may_hold_anything(tmp_path, name, text):
    for raw in mutations(text, 4):
        write(tmp_path / "root", name, raw)

        found = probes.machine(machine(tmp_path), {})

        assert isinstance(found.cpu_flags, tuple) and isinstance(found.distributions, tuple)
        failed = facts.Import(-4, "")
        broken = laptop(machine=replace(laptop().machine, cpu_flags=found.cpu_flags), torch=failed)
        assert judged(broken) == [], raw


def test_memory_limits_and_pci_files_may_hold_anything(tmp_path):
    for number, raw in enumerate(mutations("4294967296\n", 5)):
        write(tmp_path / "root", "sys/fs/cgroup/memory.max", raw)
        write(tmp_path / "root", "sys/bus/pci/devices/0/class", b"0x030000" if number % 2 else raw)
        write(tmp_path / "root", "sys/bus/pci/devices/0/vendor", raw)

        room = probes.room(machine(tmp_path, memory=2**34), {})
        found = probes.gpus(machine(tmp_path), {"fast": False})

        assert judged(laptop(room=room, gpus=found)) == [], raw


def test_a_kernelspec_may_hold_anything(tmp_path):
    here = machine(tmp_path, environ={"JUPYTER_PATH": str(tmp_path / "j")})
    for raw in mutations(KERNEL, 6):
        write(tmp_path / "j", "kernels/python3/kernel.json", raw)

        found = jupyter.jupyter(here, {"fast": False})

        assert judged(laptop(jupyter=found)) == [], raw


def test_the_widgets_manager_may_be_anything(tmp_path):
    here = machine(tmp_path, environ={"JUPYTER_PATH": str(tmp_path / "j")})
    for raw in mutations(PACKAGE, 7):
        write(tmp_path / "j", jupyter.MANAGER, raw)

        found = jupyter.jupyter(here, {"fast": True})

        assert judged(laptop(jupyter=found)) == [], raw


def test_metadata_may_hold_anything(tmp_path):
    info = "torch-2.14.1.dist-info/METADATA"
    here = machine(tmp_path, path=(str(tmp_path / "site"),))
    for raw in mutations(METADATA, 8):
        write(tmp_path / "site", info, raw)

        found = probes_packages.packages(here, {})

        assert len(found["torch"]) == 1
        assert judged(laptop(packages={**laptop().packages, "torch": found["torch"]})) == [], raw


def test_an_environment_file_may_hold_anything(tmp_path):
    for raw in mutations(ENVIRONMENT, 9):
        write(tmp_path, "environment.yml", raw)

        found = probes_packages.environment_files(machine(tmp_path), {})

        assert judged(laptop(environment_files=found)) == [], raw


def test_a_child_may_print_and_complain_anything(tmp_path):
    answer = 'course-doctor:{"package": "torch", "version": "2.14.1", "cuda": "13.0", "numpy": []}'
    for raw in mutations(answer, 10):
        here = machine(tmp_path, run=lambda *_, raw=raw: Ran(1, decode(raw), decode(raw)))
        known = {"fast": True, "packages": {"torch": [1]}, "shadows": ()}

        found, _ = probes_packages.torch_and_torchvision(here, known)

        assert judged(with_card() and laptop(torch=found, gpus=with_card().gpus)) == [], raw


def test_no_text_breaks_the_cleaning_of_a_bundle():
    clean = bundle.cleaner(doctors.this_system(), laptop())
    sample = (
        f"{Path.home()}/nb/x.py https://a:b@c.example/d ghp_0123456789abcdef C:\\Users\\x\\y.py"
    )
    for raw in mutations(sample, 11):
        assert isinstance(clean(decode(raw)), str)
