"""``tools/accuracies.py`` promises: the lesson's own code, honest tables, and a 1 for a missed aim.

Nothing is trained here; the figures are made up, and the lesson's functions are only looked at.
"""

import json

import accuracies
import pytest
from accuracies import AIMS, UNET

GOOD = {"linear": 0.94, "dense": 0.98, "CNN": 0.995, UNET: 0.98}


def runs(**scores):
    """Return five equal runs of each model, those named with scores of their own."""
    found = {name: [score] * 5 for name, score in GOOD.items()} | scores
    return {
        name: [{"score": score, "seconds": 3.0, "processor": 2.0} for score in some]
        for name, some in found.items()
    }


@pytest.fixture
def no_training(monkeypatch):
    """Let the tool find good figures without working for them, and return what it may change."""
    figures = runs()
    # settings of this whole process, which other tests share
    monkeypatch.setattr(accuracies.runtime, "start", lambda chapter: None)
    monkeypatch.setattr(accuracies.torch, "set_num_threads", lambda count: None)
    monkeypatch.setattr(accuracies, "accuracies", lambda lesson, seeds: figures)
    monkeypatch.setattr(
        accuracies, "trainers", lambda lesson, rounds: {"loop by hand": [1.0], "fit": [1.01]}
    )
    return figures


def test_the_lessons_functions_are_taken_and_nothing_else_of_it_runs():
    lesson = accuracies.definitions(accuracies.ROOT)

    needed = {"train", "share_right", "make_scenes", "UNet", "train_unet", "share_covered"}
    assert needed | set(accuracies.DIGITS.values()) <= set(lesson)
    assert "trained" not in lesson and "unet" not in lesson


def test_the_lessons_models_give_logits_of_the_right_shape():
    lesson = accuracies.definitions(accuracies.ROOT)
    scenes, masks = lesson["make_scenes"](2, seed=0)

    shapes = [lesson[make]()(scenes[:, :, :8, :8]).shape for make in accuracies.DIGITS.values()]

    assert shapes == [(2, 10)] * 3
    assert lesson["UNet"]()(scenes).shape == masks.shape


@pytest.mark.parametrize(
    ("scores", "below"),
    [
        ({}, []),
        ({"CNN": [0.99, 0.99, 0.99, 0.99, 0.989]}, ["CNN"]),  # the mean
        ({"CNN": [1.0, 1.0, 1.0, 1.0, 0.984]}, ["CNN"]),  # the worst
        ({UNET: [0.99, 0.99, 0.99, 0.99, 0.89]}, [UNET]),
        ({"linear": [0.1] * 5}, []),  # nothing is asked of it
    ],
)
def test_a_model_whose_mean_or_worst_is_below_its_aim_is_named(scores, below):
    assert accuracies.missed(runs(**scores)) == below


def test_the_table_shows_mean_and_worst_and_names_what_missed():
    table = accuracies.accuracy_table(runs(CNN=[1.0, 1.0, 1.0, 1.0, 0.98]))

    assert "| CNN | 99.60% | 98.00% | 100.00% |" in table
    assert "Below its aim: CNN" in table


def test_a_share_compares_each_sample_with_its_neighbour_in_time():
    slower_by_a_tenth = {"hand": [1.0, 5.0, 2.0, 1.0], "fit": [1.1, 5.5, 2.2, 1.1]}

    found = accuracies.shares(slower_by_a_tenth)

    assert found["hand"] == (1.0, 1.0, 1.0)
    assert found["fit"] == pytest.approx((1.1, 1.1, 1.1))


def test_one_disturbed_round_widens_the_interval_and_does_not_move_the_middle():
    times = [1.0] * 20
    disturbed = [1.02] * 19 + [9.0]

    middle, low, high = accuracies.shares({"hand": times, "fit": disturbed})["fit"]

    assert (middle, low) == (1.02, 1.02)
    assert high < 1.1


def test_turns_take_every_other_round_backwards():
    called = []
    calls = {name: lambda name=name: called.append(name) for name in "ab"}

    samples = accuracies.turns(calls, 2)

    assert "".join(called) == "ab" + "ab" + "ba"
    assert [len(times) for times in samples.values()] == [2, 2]


def test_the_exit_code_is_one_where_an_aim_is_missed(no_training, capsys):
    reached = accuracies.main([])
    no_training["CNN"] = runs(CNN=[0.5] * 5)["CNN"]

    assert (reached, accuracies.main([])) == (0, 1)
    assert "All aims are reached." in capsys.readouterr().out


def test_every_figure_goes_into_the_file(no_training, tmp_path, capsys):
    accuracies.main(["--json", str(tmp_path / "found.json")])

    found = json.loads((tmp_path / "found.json").read_text())
    assert len(found["models"]["CNN"]) == 5
    assert found["shares"]["fit"] == [1.01, 1.01, 1.01]
    assert set(AIMS) <= set(found["models"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--seeds", "0"], "at least 1, not '0'"),
        (["--rounds", "-1"], "at least 1, not '-1'"),
        (["--seeds", "many"], "at least 1, not 'many'"),
        (["--json", "{folder}"], "cannot be written; name a file"),
        (["--json", "{folder}/missing/found.json"], "cannot be written; name a file"),
        (["--json", ""], "cannot be written; name a file"),
    ],
)
def test_what_would_fail_after_minutes_is_refused_at_once(
    no_training, tmp_path, capsys, arguments, told
):
    with pytest.raises(SystemExit) as ended:
        accuracies.main([argument.format(folder=tmp_path) for argument in arguments])

    assert ended.value.code == 2
    assert told in capsys.readouterr().err
