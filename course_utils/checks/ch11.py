"""Exercises and questions of chapter 11: recurrent steps, shapes, padding, clipping, writing.

Kind:    plumbing; the chapter's own text is lessons/11_rnn.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.compare, checks.exercise, checks.grading
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.checks.compare import Rules, difference, show
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


def _drawn(*shape: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    """Draw numbers that are the same on every CPU (randn's are not)."""
    generator = torch.Generator().manual_seed(seed)
    return scale * (2 * torch.rand(*shape, generator=generator) - 1)


# 11.1: one step of an RNN


def _rnn_step(x, h, w_ih, w_hh, bias):
    return torch.tanh(x @ w_ih.T + h @ w_hh.T + bias)


def _rnn_cases() -> list[tuple]:
    one = torch.ones(1, 1)
    return [
        (one, 0 * one, one, one, torch.zeros(1)),
        (one, one, one, 0.5 * one, torch.tensor([-1.0])),
        (_drawn(3, 2), _drawn(3, 2, seed=1), _drawn(2, 2, seed=2), _drawn(2, 2, seed=3), one[0]),
        (_drawn(3, 4), _drawn(3, 2, seed=1), _drawn(2, 4, seed=2), _drawn(2, 2, seed=3), one[0]),
    ]


# 11.2: how many weights an LSTM has


def _weights(inputs, hidden, layers, both_ways):
    directions = 2 if both_ways else 1
    total = 0
    for layer in range(layers):
        entering = inputs if layer == 0 else directions * hidden
        total += directions * (4 * hidden * (entering + hidden) + 2 * 4 * hidden)
    return total


def _weights_with(*, gates: int = 4, biases: int = 2, wide: bool = True, first: bool = True):
    def count(inputs, hidden, layers, both_ways):
        directions, total = 2 if both_ways else 1, 0
        for layer in range(layers):
            above = directions * hidden if wide else hidden
            entering = inputs if layer == 0 or not first else above
            total += directions * gates * hidden * (entering + hidden + biases)
        return total

    return count


# 11.3: shapes


def _shapes(batch, time, hidden, layers, both_ways):
    directions = 2 if both_ways else 1
    return (batch, time, directions * hidden), (layers * directions, batch, hidden)


# 11.4: the GRU of the paper


def _paper_gru(x, h, w_ih, w_hh):
    r_x, z_x, n_x = (x @ w_ih.T).chunk(3, 1)
    r_w, z_w, n_w = w_hh.chunk(3, 0)
    r = torch.sigmoid(r_x + h @ r_w.T)
    z = torch.sigmoid(z_x + h @ z_w.T)
    n = torch.tanh(n_x + (r * h) @ n_w.T)
    return (1 - z) * n + z * h


def _gru(*, late: bool = False, swapped: bool = False, ungated: bool = False, zr: bool = False):
    def step(x, h, w_ih, w_hh):
        r_x, z_x, n_x = (x @ w_ih.T).chunk(3, 1)
        r_w, z_w, n_w = w_hh.chunk(3, 0)
        r, z = torch.sigmoid(r_x + h @ r_w.T), torch.sigmoid(z_x + h @ z_w.T)
        if zr:
            r, z = z, r
        memory = h @ n_w.T if ungated else r * (h @ n_w.T) if late else (r * h) @ n_w.T
        n = torch.tanh(n_x + memory)
        return z * n + (1 - z) * h if swapped else (1 - z) * n + z * h

    return step


def _gru_cases() -> list[tuple]:
    return [
        (torch.ones(1, 1), torch.ones(1, 1), torch.zeros(3, 1), torch.zeros(3, 1)),
        (_drawn(1, 1), _drawn(1, 1, seed=1), _drawn(3, 1, seed=2), _drawn(3, 1, seed=3)),
        (_drawn(2, 3), _drawn(2, 4, seed=1), _drawn(12, 3, seed=2), _drawn(12, 4, seed=3, scale=2)),
    ]


# 11.5 and 11.6: sequences of different lengths


def _last_steps(out, lengths):
    return torch.stack([row[length - 1] for row, length in zip(out, lengths, strict=True)])


def _last_cases() -> list[tuple]:
    return [
        (torch.tensor([[[1.0], [2.0], [0.0]]]), torch.tensor([2])),
        (_drawn(3, 4, 2), torch.tensor([4, 1, 3])),
        (_drawn(2, 5, 3, seed=1), torch.tensor([2, 2])),
    ]


def _index_last(out, lengths, offset: int = -1):
    return out[torch.arange(len(out)), lengths + offset]


def _mean_loss(losses, lengths):
    rows = [row[:length].sum() for row, length in zip(losses, lengths, strict=True)]
    return torch.stack(rows).sum() / lengths.sum()


def _mask(losses, lengths):
    return torch.arange(losses.shape[1]) < lengths[:, None]


def _mean_cases() -> list[tuple]:
    return [
        (torch.tensor([[3.0, 1.0]]), torch.tensor([2])),
        (torch.tensor([[2.0, 2.0, 2.0], [4.0, 9.0, 9.0]]), torch.tensor([3, 1])),
        (_drawn(3, 5) + 2, torch.tensor([2, 5, 4])),
    ]


# 11.7: clipping


def _clip(gradients, max_norm):
    total = torch.cat([grad.flatten() for grad in gradients]).norm()
    factor = min(1.0, max_norm / (total.item() + 1e-6))
    return total, [grad * factor for grad in gradients]


def _clip_each(gradients, max_norm):
    return _clip(gradients, max_norm)[0], [_clip([grad], max_norm)[1][0] for grad in gradients]


def _clip_cases() -> list[tuple]:
    three, four = torch.tensor([3.0]), torch.tensor([4.0])
    return [
        ([three], 10.0),
        ([three, four], 1.0),
        ([torch.tensor([0.3, 0.0]), torch.tensor([[0.4]])], 2.0),
        ([_drawn(2, 3, scale=5), _drawn(4, seed=1)], 0.5),
    ]


# 11.8: a long text in chunks


class _Reader(nn.Module):
    """The smallest model with a state to carry: six letters, a GRU, six logits."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.gru = nn.Embedding(6, 4), nn.GRU(4, 8, batch_first=True)
        self.head = nn.Linear(8, 6)

    def forward(self, x, state=None):
        out, state = self.gru(self.embedding(x), state)
        return self.head(out), state


def _stream() -> tuple[nn.Module, torch.optim.Optimizer, list]:
    torch.manual_seed(0)
    model = _Reader()
    ids = (torch.arange(62)[None] * torch.tensor([[1], [5]]) // 2) % 6  # two streams
    chunks = [(ids[:, s : s + 10], ids[:, s + 1 : s + 11]) for s in range(0, 60, 10)]
    return model, torch.optim.SGD(model.parameters(), lr=0.5), chunks


def _train(model, optimizer, chunks, carry: Callable = lambda state: state.detach(), clear=True):
    """Train as asked; ``carry`` makes the next chunk's state of what the last one returned."""
    state, losses = None, []
    for x, y in chunks:
        if clear:
            optimizer.zero_grad()
        logits, after = model(x, state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        state = carry(after)
    return losses


_STREAM_MISTAKES = [
    (
        {"carry": lambda state: None},
        "every chunk starts with an empty memory; hand the state of the last chunk on, detached",
    ),
    (
        {"carry": lambda state: torch.zeros_like(state)},
        "every chunk starts with an empty memory; hand the state of the last chunk on, detached",
    ),
    (
        {"clear": False},
        "the gradients are never cleared: call optimizer.zero_grad() for each chunk",
    ),
]


def _judge_stream(answer: object) -> None:
    if not callable(answer):
        raise Wrong(f"a function is expected, this is {show(answer)}")
    model, optimizer, chunks = _stream()
    try:
        got = answer(model, optimizer, chunks)
    except NotImplementedError:
        raise
    except RuntimeError as error:
        raise Wrong(_told(error)) from None
    answered(got)
    expected = _train(*_stream())
    if not isinstance(got, (list, tuple)) or not all(isinstance(loss, float) for loss in got):
        raise Wrong(f"return the losses as numbers, one for each chunk; this is {show(got)}")
    if len(got) != len(expected):
        raise Wrong(f"there are {len(expected)} chunks, and {len(got)} losses came")
    for options, sentence in _STREAM_MISTAKES:
        if difference(list(got), _train(*_stream(), **options), Rules(1e-5)) is None:
            raise Wrong(sentence)
    about = "the losses are not those of one step for each chunk, the state carried and cut"
    require_equal(list(got), expected, about, atol=1e-5, rtol=1e-4)


def _told(error: RuntimeError) -> str:
    if "second time" in str(error):
        return (
            "backward walked into the last chunk, whose graph is gone: cut the state with "
            "detach() before the next chunk"
        )
    if "inplace operation" in str(error):
        return (
            "the graph of the last chunk was kept, and the optimiser has changed its weights "
            "since: leave retain_graph out, and cut the state with detach()"
        )
    return f"your function raised {type(error).__name__}: {str(error).splitlines()[0][:150]}"


# 11.9: temperature


def _chances(logits, temperature):
    return (logits / temperature).softmax(-1)


# 11.10: a table of pairs


def _pair_counts(ids, letters, start=1.0):
    counts = torch.full((letters, letters), start)
    for first, second in zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True):
        counts[first, second] += 1
    return counts


def _pair_loss(train_ids, held_out, letters):
    counts = _pair_counts(train_ids, letters)
    table = counts / counts.sum(1, keepdim=True)
    return -table[held_out[:-1], held_out[1:]].log().mean()


def _pair_loss_with(*, start: float = 1.0, axis: int | None = 1, turned: bool = False):
    def loss(train_ids, held_out, letters):
        counts = _pair_counts(train_ids, letters, start)
        total = counts.sum() if axis is None else counts.sum(axis, keepdim=True)
        table = (counts / total).T if turned else counts / total
        return -table[held_out[:-1], held_out[1:]].log().mean()

    return loss


def _pair_cases() -> list[tuple]:
    return [
        (torch.tensor([0, 1]), torch.tensor([0, 1]), 2),
        (torch.tensor([0, 1, 0, 1, 1, 0, 1]), torch.tensor([1, 0, 1]), 2),
        (torch.tensor([0, 1, 2, 0, 1, 2, 2, 1]), torch.tensor([0, 2, 1, 1]), 3),
    ]


# 11.11: causal attention


def _attention(q, k, v):
    rows = []
    for step in range(q.shape[-2]):  # each step looks at itself and what came before
        scores = k[..., : step + 1, :] @ q[..., step, :, None] / math.sqrt(q.shape[-1])
        rows.append((scores.softmax(-2) * v[..., : step + 1, :]).sum(-2))
    return torch.stack(rows, -2)


def _attention_with(*, scale: float = 0.5, diagonal: int | None = 1, after: bool = False, axis=-1):
    def attend(q, k, v):
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** scale
        future = torch.ones(scores.shape[-2:], dtype=torch.bool)
        future = future.triu(diagonal) if diagonal is not None else torch.zeros_like(future)
        if after:
            return scores.softmax(axis).masked_fill(future, 0.0) @ v
        return scores.masked_fill(future, -math.inf).softmax(axis) @ v

    return attend


def _past_hidden(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(-1)
    return scores.masked_fill(past, -math.inf).softmax(-1) @ v


def _attention_cases() -> list[tuple]:
    return [
        tuple(_drawn(1, 2, 2, seed=seed, scale=2) for seed in range(3)),
        tuple(_drawn(2, 5, 4, seed=seed, scale=3) for seed in range(3)),
    ]


# 11.12: one graph for every length


def _step(x, h):
    return torch.tanh(0.5 * x + h)


def _judge_one_graph(answer: object) -> None:
    if not callable(answer):
        raise Wrong(f"a function is expected, this is {show(answer)}")
    torch.compiler.reset()  # torch gives up on a function after eight graphs, checks go on
    graphs = []

    def backend(graph_module, example_inputs):
        graphs.append(graph_module)
        return graph_module.forward

    run = answered(answer(_step, backend))
    if not callable(run):
        raise Wrong(f"make(step, backend) should return a function run(x, h), not {show(run)}")
    for steps in (3, 5, 8, 13, 21):
        x, h = _drawn(2, steps, 4, seed=steps), torch.zeros(2, 4)
        got = answered(run(x, h))
        for x_t in x.unbind(1):
            h = _step(x_t, h)
        require_equal(got, h, f"run() on {steps} steps should give the last state", atol=1e-6)
    if not graphs:
        raise Wrong("the backend got no graph: nothing is compiled with backend=backend")
    if len(graphs) > 2:  # one, and one more that leaves the stride of x_t open
        raise Wrong(
            f"five lengths gave {len(graphs)} graphs, since a loop inside a compiled function is "
            "unrolled; compile the step, and leave the loop outside"
        )


EXERCISES = [
    Exercise(
        id="11.1",
        reference=_rnn_step,
        cases=_rnn_cases,
        atol=1e-5,
        mistakes=[
            Mistake(
                "left out tanh",
                like=lambda x, h, w_ih, w_hh, bias: x @ w_ih.T + h @ w_hh.T + bias,
                because="without it the memory can grow without end",
            ),
            Mistake(
                "forgot the memory",
                like=lambda x, h, w_ih, w_hh, bias: torch.tanh(x @ w_ih.T + bias),
                because="h @ w_hh.T is what makes the step recurrent",
            ),
            Mistake(
                "did not turn the weights over",
                like=lambda x, h, w_ih, w_hh, bias: torch.tanh(x @ w_ih + h @ w_hh + bias),
                because="torch keeps weights as (outputs, inputs), so rows multiply w.T",
            ),
            Mistake(
                "left out the bias",
                like=lambda x, h, w_ih, w_hh, bias: torch.tanh(x @ w_ih.T + h @ w_hh.T),
                because="it is added before tanh",
            ),
            Mistake(
                "added the bias after tanh",
                like=lambda x, h, w_ih, w_hh, bias: torch.tanh(x @ w_ih.T + h @ w_hh.T) + bias,
                because="it is added before tanh, which keeps the memory between -1 and 1",
            ),
            Mistake(
                "used sigmoid",
                like=lambda x, h, w_ih, w_hh, bias: torch.sigmoid(x @ w_ih.T + h @ w_hh.T + bias),
                because="sigmoid belongs to gates; the memory of nn.RNN goes through tanh",
            ),
        ],
        hints=[
            "Three things are added up: one from the input, one from the memory, the bias.",
            "w_ih has the shape (hidden, inputs), so x @ w_ih.T is (batch, hidden).",
            "torch.tanh(x @ w_ih.T + h @ w_hh.T + bias)",
        ],
    ),
    Exercise(
        id="11.2",
        reference=_weights,
        cases=[
            (1, 1, 1, False),
            (8, 12, 1, False),
            (8, 12, 2, False),
            (8, 12, 1, True),
            (8, 12, 2, True),
            (3, 5, 3, True),
        ],
        mistakes=[
            Mistake(
                "counted one gate of four",
                like=_weights_with(gates=1),
                because="an LSTM computes four blocks: input, forget, candidate, output",
            ),
            Mistake(
                "counted one bias",
                like=_weights_with(biases=1),
                because="torch keeps two of them, bias_ih and bias_hh",
            ),
            Mistake(
                "left out the biases",
                like=_weights_with(biases=0),
                because="there are two in each layer and direction, each 4 * hidden long",
            ),
            Mistake(
                "gave the second layer the outputs of one direction",
                like=_weights_with(wide=False),
                because="it reads both directions of the layer below, 2 * hidden numbers",
            ),
            Mistake(
                "gave every layer the inputs of the first",
                like=_weights_with(first=False),
                because="a layer above the first reads the hidden states below it",
            ),
        ],
        hints=[
            "One layer and direction: weight_ih, weight_hh and two biases, each with 4 * hidden "
            "rows.",
            "What enters the second layer is what leaves the first: hidden, or twice that.",
            "directions * 4 * hidden * (entering + hidden + 2), added up over the layers",
        ],
    ),
    Exercise(
        id="11.3",
        reference=_shapes,
        cases=[(4, 5, 12, 1, False), (4, 5, 12, 2, False), (4, 5, 12, 1, True), (3, 7, 2, 3, True)],
        mistakes=[
            Mistake(
                "put the batch first in h_n",
                like=lambda batch, time, hidden, layers, both: (
                    _shapes(batch, time, hidden, layers, both)[0],
                    (batch, layers * (1 + both), hidden),
                ),
                because="batch_first does not reach h_n",
            ),
            Mistake(
                "gave out one direction",
                like=lambda batch, time, hidden, layers, both: (
                    (batch, time, hidden),
                    (layers * (1 + both), batch, hidden),
                ),
                because="both directions stand side by side in the last axis of out",
            ),
            Mistake(
                "gave out all layers",
                like=lambda batch, time, hidden, layers, both: (
                    (batch, time, layers * (1 + both) * hidden),
                    (layers * (1 + both), batch, hidden),
                ),
                because="out comes from the top layer only; h_n has all of them",
            ),
            Mistake(
                "joined the directions in h_n",
                like=lambda batch, time, hidden, layers, both: (
                    (batch, time, (1 + both) * hidden),
                    (layers, batch, (1 + both) * hidden),
                ),
                because="in h_n each layer and direction has a place of its own in the first axis",
            ),
            Mistake(
                "put the time first in out",
                like=lambda batch, time, hidden, layers, both: (
                    (time, batch, (1 + both) * hidden),
                    (layers * (1 + both), batch, hidden),
                ),
                because="with batch_first=True the batch comes first in out",
            ),
        ],
        hints=[
            "out: one row for each sequence and each step, from the top layer.",
            "h_n: (layers * directions, batch, hidden), whatever batch_first says.",
        ],
    ),
    Exercise(
        id="11.4",
        reference=_paper_gru,
        cases=_gru_cases,
        atol=1e-5,
        mistakes=[
            Mistake(
                "wrote torch's GRU",
                like=_gru(late=True),
                because="here r acts on h before the product: (r * h) @ w.T",
            ),
            Mistake(
                "mixed the other way round",
                like=_gru(swapped=True),
                because="z says how much of the *old* memory stays",
            ),
            Mistake(
                "left out r",
                like=_gru(ungated=True),
                because="the candidate sees only r * h of the memory",
            ),
            Mistake(
                "took z for r",
                like=_gru(zr=True),
                because="the blocks stand in the order r, z, n",
            ),
        ],
        hints=[
            "Cut both weights into three blocks: w_ih.chunk(3, 0), or the product by chunk(3, 1).",
            "r and z are sigmoids as in the lesson; only the candidate differs.",
            "n = torch.tanh(n_x + (r * h) @ n_w.T); return (1 - z) * n + z * h",
        ],
    ),
    Exercise(
        id="11.5",
        reference=_last_steps,
        cases=_last_cases,
        mistakes=[
            Mistake(
                "took the last step of the padding",
                like=lambda out, lengths: out[:, -1],
                because="for a short sequence that is a step of padding",
            ),
            Mistake(
                "counted one too far",
                like=lambda out, lengths: _index_last(out, lengths.clamp(max=out.shape[1] - 1), 0),
                because="steps are counted from 0, so the last one is lengths - 1",
            ),
            Mistake(
                "counted one too far",
                like=lambda out, lengths: _index_last(out, lengths, 0),
                because="steps are counted from 0, so the last one is lengths - 1",
            ),
            Mistake(
                "took every pair of row and length",
                like=lambda out, lengths: out[:, lengths - 1],
                because="a slice pairs each row with each length; use torch.arange(len(out))",
            ),
            Mistake(
                "took the first step",
                like=lambda out, lengths: out[:, 0],
                because="asked is the last one",
            ),
        ],
        hints=[
            "Each row has its own last step, number lengths - 1.",
            "Two index tensors of the same length pair up: row i with step lengths[i] - 1.",
            "out[torch.arange(len(out)), lengths - 1]",
        ],
    ),
    Exercise(
        id="11.6",
        reference=_mean_loss,
        cases=_mean_cases,
        atol=1e-5,
        mistakes=[
            Mistake(
                "took the mean of everything",
                like=lambda losses, lengths: losses.mean(),
                because="it counts the padding",
            ),
            Mistake(
                "divided by the padding too",
                like=lambda losses, lengths: (losses * _mask(losses, lengths)).mean(),
                because="the sum leaves the padding out, and the number of letters must do so too",
            ),
            Mistake(
                "took the mean of each sequence's mean",
                like=lambda losses, lengths: (
                    (losses * _mask(losses, lengths)).sum(1) / lengths
                ).mean(),
                because="then a letter in a short sequence counts for more than one in a long one",
            ),
            Mistake(
                "counted one step of padding",
                like=lambda losses, lengths: losses[_mask(losses, lengths + 1)].mean(),
                because="steps are counted from 0, so real ones are < length",
            ),
            Mistake(
                "returned the sum",
                like=lambda losses, lengths: losses[_mask(losses, lengths)].sum(),
                because="divide by the number of letters",
            ),
        ],
        hints=[
            "Make a mask: which places of the (batch, time) table hold a letter?",
            "torch.arange(losses.shape[1]) < lengths[:, None]",
            "losses[mask].mean()",
        ],
    ),
    Exercise(
        id="11.7",
        reference=_clip,
        cases=_clip_cases,
        atol=1e-5,
        mistakes=[
            Mistake(
                "clipped each tensor by itself",
                like=_clip_each,
                because="one length for all of them together keeps the direction",
            ),
            Mistake(
                "made short gradients longer",
                like=lambda gradients, max_norm: (
                    _clip(gradients, max_norm)[0],
                    [g * (max_norm / _clip(gradients, max_norm)[0]) for g in gradients],
                ),
                because="a gradient below the limit stays as it is",
            ),
            Mistake(
                "returned the length after clipping",
                like=lambda gradients, max_norm: (
                    _clip(gradients, max_norm)[0].clamp(max=max_norm),
                    _clip(gradients, max_norm)[1],
                ),
                because="the length *before* is what tells you how rough it is",
            ),
            Mistake(
                "cut each number",
                like=lambda gradients, max_norm: (
                    _clip(gradients, max_norm)[0],
                    [g.clamp(-max_norm, max_norm) for g in gradients],
                ),
                because="that turns the direction; scale all of them by one factor",
            ),
            Mistake(
                "added the lengths up",
                like=lambda gradients, max_norm: (
                    sum(g.norm() for g in gradients),
                    [
                        g * (max_norm / sum(g.norm() for g in gradients)).clamp(max=1.0)
                        for g in gradients
                    ],
                ),
                because="the length of all together is the root of the sum of all squares",
            ),
        ],
        hints=[
            "Put all numbers into one long vector: torch.cat([g.flatten() for g in gradients]).",
            "The factor is max_norm / length, and at most 1.",
            "return total, [grad * factor for grad in gradients], with total from before",
        ],
    ),
    Exercise(
        id="11.8",
        judge=_judge_stream,
        hints=[
            "The seven lines, and state = None before the loop.",
            "model(x, state) returns the logits and the state after this chunk.",
            "Before the next chunk: state = state.detach().",
        ],
    ),
    Exercise(
        id="11.9",
        reference=_chances,
        cases=lambda: [
            (torch.tensor([0.0, 0.0]), 1.0),
            (torch.tensor([2.0, 1.0, 0.0]), 0.5),
            (torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 3.0]]), 2.0),
        ],
        atol=1e-5,
        mistakes=[
            Mistake(
                "multiplied by the temperature",
                like=lambda logits, temperature: (logits * temperature).softmax(-1),
                because="a high temperature makes the logits more alike, so it divides",
            ),
            Mistake(
                "divided the chances",
                like=lambda logits, temperature: logits.softmax(-1) / temperature,
                because="they then no longer add up to 1; divide the logits, before softmax",
            ),
            Mistake(
                "ignored the temperature",
                like=lambda logits, temperature: logits.softmax(-1),
                because="divide the logits by it",
            ),
            Mistake(
                "took softmax over the rows",
                like=lambda logits, temperature: (logits / temperature).softmax(0),
                because="the chances of one row add up to 1: the last axis",
            ),
        ],
        hints=[
            "Temperature 1 changes nothing, and near 0 the best letter always wins.",
            "Divide first, then softmax over the last axis.",
        ],
    ),
    Exercise(
        id="11.10",
        reference=_pair_loss,
        cases=_pair_cases,
        atol=1e-5,
        mistakes=[
            Mistake(
                "started the counts at 0",
                like=_pair_loss_with(start=0.0),
                because="a pair that never came then has the chance 0 and the loss inf",
            ),
            Mistake(
                "made the columns add up to 1",
                like=_pair_loss_with(axis=0),
                because="a row holds the successors of one letter, so each row adds up to 1",
            ),
            Mistake(
                "divided by the number of all pairs",
                like=_pair_loss_with(axis=None),
                because="asked is the chance of the second letter when the first is known",
            ),
            Mistake(
                "looked the pair up the wrong way round",
                like=_pair_loss_with(turned=True),
                because="the row is the first letter, the column its successor",
            ),
            Mistake(
                "returned the perplexity",
                like=lambda train_ids, held_out, letters: _pair_loss(
                    train_ids, held_out, letters
                ).exp(),
                because="asked is the loss itself",
            ),
        ],
        hints=[
            "Count with a loop over zip(ids[:-1], ids[1:]), or with index_put_.",
            "Start every count at 1, and divide each row by its sum.",
            "-table[held_out[:-1], held_out[1:]].log().mean()",
        ],
    ),
    Exercise(
        id="11.11",
        reference=_attention,
        cases=_attention_cases,
        atol=1e-5,
        mistakes=[
            Mistake(
                "let every step see the future",
                like=_attention_with(diagonal=None),
                because="mask what lies above the diagonal",
            ),
            Mistake(
                "masked after softmax",
                like=_attention_with(after=True),
                because="the weights that stay then no longer add up to 1; mask the scores",
            ),
            Mistake(
                "left out the scale",
                like=_attention_with(scale=0.0),
                because="divide the scores by the root of the number of features",
            ),
            Mistake(
                "divided by the number of features",
                like=_attention_with(scale=1.0),
                because="it is the root of that number",
            ),
            Mistake(
                "masked the past",
                like=_past_hidden,
                because="row i asks, column j is asked: what lies above the diagonal is later",
            ),
            Mistake(
                "hid each step from itself",
                like=_attention_with(diagonal=0),
                because="the diagonal stays; triu(1) leaves it out of the mask",
            ),
        ],
        hints=[
            "Scores first: q @ k.transpose(-2, -1) / sqrt(features).",
            "torch.ones(time, time, dtype=torch.bool).triu(1) marks the future.",
            "scores.masked_fill(future, -math.inf).softmax(-1) @ v",
        ],
    ),
    Exercise(
        id="11.12",
        judge=_judge_one_graph,
        hints=[
            "A loop inside a compiled function is copied out: one graph for each length.",
            "torch.compile(step, backend=backend) once, and a plain Python loop around it.",
            "def run(x, h): for x_t in x.unbind(1): h = compiled(x_t, h); then return h",
        ],
    ),
]


QUESTIONS = [
    Question(
        id="11.q1",
        text="`out, h_n = nn.GRU(8, 12, batch_first=True)(torch.zeros(4, 5, 8))`. What is the "
        "shape of `h_n`?",
        options=[
            Option("(4, 1, 12)", because="batch_first does not reach h_n."),
            Option("(1, 4, 12)", right=True, because="(layers × directions, batch, hidden)."),
            Option("(4, 5, 12)", because="That is out, with one row for each step."),
        ],
    ),
    Question(
        id="11.q2",
        text="You forgot `batch_first=True`. Batch and output have the shapes you expect, and the "
        "model learns badly. Which test finds it?",
        options=[
            Option(
                "Change one sequence, and look whether the others' outputs move.",
                right=True,
                because="The layer took the rows for steps of time, so they know of each other.",
            ),
            Option("Print the shapes.", because="They are what they should be."),
            Option("Count the weights.", because="Their number does not depend on the axes."),
        ],
    ),
    Question(
        id="11.q3",
        text="The gradient that reaches the first steps is 1e-15. What helps?",
        options=[
            Option("Clipping.", because="It only makes gradients shorter."),
            Option(
                "An LSTM whose forget gate starts open.",
                right=True,
                because="The gradient of c is multiplied by the forget gate, and by little else.",
            ),
            Option(
                "A learning rate a million million times as large.",
                because="The last steps' gradients would explode.",
            ),
        ],
    ),
    Question(
        id="11.q4",
        text='"Trying to backward through the graph a second time", in a loop over the chunks of '
        "a long text. What is right?",
        options=[
            Option(
                "`retain_graph=True`",
                because="Each loss then drags all earlier chunks along, and time and memory grow.",
            ),
            Option(
                "`state = state.detach()` between the chunks",
                right=True,
                because="The numbers are carried on, and the gradient stops there.",
            ),
            Option(
                "`optimizer.zero_grad()` earlier",
                because="It clears gradients; the graph is another thing.",
            ),
        ],
    ),
    Question(
        id="11.q5",
        text="You wrap a model of an embedding, an `nn.LSTM` and a linear layer in "
        "`torch.compile`. What happens?",
        options=[
            Option(
                "The whole model becomes one graph.",
                because="nn.LSTM is not captured.",
            ),
            Option(
                "An error says that LSTMs cannot be compiled.",
                because="Only with fullgraph=True.",
            ),
            Option(
                "It runs as before: all of forward stays eager, and nobody says so.",
                right=True,
                because="Dynamo gives up on the whole function. With the LSTM in a method of its "
                "own, the rest is compiled.",
            ),
        ],
    ),
]
