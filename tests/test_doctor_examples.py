"""examples makes up machines that are healthy until one thing is broken."""

import pytest

from course_utils.doctor import facts, rules
from course_utils.doctor.examples import change, laptop, with_card


@pytest.mark.parametrize("machine", [laptop(), with_card()], ids=["laptop", "with a card"])
def test_a_machine_that_nobody_broke_is_healthy(machine):
    findings = rules.judge(machine)

    assert [f.id for f in findings if f.status != "ok"] == []
    assert rules.verdict(machine, findings).code == 0


def test_a_dictionary_changes_what_it_names_and_leaves_the_rest():
    machine = laptop(torch={"said": {"version": "2.15+cpu"}}, compiler={"works": False})

    assert machine.torch.said["version"] == "2.15+cpu"
    assert machine.torch.said["capability"] == "AVX2"
    assert machine.compiler == facts.Trial("g++", found=True, works=False)


def test_anything_else_replaces_the_whole():
    machine = laptop(compile=None, torch=facts.Import(1, "ImportError: no"))

    assert machine.compile is None
    assert not machine.torch.worked


def test_a_package_is_named_by_its_version_or_missing():
    machine = laptop(packages={"torchvision": "0.24", "numpy": None})

    assert [copy.version for copy in machine.packages["torchvision"]] == ["0.24"]
    assert machine.packages["numpy"] == ()
    assert machine.packages["torch"] == laptop().packages["torch"]


def test_the_machine_that_was_changed_stays_as_it_was():
    healthy = laptop()

    change(healthy, gpus={"state": "hung"}, switches={"TORCH_COMPILE_DISABLE": "1"})

    assert healthy == laptop()
