"""The front door finds its commands, imports no more than they need, and ends with a true code."""

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_utils import __main__ as front_door
from course_utils import workloads
from course_utils.benchmark import Comparison, Timing
from course_utils.workloads import Demo, Host, Outcome

HOST = Host("2.14.1", "cpu", capability="AVX2", threads=2, cores=2, load=None, date="2026-05-01")


@pytest.fixture
def demo(monkeypatch, tmp_path):
    """A demo that is measured already; the fixture's list holds what was asked for."""
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    timings = Comparison({"eager": Timing(0.1, (2.0,) * 5), "compiled": Timing(9.0, (1.0,) * 5)})
    found = Demo(HOST, (Outcome(workloads.get("gelu_by_hand"), timings, 1, 0, (), 0.0),))
    asked = []

    def measured(*names, rounds, report):
        asked.append((names, rounds))
        report("measuring")
        return found

    monkeypatch.setattr(workloads, "speedup_demo", measured)
    return asked


def run(*arguments, environ=None, code=None, timeout=240):
    command = ["-c", code] if code else ["-m", "course_utils", *arguments]
    environ = {**os.environ, "PYTHONIOENCODING": "utf-8", **(environ or {})}
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        env={name: text for name, text in environ.items() if text is not None},
    )


def test_without_a_command_it_lists_them(capsys):
    assert front_door.main([]) == 0

    told = capsys.readouterr().out
    assert all(command in told for command in ("doctor", "speedup", "where"))


def test_an_unknown_command_is_a_sentence_and_code_2(capsys):
    assert front_door.main(["speedups"]) == 2

    told = capsys.readouterr().err
    commands = "doctor, speedup, explain, warm, ledger, drift, where"
    assert told == f"There is no command 'speedups'; there are {commands}.\n"


@pytest.mark.parametrize("command", ["speedup", "drift", "where"])
def test_each_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as ended:
        front_door.main([command, "--help"])

    assert ended.value.code == 0
    assert f"python -m course_utils {command}" in capsys.readouterr().out


def test_the_table_goes_to_standard_output_and_progress_does_not(demo, capsys):
    assert front_door.main(["speedup", "gelu_by_hand", "--rounds", "7"]) == 0

    told = capsys.readouterr()
    assert demo == [(("gelu_by_hand",), 7)]
    assert told.out.startswith("workload")
    assert "measuring" not in told.out and "measuring" in told.err


@pytest.mark.parametrize(
    ("arguments", "measured"),
    [((), workloads.USUAL), (("--all",), workloads.names()), (("mlp",), ("mlp",))],
)
def test_the_usual_ones_are_measured_unless_all_or_others_are_wanted(demo, arguments, measured):
    assert front_door.main(["speedup", *arguments]) == 0

    assert demo == [(measured, 30)]


@pytest.fixture
def roofline(demo, monkeypatch):
    """A roofline that is measured already."""
    machine = workloads.Machine(bandwidth=1e10, peak=1e11)

    def measured(found, report):
        counted = workloads.Moved(operations=10, eager=80, compiled=8)
        return workloads.Roofline(machine, found, (counted,))

    monkeypatch.setattr(workloads, "roofline_of", measured)


def test_roofline_adds_a_table_and_draws(roofline, tmp_path, capsys):
    file = tmp_path / "roof.png"

    assert front_door.main(["speedup", "--roofline", str(file)]) == 0

    assert "of a copy" in capsys.readouterr().out
    assert file.read_bytes().startswith(b"\x89PNG")


def test_roofline_adds_to_the_data(roofline, tmp_path, capsys):
    assert front_door.main(["speedup", "--json", "--roofline", str(tmp_path / "a.png")]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["roofline"]["workloads"][0]["compiled"] == 8


def test_a_roofline_that_cannot_be_written_is_a_sentence_and_code_1(roofline, tmp_path, capsys):
    assert front_door.main(["speedup", "--roofline", str(tmp_path / "no" / "a.png")]) == 1

    assert "cannot be drawn" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "told"),
    [("mlp_step", "mlp_step trains, and the recipes"), ("mlpp", "no workload 'mlpp'")],
)
def test_recipes_for_what_has_none_are_a_sentence_and_code_2(demo, name, told, capsys):
    assert front_door.main(["speedup", "--recipes", name]) == 2

    assert told in capsys.readouterr().err


@pytest.mark.parametrize("more", [("mlp",), ("--all",), ("--roofline", "a.png")])
def test_what_recipes_would_ignore_is_refused(demo, more, capsys):
    with pytest.raises(SystemExit) as ended:
        front_door.main(["speedup", "--recipes", "mlp", *more])

    assert ended.value.code == 2
    assert "leave out the rest" in capsys.readouterr().err and demo == []


def test_recipes_are_measured_for_the_workload_that_is_named(demo, monkeypatch, tmp_path, capsys):
    timings = Comparison({"eager": Timing(0.1, (2.0,) * 5), "bfloat16": Timing(9.0, (1.0,) * 5)})
    found = workloads.Recipes(HOST, "mlp", timings, {"bfloat16": 0.01})
    monkeypatch.setattr(workloads, "recipes", lambda name, rounds, report: found)
    plot = tmp_path / "a.png"

    assert front_door.main(["speedup", "--recipes", "mlp", "--plot", str(plot)]) == 0
    assert front_door.main(["speedup", "--recipes", "mlp", "--json"]) == 0

    table, data = capsys.readouterr().out.split("{", 1)
    assert "bfloat16" in table and demo == []
    assert json.loads("{" + data)["recipes"][1]["speed_up"]["value"] == 2.0
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_json_is_all_that_standard_output_holds(demo, capsys):
    assert front_door.main(["speedup", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["schema"] == 1


def test_an_unknown_workload_is_code_2_with_the_list(demo, capsys):
    assert front_door.main(["speedup", "gelu"]) == 2

    assert "no workload 'gelu'; there are pointwise_chain, gelu_by_hand" in capsys.readouterr().err
    assert demo == []


def test_list_names_every_workload_and_measures_none(demo, capsys):
    assert front_door.main(["speedup", "--list"]) == 0

    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(
        workloads.names()
    )
    assert demo == []


def test_the_list_is_data_too_where_a_program_asks(demo, capsys):
    assert front_door.main(["speedup", "--list", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told] == list(workloads.names())


@pytest.mark.parametrize("rounds", ["4", "-1", "many"])
def test_too_few_rounds_are_refused(demo, rounds, capsys):
    with pytest.raises(SystemExit) as ended:
        front_door.main(["speedup", "--rounds", rounds])

    assert ended.value.code == 2
    assert "at least 5" in capsys.readouterr().err


def test_plot_writes_a_picture(demo, tmp_path):
    file = tmp_path / "speed up.png"

    assert front_door.main(["speedup", "--plot", str(file)]) == 0

    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["no/such/folder.png", "picture.unknown"])
def test_a_plot_that_cannot_be_written_is_a_sentence_and_code_1(demo, tmp_path, name, capsys):
    assert front_door.main(["speedup", "--plot", str(tmp_path / name)]) == 1

    assert "cannot be drawn" in capsys.readouterr().err


def test_stopping_it_is_code_130_without_a_traceback(monkeypatch, capsys):
    def stopped(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(workloads, "speedup_demo", stopped)

    assert front_door.main(["speedup"]) == 130
    assert capsys.readouterr().err.endswith("Stopped.\n")


def test_where_shows_folders_cache_and_versions(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))

    assert front_door.main(["where", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["cache"] == str(tmp_path)
    assert found["my work"].endswith("my_work")
    assert found["torch"].startswith("2.")


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # importing it now fails, as on a machine without it
from course_utils.__main__ import main
sys.exit(main({arguments}))
"""


@pytest.mark.parametrize("arguments", [["where"], ["--help"], ["doctor", "--help"]])
def test_these_work_where_torch_is_missing(arguments):
    done = run(code=WITHOUT_TORCH.format(arguments=arguments))

    assert done.returncode == 0, done.stderr


def test_speedup_without_torch_is_a_sentence_and_code_1():
    done = run(code=WITHOUT_TORCH.format(arguments=["speedup"]))

    assert done.returncode == 1
    assert "speedup needs torch" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_compiler_eager_is_shown_alone_and_that_is_no_failure(tmp_path):
    environ = {"PATH": str(tmp_path), "CXX": "", "COURSE_CACHE": str(tmp_path / "cache")}
    environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path / "inductor")

    done = run("speedup", "tiny_function", "--rounds", "5", environ=environ)

    assert done.returncode == 0, done.stderr
    assert "eager alone" in done.stdout
    assert "needs a C++ compiler and found none" in done.stdout


@pytest.mark.parametrize("switch", ["TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"])
def test_with_compiling_switched_off_eager_is_shown_alone(switch, tmp_path):
    environ = {switch: "1", "COURSE_CACHE": str(tmp_path)}

    done = run("speedup", "tiny_function", "--rounds", "5", environ=environ)

    assert done.returncode == 0, done.stderr
    assert f"built no graph, the environment sets {switch}=1." in done.stdout


def test_a_real_compiled_function_gives_the_same_result():
    # for a single kernel, headers compiled beforehand cost more than they save
    environ = {"TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}

    done = run("speedup", "tiny_function", "--rounds", "5", "--json", environ=environ)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["workloads"][0]
    if found["compile_error"] and not os.environ.get("CI"):
        pytest.skip(found["compile_error"])
    assert found["compile_error"] is None
    assert (found["graphs"], found["breaks"]) == (1, 0)
    assert found["largest_difference"] < 1e-6


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process without a word")
def test_a_command_that_is_told_to_end_does_so_as_after_ctrl_c(tmp_path):
    (tmp_path / "waits.py").write_text(
        "import pathlib, time\npathlib.Path('up').touch()\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-m", "course_utils", "explain", "waits.py:f"]

    told = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "up").exists():
        assert told.poll() is None
        time.sleep(0.05)
    told.terminate()

    assert told.communicate(timeout=60)[1].endswith("Stopped.\n")
    assert told.returncode == 130


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"COURSE_CACHE": "{folder}/file"}, "cannot be written to"),
        ({"COURSE_DEVICE": "gpu"}, "look at COURSE_DEVICE"),
        ({"COURSE_DEVICE": "cuda:99"}, "look at COURSE_DEVICE"),
    ],
)
@pytest.mark.parametrize(
    "arguments", [("speedup", "tiny_function"), ("explain", "a.py:f"), ("ledger", "S0-29")]
)
def test_what_keeps_a_command_from_starting_is_a_sentence(tmp_path, arguments, environ, told):
    (tmp_path / "file").write_text("")
    environ = {name: text.format(folder=tmp_path) for name, text in environ.items()}

    done = run(*arguments, environ={"TORCHINDUCTOR_CACHE_DIR": None, **environ})

    assert done.returncode == 1 and done.stdout == ""
    assert told in done.stderr and done.stderr.count("\n") == 1


def test_a_name_that_the_console_has_no_letters_for_does_not_stop_it():
    environ = {"PYTHONIOENCODING": "ascii", "COURSE_CACHE": "缓存"}

    done = run("where", environ=environ)

    assert done.returncode == 0, done.stderr
    assert "\\u7f13\\u5b58" in done.stdout


def test_the_door_to_the_doctor_reads_under_python_3_7():
    source = Path(front_door.__file__).read_text(encoding="utf-8")

    ast.parse(source, feature_version=(3, 7))


@pytest.mark.parametrize("variable", ["COURSE_CACHE", "COURSE_WARM"])
def test_where_says_in_a_sentence_that_a_folder_is_in_nobodys_home(variable, monkeypatch, capsys):
    monkeypatch.setenv(variable, "~nobody-at-all/x")

    assert front_door.main(["where"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"{variable} is ~nobody-at-all/x, and this machine knows no such")
    assert told.err.count("\n") == 1


def test_where_says_that_a_file_is_in_the_place_of_the_cache(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "file"))

    assert front_door.main(["where"]) == 0
    told = capsys.readouterr().err
    assert told.startswith(f"{tmp_path / 'file'} is a file, not a folder; let COURSE_CACHE name")
