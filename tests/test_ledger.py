"""The ledger decides what it says it decides, and a verdict that does not stand names itself."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from course_utils import compile_stack, ledger
from course_utils.compile_stack import private
from course_utils.ledger import command, evidence, runner, table
from course_utils.ledger.claim import FALSE, HALF, OPEN, THEN, TRUE, Claim, agree
from course_utils.ledger.probes import files, installed, kernels, retired, switches

ROOT = Path(__file__).resolve().parents[1]
PROBE_FILES = sorted((ROOT / "course_utils/ledger").glob("[pa][rl]o*/*.py"))
IDS = [claim.id for claim in ledger.claims()]
# chapters that claims point to and that are still being written
NOT_YET = {"16", "17"}
PROBED = [id for id in IDS if ledger.probe_of(id)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One run of all probes, shared by the tests that look at it."""
    return ledger.run()


def liar(verdict):
    return lambda: ledger.Seen(verdict, "I did not look")


# ---- the claims --------------------------------------------------------------------------------


def test_the_ledger_holds_every_claim_once():
    expected = [f"{article}-{n}" for article, count in (("S0", 47), ("S2", 35), ("S3", 20))
                for n in range(1, count + 1)]  # fmt: skip

    assert IDS == expected
    assert len(IDS) == 102


@pytest.mark.parametrize("claim", ledger.claims(), ids=lambda claim: claim.id)
def test_a_claim_says_what_its_verdict_rests_on(claim):
    probed = claim.id in PROBED

    assert probed or claim.read or claim.needs
    assert not (probed and claim.needs)
    assert claim.says.endswith((".", '".', "?"))
    assert claim.today.endswith(".")
    assert "http" not in str(claim)


def test_no_probe_belongs_to_a_claim_that_is_not_there():
    assert set(evidence._PROBES) <= set(IDS)


@pytest.mark.parametrize("claim", ledger.claims(), ids=lambda claim: claim.id)
def test_the_place_that_shows_it_exists(claim):
    chapter, _, section = claim.shown.partition(".")
    lessons = list((ROOT / "lessons").glob(f"{int(chapter):02}_*.md"))

    if section:
        assert lessons, f"there is no chapter {chapter}"
        assert re.search(rf"^## {chapter}\.{section} ", lessons[0].read_text("utf-8"), re.M)
    else:
        assert lessons or chapter in NOT_YET


def test_a_verdict_that_is_none_is_refused():
    with pytest.raises(ValueError, match="a verdict is one of"):
        Claim("X-1", "It flies.", "maybe", "It does not.", shown="1.1")


def test_an_open_claim_has_to_say_what_it_needs():
    with pytest.raises(ValueError, match="says what it needs"):
        Claim("X-1", "It flies.", OPEN, "Nobody knows.", shown="1.1")


def test_an_id_that_is_close_is_offered():
    with pytest.raises(ValueError, match=r'there is no claim "S0-92"; did you mean S0-'):
        ledger.claim("S0-92")


# ---- what this machine says --------------------------------------------------------------------


@pytest.mark.parametrize("id", IDS)
def test_the_stored_verdict_stands_on_this_machine(id, whole):
    (result,) = (result for result in whole.results if result.claim.id == id)

    assert result.stands, f"{id} is stored as {result.claim.verdict!r}; {runner._saw(result)}"


def test_most_claims_are_decided_by_a_probe(whole):
    decided = whole.statuses

    assert sum(decided.values()) == sum(whole.verdicts.values()) == 102
    assert decided.get(runner.AS_STORED, 0) + decided.get(runner.NOT_HERE, 0) == len(PROBED)
    assert len(PROBED) >= 75
    assert decided[runner.OPEN_STILL] == len(ledger.claims(OPEN))


def test_a_run_in_another_order_sees_the_same(whole):
    first = {result.claim.id: result.evidence for result in whole.results}
    here = [id for id in PROBED if ledger.probe_of(id).__module__.endswith(("capture", "retired"))]

    again = ledger.run(*reversed(here))

    assert {r.claim.id: r.evidence for r in again.results} == {id: first[id] for id in here}


# ---- a probe that lies -------------------------------------------------------------------------


@pytest.mark.parametrize("id", PROBED)
def test_whatever_a_probe_says_instead_is_a_contradiction(id):
    claim = ledger.claim(id)
    others = [verdict for verdict in (TRUE, HALF, FALSE) if not agree(claim.verdict, verdict)]

    found = [ledger.check(claim, liar(verdict)) for verdict in others]

    assert others
    assert [result.status for result in found] == [runner.DIFFERS] * len(others)


def test_a_lying_probe_ends_the_command_with_1_and_names_the_claim(monkeypatch, capsys):
    ledger.probe_of("S3-18")
    monkeypatch.setitem(evidence._PROBES, "S3-18", liar(TRUE))

    code = command.main(["S3-18", "S3-19"])

    told = capsys.readouterr()
    assert code == 1
    assert "S3-18 is stored as 'false'; its probe saw 'true': I did not look" in told.out
    assert told.err.splitlines()[-1] == "S3-18 does not stand on this machine."


def warmed_loop(clock, call):
    call()
    start = clock.now
    call()
    return clock.now - start


# for each: what would have to be so, for the verdict to be another
OTHER_WORLDS = {
    "S0-1": (files, "compiler_sources", lambda: "... Disabled due to unsupported backend ..."),
    "S0-8": (files, "compiler_sources", lambda: "nothing is raised"),
    "S0-9": (switches, "switched", lambda: {"right": False, "capability": "DEFAULT"}),
    "S0-10": (switches, "switched", lambda: {"right": True, "capability": "AVX512"}),
    "S0-13": (torch.version, "cuda", "11.8"),
    "S0-15": (switches, "in_adverse_conditions", lambda: ({"equal": False}, "")),
    "S0-18": (installed.importlib.metadata, "metadata", lambda _: {"Requires-Python": ">=3.8"}),
    "S0-19": (switches, "in_adverse_conditions", lambda: ({"equal": True}, "dynamo: compiling f")),
    "S0-22": (switches, "switched", lambda: {"graphs": 1}),
    "S0-24": (switches, "without_compiler", lambda: {"listed": True, "error": ""}),
    "S0-26": (switches, "without_compiler", lambda: {"error": "nvcc: fatal error"}),
    "S0-27": (files, "compiler_sources", lambda: 'os.environ["TORCHINDUCTOR_DEBUG"]'),
    "S0-28": (kernels._Clock, "loop", warmed_loop),
    "S0-29": (kernels, "_forward_kernels", lambda found: 0),
    "S0-30": (
        compile_stack,
        "mode_options",
        lambda: {"reduce-overhead": {"compile_threads": 1}, "max-autotune": {"max_autotune": True}},
    ),
    "S0-31": (compile_stack, "recompilations", lambda *_, **__: SimpleNamespace(graphs=1)),
    "S0-35": (
        switches,
        "alone_under_debugger",
        lambda: {"graphs": 0, "compiled_stops": 0},
    ),
    "S0-38": (switches, "in_adverse_conditions", lambda: ({"batches": 3}, "")),
    "S0-39": (switches, "in_adverse_conditions", lambda: ({"files": 12, "folders": 2}, "")),
    "S2-25": (torch.jit, "script", lambda function: function),
    "S2-28": (torch.onnx, "dynamo_export", print),
    "S2-34": (kernels, "_forward_kernels", lambda found: 18),
    "S3-2": (torch, "__version__", "2.9.1"),
    "S3-10": (retired, "deprecated", lambda call: False),
    "S3-12": (torch.compiler, "list_backends", lambda: ["inductor"]),
    "S3-13": (switches, "alone_under_debugger", lambda: {"eager_stops": 1, "compiled_stops": 1}),
    "S3-18": (torch.cpu, "is_available", lambda: torch.ones(1).sum() == 1),
}


@pytest.mark.parametrize("id", OTHER_WORLDS)
def test_in_a_world_where_the_claim_fares_otherwise_its_probe_says_so(id, monkeypatch):
    owner, name, other = OTHER_WORLDS[id]
    monkeypatch.setattr(owner, name, other, raising=False)

    found = ledger.check(ledger.claim(id), ledger.probe_of(id))

    assert found.status in (runner.DIFFERS,), found


def test_a_probe_cannot_look_up_the_verdict():
    for path in PROBE_FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}

        known = {"claim", "shelf", "runner", "install_guide", "core_tour", "introduction"}
        assert not {f"course_utils.ledger.{name}" for name in known} & imported, path.name


def test_no_probe_looks_at_a_clock():
    assert len(PROBE_FILES) >= 10
    for path in PROBE_FILES:
        source = path.read_text(encoding="utf-8")

        assert not re.search(r"import time\b|from time\b|perf_counter|benchmark", source), path.name


# ---- what weighs what --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [((True, True), TRUE), ((True, False), HALF), ((False, False), FALSE), ((True,), TRUE)],
)
def test_a_verdict_follows_from_the_parts(parts, verdict):
    assert ledger.weigh("seen", *parts).verdict == verdict


def test_a_claim_without_parts_cannot_be_weighed():
    with pytest.raises(ValueError, match="without parts"):
        ledger.weigh("seen")


@pytest.mark.parametrize(
    ("stored", "agreeing"),
    [(TRUE, {TRUE}), (HALF, {HALF}), (FALSE, {FALSE}), (THEN, {HALF, FALSE})],
)
def test_what_a_probe_may_see_for_each_verdict(stored, agreeing):
    seen = {live for live in (TRUE, HALF, FALSE) if agree(stored, live)}

    assert seen == agreeing
    assert agree(stored, OPEN)


def test_two_probes_for_one_claim_are_refused():
    def another():
        return ledger.weigh("seen", True)

    ledger.probe_of("S3-19")
    with pytest.raises(ValueError, match="S3-19 has a probe already"):
        evidence.decides("S3-19")(another)


# ---- each probe for itself ---------------------------------------------------------------------


def test_a_probe_that_fails_is_named_and_does_not_hide_the_next():
    def broken():
        raise KeyError("gone")

    claims = ledger.claim("S3-18"), ledger.claim("S3-19")
    found = runner.judge([(claims[0], broken), (claims[1], ledger.probe_of("S3-19"))])

    assert [r.status for r in found.results] == [runner.BROKEN, runner.AS_STORED]
    assert "S3-18 is stored as 'false'; its probe failed: KeyError: 'gone'" in str(found)


def test_what_a_machine_lacks_contradicts_nothing():
    def probe():
        ledger.need(False, "a machine with two moons")
        return ledger.weigh("seen", True)

    found = ledger.check(ledger.claim("S3-18"), probe)

    assert (found.status, found.evidence) == (runner.NOT_HERE, "needs a machine with two moons")
    assert found.stands


def test_a_part_of_torch_that_has_moved_is_said_and_contradicts_nothing():
    found = ledger.check(ledger.claim("S3-18"), lambda: private.reach("torch._gone", "away"))

    assert found.status == runner.NOT_HERE
    assert "torch._gone.away: not available in torch" in found.evidence


def test_without_a_compiler_a_kernel_cannot_be_judged():
    def probe():
        raise RuntimeError("InvalidCxxCompiler: No working C++ compiler found")

    found = ledger.check(ledger.claim("S3-18"), probe)

    assert found.evidence == "needs a working C++ compiler"
    assert found.stands


def test_a_probe_leaves_the_process_as_it_was(capsys):
    def careless():
        os.environ["LEDGER_LEFT_BEHIND"] = "1"
        torch.set_grad_enabled(False)
        torch.manual_seed(77)
        warnings.simplefilter("error")
        print("noise")
        return ledger.weigh("seen", False)

    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    filters = list(warnings.filters)

    ledger.check(ledger.claim("S3-18"), careless)

    assert torch.equal(torch.rand(2), expected)
    assert "LEDGER_LEFT_BEHIND" not in os.environ
    assert torch.is_grad_enabled()
    assert warnings.filters == filters
    assert capsys.readouterr().out == ""


def test_each_run_looks_again():
    looks = []

    @evidence.observation
    def look():
        looks.append(1)
        return len(looks)

    evidence.refresh()
    first = look(), look()
    evidence.refresh()

    assert (first, look(), len(looks)) == ((1, 1), 2, 2)


def test_programs_are_run_once_although_a_probe_asks_meanwhile(monkeypatch):
    started = []
    monkeypatch.setattr(evidence, "_PROGRAMS", [])

    @evidence.program
    def look():
        started.append(1)
        return "seen"

    with evidence.programs_ahead():
        told = look()

    assert (told, look(), len(started)) == ("seen", "seen", 1)


def test_what_a_program_raises_reaches_the_probe_that_asks(monkeypatch):
    monkeypatch.setattr(evidence, "_PROGRAMS", [])

    @evidence.program
    def look():
        raise evidence.Undecidable("a machine with two moons")

    with evidence.programs_ahead():
        found = ledger.check(ledger.claim("S3-18"), look)

    assert found.evidence == "needs a machine with two moons"


def test_a_program_that_fails_says_its_last_line(monkeypatch, tmp_path):
    (tmp_path / "failing.py").write_text("raise SystemExit('no luck')", encoding="utf-8")
    monkeypatch.setattr(evidence, "_ALONE", tmp_path)

    with pytest.raises(RuntimeError, match="failing ended with code 1: no luck"):
        evidence.in_child("failing")


def test_a_program_does_not_inherit_what_the_reader_has_switched_off(monkeypatch, tmp_path):
    source = 'import json, os; print("noise"); print(json.dumps(dict(os.environ)))'
    (tmp_path / "showing.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(evidence, "_ALONE", tmp_path)
    monkeypatch.setenv("TORCH_COMPILE_DISABLE", "1")
    monkeypatch.setenv("GONE", "1")

    said, noise = evidence.in_child("showing", GIVEN="2", GONE=None)

    assert said["GIVEN"] == "2"
    assert not {"TORCH_COMPILE_DISABLE", "GONE"} & set(said)
    assert noise == "noise"


# ---- what is shown -----------------------------------------------------------------------------


@pytest.fixture
def two():
    results = ledger.check(ledger.claim("S3-18"), liar(TRUE)), ledger.check(
        ledger.claim("S3-14"), None
    )  # fmt: skip
    return ledger.Run(results)


def test_the_page_holds_every_row_and_marks_the_one_that_fell(two):
    page = table.html(two.results)

    assert page.count("<tr data-") == 2
    assert page.count('class="is-fallen"') == 1
    assert "PROBE DIFFERS, saw true: I did not look" in page
    assert "<code>torch.cpu.is_available()</code>" in page
    assert "src=" not in page and "http" not in page


def test_what_a_probe_saw_cannot_become_part_of_the_page():
    found = ledger.check(ledger.claim("S3-18"), lambda: ledger.Seen(FALSE, "<script>alert(1)"))

    assert "&lt;script&gt;alert(1)" in table.html([found])


def test_the_totals_count_verdicts_and_ways(two):
    assert two.totals == (
        "2 claims: 1 false, 1 not decidable here\ndecided: 1 open, 1 PROBE DIFFERS"
    )


def test_the_data_say_what_the_table_says(capsys):
    assert command.main(["--json", "S3-19", "S3-14", "S3-15"]) == 0

    data = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in data["claims"]] == ["S3-19", "S3-14", "S3-15"]
    assert data["statuses"] == {"probe agrees": 1, "decided by reading": 1, "open": 1}
    assert data["claims"][0]["evidence"] == "it prints cpu"


def test_claims_are_chosen_by_verdict(capsys):
    assert command.main(["--verdict", OPEN]) == 0

    told = capsys.readouterr().out
    assert told.count("\nS") + 1 == len(ledger.claims(OPEN))
    assert command.main(["S3-19", "--verdict", "false"]) == 2
    assert command.main(["S9-1"]) == 2
    told = capsys.readouterr().err
    assert "there is no claim" in told and told.endswith("?\n")


def test_reading_the_claims_does_not_load_torch():
    code = "import sys; from course_utils import ledger; ledger.claim('S0-29'); "
    code += "print('torch' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("id", ["S0-29", "S0-13", "S3-14"])
def test_a_claim_shows_itself(id):
    text = repr(ledger.claim(id))

    assert text.startswith(f"{id}: {ledger.claim(id).verdict}\n  claim  ")
    assert ("  read " in text) == bool(ledger.claim(id).read)
    assert ("  needs " in text) == bool(ledger.claim(id).needs)
