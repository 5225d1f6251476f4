"""Bytes and operations are counted as a reader would count them, and held against the machine.

Kernels are read from records made by hand, so these tests need no C++ compiler.
"""

import json
from types import SimpleNamespace

import pytest
import torch

from course_utils import compile_stack, plotting, workloads
from course_utils.benchmark import Comparison, Timing
from course_utils.workloads import Demo, Host, Outcome, Roofline, traffic
from course_utils.workloads.counting import count
from course_utils.workloads.traffic import Machine, Moved

HOST = Host("2.14.1", "cpu", capability="AVX2", threads=2, cores=2, load=None, date="2026-05-01")


@pytest.fixture
def on_cpu(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cpu")


@pytest.fixture
def kernels(monkeypatch):
    """A function that makes ``explain`` tell of kernels that move so many bytes."""

    def tell(moved_bytes, missing=()):
        told = SimpleNamespace(
            kernels=("one",) if moved_bytes else (),
            moved_bytes=moved_bytes,
            missing=missing,
            graphs=(),
        )
        monkeypatch.setattr(compile_stack, "explain", lambda *args: told)

    return tell


def found(compiled=8_000_000):
    timings = Comparison(
        {"eager": Timing(0.1, (0.016,) * 5), "compiled": Timing(9.0, (0.001,) * 5)}
    )
    outcome = Outcome(workloads.get("pointwise_chain"), timings, 1, 0, (), 0.0)
    counted = Moved(16_000_000, 128_000_000, compiled, "" if compiled else "no kernel was built")
    return Roofline(Machine(bandwidth=1e10, peak=1e11), Demo(HOST, (outcome,)), (counted,))


x, y = torch.ones(100, 10), torch.ones(10, 20)


@pytest.mark.parametrize(
    ("call", "operations", "moved"),
    [
        (lambda: x + 1, 1000, 8000),
        (lambda: x + x, 1000, 8000),  # one tensor read, however often it is named
        (lambda: x.sum(), 1000, 4004),
        (lambda: x.clone().add_(1), 1000, 16000),
        (lambda: x @ y, 2 * 100 * 10 * 20, 4 * (1000 + 200 + 2000)),
        (lambda: x.T.reshape(5, -1).shape, 0, 8000),  # a transposed tensor is copied
        (lambda: x.view(-1)[:10], 0, 0),
        (lambda: torch.empty(10), 0, 0),
        (lambda: torch.zeros_like(x), 0, 4000),
        (lambda: x.to(torch.float64), 0, 12000),
        (lambda: torch.ones(1).expand(1000) + 0, 1000, 4 + 4 + 4000),
    ],
)
def test_each_tensor_counts_once_where_it_is_read_and_where_it_is_written(call, operations, moved):
    counted = count(call)

    assert (counted.operations, counted.bytes) == (operations, moved)


def test_a_backward_pass_is_counted_with_its_products():
    weight = torch.ones(10, 20, requires_grad=True)

    forward = count(lambda: x @ weight)
    both = count(lambda: (x @ weight).sum().backward())

    assert both.operations >= 2 * forward.operations


def test_the_chain_moves_eight_megabytes_for_each_of_sixteen_operations(on_cpu, kernels):
    kernels(8_000_000)

    counted = traffic.moved(workloads.get("pointwise_chain"))

    assert counted == Moved(operations=16_000_000, eager=128_000_000, compiled=8_000_000)


def test_an_optimisers_step_counts_in_both_halves(on_cpu, kernels):
    kernels(1_000)

    counted = traffic.moved(workloads.get("mlp_step"))

    parameters = 4 * (64 * 128 + 128 + 2 * 128 + 128 * 64 + 64)
    assert counted.compiled - 1_000 > 5 * parameters  # weight, gradient, two averages, and written


@pytest.mark.parametrize(
    ("missing", "why_not"), [((), "no kernel was built"), (("not available",), "not available")]
)
def test_kernels_that_cannot_be_read_are_told_as_such(on_cpu, kernels, missing, why_not):
    kernels(0, missing)

    counted = traffic.moved(workloads.get("tiny_function"))

    assert (counted.compiled, counted.why_not) == (None, why_not)


def test_the_share_of_a_copy_is_bytes_per_second_over_bytes_per_second():
    table = str(found()).splitlines()

    assert table[1].split() == "pointwise_chain 16.0 M 128.0 MB 80% 8.0 MB 80%".split()
    assert table[-1].endswith("memory sets the pace below 10.0 operations per byte.")


def test_points_are_operations_per_byte_and_per_second():
    points = found().points

    assert points["pointwise_chain, eager"] == pytest.approx((0.125, 1e9))
    assert points["pointwise_chain, compiled"] == pytest.approx((2.0, 1.6e10))
    assert "roof" in plotting.roofline(points, bandwidth=1e10, peak=1e11).alt


def test_what_cannot_be_counted_has_no_point_and_says_why():
    alone = found(compiled=None)

    assert list(alone.points) == ["pointwise_chain, eager"]
    assert "no kernel was built" in str(alone)


def test_the_data_of_a_roofline_survive_json():
    data = json.loads(json.dumps(workloads.roofline_as_data(found())))

    assert data["bytes_per_second"] == 1e10
    assert data["workloads"][0]["share_of_copy"] == pytest.approx({"eager": 0.8, "compiled": 0.8})


def test_the_machine_is_measured_at_its_best_copy(on_cpu, monkeypatch):
    times = {4: 0.001, 16: 0.008, 64: 0.064, "product": 0.002}
    monkeypatch.setattr(
        traffic.benchmark,
        "compare",
        lambda calls, **kwargs: Comparison({n: Timing(1.0, (times[n],) * 5) for n in calls}),
    )

    machine = traffic.measure_machine()

    assert machine.bandwidth == pytest.approx(2 * 4 * 2**20 / 0.001)
    assert machine.peak == pytest.approx(2 * 1024**3 / 0.002)


def test_each_workload_is_named_while_it_is_counted(on_cpu, kernels, monkeypatch):
    kernels(8)
    monkeypatch.setattr(traffic, "measure_machine", lambda: Machine(1e10, 1e11))
    said = []

    workloads.roofline_of(found().demo, report=said.append)

    assert said[1:] == ["pointwise_chain: the bytes that it moves"]
