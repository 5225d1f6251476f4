"""Read the code that Inductor generated: which kernels it calls, on what, and how many bytes.

Inductor writes a Python file: the kernels as strings, and a function ``call`` that allocates
buffers and calls the kernels on them, one line each. That function is short and regular, so it is
read as Python, line by line; sizes and dtypes of all buffers stand in it.

The bytes are an estimate. Each argument of a kernel counts once and whole: that is what a fused
loop does. A lookup in a table reads less, a matrix product that does not fit the cache reads more.

Kind:    plumbing
Public:  VIEWS, Buffer, read_generated
Imports: the standard library; record
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from course_utils.compile_stack.record import Built, Kernel

__all__ = ["VIEWS", "Buffer", "read_generated"]


@dataclass(frozen=True)
class Buffer:
    """What is known of one name in the generated code: how many numbers of how many bytes."""

    count: int
    width: int

    @property
    def bytes(self) -> int:
        """Bytes that it takes when each of its numbers is touched once."""
        return self.count * self.width


def read_generated(
    part: str,
    code: str,
    inputs: list[Buffer | int],
    widths: Mapping[str, int],
    nodes: Mapping[str, list[tuple[str, str]]],
) -> tuple[Built, dict[str, int]]:
    """Return the kernels that the generated code calls, in order, and each node's kernel.

    Args:
        part: "forward" or "backward".
        code: the whole file that Inductor wrote.
        inputs: what ``call`` is given: tensors as buffers, sizes as numbers.
        widths: bytes of one number, by the name of its dtype.
        nodes: name and operation of what each kernel computes, by the mark that Inductor left
            above its call.
    """
    tree = ast.parse(code)
    sources = dict(_sources(tree))
    call = next(
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "call"
    )
    marks = {number: mark for number, mark in _marks(code)}
    reader = _Reader(inputs, widths, sources)
    for statement in _flat(call.body):
        reader.read(statement)
    kernels, numbers = [], {}
    for number, one in enumerate(reader.calls, 1):
        computed = _computed(one, nodes.get(marks.get(one.line, ""), []), sources)
        for name, _ in computed:
            numbers.setdefault(name, number)
        kernels.append(
            Kernel(
                number,
                one.name,
                tuple(operation for _, operation in computed),
                one.reads,
                one.writes,
                is_generated=one.name in sources,
                source=sources.get(one.name, ""),
            )
        )
    lines = code.splitlines()
    wrapper = textwrap.dedent(_without_marks(lines[call.lineno - 1 : call.end_lineno]))
    return Built(part, wrapper, tuple(kernels), _without_marks(lines)), numbers


VIEWS = frozenset(
    "alias expand getitem permute reshape select slice squeeze t transpose unsqueeze view".split()
)


def _computed(
    one: _Call, nodes: list[tuple[str, str]], sources: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return what a kernel computes; another view of the same numbers is no computation."""
    if one.name not in sources:  # a library's call computes what it is called
        return [(node, name) for node, name in nodes if name == one.name]
    return [(node, name) for node, name in nodes if name not in VIEWS]


_FLOAT = 4  # bytes of a number where the code does not say its dtype
_MARK = "# [Provenance debug handles] "


def _marks(code: str) -> Iterator[tuple[int, str]]:
    """Yield the line below each of Inductor's marks, and the mark."""
    for number, line in enumerate(code.splitlines(), 1):
        if line.strip().startswith(_MARK):
            yield number + 1, line.strip().removeprefix(_MARK)


def _without_marks(lines: list[str]) -> str:
    return "\n".join(line for line in lines if not line.strip().startswith(_MARK))


def _sources(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield name and source of each kernel that is written in the file."""
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func).startswith("async_compile.")
        ):
            texts = [a.value for a in node.value.args if isinstance(a, ast.Constant)]
            strings = [text for text in texts if isinstance(text, str)]
            yield ast.unparse(node.targets[0]), max(strings, key=len, default="").strip()


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements in order, those inside ``with`` blocks too."""
    for statement in body:
        if isinstance(statement, ast.With):
            yield from _flat(statement.body)
        else:
            yield statement


@dataclass
class _Call:
    name: str
    line: int
    reads: int = 0
    writes: int = 0


@dataclass
class _Reader:
    """What is known while the lines of ``call`` are read from above."""

    inputs: list[Buffer | int]
    widths: Mapping[str, int]
    sources: Mapping[str, str]
    known: dict[str, Buffer | int] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)  # allocated, and nothing written into it yet
    made_by: dict[str, _Call] = field(default_factory=dict)
    calls: list[_Call] = field(default_factory=list)

    def read(self, statement: ast.stmt) -> None:
        """Take in one line."""
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Tuple):
                names = [name.id for name in target.elts if isinstance(name, ast.Name)]
                if ast.unparse(statement.value) == "args":
                    self.known.update(zip(names, self.inputs, strict=False))
            elif isinstance(target, ast.Name):
                self.assign(target.id, statement.value)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self.call(statement.value)

    def assign(self, name: str, value: ast.expr) -> None:
        """Take in a line that gives something a name."""
        found = self.value_of(value)
        if found is not None:
            self.known[name] = found
            if _name_of(value) in self.empty or _function(value).startswith("empty_strided"):
                self.empty.add(name)
        elif isinstance(value, ast.Subscript) and _name_of(value.value) in self.made_by:
            self.made_by[name] = self.made_by[_name_of(value.value)]
        elif isinstance(value, ast.Call) and self.is_kernel(value):
            self.made_by[name] = self.call(value)

    def value_of(self, value: ast.expr) -> Buffer | int | None:
        """Return what an expression stands for, or None for what is not known."""
        if isinstance(value, ast.Name):
            return self.known.get(value.id)
        if not isinstance(value, ast.Call):
            return self.number(value)
        function = _function(value)
        if function.startswith("empty_strided"):
            width = self.widths.get(ast.unparse(value.args[2]).removeprefix("torch."), _FLOAT)
            return Buffer(self.count(value.args[0]), width)
        if function == "reinterpret_tensor":
            whole = self.value_of(value.args[0])
            width = whole.width if isinstance(whole, Buffer) else _FLOAT
            return Buffer(self.count(value.args[1]), width)
        return None

    def number(self, value: ast.expr) -> int | None:
        """Return a number such as ``4*s0``, where all its names are known."""
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        known = {name: self.known.get(name) for name in names}
        plain = (ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp)
        nodes = list(ast.walk(value))
        if not all(isinstance(node, (*plain, ast.operator, ast.unaryop)) for node in nodes):
            return None
        if not all(isinstance(one, int) for one in known.values()):
            return None
        result = eval(compile(ast.Expression(value), "size", "eval"), {"__builtins__": {}}, known)
        return result if isinstance(result, int) else None

    def count(self, sizes: ast.expr) -> int:
        """Return how many numbers a tuple of sizes makes."""
        total = 1
        for size in getattr(sizes, "elts", ()):
            total *= self.number(size) or 1
        return total

    def is_kernel(self, call: ast.Call) -> bool:
        """Whether a call computes something, in a kernel of the file or in a library's."""
        function = _function(call)
        return function.removesuffix(".run") in self.sources or function.startswith(
            ("extern_kernels.", "torch.ops.")
        )

    def call(self, call: ast.Call) -> _Call | None:
        """Take in a line that calls something."""
        function = _function(call)
        if function in ("assert_size_stride", "assert_tensor_metadata"):
            self.learn_result(call)
        if not self.is_kernel(call):
            return None
        made = _Call(function.removesuffix(".run"), call.lineno)
        self.calls.append(made)
        parameters = _parameters(self.sources.get(made.name, ""))
        for i, argument in enumerate(call.args):
            role = parameters[i] if i < len(parameters) else "in_ptr"
            self.touch(made, argument, role)
        for keyword in call.keywords:
            self.touch(made, keyword.value, "out_ptr" if keyword.arg == "out" else "in_ptr")
        if made.name not in self.sources:  # of a library: ``torch.ops.aten.mm.default`` is ``mm``
            parts = made.name.removesuffix(".default").split(".")
            made.name = parts[1] if parts[0] == "extern_kernels" else parts[-1]
        return made

    def touch(self, made: _Call, argument: ast.expr, role: str) -> None:
        """Count one argument of a kernel, by the role that its name in the kernel tells."""
        found, name = self.value_of(argument), _name_of(argument)
        if not isinstance(found, Buffer):
            return
        if role.startswith("in_ptr") or (role.startswith("in_out") and name not in self.empty):
            made.reads += found.bytes
        if role.startswith(("out_ptr", "in_out")):
            made.writes += found.bytes
            self.empty.discard(name)

    def learn_result(self, check: ast.Call) -> None:
        """Learn the size of what a library returned from the check that follows it."""
        name = _name_of(check.args[0])
        if name not in self.made_by or name in self.known:
            return
        told = [ast.unparse(argument).removeprefix("torch.") for argument in check.args[2:]]
        width = next((self.widths[dtype] for dtype in told if dtype in self.widths), _FLOAT)
        self.known[name] = Buffer(self.count(check.args[1]), width)
        self.made_by[name].writes += self.known[name].bytes


def _function(call: ast.expr) -> str:
    return ast.unparse(call.func) if isinstance(call, ast.Call) else ""


def _name_of(value: ast.expr) -> str:
    """Return the name behind an expression: that of a view is the name it looks at."""
    if isinstance(value, ast.Call) and _function(value) == "reinterpret_tensor":
        value = value.args[0]
    return value.id if isinstance(value, ast.Name) else ""


def _parameters(source: str) -> list[str]:
    """Return the names of a kernel's parameters, in C++ or in Triton's Python."""
    cpp = re.search(r"\bkernel\(([^)]*)\)", source)
    if cpp:  # the type comes first: ``const at::BFloat16* in_ptr0``
        return [re.split(r"[\s*&]+", one.strip())[-1] for one in cpp[1].split(",")]
    triton = re.search(r"^def \w+\(([^)]*)\)", source, re.MULTILINE)
    if triton:  # the type comes last: ``xnumel: tl.constexpr``
        return [one.split(":")[0].strip() for one in triton[1].split(",")]
    return []
