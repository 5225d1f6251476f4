"""The doctor names the cause, once, with one fix; and says nothing where all is well."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from course_utils.doctor import facts, rules, rules_packages, tables, versions
from tests.doctor_machines import (
    BLACKWELL_WHEEL,
    GIB,
    HEALTHY,
    SITE,
    change,
    copies,
    examine,
    laptop,
    mac,
    told,
    torch_said,
    vision_said,
    windows,
    with_card,
)

DOCTOR = Path(rules.__file__).parent


USER = "/home/ada/.local/lib/python3.12/site-packages"


def failed_import(error="", code=1, **fields):
    """A torch that could not be imported."""
    return facts.Import(code, error, **fields)


def broken(error="", code=1, **changes):
    """A laptop on which importing torch fails; what needs torch was then never tried."""
    machine = laptop(torch=failed_import(error, code), torchvision=None, compile=None)
    return replace(machine, **changes)


def bare(**changes):
    """A laptop without torch, on which the doctor could look at little."""
    machine = laptop(
        packages=copies(torch=None, torchvision=None),
        torch=None,
        torchvision=None,
        compile=None,
        cache=None,
    )
    return replace(machine, **changes)


def pair(torch, vision, said_torch=None, said_vision=None):
    """A laptop with these two versions on disk and in the child's answers."""
    return laptop(
        packages=copies(torch=torch, torchvision=vision),
        torch=facts.Import(0, said=torch_said(version=said_torch or torch)),
        torchvision=facts.Import(0, said=vision_said(version=said_vision or vision)),
    )


def no_compiler(**fields):
    """A laptop whose trial of the C++ compiler failed, and torch.compile with it."""
    trial = {"compiler": "g++", "found": False, "works": False, **fields}
    return laptop(
        compiler=facts.Trial(**trial),
        openmp=None,
        cache=replace(laptop().cache, loaded=None),
        compile=facts.Compiled(
            0, None, error="InductorError: InvalidCxxCompiler: ...", fallback="aot_eager"
        ),
    )


def compile_failed(error, fallback="aot_eager"):
    """A laptop on which everything is there and torch.compile fails all the same."""
    return laptop(compile=facts.Compiled(0, None, error=error, fallback=fallback))


def kernel(python, prefix="", torch=None):
    """A laptop on which notebooks start some other Python."""
    named = facts.Kernel("python3", "/usr/share/jupyter/kernels/python3/kernel.json", python)
    return change(laptop(), jupyter={"kernels": (replace(named, prefix=prefix, torch=torch),)})


def rocm(**gpus):
    """A Linux computer with ROCm's build of torch, which sees no card."""
    said = torch_said(version="2.14.1+rocm7.14", hip="7.14", gpu_works=False)
    return laptop(
        torch=facts.Import(0, said=said),
        torchvision=facts.Import(0, said=vision_said(version="0.29.1+rocm7.14")),
        gpus=facts.Gpus("absent", cards=("AMD",), **gpus),
    )


# what is broken: (machine, first finding that is not ok, its status, words in it, exit code)
BROKEN = {
    "O10 pip in a running notebook": (
        replace(pair("2.9.1", "0.24.1"), loaded={"torch": "2.14.1+cu130"}),
        ("O10", "problem", "Restart the kernel", 2),
    ),
    "D01 torchvision of another torch": (
        pair("2.14.1", "0.24.1"),
        ("D01", "problem", "torchvision==0.29.*", 2),
    ),
    "D01 torch upgraded alone": (
        pair("2.15.0", "0.29.1"),
        ("D01", "problem", '"torch==2.15.*" "torchvision==0.30.*"', 2),
    ),
    "D01 CPU build beside a CUDA build": (
        pair("2.14.1", "0.29.1", "2.14.1+cpu", "0.29.1+cu130"),
        ("D01", "problem", "--torch-backend=cpu", 2),
    ),
    "D01 builds seen in the metadata alone": (
        replace(
            laptop(packages=copies(torch="2.14.1+cpu", torchvision="0.29.1+cu130")),
            torch=None,
            torchvision=None,
            compile=None,
        ),
        ("D01", "problem", "CPU, CUDA version", 2),
    ),
    "D01 torchvision missing": (
        laptop(packages=copies(torchvision=None), torchvision=None),
        ("D01", "problem", "torchvision is not installed", 2),
    ),
    "D01 torchvision fails for a reason of its own": (
        laptop(torchvision=failed_import("RuntimeError: operator torchvision::nms does not exist")),
        ("D01", "problem", "torchvision::nms", 2),
    ),
    "D01 a pair that the table does not know": (
        replace(
            pair("2.16.0", "0.31.0"),
            course=replace(laptop().course, ranges={"torch": ">=2.14"}),
        ),
        ("D01", "unknown", "not in the doctor's table", 0),
    ),
    "D02 CPU build and a card": (
        with_card(version="2.14.1+cpu", cuda=None, gpu_works=False, architectures=[]),
        ("D02", "note", "CPU build of torch installed, GPU found: NVIDIA GeForce RTX 3060", 0),
    ),
    **{
        f"D02 CUDA_VISIBLE_DEVICES={value!r}": (
            replace(with_card(gpu_works=False), switches={"CUDA_VISIBLE_DEVICES": value}),
            ("D02", "note", "unset CUDA_VISIBLE_DEVICES", 0),
        )
        for value in ("", "-1", "2", "GPU-deadbeef")
    },
    "D02 a card and no driver": (
        laptop(gpus=facts.Gpus("absent", cards=("NVIDIA",))),
        ("D02", "note", "its driver is not", 0),
    ),
    "D02 a card in a container that was not let in": (
        with_card(gpu_works=False),
        ("D02", "note", "--gpus all", 0),
    ),
    "D03 driver older than the wheel's CUDA": (
        with_card(driver="470.256.02", banner="11.4", gpu_works=False),
        ("D03", "note", "Installing a CUDA toolkit changes nothing", 0),
    ),
    "D03 driver of one major before": (
        with_card(driver="560.35.03", banner="12.6", gpu_works=False),
        ("D03", "note", "580 or newer", 0),
    ),
    "D03 the banner did not say, the driver's number does": (
        with_card(driver="470.256.02", banner="", gpu_works=False),
        ("D03", "note", "older than torch's CUDA 13.0", 0),
    ),
    "D03 nvidia-smi fails": (
        laptop(gpus=facts.Gpus("failed", message="couldn't communicate with the NVIDIA driver")),
        ("D03", "note", "couldn't communicate", 0),
    ),
    "D03 nvidia-smi hangs": (
        laptop(gpus=facts.Gpus("hung", message="no answer within 10 seconds")),
        ("D03", "unknown", "no answer", 0),
    ),
    "D05 card newer than the wheel": (
        with_card(
            name="NVIDIA GeForce RTX 5060 Ti",
            capability="12.0",
            architectures=["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"],
        ),
        ("D05", "note", "newer than this build of torch knows", 0),
    ),
    "D05 card older than the wheel": (
        with_card(name="NVIDIA GeForce GTX 1080", capability="6.1"),
        ("D05", "note", "older than this build of torch knows", 0),
    ),
    "D07 nvcc of another version": (
        change(with_card(), toolkit={"nvcc": "10.1"}),
        ("D07", "note", "nvcc 10.1 differs from torch's 13.0", 0),
    ),
    "D07 CUDA_HOME points nowhere": (
        change(with_card(), toolkit={"home": "/usr/local/cuda-10.1"}),
        ("D07", "note", "does not exist", 0),
    ),
    "D08 foreign libraries first": (
        broken(
            "ImportError: libtorch_cpu.so: undefined symbol: ..., version CXXABI_1.3",
            torch_again={"LD_LIBRARY_PATH": facts.Import(0, said=torch_said())},
            switches={"LD_LIBRARY_PATH": "/opt/old/lib"},
        ),
        ("D08", "problem", "fails because of LD_LIBRARY_PATH=/opt/old/lib", 2),
    ),
    "D08 old glibc": (
        change(laptop(), machine={"libc": "glibc 2.17"}),
        ("D08", "problem", "the wheels need glibc 2.28", 2),
    ),
    "D08 old C++ library": (
        broken("ImportError: libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by x)"),
        ("D08", "problem", "GLIBCXX_3.4.30", 2),
    ),
    "D09 two OpenMP libraries abort": (
        broken("OMP: Error #15: Initializing libiomp5md.dll, but found ...", code=-6),
        ("D09", "problem", "one package manager", 2),
    ),
    "D09 two OpenMP libraries wait": (
        laptop(openmp_copies=("/env/Library/bin/libiomp5md.dll", "/env/torch/lib/libiomp5md.dll")),
        ("D09", "warning", "kernel died", 0),
    ),
    "D09 the variable that hides it": (
        laptop(switches={"KMP_DUPLICATE_LIB_OK": "TRUE"}),
        ("D09", "warning", "wrong numbers", 0),
    ),
    "D10 numpy 2 with an old torch": (
        replace(
            pair("2.2.2", "0.17.2"),
            packages=copies(torch="2.2.2", torchvision="0.17.2", numpy="2.1.0"),
            course=replace(laptop().course, ranges={**laptop().course.ranges, "torch": ">=2.0"}),
        ),
        ("D10", "problem", "torch 2.2.2 needs numpy<2", 2),
    ),
    "D10 the bridge fails": (
        laptop(
            torch=facts.Import(
                0, said=torch_said(numpy={"error": "RuntimeError: Numpy is not available"})
            )
        ),
        ("D10", "problem", "Numpy is not available", 2),
    ),
    "D10 numpy missing": (
        laptop(packages=copies(numpy=None)),
        ("D10", "problem", "numpy is not installed", 2),
    ),
    "D10 numpy that raises stops torch": (
        broken('File "numpy/__init__.py"\nImportError: numpy.core.multiarray failed to import'),
        ("D10", "problem", "numpy is broken and stops torch", 2),
    ),
    **{
        f"D11 Python {'.'.join(map(str, version))}": (
            change(bare(), python={"version": version}),
            ("D11", "problem", words, 2),
        )
        for version, words in (
            (
                (3, 8, 10),
                "Python 3.8.10 is too old: the course needs 3.10 to 3.14 (not 3.14.1), 64-bit",
            ),
            ((3, 9, 19), "3.10 to 3.14 (not 3.14.1)"),
            ((3, 14, 1), "is the one that torchvision 0.29 excludes: the course needs"),
            ((3, 15, 0), "too new"),
        )
    },
    "D11 free-threaded, before torch had packages for it": (
        change(bare(), python={"version": (3, 13, 3), "free_threaded": True}),
        ("D11", "problem", "is a free-threaded one", 2),
    ),
    "D11 free-threaded": (
        change(laptop(), python={"version": (3, 14, 2), "free_threaded": True}),
        ("D11", "unknown", "not tried", 0),
    ),
    "D11 32-bit Python": (
        change(bare(), python={"bits": 32}),
        ("D11", "problem", "is a 32-bit Python: the course needs 3.10 to 3.14", 2),
    ),
    "D14 a DLL does not load": (
        change(
            broken(
                "OSError: [WinError 126] 找不到指定的模块。 Error loading "
                '"D:\\env\\torch\\lib\\fbgemm.dll" or one of its dependencies.',
            ),
            machine={"platform": "win32", "libc": ""},
        ),
        ("D14", "problem", "Visual C++ Redistributable", 2),
    ),
    "D14 32 and 64 bits mixed": (
        broken('OSError: [WinError 193] %1 is not a valid Win32 application: "c10.dll"'),
        ("D14", "problem", "64-bit Python", 2),
    ),
    "D15 Windows without cl": (
        replace(
            windows(),
            compiler=facts.Trial("cl", False, False),
            openmp=None,
            cache=replace(laptop().cache, loaded=None),
            compile=no_compiler().compile,
        ),
        ("D15", "problem", "x64 Native Tools Command Prompt", 1),
    ),
    "D15 cl speaks German": (
        compile_failed(
            "InductorError: Torch.compile() is only support MSVC with English language pack"
        ),
        ("D15", "problem", "English language pack", 1),
    ),
    "D15 no triton": (
        compile_failed("TritonMissing: Cannot find a working triton installation."),
        ("D15", "problem", "COURSE_DEVICE=cpu", 1),
    ),
    "D16 no compiler on Ubuntu": (
        no_compiler(),
        ("D16", "problem", "sudo apt-get install -y g++", 1),
    ),
    "D16 no compiler in a Debian container": (
        change(no_compiler(), machine={"administrator": True, "distributions": ("debian",)}),
        ("D16", "problem", "apt-get install -y g++", 1),
    ),
    "D16 no compiler on Fedora": (
        change(no_compiler(), machine={"distributions": ("fedora",)}),
        ("D16", "problem", "sudo dnf install -y gcc-c++", 1),
    ),
    "D16 no compiler on a Linux nobody knows": (
        change(no_compiler(), machine={"distributions": ("myown",)}),
        ("D16", "problem", "package manager of your Linux distribution", 1),
    ),
    "D16 clang++ is there, g++ is not": (
        no_compiler(others=("clang++",)),
        ("D16", "problem", "export CXX=clang++", 1),
    ),
    "D16 CXX names nothing, g++ is there": (
        no_compiler(compiler="nope", chosen_by="CXX", others=("g++",)),
        ("D16", "problem", "unset CXX", 1),
    ),
    "D16 a compiler that exits with 1": (
        no_compiler(found=True, output="g++: fatal error: Killed signal terminated program"),
        ("D16", "problem", "does not compile three lines: g++: fatal error: Killed", 1),
    ),
    "D17 no Python headers on Ubuntu": (
        change(laptop(), headers={"present": False}, compile={"compiled": None, "error": "x"}),
        ("D17", "problem", "sudo apt-get install -y python3.12-dev", 1),
    ),
    "D17 no headers in an unpacked Python": (
        change(laptop(), headers={"present": False}, python={"base_prefix": "/opt/python"}),
        ("D17", "problem", "uv venv --python 3.12", 1),
    ),
    "D18 Mac without OpenMP": (
        replace(
            mac(),
            openmp=facts.Trial(
                "clang++", True, False, "trial.cpp:1:10: fatal error: 'omp.h' file not found"
            ),
        ),
        ("D18", "problem", "brew install libomp", 1),
    ),
    "D18 Mac without Xcode's tools": (
        replace(
            mac(),
            openmp=None,
            compiler=facts.Trial(
                "clang++", True, False, "xcrun: error: invalid active developer path"
            ),
        ),
        ("D18", "problem", "xcode-select --install", 1),
    ),
    "D18 conda on a Mac": (
        change(
            replace(mac(), openmp=facts.Trial("clang++", True, False, "'omp.h' file not found")),
            python={"conda": True},
        ),
        ("D18", "problem", "llvm-openmp", 1),
    ),
    "D20 cache mounted noexec": (
        change(
            laptop(),
            cache={
                "failed_at": "load",
                "loaded": False,
                "error": "OSError: x.so: failed to map segment from shared object",
            },
        ),
        ("D20", "problem", "COURSE_CACHE", 1),
    ),
    "D20 the reader chose the folder": (
        change(laptop(), cache={"chosen": True, "failed_at": "load", "loaded": False}),
        ("D20", "problem", "unset TORCHINDUCTOR_CACHE_DIR", 1),
    ),
    "D21 cache belongs to somebody else": (
        change(
            laptop(),
            cache={"failed_at": "write", "error": "[Errno 13] Permission denied", "owner": "root"},
        ),
        ("D21", "problem", "owner: root", 1),
    ),
    "D21 a file in the way": (
        change(laptop(), cache={"failed_at": "make", "error": "[Errno 20] Not a directory"}),
        ("D21", "problem", "Cannot make the folder", 1),
    ),
    **{
        f"D24 {error}": (compile_failed(error), ("D24", "problem", "Delete this folder", 1))
        for error in (
            "BackendCompilerFailed: backend='inductor' raised:\nImportError: c.so: file too short",
            "BackendCompilerFailed: backend='inductor' raised:\nAttributeError: module "
            "'torch._inductor.runtime.compile_tasks.c6jf' has no attribute 'call'",
            "_pickle.UnpicklingError: pickle data was truncated",
        )
    },
    "D24 other numbers than eager": (
        change(laptop(), compile={"difference": 0.5}),
        ("D24", "problem", "other numbers than eager", 1),
    ),
    "D24 nan": (
        change(laptop(), compile={"difference": float("nan")}),
        ("D24", "problem", "other numbers than eager", 1),
    ),
    "D25 64 MB of shared memory": (
        change(laptop(), room={"shared_memory": 64 * 2**20}),
        ("D25", "warning", "--shm-size=2g", 0),
    ),
    "little memory": (
        change(laptop(), room={"memory": 2 * GIB}),
        ("memory", "warning", "2 GiB of memory", 0),
    ),
    "a full disk": (
        change(laptop(), room={"disk_free": 200 * 2**20}),
        ("disk", "warning", "200 MiB left", 0),
    ),
    "D26 no AVX": (
        change(broken("", code=-4), machine={"cpu_flags": ("sse2", "lm")}),
        ("D26", "problem", "this CPU does not offer avx and avx2", 2),
    ),
    "D26 on Windows": (
        change(broken("", code=0xC000001D), machine={"platform": "win32", "cpu_flags": ()}),
        ("D26", "problem", "'illegal instruction'", 2),
    ),
    "D26 on Arm, whose flags have other names": (
        change(broken("", code=-4), machine={"architecture": "aarch64", "cpu_flags": ("asimd",)}),
        ("D26", "problem", "CPU model 'host'", 2),
    ),
    "D29 random.py": (
        broken(
            "ImportError: cannot import name 'Random' from 'random' (/home/ada/nb/random.py)",
            shadows=("/home/ada/nb/random.py",),
            torch_again={"folder": facts.Import(0, said=torch_said())},
        ),
        ("D29", "problem", "Rename /home/ada/nb/random.py", 2),
    ),
    "D29 seen before it breaks anything": (
        laptop(shadows=("/home/ada/my_work/random.py",)),
        ("D29", "problem", "random", 2),
    ),
    "D29 a name that torch does not import": (
        laptop(shadows=("/home/ada/my_work/turtle.py",)),
        ("D29", "warning", "turtle", 0),
    ),
    "D29 a module that only the compiler imports": (
        change(
            laptop(shadows=("/home/ada/my_work/statistics.py",)),
            compile={"modules": ("statistics",)},
        ),
        ("D29", "problem", "Rename", 1),
    ),
    "D29 the compiler fails on it": (
        replace(
            compile_failed("AttributeError: module 'statistics' has no attribute 'mean'"),
            shadows=("/home/ada/nb/statistics.py",),
        ),
        ("D29", "problem", "Rename", 1),
    ),
    "D29 a folder named torch, and no torch": (
        replace(
            bare(),
            shadows=("/home/ada/nb/torch",),
            torch=facts.Import(0, said={"package": "torch", "file": None}),
        ),
        ("D29", "problem", "/home/ada/nb/torch", 2),
    ),
    "D31 the notebook runs elsewhere": (
        change(
            bare(packages=copies(**dict.fromkeys(copies(), None))),
            python={"prefix": "/usr", "executable": "/usr/bin/python3"},
            jupyter={"in_notebook": True},
        ),
        ("D31", "problem", '"/home/ada/course/.venv/bin/python" -m ipykernel install', 2),
    ),
    "D31 the terminal runs elsewhere": (
        change(
            bare(packages=copies(**dict.fromkeys(copies(), None))),
            python={"prefix": "/usr", "executable": "/usr/bin/python3"},
        ),
        ("D31", "problem", '"/home/ada/course/.venv/bin/python" -m course_utils doctor', 2),
    ),
    "D31 notebooks start a Python without torch": (
        kernel("/usr/bin/python3", "/usr", torch=False),
        ("D31", "warning", "starts /usr/bin/python3, which has no torch", 0),
    ),
    "D31 and this Python has a kernel of its own": (
        change(
            kernel("/usr/bin/python3", "/usr", torch=False),
            jupyter={
                "kernels": (
                    *kernel("/usr/bin/python3", "/usr", torch=False).jupyter.kernels,
                    facts.Kernel("course", "/home/ada/kernel.json", laptop().python.executable),
                )
            },
        ),
        ("D31", "note", "Change Kernel", 0),
    ),
    "D31 notebooks start a Python that is gone": (
        kernel("/gone/python"),
        ("D31", "warning", "/gone/python", 0),
    ),
    "D31 notebooks start another Python with torch": (
        kernel("/opt/conda/bin/python", "/opt/conda", torch=True),
        ("D31", "note", "has torch too", 0),
    ),
    "D31 a kernel.json that cannot be read": (
        kernel(""),
        ("D31", "warning", "cannot be read", 0),
    ),
    "D33 old half in JupyterLab": (
        change(laptop(), jupyter={"manager": "3.1.11"}),
        ("D33", "warning", "reload the page", 0),
    ),
    "D33 old half in the kernel": (
        laptop(packages=copies(ipywidgets="7.8.5")),
        ("packages", "warning", "ipywidgets 7.8.5 is outside", 0),
    ),
    "D33 the server is elsewhere and lacks its half": (
        change(laptop(), jupyter={"manager": "", "server": "/opt/hub"}),
        ("D33", "warning", '"/opt/hub/bin/python" -m pip install', 0),
    ),
    "D33 the server is elsewhere and its half is old": (
        change(laptop(), jupyter={"manager": "3.1.11", "server": "/opt/hub"}),
        ("D33", "warning", '"/opt/hub/bin/python" -m pip install', 0),
    ),
    "an encoding of its own": (
        change(laptop(), machine={"encoding": "iso8859-1"}),
        ("encoding", "note", "PYTHONUTF8=1", 0),
    ),
    "D33 the server cannot be seen": (
        change(laptop(), jupyter={"manager": ""}),
        ("D33", "unknown", "cannot see from here", 0),
    ),
    **{
        f"D34 {name}=1": (
            change(laptop(switches={name: "1"}), compile={"compiled": False}),
            ("D34", "problem", f"unset {name}", 1),
        )
        for name in ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
    },
    "D34 something else turns it off": (
        change(laptop(), compile={"compiled": False}),
        ("compile", "problem", "compiled nothing", 1),
    ),
    "D34 a library to preload that is not there": (
        laptop(
            missing_preloads=("/gone/jemalloc.so",), switches={"LD_PRELOAD": "/gone/jemalloc.so"}
        ),
        ("D34", "note", "unset LD_PRELOAD", 0),
    ),
    "D01 the wrong torchvision comes from PYTHONPATH": (
        replace(
            pair("2.14.1", "0.24.1"),
            packages={
                **copies(),
                "torchvision": (facts.Copy("0.24.1", "/data/lib"), facts.Copy("0.29.1", SITE)),
            },
            switches={"PYTHONPATH": "/data/lib"},
        ),
        ("D37", "warning", "unset PYTHONPATH", 2),
    ),
    "D37 PYTHONPATH wins": (
        laptop(
            torch=facts.Import(0, said=torch_said(file="/data/lib/torch/__init__.py")),
            switches={"PYTHONPATH": "/data/lib"},
        ),
        ("D37", "warning", "unset PYTHONPATH", 0),
    ),
    "D37 the user's own site wins": (
        laptop(
            packages={**copies(), "torch": (facts.Copy("2.14.1", USER), facts.Copy("2.15", SITE))},
            torch=facts.Import(0, said=torch_said(file=USER + "/torch/__init__.py")),
        ),
        ("D37", "warning", "PYTHONNOUSERSITE=1", 0),
    ),
    "D37 the user's own site holds the only copy": (
        laptop(torch=facts.Import(0, said=torch_said(file=USER + "/torch/__init__.py"))),
        ("D37", "note", USER, 0),
    ),
    "D37 the user's own site holds an old copy": (
        laptop(
            torch=facts.Import(
                0, said=torch_said(version="1.13.1", file=USER + "/torch/__init__.py")
            )
        ),
        ("D37", "problem", "PYTHONNOUSERSITE=1", 2),
    ),
    "D37 PYTHONPATH breaks torch": (
        broken(
            "ImportError: x",
            torch_again={"PYTHONPATH": facts.Import(0, said=torch_said())},
            switches={"PYTHONPATH": "/data/lib"},
        ),
        ("D37", "problem", "fails because of PYTHONPATH=/data/lib", 2),
    ),
    "D37 two copies": (
        laptop(
            packages={
                **copies(),
                "torch": (facts.Copy("2.14.1", SITE), facts.Copy("1.13.1", "/home/ada/.local")),
            }
        ),
        ("D37", "warning", "2 copies of torch", 0),
    ),
    "D40 the frozen channel": (
        laptop(
            environment_files={
                "environment.yml": "channels: [pytorch, nvidia, conda-forge]\ndependencies: []"
            }
        ),
        ("D40", "warning", "stopped in October 2024", 0),
    ),
    "D40 conda's pytorch and pip's torch": (
        laptop(conda_packages=("pytorch-2.5.1-py3.12_cpu_0",)),
        ("D40", "warning", "overwrite each other's files", 0),
    ),
    "no torch": (bare(), ("torch", "problem", "python3 course.py", 2)),
    "a torch from before the course": (
        pair("2.9.1", "0.24.1"),
        ("torch", "problem", "outside of >=2.14,<2.16", 2),
    ),
    "half a torch": (
        broken("ModuleNotFoundError: No module named 'torch._C'"),
        ("torch-import", "problem", "the package 'torch._C' is not", 2),
    ),
    "a package that torch needs": (
        broken("ModuleNotFoundError: No module named 'sympy'"),
        ("torch-import", "problem", "'sympy', which is missing", 2),
    ),
    "an import without an end": (
        laptop(torch=failed_import(code=-9, timed_out=True), torchvision=None, compile=None),
        ("torch-import", "problem", "did not end in time", 2),
    ),
    "an import that is killed": (
        broken(code=-9),
        ("torch-import", "problem", "memory ran out", 2),
    ),
    "an import that crashes": (
        broken(code=-11),
        ("torch-import", "problem", "crashed (return code -11)", 2),
    ),
    "an import that fails as nobody foresaw": (
        broken("ZebraError: stripes"),
        ("torch-import", "problem", "ZebraError: stripes", 2),
    ),
    "a Mac with an Intel processor": (
        change(bare(), machine={"platform": "darwin", "architecture": "x86_64", "libc": ""}),
        ("platform", "problem", "Intel processor", 2),
    ),
    "an Intel Python on Apple silicon": (
        change(
            bare(),
            machine={
                "platform": "darwin",
                "architecture": "x86_64",
                "libc": "",
                "translated": True,
            },
        ),
        ("platform", "problem", "Apple silicon build of Python", 2),
    ),
    "Windows on Arm": (
        change(bare(), machine={"platform": "win32", "architecture": "ARM64", "libc": ""}),
        ("platform", "problem", "WSL 2", 2),
    ),
    "Alpine": (
        change(bare(), machine={"libc": "musl", "distributions": ("alpine",)}),
        ("platform", "problem", "musl", 2),
    ),
    "a Mac that was never updated": (
        change(bare(), machine={"platform": "darwin", "architecture": "arm64", "macos": "13.6.1"}),
        ("platform", "problem", "macOS 13.6.1 (the wheels need macOS 14)", 2),
    ),
    **{
        f"a processor for which nothing is built: {name}": (
            change(bare(), machine={"architecture": name}),
            ("platform", "problem", f"Linux on {name}", 2),
        )
        for name in ("ppc64le", "armv7l", "i686", "riscv64", "s390x")
    },
    "Windows with 32 bits": (
        change(bare(), machine={"platform": "win32", "architecture": "x86", "libc": ""}),
        ("platform", "problem", "Windows on x86", 2),
    ),
    "D11 another implementation of Python": (
        change(bare(), python={"implementation": "PyPy"}),
        ("D11", "problem", "is PyPy, not CPython", 2),
    ),
    "D02 ROCm and a card that this user may not use": (
        rocm(amd="locked"),
        ("D02", "note", "usermod -aG render,video", 0),
    ),
    "D02 ROCm without AMD's driver": (
        rocm(amd=""),
        ("D02", "note", "--device=/dev/kfd", 0),
    ),
    "D02 ROCm beside an NVIDIA card": (
        with_card(version="2.14.1+rocm7.14", cuda=None, hip="7.14", gpu_works=False),
        ("D02", "note", "torch is built for AMD (ROCm)", 0),
    ),
    "D15 Windows has no triton for the card": (
        replace(
            windows(),
            torch=facts.Import(0, said={**with_card().torch.said, "file": None}),
            torchvision=with_card().torchvision,
            gpus=with_card().gpus,
        ),
        ("D15", "note", "COURSE_DEVICE=cpu for the chapters that compile", 0),
    ),
    "D15 a card that is too old for triton": (
        with_card(
            name="NVIDIA GeForce GTX 1080",
            capability="6.1",
            version="2.14.1+cu126",
            cuda="12.6",
            architectures=["sm_50", "sm_60", "sm_70"],
        ),
        ("D15", "note", "too old for triton", 0),
    ),
    "D05 a card that no build serves": (
        with_card(name="NVIDIA Tesla K80", capability="3.7"),
        ("D05", "note", "no build of this torch serves the card", 0),
    ),
    "D03 a driver that has a build of its own": (
        with_card(driver="550.90", banner="12.4", gpu_works=False),
        ("D03", "note", '--torch-backend=cu126 "torch==2.14.*"', 0),
    ),
    "D03 a driver that has none": (
        with_card(
            name="RTX 5090", capability="12.0", driver="570.1", banner="12.8", gpu_works=False
        ),
        ("D03", "note", "Install a newer NVIDIA driver (580 or newer)", 0),
    ),
    "torch.compile fails as nobody foresaw": (
        compile_failed("InductorError: LoweringException: zebra"),
        ("compile", "problem", "LoweringException: zebra", 1),
    ),
    "torch.compile without an end": (
        laptop(compile=facts.Compiled(-9, timed_out=True)),
        ("compile", "unknown", "did not end in time", 1),
    ),
}


@pytest.mark.parametrize("machine", HEALTHY.values(), ids=HEALTHY)
def test_a_healthy_machine_gets_no_warning(machine):
    findings, verdict = examine(machine)

    assert [f for f in findings if f.status != "ok"] == []
    assert (verdict.code, verdict.first) == (0, "")


@pytest.mark.parametrize(("machine", "expected"), BROKEN.values(), ids=BROKEN)
def test_the_cause_is_named_with_its_fix(machine, expected):
    id, status, words, code = expected

    findings, verdict = examine(machine)
    first = next(f for f in findings if f.status != "ok")

    assert (first.id, first.status) == (id, status)
    assert words in "\n".join((first.found, first.why, first.fix))
    assert verdict.code == code


@pytest.mark.parametrize(("machine", "expected"), BROKEN.values(), ids=BROKEN)
def test_one_broken_thing_makes_one_problem(machine, expected):
    findings, _ = examine(machine)

    problems = [f.id for f in findings if f.status == "problem"]

    assert len(problems) == (expected[3] > 0 and "unknown" not in expected)


@pytest.mark.parametrize(("machine", "expected"), BROKEN.values(), ids=BROKEN)
def test_every_warning_and_problem_says_why_and_what_to_do(machine, expected):
    for finding in rules.judge(machine):
        if finding.status in ("warning", "problem"):
            assert finding.found and finding.why and finding.fix, finding


def test_the_restart_comes_before_any_reinstallation():
    machine = replace(
        pair("2.9.1", "0.24.1", said_vision="0.29.1"), loaded={"torch": "2.14.1+cu130"}
    )

    _, verdict = examine(machine)

    assert told(machine) == [("O10", "problem")]
    assert "pip" not in verdict.first


def test_a_build_tag_in_memory_is_no_reason_to_restart():
    assert told(laptop(loaded={"torch": "2.14.1+cpu", "numpy": "2.4.6"})) == []


def test_the_first_problem_that_stops_the_course_is_the_first_thing_to_do():
    machine = change(no_compiler(), python={"bits": 32})

    _, verdict = examine(machine)

    assert verdict.code == 2
    assert "32-bit" in verdict.sentence
    assert verdict.first.startswith("Install a 64-bit Python")


def test_an_old_torch_with_a_wrong_torchvision_gets_one_way_out():
    findings, _ = examine(pair("2.9.1", "0.29.1"))

    problems = [f for f in findings if f.status == "problem"]

    assert [f.id for f in problems] == ["torch", "D01"]
    for finding in problems:
        assert '"torch>=2.14,<2.16" "torchvision>=0.29,<0.31"' in finding.fix


def test_what_stops_the_compiler_only_hides_nothing_about_packages():
    machine = change(
        laptop(shadows=("/home/ada/my_work/statistics.py",)),
        compile={"modules": ("statistics",)},
    )

    said = {f.id for f in examine(machine)[0]}

    assert {"torch", "torch-import", "D01", "D10", "D33"} <= said
    assert "compile" not in said


def test_root_needs_no_sudo():
    for administrator, command in ((True, "apt-get"), (False, "sudo apt-get")):
        machine = change(no_compiler(), machine={"administrator": administrator})

        assert examine(machine)[1].first == command + " install -y g++"


def test_an_old_card_is_sent_to_the_last_build_that_serves_it():
    machine = with_card(name="NVIDIA GeForce GTX 1080", capability="6.1")

    (finding,) = [f for f in rules.judge(machine) if f.id == "D05"]

    assert '--torch-backend=cu126 "torch==2.14.*" "torchvision==0.29.*"' in finding.fix


def test_a_driver_without_a_build_of_its_own_gets_no_command_that_fails():
    machine = BROKEN["D03 a driver that has none"][0]

    (finding,) = [f for f in rules.judge(machine) if f.id == "D03"]

    assert "torch-backend" not in finding.fix


def test_a_folder_that_gives_way_to_the_installed_torch_is_harmless():
    assert told(laptop(shadows=("/home/ada/my_work/torch",))) == []


def test_the_verdict_names_the_fallback_that_was_tried():
    _, verdict = examine(compile_failed("InductorError: x", fallback="eager"))

    assert "backend='eager'" in verdict.sentence


def test_a_probe_that_failed_is_never_ok():
    for name in ("torch", "compiler", "headers", "cache", "room", "gpus", "jupyter", "packages"):
        machine = replace(laptop(), failed={name: "could not tell: OSError: no"})

        said = rules.judge(machine)

        assert any(f.status == "unknown" and "could not tell" in f.found for f in said), name


def test_a_machine_about_which_nothing_is_known_gets_a_verdict():
    findings, verdict = examine(facts.Facts())

    assert verdict.code == 2
    assert all(f.status in ("unknown", "ok") for f in findings)


def test_a_rule_that_raises_says_so_and_the_others_go_on(monkeypatch):
    def raises(_):
        raise KeyError("zebra")

    monkeypatch.setattr(rules, "RULES", (rules.Rule("first", "Python", raises), *rules.RULES))

    findings = rules.judge(laptop())

    assert findings[0].status == "unknown" and "zebra" in findings[0].found
    assert len(findings) > 10


def test_a_fast_look_promises_no_more_than_it_saw():
    _, verdict = examine(laptop(fast=True, compile=None, torchvision=None))

    assert verdict.code == 0
    assert "fast look" in verdict.sentence


@pytest.mark.parametrize("value", ["0", "true", ""])
def test_only_the_value_one_turns_torch_compile_off(value):
    said = told(laptop(switches={"TORCH_COMPILE_DISABLE": value}))

    assert ("D34", "problem") not in said


def test_every_variable_that_matters_is_listed_and_the_known_ones_explained():
    findings = rules.judge(laptop(switches={"TORCH_LOGS": "+dynamo", "TORCH_ZEBRA": "1"}))

    listed = [f.found for f in findings if f.id == "D34" and f.status == "note"]

    assert listed == ["TORCH_LOGS=+dynamo: prints what the compiler does", "TORCH_ZEBRA=1"]


def test_a_cache_shared_between_machines_is_pointed_out():
    cache = facts.CacheFolder("/nfs/inductor", chosen=True, owner="ada", loaded=True)

    assert told(laptop(cache=cache)) == [("cache-cpu", "note")]


def test_the_pair_that_the_lock_installs_is_in_the_table():
    lock = (DOCTOR.parents[1] / "requirements.lock").read_text(encoding="utf-8")
    pinned = dict(line.split("==") for line in lock.splitlines() if line.startswith("torch"))

    wanted = tables.TORCHVISION_OF[versions.short(pinned["torch"])]

    assert wanted == versions.short(pinned["torchvision"])


def test_rules_only_wait_for_rules_that_come_before_them():
    seen = set()
    for rule in rules.RULES:
        assert set(rule.after) <= seen, rule.name
        seen.add(rule.name)


def test_every_case_that_is_known_has_a_machine_and_so_has_every_system():
    known = "01 02 03 05 07 08 09 10 11 14 15 16 17 18 20 21 24 25 26 29 31 33 34 37 40".split()

    named = {expected[0] for _, expected in BROKEN.values()}
    systems = {machine.machine.platform for machine, _ in BROKEN.values()}
    healthy = {machine.machine.platform for machine in HEALTHY.values()}

    assert {"O10", *(f"D{number}" for number in known)} <= named
    assert systems == healthy == {"linux", "darwin", "win32"}
    assert len(BROKEN) >= 60 and len(HEALTHY) >= 10


def test_rules_only_need_facts_that_exist():
    names = set(facts.Facts.__dataclass_fields__)

    assert {need for rule in rules.RULES for need in rule.needs} <= names


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("channels:\n  - conda-forge\n  - nodefaults\ndependencies:\n  - python\n", False),
        ("channels:\n  - pytorch\n  - conda-forge\n", True),
        ("channels: [conda-forge]\ndependencies: [python, pytorch-cuda=12.4]\n", True),
        ("dependencies:\n  - pytorch\n  - pip:\n      - torch==2.14.1\n", True),
        (
            "# the channel pytorch is gone\nname: pytorch-course\nchannels:\n  - conda-forge\n",
            False,
        ),
    ],
)
def test_a_stale_environment_file_is_recognised(text, wrong):
    assert bool(rules_packages.stale_channel(text)) is wrong


@pytest.mark.parametrize(
    ("capability", "architectures", "works"),
    [
        ("12.0", ["sm_50", "sm_90"], False),
        ("12.0", ["sm_50", "sm_90", "compute_90"], True),
        ("8.6", BLACKWELL_WHEEL, True),
        ("7.5", BLACKWELL_WHEEL, True),
        ("7.0", BLACKWELL_WHEEL, False),
        ("9.0", ["sm_90a"], True),
        ("", BLACKWELL_WHEEL, True),
    ],
)
def test_a_card_runs_code_of_its_own_major_version_only(capability, architectures, works):
    said = told(with_card(capability=capability, architectures=architectures))

    assert (("D05", "note") not in said) is works


@pytest.mark.parametrize(
    ("version", "ranges", "expected"),
    [
        ("2.14.1", ">=2.14,<2.16", True),
        ("2.9.1", ">=2.14,<2.16", False),
        ("2.16.0", ">=2.14,<2.16", False),
        ("3.14.1", ">=3.10,!=3.14.1,<3.15", False),
        ("2.14.1+cu130", "==2.14.1", True),
        ("2.14.1", "==2.14.*", True),
        ("2.15.0", "!=2.14.*", True),
        ("1.4.5", "~=1.4.2", True),
        ("1.5.0", "~=1.4.2", False),
        ("2.14", "==2.14.0", True),
        ("2.14.1", ">2.14", True),
        ("2.14.1", "<=2.14", False),
    ],
)
def test_versions_are_compared_as_numbers(version, ranges, expected):
    assert versions.inside(version, ranges) is expected


@pytest.mark.parametrize("path", sorted(DOCTOR.glob("*.py")), ids=lambda path: path.name)
def test_every_file_parses_under_python_3_7(path):
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 7))


@pytest.mark.parametrize("path", sorted(DOCTOR.glob("*.py")), ids=lambda path: path.name)
def test_no_file_needs_more_than_the_standard_library(path):
    import sys

    tree = ast.parse(path.read_text(encoding="utf-8"))
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            roots.add(node.module.split(".")[0])

    assert roots - {"course_utils"} <= set(sys.stdlib_module_names)
