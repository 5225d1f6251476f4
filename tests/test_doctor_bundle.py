"""A bundle tells an instructor what is broken, and nothing about who sends it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from course_utils.doctor import bundle, facts, report, system
from tests.doctor_machines import change, copies, examine, laptop, torch_said
from tests.test_doctor_rules import BROKEN

REPOSITORY = Path(__file__).parents[1]
ENVIRON = {
    "HOME": "/home/ada",
    "USER": "ada",
    "HOSTNAME": "lovelace-laptop.uni.example",
    "GITHUB_TOKEN": "ghp_abcdefghijklmnop1234567890",
    "COURSE_TOKEN": "very secret indeed",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG",
    "HTTPS_PROXY": "http://ada:hunter2@proxy.uni.example:3128",
    "TORCH_ZEBRA": "analytical-engine",
    "TORCH_LOGS": "+dynamo",
}


def place(**environ):
    """The computer of Ada Lovelace."""
    whole = {**ENVIRON, **environ}
    return replace(system.this_system(), environ=whole, home=Path(whole["HOME"]))


def clean(text, **environ):
    """Clean one text on her computer."""
    return bundle.cleaner(place(**environ), laptop())(text)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("/home/ada/nb/thesis/random.py hides 'random'", "<home>/random.py hides 'random'"),
        ("PYTHONPATH=/home/ada/thesis: it", "PYTHONPATH=<home>/...: it"),
        ("~ of ada, ADA and Ada", "~ of <user>, <user> and <user>"),
        ("adagio and canada stay", "adagio and canada stay"),
        ("pytorch-course-ada", "pytorch-course-<user>"),
        ("on lovelace-laptop and lovelace-laptop.uni.example", "on <host> and <host>"),
        ("token ghp_abcdefghijklmnop1234567890!", "token <secret>!"),
        ("hf_AbCdEfGhIjKlMnOpQrSt", "<token>"),
        ("it is very secret indeed", "it is <secret>"),
        ("TORCH_ZEBRA=analytical-engine", "TORCH_ZEBRA=<set>"),
        ("TORCH_LOGS=+dynamo", "TORCH_LOGS=+dynamo"),
        ("pip --index-url https://ada:pw@mirror.example/simple x", "pip --index-url <address> x"),
        ("git+ssh://git@host.example/x.git", "<address>"),
        ("ask ada.lovelace@uni.example", "ask <mail>"),
        ("/home/charles/lib/torch/__init__.py", "<home>/__init__.py"),
        ("C:\\Users\\Charles\\env\\torch.dll", "<home>/torch.dll"),
        ("/mnt/c/Users/charles/x.py fails", "<home>/x.py fails"),
        ("/data/babbage/lib/torch/x.py", "<folder>/x.py"),
        ("/data/Charles Babbage/lib/x.py", "<folder>/x.py"),
        ("D:\\Charles Babbage\\x.py", "<folder>/x.py"),
        ("/home/ada/course/.venv/bin/python", "<environment>/bin/python"),
        ("/home/ada/course/lessons", "<course>/lessons"),
        ("/usr/include/python3.12/Python.h", "/usr/include/python3.12/Python.h"),
        ("torch 2.14.1+cu130 with driver 580.95.05", "torch 2.14.1+cu130 with driver 580.95.05"),
        ("operator torchvision::nms does not exist", "operator torchvision::nms does not exist"),
    ],
)
def test_what_gives_a_person_away_is_replaced_and_the_rest_stays(text, cleaned):
    assert clean(text) == cleaned


@pytest.mark.parametrize("name", ["root", "torch", "python", "jovyan"])
def test_the_name_of_a_user_that_is_nobodys_stays(name):
    assert clean(f"{name} 2.14", USER=name, HOME=f"/srv/{name}") == f"{name} 2.14"


@pytest.mark.parametrize(
    ("user", "home"),
    [
        ("zoé", "/home/zoé"),
        ("CORP\\ada.l", "C:\\Users\\ada.l"),
        ("李明", "/home/李明"),
        ("a.b+c(d", "/home/a.b+c(d"),
        ("Ada Lovelace", "C:\\Users\\Ada Lovelace"),
        ("bo", "/bo"),
    ],
)
def test_names_of_every_kind_are_found(user, home):
    said = f"{home}/nb/x.py by {user}, '{user}' and {home}"

    cleaned = clean(said, USER=user, HOME=home)

    for part in [user, home, *re.split(r"[\\.]", user)]:
        assert len(part) < 3 or part not in cleaned
    assert user not in cleaned


def hostile():
    """A machine on which every kind of text holds something private."""
    leak = "/home/ada/secret-project/x.py ghp_abcdefghijklmnop1234567890 ada@uni.example"
    machine = change(
        laptop(
            packages=copies(torchvision=None),
            torchvision=None,
            switches={**ENVIRON, "PYTHONPATH": "/home/ada/secret-project"},
            shadows=("/home/ada/secret-project/random.py",),
            environment_files={"/home/ada/secret-project/environment.yml": leak},
            torch=facts.Import(0, said=torch_said(file="/home/ada/secret-project/torch/x.py")),
            failed={"gpus": f"could not tell: OSError: {leak}"},
        ),
        cache={"path": "/home/ada/.cache/x", "owner": "ada", "failed_at": "write", "error": leak},
        compile={"error": f"InductorError: http://ada:hunter2@proxy.uni.example/ {leak}"},
    )
    return machine


def test_nothing_private_is_left_in_a_bundle():
    machine = hostile()

    text = bundle.bundle(machine, *examine(machine), place())

    lowered = text.lower()
    for private in ("hunter2", "ghp_", "very secret", "wjalr", "lovelace", "uni.example", "engine"):
        assert private not in lowered, private
    assert "secret-project" not in lowered
    assert not re.search(r"\bada\b", lowered)


def test_what_an_instructor_needs_is_still_there():
    machine = hostile()
    findings, verdict = examine(machine)

    whole = json.loads(bundle.bundle(machine, findings, verdict, place()))

    assert whole["cleaned"] is True
    assert [f["id"] for f in whole["findings"]] == [f.id for f in findings]
    assert whole["verdict"]["code"] == verdict.code
    assert whole["facts"]["packages"]["torch"][0]["version"] == "2.14.1"
    assert whole["facts"]["switches"]["TORCH_LOGS"] == "+dynamo"


@pytest.mark.parametrize("name", BROKEN)
def test_a_machine_without_secrets_loses_no_finding(name):
    machine = BROKEN[name][0]
    findings, verdict = examine(machine)

    whole = json.loads(bundle.bundle(machine, findings, verdict, place()))
    plain = json.loads(report.json_text(machine, findings, verdict))

    for cleaned, said in zip(whole["findings"], plain["findings"], strict=True):
        assert (cleaned["id"], cleaned["status"]) == (said["id"], said["status"])
        assert len(cleaned["found"]) > 5


def run_bundle(file, **environ):
    """Run the command on the real machine, without installed packages."""
    return subprocess.run(
        [sys.executable, "-S", "-m", "course_utils", "doctor", "--fast", "--bundle", str(file)],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, **environ},
        timeout=120,
    )


def test_the_command_writes_a_new_file_and_never_over_one(tmp_path):
    file = tmp_path / "report.json"

    first = run_bundle(file, USER="zebra", COURSE_TOKEN="tiger-tiger", CXX="https://a:b@c.example")
    second = run_bundle(file)

    text = file.read_text(encoding="utf-8")
    assert (first.returncode, second.returncode) == (2, 2), first.stderr
    assert "read it before you send it" in first.stdout and "cannot be written" in second.stdout
    assert json.loads(text)["verdict"]["code"] == 2
    assert not [word for word in ("zebra", "tiger", "c.example", str(Path.home())) if word in text]
