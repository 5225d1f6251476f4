"""Ask Dynamo: what is captured, when, and how often.

Nothing here needs a C++ compiler, since the backend only keeps the graphs.

Kind:    plumbing
Public:  graphs_of
Imports: ledger.evidence, compile_stack; torch
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from course_utils import compile_stack
from course_utils.ledger.evidence import Seen, decides, weigh

__all__ = ["graphs_of"]


def graphs_of(function: Callable, **options: object) -> tuple[Callable, list[torch.fx.GraphModule]]:
    """Compile with a backend that keeps its graphs; return the function and the list."""
    kept: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, inputs: list) -> Callable:
        kept.append(graph)
        return graph.forward

    return torch.compile(function, backend=keep, **options), kept


def _smooth_step(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(4 * x) * x


@decides("S0-2")
def plain_calls_are_compiled() -> Seen:
    """Call the plain function, ask for compiling, call: count the graphs after each."""
    x = torch.ones(5)
    compiled, graphs = graphs_of(_smooth_step)
    _smooth_step(x)
    before = len(graphs)
    compiled(x)
    return weigh(f"{before} graphs before the first compiled call, {len(graphs)} after", before > 0)


@decides("S2-1")
def bytecode_becomes_a_graph_at_run_time() -> Seen:
    """Count the graphs before and after the first call, and run the graph by itself."""
    x = torch.linspace(-1, 1, 5)
    compiled, graphs = graphs_of(_smooth_step)
    before = len(graphs)
    result = compiled(x)
    same = torch.equal(graphs[0](x)[0], result)
    evidence = f"{before} graphs before the first call, {len(graphs)} after; the graph alone agrees"
    return weigh(evidence, before == 0 and len(graphs) == 1, same)


@decides("S3-3")
def no_line_is_needed() -> Seen:
    """Call a model with and without the line, and compare its source and results."""
    x, model = torch.ones(2, 4), nn.Linear(4, 2)
    compiled, graphs = graphs_of(model)
    plain = model(x)
    without_the_line = len(graphs)
    same = torch.equal(compiled(x), plain) and len(graphs) == 1
    evidence = f"{without_the_line} graphs without the line, {len(graphs)} with it; same model"
    return weigh(evidence, same, without_the_line > 0)


@decides("S2-35")
def parentheses_are_allowed() -> Seen:
    """Use the decorator in both ways."""

    @torch.compile(backend="eager")
    def with_them(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    decorator = torch.compile(backend="eager")
    right = bool((with_them(torch.ones(2)) == 2).all())
    return weigh("@torch.compile() returns a decorator", callable(decorator), right)


@decides("S0-21")
def odd_python_stops_dynamo() -> Seen:
    """Count the breaks that each of the three makes."""

    class Odd:
        def __getattr__(self, name: str) -> float:
            return 3.0

    odd, x = Odd(), torch.ones(3)
    breaks = {
        "eval": compile_stack.count_graphs(lambda x: x * eval("1 + 1"), x).breaks,
        "__getattr__": compile_stack.count_graphs(lambda x: x * odd.scale, x).breaks,
        "globals": compile_stack.count_graphs(lambda x: x.sin() * len(globals()), x).breaks,
    }
    evidence = "breaks: " + ", ".join(f"{name} {count}" for name, count in breaks.items())
    return weigh(evidence, *(count > 0 for count in breaks.values()))


@decides("S0-31")
def every_shape_compiles_again() -> Seen:
    """Call with ten sizes, as it comes and with dynamic=True, and count the graphs."""
    sizes = [torch.ones(n) for n in range(2, 12)]
    usual = compile_stack.recompilations(_smooth_step, sizes).graphs
    told = compile_stack.recompilations(_smooth_step, sizes, dynamic=True).graphs
    evidence = f"{usual} graphs for 10 sizes, {told} with dynamic=True"
    return weigh(evidence, usual == len(sizes), told < usual)


def _training() -> tuple[Callable[[], torch.Tensor], nn.Module]:
    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 6), torch.arange(8) % 3

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, model


@decides("S2-12")
def the_whole_step_belongs_into_the_compiler() -> Seen:
    """Compare the losses of both ways, and count the graphs of the compiled one."""
    step, _ = _training()
    plain = torch.stack([step() for _ in range(3)])
    step, _ = _training()
    compiled = torch.compile(step, backend="eager")
    same = torch.allclose(torch.stack([compiled() for _ in range(3)]), plain, atol=1e-6)
    step, _ = _training()
    graphs = compile_stack.count_graphs(step).graphs
    whole = "one graph" if graphs == 1 else "more than one graph"
    return weigh(f"losses {'equal' if same else 'differ'}, {whole}", same, graphs == 1)


@decides("S0-36")
def allow_in_graph_lets_you_look() -> Seen:
    """Note what each of three calls of the helper gets to see."""
    seen: list[str] = []

    def look(y: torch.Tensor) -> torch.Tensor:
        seen.append(type(y).__name__)
        return y + 0

    torch.compiler.allow_in_graph(look)
    compiled = torch.compile(lambda x: look(torch.sin(x)) * 2, backend="aot_eager")
    for _ in range(3):
        compiled(torch.ones(3))
    real = seen.count("Tensor")
    others = ", ".join(sorted(set(seen) - {"Tensor"}))
    return weigh(f"in 3 calls it saw {real} real tensors, but {others}", real >= 3)


@decides("S0-37")
def a_flag_makes_it_eager() -> Seen:
    """Switch with set_stance, and see that Python's own lines run again."""
    ran: list[int] = []

    def noted(x: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_compiling():
            ran.append(1)
        return x.sin() * 2

    compiled, graphs = graphs_of(noted)
    with torch.compiler.set_stance("force_eager"):
        compiled(torch.ones(3))
    evidence = f"{len(graphs)} graphs, and the function's own lines ran {len(ran)} time"
    return weigh(evidence, len(graphs) == 0 and len(ran) == 1)


@decides("S2-26")
def a_scripted_model_can_be_compiled() -> Seen:
    """Try it."""
    scripted = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    try:
        torch.compile(scripted, backend="eager")(torch.ones(1, 2))
        refused = ""
    except RuntimeError as error:
        refused = str(error).splitlines()[0]
    return weigh(refused or "compiled and ran", not refused)


@decides("S3-5")
def a_model_can_be_compiled_whole() -> Seen:
    """Compile it, compare, and look at the names of its weights."""
    model, x = nn.Linear(4, 2), torch.ones(1, 4)
    compiled = torch.compile(model, backend="eager")
    same = torch.equal(compiled(x), model(x))
    return weigh(f"same result; first weight is called {next(iter(compiled.state_dict()))}", same)


@decides("S3-12")
def its_other_backends_run() -> Seen:
    """Ask for each of the names, and try those that need a package of their own."""
    names = torch.compiler.list_backends()
    runs = []
    for name in ("openxla", "tvm"):
        try:
            torch.compile(lambda x: x + 1, backend=name)(torch.ones(2))
            runs.append(name)
        except Exception:  # each backend has its own way to say that its package is missing
            torch.compiler.reset()
    listed = [name for name in ("openxla", "tvm") if name in names]
    evidence = f"listed: {', '.join(listed)}; of these run: {', '.join(runs) or 'none'}"
    return weigh(evidence, bool(listed), len(runs) == 2)
