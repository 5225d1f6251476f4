"""Claims of the introduction to PyTorch 2 with an installation on Windows, S3: data alone.

Kind:    plumbing
Public:  CLAIMS
Imports: ledger.claim
"""

from __future__ import annotations

from course_utils.ledger.claim import FALSE, HALF, OPEN, THEN, TRUE, Claim

__all__ = ["CLAIMS"]

CLAIMS = (
    Claim(
        "S3-1",
        "PyTorch 2 was released by Meta in 2023.",
        HALF,
        "2.0 came in 2023. PyTorch had belonged to a foundation since September 2022.",
        shown="18.5",
        read="reports of September 2022 on the PyTorch Foundation, part of the Linux Foundation",
    ),
    Claim(
        "S3-2",
        "The newest version is 2.9.",
        THEN,
        "Print `torch.__version__`.",
        shown="2.1",
    ),
    Claim(
        "S3-3",
        "PyTorch 2 makes a model faster without changing a line.",
        HALF,
        "The model stays as it is, and one line is needed: `torch.compile`. Then measure.",
        shown="1.1",
    ),
    Claim(
        "S3-4",
        "The stack is Dynamo, AOTAutograd and Inductor.",
        TRUE,
        "Each of them can be looked at by itself.",
        shown="1.3",
    ),
    Claim(
        "S3-5",
        "`model = torch.compile(model)`.",
        TRUE,
        "It works, with a prefix before each weight's name. `model.compile()` has none.",
        shown="7.9",
    ),
    Claim(
        "S3-6",
        "Compiling usually makes a model 30 to 200 % faster.",
        HALF,
        "Some functions gain more, some nothing. It depends on what can be fused.",
        shown="7.7",
        read="the documentation of 2.0 spoke of 30 % to twice, on GPUs",
    ),
    Claim(
        "S3-7",
        "AOTAutograd rebuilt autograd and saves memory.",
        HALF,
        "It plans both passes before anything runs, and keeps less where operations are cheap to "
        "repeat.",
        shown="8.7",
    ),
    Claim(
        "S3-8",
        "Through Triton, kernels for a GPU beat CUDA written by hand.",
        HALF,
        "Triton it is. Whether they beat anything, a GPU and a rival kernel would have to show.",
        shown="1.3",
        read="Inductor's generator for GPUs is torch/_inductor/codegen/triton.py",
    ),
    Claim(
        "S3-9",
        "DDP and FSDP belong to it, in a better form.",
        TRUE,
        "`fully_shard` is FSDP's second form, made of DTensors.",
        shown="17",
    ),
    Claim(
        "S3-10",
        '"TorchExport" leads to TorchScript, TorchServe and ONNX Runtime.',
        HALF,
        "It is called `torch.export`. TorchScript is deprecated, TorchServe archived.",
        shown="14.7",
        read="the repository pytorch/serve was archived on 7 August 2025",
    ),
    Claim(
        "S3-11",
        "There is a front end, a compiler, and a back end.",
        TRUE,
        "Dynamo, AOTAutograd, and a backend that you may choose.",
        shown="1.3",
    ),
    Claim(
        "S3-12",
        "Back ends for XLA and TVM come with it, beside Inductor.",
        HALF,
        "Their names do. Each needs a package of its own.",
        shown="1.5",
    ),
    Claim(
        "S3-13",
        "Debugging stays as easy as before.",
        HALF,
        "In eager it does. In compiled code breakpoints do not stop.",
        shown="9.10",
    ),
    Claim(
        "S3-14",
        "Gym, RLlib and TorchQuantum build on it.",
        OPEN,
        "Out of this course's scope.",
        shown="18.6",
        needs="those packages, in versions for this torch",
    ),
    Claim(
        "S3-15",
        "It runs on Windows, Linux and macOS.",
        TRUE,
        "On macOS 14 or newer with Apple silicon; not on Windows for Arm.",
        shown="2.1",
        read="pip's answer for each platform",
    ),
    Claim(
        "S3-16",
        "Use Python 3.11 in a virtual environment.",
        TRUE,
        "Or any from 3.10 to 3.14.",
        shown="2.2",
    ),
    Claim(
        "S3-17",
        "On Windows, `pip install torch torchvision` brings the CPU build.",
        TRUE,
        "The same command brings CUDA's five gigabytes on Linux.",
        shown="2.1",
        read="torch/version.py inside the package for Windows",
    ),
    Claim(
        "S3-18",
        "Check an installation with `torch.cpu.is_available()`.",
        FALSE,
        "It returns `True`, always. Compile one function.",
        shown="1.5",
    ),
    Claim(
        "S3-19",
        "`torch.device('cpu')` prints as `cpu`.",
        TRUE,
        "In a text it does; its `repr` is longer.",
        shown="3.3",
    ),
    Claim(
        "S3-20",
        "PyTorch 1 offered static graphs through TorchScript, 2 has Dynamo.",
        TRUE,
        "As history. TorchScript is deprecated.",
        shown="1.4",
    ),
)
