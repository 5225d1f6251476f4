"""``tools/accuracies_gan.py`` promises: the lesson's own code, and a 1 for a missed aim.

Nothing is trained here; the figures are made up, and the lesson's functions are only looked at.
"""

import re
from pathlib import Path

import accuracies_gan
import pytest

GOOD = {"conditional: recognised": 0.95, "conditional: digits present": 10}


def test_every_name_that_the_table_uses_is_defined_in_the_lesson():
    source = Path(accuracies_gan.__file__).read_text(encoding="utf-8")
    used = set(re.findall(r'gan\["(\w+)"\]', source)) - {"reader"}  # measure makes that one

    names = accuracies_gan.definitions(accuracies_gan.ROOT)

    assert len(used) > 8
    assert used <= set(names)
    assert not {"reader", "plain", "conditional", "games"} & set(names)


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({}, []),
        ({"conditional: recognised": 0.8}, [1]),
        ({"conditional: digits present": 9}, [1]),
    ],
)
def test_a_seed_that_missed_the_aim_is_named(change, missed):
    results = {0: GOOD, 1: GOOD | change}

    assert accuracies_gan.missed(results) == missed


def test_the_table_has_a_column_for_each_seed_and_the_mean():
    results = {0: {"share": 0.5}, 1: {"share": 1.0}}

    rows = accuracies_gan.table(results).splitlines()

    assert rows[0].split() == ["seed", "0", "1", "mean"]
    assert rows[1].split() == ["share", "0.500", "1.000", "0.750"]


@pytest.mark.parametrize("arguments", [["--seeds", "0"], ["--json", "missing/found.json"]])
def test_what_would_fail_after_minutes_is_refused_at_once(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        accuracies_gan.main(arguments)

    assert ended.value.code == 2
    assert arguments[0] in capsys.readouterr().err
