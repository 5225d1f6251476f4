"""Right and wrong answers to the exercises of chapter 11, and what each wrong one must be told."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.answers import Answers

# 11.1


def rnn_by_linear(x, h, w_ih, w_hh, bias):
    return (F.linear(x, w_ih, bias) + F.linear(h, w_hh)).tanh()


def rnn_by_torch(x, h, w_ih, w_hh, bias):
    cell = nn.RNNCell(w_ih.shape[1], w_ih.shape[0])
    with torch.no_grad():
        cell.weight_ih.copy_(w_ih)
        cell.weight_hh.copy_(w_hh)
        cell.bias_ih.copy_(bias)
        cell.bias_hh.zero_()
        return cell(x, h)


def rnn_joined(x, h, w_ih, w_hh, bias):
    return torch.tanh(torch.cat([x, h], 1) @ torch.cat([w_ih, w_hh], 1).T + bias)


# 11.2


def weights_by_torch(inputs, hidden, layers, both_ways):
    layer = nn.LSTM(inputs, hidden, num_layers=layers, bidirectional=both_ways)
    return sum(weight.numel() for weight in layer.parameters())


def weights_by_formula(inputs, hidden, layers, both_ways):
    d = 1 + both_ways
    first = 4 * hidden * (inputs + hidden + 2)
    above = 4 * hidden * (d * hidden + hidden + 2)
    return d * (first + (layers - 1) * above)


def weights_with(gates=4, biases=2, wide=True, first=True):
    def count(inputs, hidden, layers, both_ways):
        d = 1 + both_ways
        total = 0
        for layer in range(layers):
            entering = hidden * (d if wide else 1) if layer and first else inputs
            total += d * gates * hidden * (entering + hidden + biases)
        return total

    return count


# 11.3


def shapes(batch, time, hidden, layers, both_ways):
    d = 1 + both_ways
    return (batch, time, d * hidden), (layers * d, batch, hidden)


def shapes_by_torch(batch, time, hidden, layers, both_ways):
    gru = nn.GRU(8, hidden, num_layers=layers, bidirectional=both_ways, batch_first=True)
    out, h_n = gru(torch.zeros(batch, time, 8))
    return out.shape, h_n.shape


def shapes_batch_first(*sizes):
    out, (places, batch, hidden) = shapes(*sizes)
    return out, (batch, places, hidden)


def shapes_one_direction(batch, time, hidden, layers, both_ways):
    return (batch, time, hidden), shapes(batch, time, hidden, layers, both_ways)[1]


def shapes_time_first(*sizes):
    (batch, time, hidden), h_n = shapes(*sizes)
    return (time, batch, hidden), h_n


def shapes_joined(batch, time, hidden, layers, both_ways):
    d = 1 + both_ways
    return (batch, time, d * hidden), (layers, batch, d * hidden)


# 11.4


def gru(x, h, w_ih, w_hh, late=False, swapped=False, gated=True):
    size = h.shape[1]
    a, b = w_ih.split(size), w_hh.split(size)
    r = torch.sigmoid(x @ a[0].T + h @ b[0].T)
    z = torch.sigmoid(x @ a[1].T + h @ b[1].T)
    seen = r * F.linear(h, b[2]) if late else F.linear(r * h if gated else h, b[2])
    n = torch.tanh(x @ a[2].T + seen)
    return torch.lerp(h, n, z) if swapped else n + z * (h - n)


def gru_by_slices(x, h, w_ih, w_hh):
    size = h.shape[1]
    gates = F.linear(x, w_ih[: 2 * size]) + F.linear(h, w_hh[: 2 * size])
    r, z = gates.sigmoid().chunk(2, 1)
    n = (F.linear(x, w_ih[2 * size :]) + F.linear(r * h, w_hh[2 * size :])).tanh()
    return torch.lerp(n, h, z)


def gru_by_torch(x, h, w_ih, w_hh):
    cell = nn.GRUCell(w_ih.shape[1], h.shape[1], bias=False)
    with torch.no_grad():
        cell.weight_ih.copy_(w_ih)
        cell.weight_hh.copy_(w_hh)
        return cell(x, h)


# 11.5 and 11.6


def last_by_gather(out, lengths):
    places = (lengths - 1)[:, None, None].expand(-1, 1, out.shape[2])
    return out.gather(1, places).squeeze(1)


def mean_by_where(losses, lengths):
    real = torch.arange(losses.shape[1])[None] < lengths[:, None]
    return torch.where(real, losses, 0.0).sum() / lengths.sum()


def mean_by_cat(losses, lengths):
    return torch.cat([row[:n] for row, n in zip(losses, lengths, strict=True)]).mean()


def mean_of_means(losses, lengths):
    means = [row[:n].mean() for row, n in zip(losses, lengths, strict=True)]
    return torch.stack(means).mean()


def mean_over_all(losses, lengths):
    real = torch.arange(losses.shape[1]) < lengths[:, None]
    return (losses * real).sum() / losses.numel()


def mean_one_more(losses, lengths):
    return losses[torch.arange(losses.shape[1]) <= lengths[:, None]].mean()


# 11.7


def length(gradients):
    return sum((grad**2).sum() for grad in gradients).sqrt()


def clip(gradients, max_norm):
    total = length(gradients)
    if total <= max_norm:
        return total, list(gradients)
    return total, [grad * max_norm / total for grad in gradients]


def clip_by_torch(gradients, max_norm):
    weights = [torch.zeros_like(grad, requires_grad=True) for grad in gradients]
    for weight, grad in zip(weights, gradients, strict=True):
        weight.grad = grad.clone()
    total = nn.utils.clip_grad_norm_(weights, max_norm)
    return total, [weight.grad for weight in weights]


def clip_each(gradients, max_norm):
    return length(gradients), [clip([grad], max_norm)[1][0] for grad in gradients]


def clip_always(gradients, max_norm):
    total = length(gradients)
    return total, [grad / total * max_norm for grad in gradients]


def clip_values(gradients, max_norm):
    return length(gradients), [grad.clamp(-max_norm, max_norm) for grad in gradients]


def clip_and_measure(gradients, max_norm):
    clipped = clip(gradients, max_norm)[1]
    return length(clipped), clipped


# 11.8


def stream(carry, retain=False, clear=True, item=True):
    """Make a loop over chunks; ``carry`` is what happens to the state between two of them."""

    def train(model, optimizer, chunks):
        state, losses = None, []
        for x, y in chunks:
            if clear:
                optimizer.zero_grad()
            logits, state = model(x, state)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            loss.backward(retain_graph=retain)
            optimizer.step()
            losses.append(loss.item() if item else loss)
            state = carry(state)
        return losses

    return train


def stream_cut_at_the_start(model, optimizer, chunks):
    losses, state = [], None
    for x, y in chunks:
        if state is not None:
            state = state.detach()
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def stream_of_the_last(model, optimizer, chunks):
    return stream(torch.detach)(model, optimizer, chunks)[-1:]


# 11.10


def table_of(train_ids, letters, start=1.0):
    places = train_ids[:-1] * letters + train_ids[1:]
    return places.bincount(minlength=letters**2).reshape(letters, letters) + start


def pair_loss(train_ids, held_out, letters):
    logs = table_of(train_ids, letters).log()
    return F.nll_loss(logs.log_softmax(1)[held_out[:-1]], held_out[1:])


def pair_loss_by_loop(train_ids, held_out, letters):
    counts = table_of(train_ids, letters)
    losses = []
    for a, b in zip(held_out[:-1].tolist(), held_out[1:].tolist(), strict=True):
        losses.append(-math.log(counts[a, b].item() / counts[a].sum().item()))
    return torch.tensor(sum(losses) / len(losses))


def pair_loss_from(table):
    def loss(train_ids, held_out, letters):
        return -table(train_ids, letters)[held_out[:-1], held_out[1:]].log().mean()

    return loss


# 11.11


def attention_by_loop(q, k, v):
    rows = []
    for t in range(q.shape[1]):
        scores = torch.einsum("bf,bsf->bs", q[:, t], k[:, : t + 1]) / math.sqrt(q.shape[2])
        rows.append(torch.einsum("bs,bsf->bf", scores.softmax(1), v[:, : t + 1]))
    return torch.stack(rows, 1)


def attention_by_torch(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def attention(q, k, v, hidden=lambda t: torch.ones(t, t, dtype=torch.bool).triu(1), root=0.5):
    scores = torch.einsum("btf,bsf->bts", q, k) / q.shape[2] ** root
    scores[:, hidden(q.shape[1])] = -math.inf
    return scores.softmax(2) @ v


def attention_masked_late(q, k, v):
    weights = (q @ k.transpose(1, 2) / math.sqrt(q.shape[2])).softmax(2)
    return weights.tril() @ v


# 11.12


def compile_the_step(step, backend):
    fast = torch.compile(step, backend=backend)

    def run(x, h):
        for t in range(x.shape[1]):
            h = fast(x[:, t], h)
        return h

    return run


def compile_by_decorator(step, backend):
    @torch.compile(backend=backend)
    def one(x_t, h):
        return step(x_t, h)

    def run(x, h):
        for x_t in x.transpose(0, 1):
            h = one(x_t, h)
        return h

    return run


def compile_the_loop(step, backend):
    @torch.compile(backend=backend)
    def run(x, h):
        for x_t in x.unbind(1):
            h = step(x_t, h)
        return h

    return run


def compile_nothing(step, backend):
    def run(x, h):
        for x_t in x.unbind(1):
            h = step(x_t, h)
        return h

    return run


def compile_the_first_step_only(step, backend):
    fast = torch.compile(step, backend=backend)
    return lambda x, h: fast(x[:, 0], h)


ANSWERS = {
    "11.1": Answers(
        right=[rnn_by_linear, rnn_by_torch, rnn_joined],
        wrong=[
            (lambda x, h, w, u, b: x @ w.T + h @ u.T + b, "left out tanh"),
            (lambda x, h, w, u, b: torch.tanh(F.linear(x, w, b)), "forgot the memory"),
            (lambda x, h, w, u, b: torch.tanh(x @ w + h @ u + b), "did not turn the weights"),
            (
                lambda x, h, w, u, b: torch.tanh(F.linear(x, w) + F.linear(h, u)),
                "left out the bias",
            ),
            (lambda x, h, w, u, b: b + rnn_by_linear(x, h, w, u, 0 * b), "bias after tanh"),
            (lambda x, h, w, u, b: (F.linear(x, w, b) + F.linear(h, u)).sigmoid(), "used sigmoid"),
        ],
    ),
    "11.2": Answers(
        right=[weights_by_torch, weights_by_formula],
        wrong=[
            (weights_with(gates=1), "one gate of four"),
            (weights_with(biases=1), "counted one bias"),
            (weights_with(biases=0), "left out the biases"),
            (weights_with(wide=False), "outputs of one direction"),
            (weights_with(first=False), "the inputs of the first"),
        ],
    ),
    "11.3": Answers(
        right=[shapes, shapes_by_torch],
        wrong=[
            (shapes_batch_first, "put the batch first in h_n"),
            (shapes_one_direction, "gave out one direction"),
            (shapes_time_first, "put the time first in out"),
            (shapes_joined, "joined the directions in h_n"),
        ],
    ),
    "11.4": Answers(
        right=[gru, gru_by_slices],
        wrong=[
            (gru_by_torch, "wrote torch's GRU"),
            (lambda x, h, w, u: gru(x, h, w, u, swapped=True), "mixed the other way round"),
            (lambda x, h, w, u: gru(x, h, w, u, gated=False), "left out r"),
        ],
    ),
    "11.5": Answers(
        right=[lambda out, lengths: out[range(len(out)), lengths - 1], last_by_gather],
        wrong=[
            (lambda out, lengths: out[:, -1], "the last step of the padding"),
            (lambda out, lengths: out[:, 0], "took the first step"),
            (lambda out, lengths: out[range(len(out)), lengths], "counted one too far"),
            (lambda out, lengths: out[:, lengths - 1], "every pair of row and length"),
        ],
    ),
    "11.6": Answers(
        right=[mean_by_where, mean_by_cat],
        wrong=[
            (lambda losses, lengths: losses.sum() / losses.numel(), "the mean of everything"),
            (mean_over_all, "divided by the padding too"),
            (mean_of_means, "the mean of each sequence's mean"),
            (mean_one_more, "one step of padding"),
            (lambda losses, lengths: mean_by_cat(losses, lengths) * lengths.sum(), "the sum"),
        ],
    ),
    "11.7": Answers(
        right=[clip, clip_by_torch],
        wrong=[
            (clip_each, "clipped each tensor by itself"),
            (clip_always, "made short gradients longer"),
            (clip_values, "cut each number"),
            (clip_and_measure, "returned the length after clipping"),
        ],
    ),
    "11.8": Answers(
        right=[stream(torch.detach), stream_cut_at_the_start],
        wrong=[
            (stream(lambda state: state), "cut the state with detach"),
            (stream(lambda state: state, retain=True), "leave retain_graph out"),
            (stream(lambda state: None), "starts with an empty memory"),
            (stream(torch.zeros_like), "starts with an empty memory"),
            (stream(torch.detach, clear=False), "gradients are never cleared"),
            (stream(torch.detach, item=False), "return the losses as numbers"),
            (stream_of_the_last, "1 losses came"),
            (stream(lambda state: 2 * state.detach()), "the state carried and cut"),
            (7, "a function is expected"),
        ],
    ),
    "11.9": Answers(
        right=[
            lambda logits, temperature: F.softmax(logits / temperature, dim=-1),
            lambda logits, temperature: (
                (logits / temperature).exp() / (logits / temperature).exp().sum(-1, keepdim=True)
            ),
        ],
        wrong=[
            (lambda logits, t: F.softmax(logits * t, dim=-1), "multiplied by the temperature"),
            (lambda logits, t: F.softmax(logits, dim=-1) / t, "divided the chances"),
            (lambda logits, t: F.softmax(logits, dim=-1), "ignored the temperature"),
            (lambda logits, t: F.softmax(logits / t, dim=0), "softmax over the rows"),
        ],
    ),
    "11.10": Answers(
        right=[pair_loss, pair_loss_by_loop],
        wrong=[
            (
                pair_loss_from(
                    lambda i, k: table_of(i, k, 0.0) / table_of(i, k, 0.0).sum(1)[:, None]
                ),
                "started the counts at 0",
            ),
            (
                pair_loss_from(lambda i, k: table_of(i, k) / table_of(i, k).sum(0)),
                "made the columns add up to 1",
            ),
            (
                pair_loss_from(lambda i, k: table_of(i, k) / table_of(i, k).sum()),
                "the number of all pairs",
            ),
            (
                pair_loss_from(lambda i, k: (table_of(i, k) / table_of(i, k).sum(1)[:, None]).T),
                "the wrong way round",
            ),
            (lambda i, held_out, k: pair_loss(i, held_out, k).exp(), "returned the perplexity"),
        ],
    ),
    "11.11": Answers(
        right=[attention_by_loop, attention_by_torch, attention],
        wrong=[
            (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), "see the future"),
            (attention_masked_late, "masked after softmax"),
            (lambda q, k, v: attention(q, k, v, root=0.0), "left out the scale"),
            (lambda q, k, v: attention(q, k, v, root=1.0), "divided by the number of features"),
            (
                lambda q, k, v: attention(q, k, v, lambda t: torch.ones(t, t).tril(-1).bool()),
                "masked the past",
            ),
            (
                lambda q, k, v: attention(q, k, v, lambda t: torch.ones(t, t).triu(0).bool()),
                "hid each step from itself",
            ),
        ],
    ),
    "11.12": Answers(
        right=[compile_the_step, compile_by_decorator],
        wrong=[
            (compile_the_loop, "five lengths gave 5 graphs"),
            (compile_nothing, "nothing is compiled"),
            (compile_the_first_step_only, "should give the last state"),
            (lambda step, backend: 3, "should return a function"),
            (7, "a function is expected"),
        ],
    ),
}
