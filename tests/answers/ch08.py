"""Right and wrong answers to the exercises of chapter 8, and what each wrong one must be told."""

import math
import operator
from collections import Counter

import torch
from torch.nn import functional as F

from tests.answers import Answers

# 8.2


def lost_by_softplus(x):
    return F.softplus(x) + 3


def lost_plain_number(x):
    return math.log(2)


# 8.3


def bytes_moved(operations, nbytes):
    known, apart, inputs = set(), 0, set()
    for name, reads in operations:
        apart += 1 + len(set(reads))
        inputs |= set(reads) - known
        known.add(name)
    return nbytes * apart, nbytes * (1 + len(inputs))


def bytes_moved_by_counter(operations, nbytes):
    made = [name for name, _ in operations]
    read = Counter(name for _, reads in operations for name in dict.fromkeys(reads))
    trips = sum(read.values()) + len(made)
    return trips * nbytes, (sum(name not in made for name in read) + 1) * nbytes


def bytes_moved_with_repeats(operations, nbytes):
    apart = sum(len(reads) + 1 for _, reads in operations)
    return apart * nbytes, bytes_moved(operations, nbytes)[1]


def bytes_moved_always_two(operations, nbytes):
    return bytes_moved(operations, nbytes)[0], 2 * nbytes


def bytes_moved_with_middle(operations, nbytes):
    names = {name for made, reads in operations for name in (made, *reads)}
    return bytes_moved(operations, nbytes)[0], len(names) * nbytes


def bytes_read(operations, nbytes):
    apart, fused = bytes_moved(operations, nbytes)
    return apart - len(operations) * nbytes, fused - nbytes


# 8.6: a backend and its dictionary


def counting(name_of, kinds=("call_function", "call_method"), once=False, into=None):
    """Return a backend that counts under the names that ``name_of`` gives, and its dictionary."""
    counts = {}

    def backend(graph_module, example_inputs):
        for node in graph_module.graph.nodes:
            if node.op in kinds:
                name = name_of(node)
                counts[name] = 1 if once else counts.get(name, 0) + 1
        return graph_module.forward

    return backend, counts if into is None else into


def called(node):
    return getattr(node.target, "__name__", node.target)


def counting_by_update():
    counts = Counter()

    def backend(graph_module, example_inputs):
        nodes = graph_module.graph.nodes
        counts.update(called(n) for n in nodes if n.op.startswith("call_"))
        return graph_module

    return backend, counts


def counting_nothing_returned():
    def backend(graph_module, example_inputs):
        return 3

    return backend, {}


EVERY_KIND = ("placeholder", "call_function", "call_method", "output")


# 8.8


def at_best(operations, nbytes, bandwidth, peak):
    times = {"memory": nbytes / bandwidth, "arithmetic": operations / peak}
    limit = max(times, key=times.get)
    return times[limit], limit


def at_best_by_ridge(operations, nbytes, bandwidth, peak):
    if operations / nbytes < peak / bandwidth:
        return nbytes / bandwidth, "memory"
    return operations / peak, "arithmetic"


def at_best_sum(operations, nbytes, bandwidth, peak):
    return nbytes / bandwidth + operations / peak, at_best(operations, nbytes, bandwidth, peak)[1]


def at_best_shorter(operations, nbytes, bandwidth, peak):
    _, limit = at_best(operations, nbytes, bandwidth, peak)
    other = {"memory": "arithmetic", "arithmetic": "memory"}[limit]
    return min(nbytes / bandwidth, operations / peak), other


def at_best_other_word(operations, nbytes, bandwidth, peak):
    seconds, limit = at_best(operations, nbytes, bandwidth, peak)
    return seconds, {"memory": "arithmetic", "arithmetic": "memory"}[limit]


# 8.10


def silu(orders=2, only_user=True, own_input=True, product=operator.mul, erase=True, write=True):
    """Return a backend that puts SiLU in, with the faults that the arguments switch on."""

    def backend(graph_module, example_inputs):
        graph = graph_module.graph
        for mul in graph.find_nodes(op="call_function", target=product):
            for sigmoid, source in (mul.args, mul.args[::-1])[:orders]:
                if getattr(sigmoid, "target", None) is not torch.sigmoid:
                    continue
                if own_input and sigmoid.args[0] is not source:
                    continue
                if only_user and len(sigmoid.users) > 1:
                    continue
                with graph.inserting_before(mul):
                    new = graph.call_function(F.silu, (sigmoid.args[0],))
                mul.replace_all_uses_with(new)
                if erase:
                    graph.erase_node(mul)
                    graph.erase_node(sigmoid)
                break
        if write:
            graph_module.recompile()
        return graph_module.forward

    return backend


def silu_by_hand(graph_module, example_inputs):
    """Keep the graph as it is, and run it by hand with the pattern replaced."""
    nodes = list(graph_module.graph.nodes)
    fits = {}
    for node in nodes:
        if node.target is operator.mul and len(set(node.args)) == 2:
            for s, a in (node.args, node.args[::-1]):
                if getattr(s, "target", None) is torch.sigmoid and s.args[0] is a:
                    if list(s.users) == [node]:
                        fits[node], fits[s] = a, None

    def run(*inputs):
        waiting, results = list(inputs), {}
        for node in nodes:
            args = (
                [results[a] if isinstance(a, torch.fx.Node) else a for a in node.args[:2]]
                if (node.op == "call_function" and node not in fits)
                else []
            )
            if node.op == "placeholder":
                results[node] = waiting.pop(0)
            elif node.op == "output":
                return tuple(results[one] for one in node.args[0])
            elif node not in fits:
                results[node] = node.target(*args)
            elif fits[node] is not None:
                results[node] = F.silu(results[fits[node]])

    return run


# 8.11


def normalise(x, out):
    numbers = []
    for number in x:
        numbers.append(number)
    mean = sum(numbers) / len(numbers)
    deviation = math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers))
    for i, number in enumerate(numbers):
        out[i] = (number - mean) / deviation


def normalise_by_welford(x, out):
    mean = m2 = 0.0
    for count in range(1, len(x) + 1):
        number = x[count - 1]
        step = number - mean
        mean += step / count
        m2 += step * (number - mean)
    deviation = (m2 / len(x)) ** 0.5
    for i in range(len(x)):
        out[i] = (x[i] - mean) / deviation


def normalise_in_three(x, out):
    mean = sum(x) / len(x)
    deviation = math.sqrt(sum((number - mean) ** 2 for number in x) / len(x))
    for i, number in enumerate(x):
        out[i] = (number - mean) / deviation


def normalise_through_out(x, out):
    mean = sum(x) / len(x)
    for i in range(len(x)):
        out[i] = x[i] - mean
    deviation = math.sqrt(sum(number**2 for number in out) / len(out))
    for i in range(len(x)):
        out[i] = out[i] / deviation


def normalise_sample(x, out):
    numbers = list(x)
    mean = sum(numbers) / len(numbers)
    deviation = math.sqrt(sum((one - mean) ** 2 for one in numbers) / (len(numbers) - 1))
    for i, number in enumerate(numbers):
        out[i] = (number - mean) / deviation


def normalise_without_root(x, out):
    numbers = list(x)
    mean = sum(numbers) / len(numbers)
    variance = sum((one - mean) ** 2 for one in numbers) / len(numbers)
    for i, number in enumerate(numbers):
        out[i] = (number - mean) / variance


def normalise_returns(x, out):
    return [number - 1 for number in x]


def normalise_in_place(x, out):
    numbers = list(x)
    for i, number in enumerate(numbers):
        x[i] = number - 2


def product_intensity(m, k, n, width):
    moved = width * sum(rows * columns for rows, columns in ((m, k), (k, n), (m, n)))
    return m * n * (k + k) / moved


ANSWERS = {
    "8.1": Answers(
        right=["dbeacf", "".join(["d", "b", "e", "a", "c", "f"])],
        wrong=[
            ("dbaecf", "put ATen's graph before Dynamo's"),
            ("debacf", "let Dynamo read your source"),
            ("bdeacf", "put the bytecode before the source"),
            ("dbeafc", "put the compiled file before the C++"),
        ],
    ),
    "8.2": Answers(
        right=[lambda x: torch.log(torch.exp(x) + 1), lost_by_softplus],
        wrong=[
            (torch.sigmoid, "you computed the slope itself"),
            (lambda x: torch.exp(x) + 1, "you stopped at exp(x) + 1"),
            (lambda x: -F.softplus(x), "the sign is the wrong way round"),
            (lambda x: torch.log(x + 3), "the gradient of your function"),
            (lost_plain_number, "return a tensor that torch computed from x"),
            (lambda x: F.softplus(x.detach()), "return a tensor that torch computed from x"),
        ],
    ),
    "8.3": Answers(
        right=[bytes_moved, bytes_moved_by_counter],
        wrong=[
            (bytes_moved_with_repeats, "counted an array twice that one loop reads once"),
            (bytes_moved_always_two, "took every fused loop to have one input"),
            (bytes_moved_with_middle, "counted the results in between"),
            (bytes_read, "forgot the writes"),
            (
                lambda operations, nbytes: (
                    2 * len(operations) * nbytes,
                    bytes_moved(operations, nbytes)[1],
                ),
                "let every operation read one array",
            ),
        ],
    ),
    "8.4": Answers(
        right=[(1, 3, 4, 6, 8), tuple(sorted({8, 6, 4, 3, 1}))],
        wrong=[
            ((1, 3, 4, 5, 6, 8), "let every new size compile"),
            ((1, 3, 4, 6, 7, 8), "let only the last version be kept"),
            ((1, 3, 4, 8), "overlooked requires_grad"),
            ((1, 3, 4, 6), "overlooked the number of dimensions"),
            ((1, 2, 3, 4, 6, 8), "let other values compile"),
            ((1, 4, 6, 8), "overlooked the dtype"),
            ([1, 3, 4, 6, 8], "a tuple is expected"),
        ],
    ),
    "8.5": Answers(
        right=[(0, 4000, 4), (0, 1000 * 4, 4)],
        wrong=[
            ((8000, 4000, 4), "counted what eager keeps"),
            ((0, 0, 4), "had the cumsum computed again"),
            ((4000, 8000, 4004), "counted the input"),
            ((0, 4000, 4000), "took the norm for an array"),
            ((0, 4000, 0), "forgot the norm"),
        ],
    ),
    "8.6": Answers(
        right=[counting(called), counting_by_update()],
        wrong=[
            (counting(lambda node: node.name), "node.name is made unique"),
            (counting(called, kinds=EVERY_KIND), "nothing is called there"),
            (counting(called, kinds=("call_function",)), "methods are missing"),
            (counting(lambda node: node.target), "the keys should be names"),
            (counting(called, once=True), "count each *time*"),
            (counting(called, into={}), "nothing was noted in the dictionary"),
            (counting_nothing_returned(), "a backend returns something to call"),
            (len, "hand over the backend and the dictionary"),
        ],
    ),
    "8.7": Answers(
        right=[
            lambda m, k, n, width: 2 * m * k * n / (width * (m * k + k * n + m * n)),
            product_intensity,
        ],
        wrong=[
            (lambda m, k, n, width: product_intensity(m, k, n, width) / 2, "multiplications alone"),
            (
                lambda m, k, n, width: 2 * m * k * n / (width * (m * k + k * n)),
                "forgot that the result is written",
            ),
            (lambda m, k, n, width: product_intensity(m, k, n, 1), "divided by numbers"),
            (lambda m, k, n, width: 1 / product_intensity(m, k, n, width), "turned the fraction"),
        ],
    ),
    "8.8": Answers(
        right=[at_best, at_best_by_ridge],
        wrong=[
            (at_best_sum, "added the two times"),
            (at_best_shorter, "took the shorter of the two times"),
            (at_best_other_word, "named the other limit"),
            (
                lambda operations, nbytes, bandwidth, peak: (
                    max(bandwidth / nbytes, peak / operations),
                    "memory" if bandwidth / nbytes > peak / operations else "arithmetic",
                ),
                "turned the fractions over",
            ),
        ],
    ),
    "8.9": Answers(
        right=[(1, 1, 2, 4), (1, 1, 1 + 1, 2 + 2)],
        wrong=[
            ((1, 2, 2, 4), "gave the reduction of b a kernel of its own"),
            ((3, 2, 4, 4), "counted operations"),
            ((1, 1, 1, 1), "fused the products as well"),
            ((1, 1, 1, 2), "forgot the kernels of a library"),
            ((1, 1, 2, 3), "merged the two tanh"),
        ],
    ),
    "8.10": Answers(
        right=[silu(), silu_by_hand],
        wrong=[
            (silu(orders=1), "in this order of the factors"),
            (silu(only_user=False), "torch refused to erase a node"),
            (silu(own_input=False), "silu(a) is sigmoid(a) times the *same* a"),
            (silu(erase=False), "what nobody needs any more has to be erased"),
            (silu(write=False), "did you call graph_module.recompile()"),
            (silu(product=operator.add), "did the backend find it"),
            (lambda graph_module, example_inputs: 5, "a backend returns something to call"),
        ],
    ),
    "8.11": Answers(
        right=[normalise, normalise_by_welford],
        wrong=[
            (normalise_in_three, "you read one 3 times"),
            (normalise_through_out, "out is used for results in between"),
            (normalise_sample, "you divided by n - 1"),
            (normalise_without_root, "you forgot the square root"),
            (normalise_returns, "was never written"),
            (normalise_in_place, "you wrote into x"),
        ],
    ),
}
