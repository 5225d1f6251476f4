"""The report says the same as text, JSON and HTML, and fits the terminal that shows it."""

from __future__ import annotations

import ast
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from course_utils import doctor
from course_utils.doctor import chapter, cli, facts, report, rules, schema
from tests.doctor_machines import HEALTHY, change, copies, examine, laptop
from tests.test_doctor_rules import BROKEN

REPOSITORY = Path(__file__).parents[1]


def broken():
    """A laptop with one problem, one warning, one note, one thing unknown."""
    machine = change(
        laptop(compiler=facts.Trial("g++", found=False, works=False), openmp=None, compile=None),
        cache={"loaded": None},
        room={"shared_memory": 2**26},
        jupyter={"manager": ""},
    )
    return replace(machine, switches={"TORCH_LOGS": "<b>&\"'"})


class Tags(html.parser.HTMLParser):
    """Collect the tags and the text of a page, and check that they are closed in order."""

    def __init__(self):
        """Start with an empty page."""
        super().__init__()
        self.seen, self.open, self.words = set(), [], []

    def handle_starttag(self, tag, attrs):
        """Note a tag that opens."""
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Close the last tag, which must be this one."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Keep the text."""
        self.words.append(data)


class Terminal(io.StringIO):
    """A terminal with an encoding of its own."""

    def __init__(self, encoding="utf-8", is_a_terminal=True):
        """Start empty."""
        super().__init__()
        self._encoding, self._is_a_terminal = encoding, is_a_terminal

    @property
    def encoding(self):
        """Return the encoding."""
        return self._encoding

    def isatty(self):
        """Say whether it is a terminal."""
        return self._is_a_terminal

    def write(self, words):
        """Take words that the encoding knows."""
        words.encode(self._encoding)  # raises as a real terminal would
        return super().write(words)


def run_cli(monkeypatch, machine, *arguments, out=None):
    """Run the command on a machine; return exit code and what it printed."""
    out = out or Terminal(is_a_terminal=False)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(doctor, "examine", lambda **_: (machine, *examine(machine)))
    return cli.main(list(arguments)), out.getvalue()


def test_text_holds_every_finding_with_its_advice():
    findings, verdict = examine(broken())

    text = " ".join(report.text(findings, verdict).split())

    for finding in findings:
        for words in (finding.found, finding.why, finding.fix):
            assert " ".join(words.split()) in text
    assert verdict.sentence in text


def test_a_fix_is_never_broken_over_two_lines():
    findings, verdict = examine(laptop(packages=copies(torchvision=None), torchvision=None))

    lines = report.text(findings, verdict).splitlines()

    assert any(line.endswith(findings_fix(findings)) for line in lines)


def findings_fix(findings):
    """The fix of the first problem."""
    return next(f.fix for f in findings if f.status == "problem")


def test_the_last_words_are_the_verdict_and_the_first_thing_to_do():
    findings, verdict = examine(broken())

    lines = report.text(findings, verdict).strip().splitlines()

    assert lines[-2:] == [verdict.sentence, f"First: {verdict.first}"]


def test_a_healthy_report_fits_one_screen():
    lines = report.text(*examine(laptop())).splitlines()

    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100


def test_no_group_is_forgotten():
    assert {rule.group for rule in rules.RULES} == set(report.GROUPS)


def test_ascii_is_all_that_an_old_terminal_gets():
    machine = change(broken(), python={"prefix": "/home/zoé/course"})

    text = report.text(*examine(machine), ascii_only=True)

    assert text.isascii()
    assert "STOP" in text and "WARN" in text


def test_colour_is_added_only_when_asked_for():
    findings, verdict = examine(broken())

    plain, coloured = (report.text(findings, verdict, colour=colour) for colour in (False, True))

    assert "\033" not in plain
    assert re.sub(r"\033\[\d*m", "", coloured) == plain


def test_json_has_a_schema_and_stable_keys():
    machine = broken()

    whole = json.loads(report.json_text(machine, *examine(machine)))

    assert whole["schema"] == 1
    assert set(whole) == {"schema", "verdict", "findings", "facts"}
    assert set(whole["verdict"]) == {"code", "sentence", "first"}
    keys = {"id", "status", "found", "why", "fix", "stops", "group", "section", "repair"}
    assert set(whole["findings"][0]) == keys
    assert set(whole["facts"]) == set(facts.Facts.__dataclass_fields__)


@pytest.mark.parametrize("machine", [laptop(), broken(), facts.Facts()], ids=["ok", "bad", "empty"])
def test_json_is_what_its_schema_says(machine):
    jsonschema = pytest.importorskip("jsonschema")  # a part of Jupyter
    whole = json.loads(report.json_text(machine, *examine(machine)))
    described = schema.schema()

    jsonschema.Draft202012Validator.check_schema(described)
    jsonschema.validate(whole, described, jsonschema.Draft202012Validator)
    whole["findings"].append({**examine(broken())[0][0].__dict__, "status": "splendid"})

    with pytest.raises(jsonschema.ValidationError, match="splendid"):
        jsonschema.validate(whole, described)


def test_the_schema_is_printed_without_looking_at_the_machine(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "examine", None)

    code = cli.main(["--schema"])

    assert code == 0
    assert json.loads(capsys.readouterr().out) == schema.schema()


def test_each_finding_names_a_section_that_chapter_2_has():
    lesson = (REPOSITORY / "lessons" / "02_install_and_check.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^## (2\.\d+ .*)$", lesson, re.MULTILINE))

    assert set(chapter.SECTIONS) <= headings


def test_every_finding_of_every_machine_is_explained_somewhere():
    machines = [machine for machine, _ in BROKEN.values()] + list(HEALTHY.values())

    said = {finding.id for machine in machines for finding in rules.judge(machine)}

    assert sorted(id for id in said if not chapter.section(id)) == []


def test_the_report_says_where_it_is_explained_and_what_can_be_repaired():
    machine = change(laptop(), cache={"failed_at": "write", "error": "no"})

    text = report.text(*examine(machine))
    page = report.html(*examine(machine))

    assert "[D21, chapter 2.5]" in text and "[D21, chapter 2.5]" in page
    for shown in (text, page):
        assert "python3 course.py doctor --repair D21" in shown
    assert "--repair" not in report.text(*examine(laptop()))


def test_html_is_well_formed_and_runs_nothing():
    findings, verdict = examine(broken())
    page = Tags()

    page.feed(report.html(findings, verdict))

    assert page.open == []
    assert page.seen <= {"div", "p", "strong", "br", "code", "table", "tr", "th", "td", "small"}
    assert "TORCH_LOGS=<b>&\"'" in "".join(page.words)


def test_a_notebook_shows_html_and_print_shows_text():
    machine = broken()
    found = doctor.Diagnosis(machine, *examine(machine))

    assert found.code == 1
    assert found._repr_html_().startswith("<div")
    assert str(found) == report.text(found.findings, found.verdict)


@pytest.mark.parametrize(
    ("machine", "code"), [(laptop(), 0), (broken(), 1), (change(laptop(), python={"bits": 32}), 2)]
)
def test_the_exit_code_is_the_verdict(monkeypatch, machine, code):
    assert run_cli(monkeypatch, machine)[0] == code


def test_json_is_all_that_json_prints(monkeypatch):
    code, out = run_cli(monkeypatch, broken(), "--json")

    assert code == 1
    assert json.loads(out)["verdict"]["code"] == 1


def test_colour_goes_to_a_terminal_unless_it_is_unwanted(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")

    terminal = run_cli(monkeypatch, broken(), out=Terminal())[1]
    file = run_cli(monkeypatch, broken())[1]
    monkeypatch.setenv("NO_COLOR", "1")
    unwanted = run_cli(monkeypatch, broken(), out=Terminal())[1]

    assert "\033[" in terminal
    assert "\033[" not in file + unwanted


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437"])
def test_a_terminal_gets_only_letters_that_it_knows(monkeypatch, encoding):
    machine = change(broken(), headers={"folder": "/home/课程/include", "present": False})

    code, out = run_cli(monkeypatch, machine, out=Terminal(encoding))

    assert code == 1
    assert "STOP" in out


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    error = Terminal()
    monkeypatch.setattr(sys, "stderr", error)
    cli._progress()("importing torch")
    monkeypatch.setattr(sys, "stderr", Terminal(is_a_terminal=False))

    assert "importing torch ..." in error.getvalue()
    assert cli._progress() is None


def test_help_names_the_exit_codes(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["--help"])

    said = " ".join(capsys.readouterr().out.split())
    assert left.value.code == 0
    assert "--json" in said and "--fast" in said and "2 not yet" in said


def run_doctor(*arguments, python=sys.executable, folder=REPOSITORY, **environ):
    """Run the command as a program of its own, without installed packages."""
    whole = {**os.environ, "PYTHONPATH": str(REPOSITORY), **environ}
    return subprocess.run(
        [python, "-S", "-m", "course_utils.doctor.cli", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=whole,
        timeout=120,
    )


def test_a_bare_python_in_a_fresh_clone_is_told_what_to_do_first(tmp_path):
    # this repository may have its .venv by now, a fresh clone has none
    shutil.copytree(REPOSITORY / "course_utils", tmp_path / "course_utils")
    for name in ("pyproject.toml", "requirements.txt"):
        shutil.copy(REPOSITORY / name, tmp_path)

    done = run_doctor("--fast", folder=tmp_path, PYTHONPATH=str(tmp_path))

    assert done.returncode == 2, done.stderr
    assert "First: python3 course.py" in done.stdout


@pytest.mark.parametrize("name", ["subprocess", "dataclasses", "pathlib", "json"])
def test_a_learners_file_that_stops_the_doctor_is_named(tmp_path, name):
    (tmp_path / f"{name}.py").write_text("x = 1")

    done = run_doctor("--fast", folder=tmp_path)

    assert done.returncode == 2, done.stderr
    assert f"{name}.py" in done.stdout and "rename" in done.stdout.lower()


def test_it_works_without_a_home_and_with_an_ascii_terminal():
    done = run_doctor("--fast", HOME="", PYTHONIOENCODING="ascii")

    assert done.returncode == 2, done.stderr
    assert done.stdout.isascii()


def test_no_file_names_a_package_index():
    for path in (REPOSITORY / "course_utils" / "doctor").glob("*.py"):
        strings = [
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert not [s for s in strings if re.search(r"index-url|https?://", s)], path.name
