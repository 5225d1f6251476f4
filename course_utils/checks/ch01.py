"""Exercises and questions of chapter 1: reading a speed-up, and what torch.compile does when.

Kind:    plumbing; the chapter's own text is lessons/01_introduction.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.exercise, checks.grading
"""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Callable

import torch

from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered

__all__ = ["EXERCISES", "QUESTIONS"]


_NUMBERS = itertools.count()


def _to_fahrenheit(celsius):
    return celsius * 9 / 5 + 32


def _verdict(low, high):
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "too noisy to say"


def _calls_until_paid(first_call, eager, compiled):
    saved = eager - compiled
    return first_call / saved if saved > 0 else float("inf")


def _double(x):
    return 2 * x


def _judge_count_captures(answer: object) -> None:
    """Try the counter on sizes that repeat and on one that does not."""
    if not callable(answer):
        raise Wrong("count_captures must be a function")
    trials = [
        ((3,), 1, "one call captures one graph"),
        ((3,), 1, "each call of your function counts from zero"),
        ((3, 3), 1, "the second call has a tensor of the same size and reuses the graph"),
        ((3, 4), 2, "a tensor of another size needs a graph of its own"),
    ]
    for sizes, expected, why in trials:
        got = answered(_count(answer, sizes))
        if got != expected:
            raise Wrong(_explain_count(sizes, got, expected, why))


def _count(answer: Callable, sizes: tuple[int, ...]) -> object:
    """Call the counter, and say in the learner's words what stopped it."""
    try:
        return answer(_fresh(_double), *(torch.ones(size) for size in sizes))
    except RuntimeError as error:
        if "did not return callable" in str(error):
            raise Wrong(
                "your backend must return something that can be called: graph_module.forward"
            ) from None
        inner = getattr(error, "inner_exception", None)
        if inner is None:
            raise
        raise Wrong(_explain_backend(inner)) from None
    except TypeError as error:
        if "_double() takes 1 positional argument" not in str(error):
            raise
        raise Wrong(
            "the function was called with two arguments. Hand the compiled function one input at "
            "a time, and let the backend return graph_module.forward"
        ) from None


def _explain_backend(error: Exception) -> str:
    told = f"your backend raised {type(error).__name__}: {error}"
    if isinstance(error, UnboundLocalError):
        return (
            f"{told}\na function may not count up a number that belongs to the function around it; "
            "append to a list"
        )
    if isinstance(error, TypeError) and "positional argument" in str(error):
        return f"{told}\na backend takes two things: the graph module and the example inputs"
    return told


def _explain_count(sizes: tuple[int, ...], got: object, expected: int, why: str) -> str:
    inputs = ", ".join(f"torch.ones({size})" for size in sizes)
    told = f"for the inputs {inputs} it returned {got!r}; expected {expected}, since {why}"
    if isinstance(got, list):
        return told + ". Return how many there are, not the list"
    if got == len(sizes) + 1 and expected == 1:
        return told + ". The list still holds the graph of the call before; make it inside"
    if got == 1 and expected > 1:
        return told + ". Is the `return` inside the loop? It ends the loop after the first input"
    if got == 0 and expected:
        return told + ". A 0 means that the compiled function was never called, or not the same one"
    if got == len(sizes) and len(sizes) > expected:
        return told + ". You counted calls; count what the backend receives"
    return told


def _fresh(function: Callable) -> Callable:
    # Dynamo keeps graphs with a code object, and by the code's name what sizes it has met
    name = f"{function.__name__}_{next(_NUMBERS)}"
    return types.FunctionType(function.__code__.replace(co_name=name), function.__globals__)


EXERCISES = [
    Exercise(
        id="1.1",
        reference=_to_fahrenheit,
        cases=[
            (torch.tensor([0.0]),),
            (torch.tensor([100.0]),),
            (torch.tensor([-40.0, 37.0]),),
            (torch.tensor([[0.0, 10.0], [20.0, 30.0]]),),
        ],
        atol=1e-4,
        mistakes=[
            Mistake(
                "added 32 before multiplying",
                like=lambda celsius: (celsius + 32) * 9 / 5,
                because="multiply first, so that 0 degrees Celsius become 32",
            ),
            Mistake(
                "multiplied by 5/9",
                like=lambda celsius: celsius * 5 / 9 + 32,
                because="a Fahrenheit degree is the smaller one, so there are more of them",
            ),
            Mistake(
                "went the other way, from Fahrenheit to Celsius",
                like=lambda celsius: (celsius - 32) * 5 / 9,
                because="water freezes at 0 degrees Celsius, which are 32 degrees Fahrenheit",
            ),
            Mistake(
                "forgot to add 32",
                like=lambda celsius: celsius * 9 / 5,
                because="the two scales do not start at the same point",
            ),
            Mistake(
                "multiplied by the whole of 9/5 + 32",
                like=lambda celsius: celsius * (9 / 5 + 32),
                because="the 32 is added to the product, so it stands outside the brackets",
            ),
            Mistake(
                "divided with //",
                like=lambda celsius: celsius * 9 // 5 + 32,
                because="// throws away what stands behind the point; divide with /",
            ),
            Mistake(
                "went through the tensor number by number",
                like=lambda celsius: torch.tensor([value * 9 / 5 + 32 for value in celsius]),
                because="that ends where a tensor has rows; arithmetic on the tensor itself "
                "reaches every number, whatever the shape",
            ),
        ],
        hints=[
            "Write it as you would for a single number, and let `celsius` be the tensor.",
            "`celsius * 9 / 5` multiplies every number of the tensor.",
            "return celsius * 9 / 5 + 32",
        ],
    ),
    Exercise(
        id="1.2",
        reference=lambda eager, compiled: eager / compiled,
        cases=[(2.0, 1.0), (0.006, 0.002), (1.0, 2.0), (0.5, 0.5)],
        rtol=1e-6,
        mistakes=[
            Mistake(
                "divided compiled by eager",
                like=lambda eager, compiled: compiled / eager,
                because="a speed-up is above 1 when compiling paid, so the longer time goes on top",
            ),
            Mistake(
                "gave the time saved",
                like=lambda eager, compiled: eager - compiled,
                because="a speed-up is a ratio, without a unit; the difference is in seconds",
            ),
            Mistake(
                "gave a percentage",
                like=lambda eager, compiled: 100 * eager / compiled,
                because="twice as fast is a speed-up of 2, not of 200",
            ),
            Mistake(
                "gave the share that was saved",
                like=lambda eager, compiled: (eager - compiled) / eager,
                because="saving half the time is a speed-up of 2, not of 0.5",
            ),
            Mistake(
                "counted only what comes on top",
                like=lambda eager, compiled: (eager - compiled) / compiled,
                because="twice as fast is a speed-up of 2, and no change is one of 1, not of 0",
            ),
            Mistake(
                "rounded the ratio",
                like=lambda eager, compiled: round(eager / compiled),
                because="0.5 would become 0, and 1.4 would become 1; leave the ratio as it comes",
            ),
        ],
        hints=[
            "Which number is larger when compiling paid? It belongs on top.",
            "Divide the eager time by the compiled time.",
        ],
    ),
    Exercise(
        id="1.3",
        reference=_verdict,
        cases=[
            (1.8, 2.3),
            (0.4, 0.7),
            (0.9, 1.4),
            (0.5, 1.2),
            (0.2, 5.0),
            (0.9, 0.95),
            (1.0, 1.3),
            (0.8, 1.0),
        ],
        mistakes=[
            # the two about the ends come first: what follows would explain them as well
            Mistake(
                "let a range that ends at 1 make a claim",
                like=lambda low, high: (
                    "faster" if low >= 1 else "slower" if high <= 1 else "too noisy to say"
                ),
                because="a range contains its two ends, and at 1 nothing has changed",
            ),
            Mistake(
                "took every range without a 1 in its inside for a claim",
                like=lambda low, high: (
                    "faster" if low > 1 else "too noisy to say" if low < 1 < high else "slower"
                ),
                because="a range contains its two ends, and at 1 nothing has changed",
            ),
            Mistake(
                "looked at the lower end alone",
                like=lambda low, high: "faster" if low > 1 else "slower",
                because="if 1 lies inside the range, both directions are still possible",
            ),
            Mistake(
                "looked at the middle of the range",
                like=lambda low, high: "faster" if low + high > 2 else "slower",
                because="the middle hides how wide the range is; ask whether it contains 1",
            ),
            Mistake(
                "looked at the upper end to say faster",
                like=lambda low, high: (
                    "faster" if high > 1 else "slower" if low < 1 else "too noisy to say"
                ),
                because="even the *lower* end must lie above 1 before you may say faster",
            ),
            Mistake(
                "exchanged faster and slower",
                like=lambda low, high: (
                    "slower" if low > 1 else "faster" if high < 1 else "too noisy to say"
                ),
                because="the range is a speed-up: above 1 the compiled function is faster",
            ),
            Mistake(
                "wrote the words another way",
                like=lambda low, high: (
                    "faster" if low > 1 else "slower" if high < 1 else "too noisy"
                ),
                because='the third answer is the whole of "too noisy to say"',
            ),
            Mistake(
                "wrote the words with capitals",
                like=lambda low, high: _verdict(low, high).capitalize(),
                because="the three strings are written small",
            ),
        ],
        hints=[
            "Draw the range on paper and mark 1. There are three cases.",
            "Everything above 1: `low > 1`. Everything below 1: `high < 1`.",
            "Return the first two cases with `if`, and let the last line be the third.",
        ],
    ),
    Exercise(
        id="1.4",
        reference=_calls_until_paid,
        cases=[
            (1.0, 2.0, 1.0),
            (5.0, 3.0, 1.0),
            (4.0, 0.5, 0.5),
            (4.0, 0.5, 1.0),
            (20.0, 0.25, 0.125),
            (10.0, 0.03, 0.01),
        ],
        rtol=1e-6,
        mistakes=[
            Mistake(
                "divided by the compiled time",
                like=lambda first_call, eager, compiled: (
                    first_call / compiled if eager > compiled else float("inf")
                ),
                because="each call pays back what it *saves*, which is eager minus compiled",
            ),
            Mistake(
                "divided by the eager time",
                like=lambda first_call, eager, compiled: (
                    first_call / eager if eager > compiled else float("inf")
                ),
                because="each call pays back what it *saves*, which is eager minus compiled",
            ),
            Mistake(
                "let a slower function pay back a negative number of calls",
                like=lambda first_call, eager, compiled: (
                    first_call / (eager - compiled) if eager != compiled else float("inf")
                ),
                because='where nothing is saved the answer is float("inf"): it never pays',
            ),
            Mistake(
                "took compiled minus eager for the saving",
                like=lambda first_call, eager, compiled: (
                    first_call / (compiled - eager) if compiled > eager else float("inf")
                ),
                because="the saving of one call is what it took before minus what it takes now",
            ),
            Mistake(
                "forgot the case in which nothing is saved",
                like=lambda first_call, eager, compiled: first_call / (eager - compiled),
                because='a saving of 0 cannot be divided by; return float("inf") there',
            ),
            Mistake(
                "rounded up to whole calls",
                like=lambda first_call, eager, compiled: (
                    math.ceil(first_call / (eager - compiled)) if eager > compiled else float("inf")
                ),
                because="the number is asked for as it comes, such as 2.5",
            ),
            Mistake(
                "rounded to whole calls",
                like=lambda first_call, eager, compiled: (
                    round(first_call / (eager - compiled)) if eager > compiled else float("inf")
                ),
                because="the number is asked for as it comes, such as 2.5",
            ),
            Mistake(
                "took a compiled call off the price",
                like=lambda first_call, eager, compiled: (
                    (first_call - compiled) / (eager - compiled)
                    if eager > compiled
                    else float("inf")
                ),
                because="here the whole first call counts as the price",
            ),
            Mistake(
                "took an eager call off the price",
                like=lambda first_call, eager, compiled: (
                    (first_call - eager) / (eager - compiled) if eager > compiled else float("inf")
                ),
                because="here the whole first call counts as the price",
            ),
        ],
        hints=[
            "How many seconds does one compiled call save?",
            "The price divided by the saving of one call is the number of calls.",
            'If the saving is zero or negative, return float("inf").',
        ],
    ),
    Exercise(
        id="1.5",
        value=["Dynamo", "AOTAutograd", "Inductor"],
        mistakes=[
            Mistake(
                "began at the end",
                like=["Inductor", "AOTAutograd", "Dynamo"],
                because="Inductor writes the kernels; it needs the graphs that the others make",
            ),
            Mistake(
                "let AOTAutograd go first",
                like=["AOTAutograd", "Dynamo", "Inductor"],
                because="AOTAutograd adds a backward pass to a graph, and Dynamo makes that graph",
            ),
            Mistake(
                "wrote the kernels before the backward pass was there",
                like=["Dynamo", "Inductor", "AOTAutograd"],
                because="Inductor gets the forward and the backward graph, so both exist before it",
            ),
            Mistake(
                "wrote the names in small letters",
                like=["dynamo", "aotautograd", "inductor"],
                because="the order is right; copy the names as they stand",
            ),
        ],
        hints=[
            "Which of them reads Python?",
            "Which of them writes C++ or Triton? It is the last.",
        ],
    ),
    Exercise(
        id="1.6",
        value=(0, 1, 1),
        mistakes=[
            Mistake(
                "thought that torch.compile compiles at once",
                like=(1, 1, 1),
                because="it returns a new function and does nothing else; the first call captures",
            ),
            Mistake(
                "thought that every call captures",
                like=(0, 1, 2),
                because="ones(3) and zeros(3) have the same size and dtype, and the values "
                "do not matter: the graph is reused",
            ),
            Mistake(
                "thought that torch.compile compiles at once, and each call again",
                like=(1, 2, 3),
                because="the first call captures, a call with the same kind of tensor reuses",
            ),
            Mistake(
                "thought that the graph arrives only with the second call",
                like=(0, 0, 1),
                because="the first call needs it already: it captures, then runs",
            ),
            Mistake(
                "thought that compiling captures once and the first call again",
                like=(1, 2, 2),
                because="torch.compile alone captures nothing; the first call brings the one graph",
            ),
        ],
        hints=[
            "Section 1.2 counted the same way. What did the counter say before the first call?",
            "Do `ones(3)` and `zeros(3)` differ in anything but their values?",
        ],
    ),
    Exercise(
        id="1.7",
        judge=_judge_count_captures,
        hints=[
            "Section 1.2 has the parts: a list, a backend that appends to it, `torch.compile`.",
            "Define the backend inside your function, so that it can use a list made there.",
            "The backend must return something that can be called: `graph_module.forward`.",
            "Compile once, before the loop over the inputs, and return the length of the list.",
        ],
    ),
    Exercise(
        id="1.8",
        value={"a": True, "b": False, "c": True},
        mistakes=[
            Mistake(
                "took torch.jit.script for current",
                like={"a": True, "b": True, "c": True},
                because="it still runs, but it warns that it is deprecated",
            ),
            Mistake(
                "took torch.func for something old",
                like={"a": True, "b": False, "c": False},
                because="torch.func belongs to version 2; run the line and see that nothing warns",
            ),
            Mistake(
                "took torch.compile for something that complains",
                like={"a": False, "b": False, "c": True},
                because="torch.compile is the current way; run the line and see that nothing warns",
            ),
        ],
        hints=[
            "Run each line in a new cell of its own.",
            "A warning is printed in a coloured box, and the line still gives its result.",
        ],
    ),
]


QUESTIONS = [
    Question(
        id="1.q6",
        text="What does `print` show? `a = [1, 2]; b = a; b.append(3); print(a)`",
        options=[
            Option("[1, 2, 3]", right=True, because="a and b are two names for one list."),
            Option("[1, 2]", because="`b = a` copies nothing; both names mean the same list."),
            Option("an error", because="Lists have `append`, so this runs."),
        ],
    ),
    Question(
        id="1.q7",
        text="`def add(x): return lambda y: x + y`. What is `add(2)(3)`?",
        options=[
            Option(
                "5", right=True, because="add(2) is a function that adds 2; it is called with 3."
            ),
            Option("a function", because="add(2) is a function, and (3) calls it."),
            Option("an error", because="A function may return a function, and you may call it."),
        ],
    ),
    Question(
        id="1.q8",
        text="While program A works through 2 images, program B does 6. How much faster is B?",
        options=[
            Option("3 times as fast", right=True, because="6 images against 2 in the same time."),
            Option("4 times as fast", because="4 is the difference; a ratio is asked for."),
            Option("30 % faster", because="30 % more than 2 images would be 2.6 images, not 6."),
        ],
    ),
    Question(
        id="1.q1",
        text="A table says: speed-up 1.08, between 0.94 and 1.21. What do you report?",
        options=[
            Option(
                "Too noisy to say.",
                right=True,
                because="The range contains 1, so both faster and slower are possible.",
            ),
            Option("8 % faster.", because="The range reaches below 1: it may as well be slower."),
            Option("It makes no difference.", because="It may be 6 % slower or 21 % faster."),
        ],
    ),
    Question(
        id="1.q2",
        text="`fast = torch.compile(f)` has run, nothing else. What has been compiled?",
        options=[
            Option("Nothing yet.", right=True, because="The first call of fast compiles."),
            Option("f, for every size.", because="Nothing is known about the inputs yet."),
            Option("f, for one size.", because="No input was given; the first call brings one."),
        ],
    ),
    Question(
        id="1.q3",
        text="Which stage turns your Python into a graph of operations?",
        options=[
            Option("Dynamo", right=True, because="It reads the bytecode of your function."),
            Option("AOTAutograd", because="It takes a graph and adds the backward pass."),
            Option("Inductor", because="It takes graphs and writes kernels."),
            Option("the dispatcher", because="It picks a kernel for one operation at a time."),
        ],
    ),
    Question(
        id="1.q4",
        text="Why may a compiled function with a hundred numbers be slower than the plain one?",
        options=[
            Option(
                "There is little to save, and each call costs a little extra.",
                right=True,
                because="The conditions of the graph are checked at every call.",
            ),
            Option(
                "It compiles again at every call.",
                because="You counted: the same kind of input reuses the graph.",
            ),
            Option(
                "The compiler's code is worse for small inputs.",
                because="The code is fine; the cost lies around it.",
            ),
        ],
    ),
    Question(
        id="1.q5",
        text="A guide says that `torch.cpu.is_available()` tests your installation. Is it right?",
        options=[
            Option(
                "No, that function always returns True.",
                right=True,
                because="You read its source: there is nothing in it that could fail.",
            ),
            Option("Yes, it tests the CPU kernels.", because="It tests nothing; it returns True."),
            Option(
                "Only on machines without a GPU.",
                because="It returns True everywhere, whatever is broken.",
            ),
        ],
    ),
]
