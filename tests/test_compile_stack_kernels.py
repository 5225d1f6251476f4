"""The code that Inductor wrote is read as it is meant: calls, arguments, bytes, operations.

Written code stands here as it came out of torch, so that most tests need no compiler.
"""

import os
import shutil
import textwrap

import pytest
import torch

from course_utils.compile_stack import explain, kernels
from course_utils.compile_stack.kernels import Buffer, read_generated

needs_compiler = pytest.mark.skipif(
    shutil.which(os.environ.get("CXX", "g++")) is None, reason="no C++ compiler"
)

WIDTHS = {"float32": 4, "bfloat16": 2, "int64": 8}

CPP = """
cpp_fused_relu_0 = async_compile.cpp_pybinding(['float*', 'const float*'], r'''
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(float* in_out_ptr0,
                       const float* in_ptr0)
{
}
''')

cpp_fused_add_1 = async_compile.cpp_pybinding(['const at::BFloat16*', 'float*'], r'''
extern "C"  void  kernel(const at::BFloat16* in_ptr0,
                       float* out_ptr0,
                       const int64_t ks0)
{
}
''')
"""


def read(body, inputs, sources=CPP, nodes=None):
    """Read a ``call`` made of these lines."""
    call = textwrap.indent(textwrap.dedent(body).strip(), "        ")
    code = f"{sources}\nclass Runner:\n    def call(self, args):\n{call}\n"
    built, numbers = read_generated("forward", code, inputs, WIDTHS, nodes or {})
    return built, numbers


def traffic(built):
    return [(k.name, k.reads, k.writes) for k in built.kernels]


def test_each_argument_counts_once_by_its_role():
    built, _ = read(
        """
        arg0_1, arg1_1 = args
        args.clear()
        buf0 = empty_strided_cpu((3, 4), (4, 1), torch.float32)
        cpp_fused_add_1(arg1_1, buf0, 7)
        cpp_fused_relu_0(buf0, arg0_1)
        return (buf0, )
        """,
        [Buffer(5, 4), Buffer(12, 2)],
    )

    assert traffic(built) == [("cpp_fused_add_1", 24, 48), ("cpp_fused_relu_0", 48 + 20, 48)]


def test_what_nothing_was_written_into_is_not_read():
    built, _ = read(
        """
        arg0_1, = args
        buf0 = empty_strided_cpu((3, ), (1, ), torch.float32)
        buf1 = buf0; del buf0  # reuse
        cpp_fused_relu_0(buf1, arg0_1)
        """,
        [Buffer(3, 4)],
    )

    assert traffic(built) == [("cpp_fused_relu_0", 12, 12)]


def test_sizes_that_may_change_are_those_of_this_call():
    built, _ = read(
        """
        arg0_1, arg1_1 = args
        s77 = arg0_1
        buf0 = empty_strided_cpu((s77, 2*s77), (2*s77, 1), torch.float32)
        cpp_fused_add_1(arg1_1, buf0, s77)
        """,
        [8, Buffer(10, 2)],
    )

    assert traffic(built) == [("cpp_fused_add_1", 20, 8 * 16 * 4)]


def test_a_librarys_result_is_learnt_from_the_check_that_follows():
    built, _ = read(
        """
        arg0_1, arg1_1 = args
        buf0 = extern_kernels.convolution(arg0_1, arg1_1, stride=(1, 1))
        assert_tensor_metadata(buf0, (2, 3), (3, 1), torch.bfloat16, 'torch.ops.aten.convolution')
        buf1 = torch.ops.aten.sort.default(arg0_1)
        buf2 = buf1[1]
        assert_size_stride(buf2, (4, ), (1, ), 'torch.ops.aten.sort.default')
        """,
        [Buffer(5, 4), Buffer(7, 4)],
    )

    assert traffic(built) == [("convolution", 48, 12), ("sort", 20, 16)]
    assert not any(kernel.is_generated for kernel in built.kernels)


def test_a_view_is_as_large_as_what_it_shows():
    built, _ = read(
        """
        arg0_1, arg1_1 = args
        buf0 = empty_strided_cpu((2, 2), (2, 1), torch.float32)
        extern_kernels.mm(reinterpret_tensor(arg0_1, (2, 3), (1, 2), 0), arg1_1, out=buf0)
        """,
        [Buffer(60, 4), Buffer(6, 4)],
    )

    assert traffic(built) == [("mm", 24 + 24, 16)]


def test_kernels_of_triton_are_read_inside_their_device_block():
    triton = """
triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', '''
@triton.jit
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
''', device_str='cuda')
"""
    built, _ = read(
        """
        arg0_1, = args
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf0 = empty_strided_cuda((64, ), (1, ), torch.float32)
            stream0 = get_raw_stream(0)
            triton_poi_fused_add_0.run(arg0_1, buf0, 64, stream=stream0)
        return (buf0, )
        """,
        [Buffer(64, 4)],
        sources=triton,
    )

    assert traffic(built) == [("triton_poi_fused_add_0", 256, 256)]
    assert "@triton.jit" in built.kernels[0].source


def test_operations_are_those_under_the_mark_and_views_compute_nothing():
    built, numbers = read(
        """
        arg0_1, = args
        buf0 = empty_strided_cpu((3, ), (1, ), torch.float32)
        # [Provenance debug handles] cpp_fused_relu_0:1
        cpp_fused_relu_0(buf0, arg0_1)
        """,
        [Buffer(3, 4)],
        nodes={"cpp_fused_relu_0:1": [("view", "view"), ("relu", "relu"), ("add_1", "add")]},
    )

    (kernel,) = built.kernels
    assert kernel.operations == ("relu", "add")
    assert kernel.fused
    assert numbers == {"relu": 1, "add_1": 1}
    assert "Provenance" not in built.code + built.wrapper


def test_the_wrapper_is_the_function_that_calls():
    built, _ = read("return ()", [])

    assert built.wrapper == "def call(self, args):\n    return ()"
    assert "async_compile" in built.code


def test_code_that_cannot_be_read_is_shown_as_it_is(monkeypatch):
    """Whatever a later torch writes, the other stages and the code itself stay."""
    from course_utils.compile_stack import lowering

    notes = lowering._Notes(code="", operations=0)
    graph = torch.fx.symbolic_trace(lambda x: x + 1)

    class Made:
        source_code = "written { in another language"
        inductor_provenance_mapping_str = None

    notes.built_from("forward", graph, Made())

    assert notes.built[0].code == Made.source_code
    assert notes.built[0].kernels == ()
    assert notes.unread.startswith("reading the kernels (SyntaxError): not available in torch")


def test_generated_code_that_is_not_there_is_said():
    from course_utils.compile_stack import lowering

    notes = lowering._Notes(code="", operations=0)

    notes.built_from("forward", torch.fx.symbolic_trace(lambda x: x + 1), object())

    assert notes.built == []
    assert notes.unread.startswith("the generated code: not available in torch")


# built for real


@needs_compiler
def test_a_chain_of_operations_is_one_kernel_that_reads_and_writes_its_size_once():
    def chain(x):
        return torch.sin(x) * torch.cos(x) + 1

    found = explain(chain, torch.ones(1000))

    (kernel,) = found.kernels
    assert kernel.operations == ("sin", "cos", "mul", "add")
    assert (kernel.reads, kernel.writes) == (4000, 4000)
    assert found.moved_bytes == 8000
    assert found.counts == "1 graph, 0 breaks, 1 kernel"
    assert 'extern "C"' in kernel.source
    assert found.missing == ()


@needs_compiler
def test_backward_has_kernels_of_its_own_and_a_half_precision_counts_half():
    weight = torch.ones(100, dtype=torch.bfloat16, requires_grad=True)

    found = explain(lambda x: torch.sin(x * weight), torch.ones(100, dtype=torch.bfloat16))

    forward, backward = found.graphs[0].built
    assert (forward.part, backward.part) == ("forward", "backward")
    assert [(k.reads, k.writes) for k in forward.kernels] == [(400, 200)]
    assert {k.is_generated for k in backward.kernels} == {True}
    assert "sin" in forward.kernels[0].operations and "cos" in backward.kernels[0].operations


@needs_compiler
def test_the_drawing_has_the_numbers_of_the_kernels():
    found = explain(lambda a, b: torch.relu(a @ b) + 1, torch.ones(4, 4), torch.ones(4, 4))

    drawing = next(d for d in found.graphs[0].drawings if d.stage == "forward graph")
    assert {n.operation: n.kernel for n in drawing.nodes if n.kernel} == {
        "mm": 1,
        "relu": 2,
        "add": 2,
    }
    assert found.kernels[0].name == "mm"


@needs_compiler
def test_as_many_generated_kernels_are_called_as_torch_counts():
    from torch._inductor import metrics  # its counter counts loops: here one loop is one kernel

    def two_kernels(a, b):
        return torch.relu(torch.sin(a) @ b) + 1

    found = explain(two_kernels, torch.ones(8, 8), torch.ones(8, 8))

    before = metrics.generated_kernel_count
    with torch._inductor.config.patch(fx_graph_cache=False):
        torch.compile(two_kernels, isolate_recompiles=True)(torch.ones(8, 8), torch.ones(8, 8))
    generated = [kernel for kernel in found.kernels if kernel.is_generated]
    assert len(generated) == metrics.generated_kernel_count - before


def test_views_are_named_as_torch_names_them():
    assert all(hasattr(torch.ops.aten, view) for view in kernels.VIEWS - {"getitem", "reshape"})
