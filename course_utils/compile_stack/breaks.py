"""Say in a learner's words why a graph broke, in which line, and what to do about it.

Torch's own message runs over ten lines, names the compiler's insides and advises to report an
issue. The table below knows the kinds that learners meet; a kind that it does not know keeps the
first line of torch's own message, so that nothing is ever hidden.

Kind:    plumbing; chapter 9 is the laboratory of these kinds
Public:  Break, Cause, cause_of, first_line
Imports: the standard library, nothing of torch
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

__all__ = ["Break", "Cause", "cause_of", "first_line"]


@dataclass(frozen=True)
class Cause:
    """A kind of break: how torch's message is known, what it means, and the remedy."""

    kind: str
    told: str  # a regular expression; what its groups hold goes into ``reason``
    reason: str
    remedy: str


@dataclass(frozen=True)
class Break:
    """One place where a graph ended, or the compiler gave a function up.

    ``source`` is the learner's line. ``whole`` says that the function around it was given up as
    a whole, so that it runs without the compiler; ``inside`` names the file of a library where
    the line calls into one.
    """

    kind: str
    reason: str
    remedy: str
    told: str
    file: str = ""
    line: int | None = None
    source: str = ""
    whole: bool = False
    inside: str = ""

    def __str__(self) -> str:
        """Return the line and the reason, such as ``line 3, `print(y)`: ...``."""
        where = self.where
        words = f"{where}: {self.reason}" if where else self.reason
        if self.inside and self.kind in ("other", "method", "C function"):
            words += f" (inside {self.inside})"
        if self.whole:
            words += " (the whole function runs without the compiler)"
        return words

    __repr__ = __str__

    @property
    def where(self) -> str:
        """The learner's line, with its file unless that is a cell, which has no name to know."""
        if self.line is None:
            return ""
        in_cell = "ipykernel" in self.file or self.file.startswith("<")
        place = f"line {self.line}" + ("" if in_cell else f" of {os.path.basename(self.file)}")
        return f"{place}, `{self.source}`" if self.source else place


CAUSES = (
    Cause(
        "if on a tensor",
        r"generic_jump|Data-dependent branching",
        "an `if` or `while` needs the value of a tensor",
        "Compute both results and choose with `torch.where`, or use `torch.cond`.",
    ),
    Cause(
        "print",
        r"builtin operator `print`",
        "`print` cannot be part of a graph",
        "Print outside the compiled function, or return what you want to see.",
    ),
    Cause(
        "debugger",
        r"breakpoint|\bpdb\b|sys\.audit",
        "a debugger stops here, which a graph cannot do",
        'Debug without the compiler: `with torch.compiler.set_stance("force_eager"):`.',
    ),
    Cause(
        "backward",
        r"Tensor\.backward\(\)",
        "`backward()` cannot be part of a graph",
        "Compile the model or the loss, and call `backward()` outside.",
    ),
    Cause(
        "item",
        r"Tensor\.item\(\)",
        "`.item()`, `int()` or `float()` takes a number out of a tensor",
        "Keep it a tensor: most operations take a tensor of no dimensions in place of a number.",
    ),
    Cause(
        "tolist",
        r"[Tt]ensor\.tolist\(\)",
        "`.tolist()` takes the numbers out of a tensor",
        "Work on the tensor itself, or make the list outside the compiled function.",
    ),
    Cause(
        "value of a tensor",
        r"_local_scalar_dense|Data dependent operator",
        "a number is taken out of a tensor, as `.item()` and NumPy's random numbers do",
        "Keep it a tensor; for random numbers use `torch.rand`.",
    ),
    Cause(
        "size that depends on values",
        r"Dynamic shape operator",
        "the size of the result depends on the values of a tensor",
        "Keep the size: `torch.where(mask, x, 0)` in place of `x[mask]`.",
    ),
    Cause(
        "clock",
        r"`time\.(\w+)",
        "`time.{0}` asks the clock, which a graph cannot do",
        "Take the time outside the compiled function.",
    ),
    Cause(
        "clock",
        r"method `(now|today|utcnow)` of class",
        "`{0}` asks the clock, which a graph cannot do",
        "Take the time outside the compiled function.",
    ),
    Cause(
        "warning",
        r"builtin `_?warnings\.warn`",
        "`warnings.warn` cannot be part of a graph",
        "Warn outside the compiled function.",
    ),
    Cause(
        "logging",
        r"logging\.Logger|LoggingLogger",
        "a logger cannot be part of a graph",
        "Log outside the compiled function.",
    ),
    Cause(
        "recurrent layer",
        r"RNN, GRU, or LSTM",
        "`nn.RNN`, `nn.GRU` and `nn.LSTM` are not captured",
        "Leave the layer as it is and compile what surrounds it, or write the cell by hand.",
    ),
    Cause(
        "disabled",
        r"compiler\.disable|_dynamo\.disable",
        "this function is marked with `torch.compiler.disable`",
        "Nothing, if that was meant; otherwise remove the mark.",
    ),
    Cause(
        "optimiser",
        r"function `Optimizer\.\w+`|^inside optimizer.py",
        "torch's optimisers cut the graph on purpose",
        "Compile the model or the loss, and leave the optimiser's calls outside.",
    ),
    Cause(
        "cut on purpose",
        r"_dynamo\.graph_break\(\)",
        "`torch._dynamo.graph_break()` cuts the graph",
        "Nothing, if that was meant; otherwise remove the call.",
    ),
    Cause(
        "gradient",
        r"torch\.autograd\.grad",
        "`torch.autograd.grad` cannot be part of a graph",
        "Call it outside the compiled function, or use `torch.func.grad`.",
    ),
    Cause(
        "seed",
        r"function `(manual_seed|seed)`",
        "`{0}` cannot be part of a graph",
        "Set the seed before the compiled function.",
    ),
    Cause(
        "text",
        r"repr\(\) on tensor",
        "`str()` or `repr()` of a tensor needs its values",
        "Make the text outside the compiled function.",
    ),
    Cause(
        "sorting",
        r"sort with non-constant keys",
        "sorting a list of tensors needs their values",
        "Sort the tensor itself with `torch.sort`.",
    ),
    Cause(
        "requires_grad_",
        r"requires_grad_\(\)",
        "`requires_grad_()` on a result is seen outside the graph",
        "Call `requires_grad_()` before the compiled function.",
    ),
    Cause(
        "exception",
        r"[Oo]bserved exception|Uncaught exception|raise_observed",
        "an exception leaves the graph here",
        "Check the inputs before the compiled function.",
    ),
    Cause(
        "call of Python's",
        r"builtin operator `(\w+)`",
        "`{0}` cannot be part of a graph",
        "Call it outside the compiled function and hand over what it returns.",
    ),
    Cause(
        "method",
        r"trace method `(\w+)` of class `(\w+)`",
        "the compiler does not know the method `{0}` of a `{1}`",
        "Call it outside the compiled function and hand over what it returns.",
    ),
    Cause(
        "C function",
        r"trace the (?:Python )?builtin `([\w.]+?)\.?`",
        "`{0}` is written in C, and the compiler cannot look into it",
        "Call it outside the compiled function, or make it a custom operator (`torch.library`).",
    ),
    Cause(
        "skipped function",
        r"the function `([\w.<>]+)`(?: in file `[^`]*`)? should not be traced",
        "torch does not look into `{0}`",
        "Call it outside the compiled function.",
    ),
)


def cause_of(told: str, inside: str = "") -> tuple[str, str, str]:
    """Return the kind, the reason and the remedy of what torch told.

    ``inside`` is the file of a library that the learner's line calls into.

    >>> cause_of("Failed to trace builtin operator\\n  ... builtin operator `globals` with ...")[1]
    '`globals` cannot be part of a graph'
    """
    for cause in CAUSES:
        found = re.search(cause.told, f"inside {inside}\n{told}")
        if found:
            return cause.kind, cause.reason.format(*found.groups()), cause.remedy
    return "other", first_line(told), "Call it outside the compiled function."


def first_line(told: str) -> str:
    """Return the first line of torch's message that says something."""
    return next((line.strip() for line in told.splitlines() if line.strip()), "no reason given")
