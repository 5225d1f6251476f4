"""Right and wrong answers to the exercises of chapter 14, and what each wrong one must be told."""

import math

import torch
from torch.export import Dim, export

from tests.answers import Answers

# 14.1


def passes(sizes, shape, rank=True, low=True, high=0):
    if rank and len(sizes) != len(shape):
        return False
    for size, came in zip(sizes, shape, strict=False):
        if isinstance(size, int):
            if came != size:
                return False
        elif came > size[1] - high or (low and came < size[0]):
            return False
    return True


def passes_by_ranges(sizes, shape):
    ranges = [range(s[0], s[1] + 1) if isinstance(s, tuple) else (s,) for s in sizes]
    return len(sizes) == len(shape) and all(n in r for n, r in zip(shape, ranges, strict=True))


# 14.2


def exported(evaluate=True, dynamic=True, most=16):
    def answer(model):
        if evaluate:
            model.eval()
        spec = ({0: Dim("rows", min=1, max=most)},) if dynamic else None
        return export(model, (torch.ones(3, 6),), dynamic_shapes=spec)

    return answer


def exported_by_name(model):
    rows = Dim("n", min=1, max=16)
    return export(model.eval(), (torch.zeros(4, 6),), dynamic_shapes={"x": {0: rows}})


# 14.3


def by_cond(x):
    return torch.cond(x.max() > 10, lambda x: x / 10, lambda x: x.clone(), (x,))


def by_where(x):
    return torch.where(x.max() > 10, x / 10, x)


def by_if(x):
    return x / 10 if x.max() > 10 else x


def by_alias(x):
    return torch.cond(x.max() > 10, lambda x: x / 10, lambda x: x, (x,))


# 14.4


def gate(shape=True, dtype=True, least=1, late=False, error=ValueError):
    def answer(call, most):
        def checked(x):
            result = call(x) if late else None
            if dtype and x.dtype != torch.float32:
                raise error("dtype")
            if shape and (x.ndim != 2 or x.shape[1] != 64):
                raise error("shape")
            if not least <= len(x) <= most:
                raise error("rows")
            return result if late else call(x)

        return checked

    return answer


def gate_by_range(call, most):
    def checked(x):
        good = [(rows, 64) for rows in range(1, most + 1)]
        if tuple(x.shape) not in good or x.dtype is not torch.float:
            raise ValueError("no")
        return call(x)

    return checked


# 14.5


def difference(eager, other):
    if (eager.isnan() | other.isnan()).any():
        return math.inf
    return float((eager - other).abs().max())


def difference_by_norm(eager, other):
    return torch.linalg.vector_norm((eager - other).nan_to_num(math.inf), math.inf).item()


# 14.6


def late(waits):
    return sorted(waits)[math.ceil(95 * len(waits) / 100) - 1]


def late_by_dropping(waits):
    left = sorted(waits)
    for _ in range(len(waits) * 5 // 100):
        left.pop()
    return left[-1]


ANSWERS = {
    "14.1": Answers(
        right=[passes, passes_by_ranges],
        wrong=[
            (lambda sizes, shape: passes(sizes, shape, high=1), "left the upper limit out"),
            (lambda sizes, shape: passes(sizes, shape, low=False), "upper limit only"),
            (lambda sizes, shape: passes(sizes, shape, rank=False), "number of dimensions"),
            (lambda sizes, shape: True, "expected"),
        ],
    ),
    "14.2": Answers(
        right=[exported(), exported_by_name],
        wrong=[
            (exported(evaluate=False), "model.eval() before export"),
            (exported(dynamic=False), "it refuses 2 rows"),
            (exported(most=64), "it takes 17 rows"),
            (exported(most=8), "it refuses 16 rows"),
            (lambda model: model, "an ExportedProgram is expected"),
        ],
    ),
    "14.3": Answers(
        right=[by_cond, by_where],
        wrong=[
            (by_if, "known only at run time"),
            (by_alias, "returns the input itself"),
            (lambda x: x / 10, "called with"),
            (lambda x: torch.where(x > 10, x / 10, x), "called with"),
        ],
    ),
    "14.4": Answers(
        right=[gate(), gate_by_range],
        wrong=[
            (gate(dtype=False), "float64 passed the gate"),
            (gate(shape=False), "rows of 65 numbers passed the gate"),
            (gate(least=0), "no row passed the gate"),
            (gate(late=True), "refused too late"),
            (gate(error=TypeError), "ValueError is expected"),
            (lambda call, most: "gate", "return a function of x"),
        ],
    ),
    "14.5": Answers(
        right=[difference, difference_by_norm],
        wrong=[
            (lambda a, b: (a - b).max().item(), "kept the sign"),
            (lambda a, b: (a - b).abs().mean().item(), "took the mean"),
            (lambda a, b: (a - b).abs().max().item(), "let NaN through"),
            (lambda a, b: (a - b).abs().max(), "expected"),
        ],
    ),
    "14.6": Answers(
        right=[late, late_by_dropping],
        wrong=[
            (max, "took the longest"),
            (lambda waits: waits[math.ceil(95 * len(waits) / 100) - 1], "did not sort"),
            (
                lambda waits: sorted(waits)[min(len(waits) * 95 // 100, len(waits) - 1)],
                "one place too far",
            ),
            (lambda waits: sum(waits) / len(waits), "expected"),
        ],
    ),
}
