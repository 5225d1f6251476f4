"""The stopwatch keeps the first call apart, takes turns, and says no more than it knows.

No test waits or reads a real clock: each replaces the clock by one that the calls turn.
"""

import gc
import itertools
import random
import statistics

import pytest

from course_utils import benchmark
from course_utils.benchmark import Comparison, Ratio, Timing


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until somebody adds to ``clock.now``."""

    class Clock:
        now = 0.0

    monkeypatch.setattr(benchmark.time, "perf_counter", lambda: Clock.now)
    return Clock


def takes(clock, *durations):
    """A call that lasts each of these seconds in order, and the last one ever after."""
    remaining = list(durations)

    def call():
        clock.now += remaining.pop(0) if len(remaining) > 1 else remaining[0]

    return call


def measured(**samples):
    """A comparison whose first calls took one second."""
    return Comparison({name: Timing(1.0, tuple(values)) for name, values in samples.items()})


def test_ratio_is_baseline_over_candidate(clock):
    found = benchmark.compare({"eager": takes(clock, 4.0), "compiled": takes(clock, 2.0)})

    assert found.ratio("eager") == Ratio(1.0, 1.0, 1.0)
    assert found.ratio("compiled") == Ratio(2.0, 2.0, 2.0)
    assert found.ratios == {"compiled": Ratio(2.0, 2.0, 2.0)}


def test_compilation_is_charged_to_the_first_call_only(clock):
    found = benchmark.compare({"compiled": takes(clock, 30.0, 2.0)})

    assert found.timings["compiled"].first_call == 30.0
    assert found.timings["compiled"].median == 2.0
    assert found.timings["compiled"].spread == 0.0


def test_warm_up_calls_are_thrown_away(clock):
    slow_at_first = takes(clock, 30.0, *[9.0] * 8, 2.0)

    found = benchmark.compare({"compiled": slow_at_first}, warmup=8)

    assert set(found.timings["compiled"].samples) == {2.0}


def test_candidates_take_turns_and_every_other_round_runs_backwards(clock):
    order = []

    def says(name):
        def call():
            order.append(name)
            clock.now += 1.0

        return call

    benchmark.compare({"a": says("a"), "b": says("b")}, warmup=0, rounds=4)

    assert "".join(order).endswith("abba" * 2)


def test_short_calls_are_timed_in_blocks_of_a_millisecond(clock):
    calls = itertools.count()
    microsecond = takes(clock, 1e-6)

    found = benchmark.compare({"tiny": lambda: next(calls) is None or microsecond()}, rounds=10)

    assert next(calls) > 10 * 1000
    assert found.timings["tiny"].median == pytest.approx(1e-6)


def test_blocks_of_a_short_and_a_long_call_last_equally_long(clock):
    inner = []
    block = benchmark._block
    candidates = {"long": takes(clock, 0.012), "short": takes(clock, 0.003)}

    def counted(call, repeats):
        inner.append((call, repeats))
        return block(call, repeats)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchmark, "_block", counted)
        benchmark.compare(candidates, rounds=2)

    assert inner[-2:] == [(candidates["short"], 4), (candidates["long"], 1)]


def test_a_short_call_is_not_repeated_for_minutes_to_match_a_long_one(clock):
    calls = itertools.count()
    quick = takes(clock, 1e-3)

    benchmark.compare(
        {"long": takes(clock, 600.0), "quick": lambda: next(calls) is None or quick()}, rounds=2
    )

    assert next(calls) < 200


def test_the_wait_for_the_accelerator_is_inside_the_time(clock, monkeypatch):
    def wait():
        clock.now += 5.0 if asked else 0.0
        asked.clear()

    asked = []
    monkeypatch.setattr(benchmark.torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(benchmark.torch.accelerator, "synchronize", wait)

    found = benchmark.compare({"queued": lambda: asked.append(1)}, rounds=2)

    assert found.timings["queued"].median == 5.0


def test_the_garbage_collector_is_off_while_timing_and_on_again_after(clock):
    seen = set()

    def call():
        seen.add(gc.isenabled())
        clock.now += 1.0

    benchmark.compare({"a": call}, warmup=0, rounds=2)

    assert seen == {False}
    assert gc.isenabled()


def test_the_garbage_collector_is_on_again_after_an_error():
    with pytest.raises(ZeroDivisionError):
        benchmark.compare({"a": lambda: 1 / 0})

    assert gc.isenabled()


def test_a_budget_of_seconds_ends_the_rounds_but_not_before_the_fifth(clock):
    long_ones = benchmark.compare({"a": takes(clock, 10.0)}, rounds=30, seconds=1.0)
    short_ones = benchmark.compare({"a": takes(clock, 1.0)}, rounds=30, seconds=12.0)

    assert len(long_ones.timings["a"].samples) == 5
    assert len(short_ones.timings["a"].samples) == 12


def test_a_clock_that_stands_still_gives_a_verdict_all_the_same(clock):
    found = benchmark.compare({"a": int, "b": int}, rounds=3)

    assert found.verdict("b") == "too noisy to say"


@pytest.mark.parametrize(
    ("candidate", "verdict"),
    [
        ([1.0, 1.1, 1.0, 0.9, 1.0, 1.1], "faster"),
        ([4.0, 4.4, 4.0, 3.6, 4.0, 4.4], "slower"),
        ([1.0, 3.0, 2.2, 1.8, 4.0, 1.5], "too noisy to say"),
    ],
)
def test_the_verdict_needs_the_whole_interval_on_one_side_of_one(candidate, verdict):
    found = measured(eager=[2.0, 2.1, 2.0, 1.9, 2.0, 2.2], compiled=candidate)

    assert found.verdict("compiled") == verdict
    assert found.verdict("eager") == "baseline"


def test_the_interval_is_the_same_each_time_and_holds_the_value():
    noise = random.Random(3)
    samples = {name: [noise.uniform(1, 3) for _ in range(20)] for name in ("eager", "compiled")}

    first, second = (measured(**samples).ratio("compiled") for _ in range(2))
    benchmark._bootstrap.cache_clear()
    third = measured(**samples).ratio("compiled")

    assert first == second == third
    assert first.low < first.value < first.high


def test_the_interval_holds_the_true_ratio_about_nineteen_times_of_twenty(monkeypatch):
    monkeypatch.setattr(benchmark, "RESAMPLES", 400)
    noise = random.Random(5)
    hits = 0
    for _ in range(100):
        slow, fast = ([mean * noise.gauss(1, 0.1) for _ in range(30)] for mean in (2.0, 1.0))
        ratio = measured(slow=slow, fast=fast).ratio("fast")
        hits += ratio.low <= 2.0 <= ratio.high

    assert 88 <= hits <= 100


def test_a_neighbour_that_steals_four_blocks_of_five_does_not_move_the_ratio():
    slow = ([5.0] * 4 + [2.0]) * 6
    fast = ([1.0] + [4.0] * 4) * 6

    found = measured(slow=slow, fast=fast)

    assert found.ratio("fast").value == 2.0
    assert statistics.median(slow) / statistics.median(fast) == 1.25


def test_break_even_is_the_first_call_over_what_one_call_saves():
    found = Comparison({"eager": Timing(0.5, (0.5,) * 5), "compiled": Timing(30.0, (0.2,) * 5)})

    assert found.break_even("compiled") == pytest.approx(100.0)
    assert found.break_even("eager") is None


def test_what_is_not_faster_never_breaks_even():
    slower = measured(eager=[1.0] * 6, compiled=[2.0] * 6)
    noisy = measured(eager=[1.0, 3.0, 0.6, 2.0, 1.2, 0.9], compiled=[0.5, 2.0, 0.9, 0.7, 1.5, 0.8])

    assert slower.break_even("compiled") is None
    assert noisy.timings["compiled"].median < noisy.timings["eager"].median
    assert noisy.verdict("compiled") == "too noisy to say"
    assert noisy.break_even("compiled") is None


def test_the_table_reads_from_first_call_to_verdict():
    found = Comparison(
        {
            "eager": Timing(0.0012, (0.000812,) * 4),
            "compiled": Timing(16.3, (0.000406,) * 4),
        }
    )

    assert str(found).splitlines() == [
        "          first call  per call  spread  speed-up (95 % interval)  verdict",
        "eager        1.20 ms    812 µs      0%                      1.00  baseline",
        "compiled      16.3 s    406 µs      0%       2.00 (2.00 to 2.00)  faster",
        "The first call of compiled has paid for itself after 40,148 calls.",
    ]
    assert repr(found) == str(found)  # a cell that ends in the comparison shows the table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4.2e-8, "42.0 ns"),
        (9.996e-6, "10.0 µs"),
        (0.00099999, "1.00 ms"),
        (0.5, "500 ms"),
        (61.04, "61.0 s"),
        (2000.0, "2,000 s"),
        (0.0, "0.00 ns"),
    ],
)
def test_durations_have_three_digits_and_a_unit_that_fits(seconds, text):
    assert benchmark.readable_seconds(seconds) == text


@pytest.mark.parametrize(("candidates", "rounds"), [({}, 5), ({"a": int}, 1)])
def test_refuses_what_it_cannot_compare(candidates, rounds):
    with pytest.raises(ValueError, match="at least one candidate and two rounds"):
        benchmark.compare(candidates, rounds=rounds)


def test_asking_for_a_name_that_was_not_timed_says_which_were():
    with pytest.raises(KeyError, match=r"compield.*eager, compiled"):
        measured(eager=[1.0] * 3, compiled=[1.0] * 3).ratio("compield")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"candidates": [len]}, "candidates is of the kind list"),
        ({"candidates": len}, "candidates is of the kind builtin"),
        ({"candidates": {"a": 1}}, "'a' is of the kind int, not a call"),
        ({"rounds": 2.5}, "rounds counts calls"),
        ({"rounds": "3"}, "rounds counts calls"),
        ({"rounds": True}, "rounds counts calls"),
        ({"warmup": -1}, "warmup counts calls"),
        ({"seconds": "1"}, "seconds is a length of time"),
        ({"seconds": float("nan")}, "seconds is a length of time"),
        ({"first_calls": {"b": 1.0}}, "first_calls lacks a"),
    ],
)
def test_what_cannot_be_timed_is_refused_before_anything_is_called(wrong, words):
    calls = []
    given = {"candidates": {"a": lambda: calls.append(1)}} | wrong

    with pytest.raises((TypeError, ValueError), match=words):
        benchmark.compare(**given)
    assert calls == []


def test_a_unit_that_there_is_not_is_named():
    with pytest.raises(ValueError, match="no unit 'h'; there are s, ms"):
        benchmark.readable_seconds(1.0, unit="h")
