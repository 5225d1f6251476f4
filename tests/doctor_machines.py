"""Machines for the doctor's tests: healthy ones, and a way to break one thing at a time."""

from __future__ import annotations

from dataclasses import replace

from course_utils.doctor import facts, rules

GIB = 2**30
SITE = "/home/ada/course/.venv/lib/python3.12/site-packages"
RANGES = {
    "torch": ">=2.14,<2.16",
    "torchvision": ">=0.29,<0.31",
    "numpy": ">=1.26,<3",
    "jupyterlab": ">=4.4,<5",
    "ipykernel": ">=6.29,<8",
    "ipywidgets": ">=8.1.5,<9",
    "anywidget": ">=0.9.13,<1",
}
VERSIONS = {
    "torch": "2.14.1",
    "torchvision": "0.29.1",
    "numpy": "2.4.6",
    "ipykernel": "7.4.0",
    "jupyterlab": "4.6.6",
    "ipywidgets": "8.1.9",
    "jupyterlab_widgets": "3.0.17",
    "anywidget": "0.11.0",
}
BLACKWELL_WHEEL = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]


def copies(**versions: str | None) -> dict[str, tuple[facts.Copy, ...]]:
    """The course's packages, with some versions changed or (None) missing."""
    wanted = {**VERSIONS, **versions}
    return {name: (facts.Copy(v, SITE),) if v else () for name, v in wanted.items()}


def torch_said(**changes: object) -> dict[str, object]:
    """What a healthy CPU build of torch answers in the child process."""
    return {
        "package": "torch",
        "version": "2.14.1+cpu",
        "file": SITE + "/torch/__init__.py",
        "cuda": None,
        "hip": None,
        "capability": "AVX2",
        "addition": 4.0,
        "numpy": [1.0, 1.0],
        "architectures": [],
        "gpu_works": False,
        "mps_works": False,
        "modules": ["collections", "random", "types"],
        **changes,
    }


def vision_said(**changes: object) -> dict[str, object]:
    """What a healthy CPU build of torchvision answers."""
    return {
        "package": "torchvision",
        "version": "0.29.1+cpu",
        "file": SITE + "/torchvision/__init__.py",
        "cuda": None,
        "nms": [0],
        **changes,
    }


def laptop(**changes: object) -> facts.Facts:
    """A healthy Linux laptop without a graphics card; fields of Facts may be replaced."""
    prefix = "/home/ada/course/.venv"
    whole = facts.Facts(
        machine=facts.Machine(
            "linux", "x86_64", "glibc 2.39", ("ubuntu", "debian"), cpu_flags=("avx", "avx2")
        ),
        python=facts.Python((3, 12, 3), 64, False, prefix + "/bin/python", prefix, "/usr"),
        course=facts.Course("/home/ada/course", ">=3.10,<3.15", RANGES, prefix),
        packages=copies(),
        torch=facts.Import(0, said=torch_said()),
        torchvision=facts.Import(0, said=vision_said()),
        compiler=facts.Trial("g++", found=True, works=True),
        headers=facts.Headers("/usr/include/python3.12", True),
        openmp=facts.Trial("g++", found=True, works=True),
        cache=facts.CacheFolder(
            "/home/ada/.cache/pytorch-course/inductor/torch-2.14.1+cpu-AVX2",
            chosen=False,
            owner="ada",
            loaded=True,
        ),
        room=facts.Room(16 * GIB, 8 * GIB, 80 * GIB),
        gpus=facts.Gpus("absent", cards=("Intel",)),
        toolkit=facts.Toolkit(),
        jupyter=facts.Jupyter(False, (), "5.0.16"),
        compile=facts.Compiled(0, True, 1e-8, seconds=3.0),
    )
    return replace(whole, **changes)


def change(whole: facts.Facts, **parts: dict[str, object]) -> facts.Facts:
    """Replace fields inside the records of a machine: change(laptop(), machine={"libc": ""})."""
    return replace(
        whole, **{name: replace(getattr(whole, name), **fields) for name, fields in parts.items()}
    )


def mac() -> facts.Facts:
    """A healthy Mac with Apple silicon."""
    home = "/Users/ada/course/.venv"
    said = torch_said(version="2.14.1", mps_works=True, file=home + "/lib/torch/__init__.py")
    return change(
        laptop(
            machine=facts.Machine("darwin", "arm64"),
            python=facts.Python((3, 13, 1), 64, False, home + "/bin/python", home, "/opt/python"),
            torch=facts.Import(0, said=said),
            torchvision=facts.Import(0, said=vision_said(version="0.29.1")),
            compiler=facts.Trial("clang++", True, True),
            openmp=facts.Trial("clang++", True, True),
            room=facts.Room(16 * GIB, None, 80 * GIB),
            gpus=facts.Gpus("absent"),
        ),
        course={"environment": home},
    )


def windows() -> facts.Facts:
    """A healthy Windows computer with the Build Tools."""
    home = "C:\\Users\\ada\\course\\.venv"
    said = torch_said(version="2.14.1+cpu", file=home + "\\Lib\\site-packages\\torch\\__init__.py")
    return change(
        laptop(
            machine=facts.Machine("win32", "AMD64"),
            python=facts.Python((3, 12, 3), 64, False, home + "\\python.exe", home, "C:\\Python"),
            torch=facts.Import(0, said={**said, "file": None}),
            compiler=facts.Trial("cl", True, True),
            openmp=facts.Trial("cl", True, True),
            room=facts.Room(None, None, 80 * GIB),
            gpus=facts.Gpus("absent"),
        ),
        course={"environment": home},
    )


def with_card(
    name: str = "NVIDIA GeForce RTX 3060",
    driver: str = "580.95.05",
    capability: str = "8.6",
    banner: str = "13.0",
    **said: object,
) -> facts.Facts:
    """A Linux computer with an NVIDIA card and the CUDA build of torch."""
    answer = {"version": "2.14.1+cu130", "cuda": "13.0", "gpu_works": True}
    answer = {**answer, "architectures": BLACKWELL_WHEEL, **said}
    tag = str(answer["version"]).partition("+")[2]
    vision_cuda = {"13.0": 13000, "12.6": 12060}.get(answer["cuda"])
    return laptop(
        torch=facts.Import(0, said=torch_said(**answer)),
        torchvision=facts.Import(0, said=vision_said(version=f"0.29.1+{tag}", cuda=vision_cuda)),
        gpus=facts.Gpus(
            "answered", (facts.Gpu(name, driver, capability),), banner, "", ("NVIDIA",)
        ),
    )


def examine(machine: facts.Facts) -> tuple[list[rules.Finding], rules.Verdict]:
    """Judge a machine and say the last word."""
    findings = rules.judge(machine)
    return findings, rules.verdict(machine, findings)


def told(machine: facts.Facts) -> list[tuple[str, str]]:
    """What the doctor says beyond "ok": (id, status) in order."""
    return [(f.id, f.status) for f in rules.judge(machine) if f.status != "ok"]


HEALTHY = {
    "Linux laptop without a card": laptop(),
    "Mac with Apple silicon": mac(),
    "Windows with the Build Tools": windows(),
    "NVIDIA card, driver and build that fit": with_card(),
    "card newer than the list but of the same major": with_card(capability="8.9"),
    "older driver of the same major": with_card(banner="13.0", driver="580.65.06"),
    "Linux on Arm": change(
        laptop(), machine={"architecture": "aarch64", "cpu_flags": ("asimd", "fp")}
    ),
    "WSL": change(laptop(), machine={"wsl": True}),
    "container as root": change(laptop(), machine={"container": True, "administrator": True}),
    "CUDA build on a machine without a card": laptop(
        torch=facts.Import(
            0, said=torch_said(version="2.14.1+cu130", cuda="13.0", architectures=BLACKWELL_WHEEL)
        ),
        torchvision=facts.Import(0, said=vision_said(version="0.29.1+cu130", cuda=13000)),
    ),
    "torch 2.15 with its torchvision": laptop(
        packages=copies(torch="2.15.0", torchvision="0.30.0"),
        torch=facts.Import(0, said=torch_said(version="2.15.0+cpu")),
        torchvision=facts.Import(0, said=vision_said(version="0.30.0+cpu")),
    ),
    "Python 3.14.2": change(laptop(), python={"version": (3, 14, 2)}),
    "numpy 1.26": laptop(packages=copies(numpy="1.26.4")),
    "its own notebook": change(laptop(), jupyter={"in_notebook": True}),
    "a notebook that runtime.start has prepared": change(
        laptop(switches={"TORCHINDUCTOR_CACHE_DIR": laptop().cache.path}),
        jupyter={"in_notebook": True},
    ),
    "an environment of the user's own": change(laptop(), course={"environment": None}),
    "AMD card with ROCm": laptop(
        torch=facts.Import(
            0, said=torch_said(version="2.14.1+rocm7.14", hip="7.14", gpu_works=True)
        ),
        torchvision=facts.Import(0, said=vision_said(version="0.29.1+rocm7.14")),
        gpus=facts.Gpus("absent", cards=("AMD",)),
    ),
    "kernelspec of this Python": change(
        laptop(),
        jupyter={
            "kernels": (
                facts.Kernel(
                    "python3",
                    "/home/ada/course/.venv/share/jupyter/kernels/python3/kernel.json",
                    "/home/ada/course/.venv/bin/python",
                ),
            )
        },
    ),
    "Mac whose macOS is new enough": change(mac(), machine={"macos": "14.0"}),
    "Mac in a virtual machine, without a GPU": change(
        mac(), torch={"said": {**mac().torch.said, "mps_built": True, "mps_works": False}}
    ),
    "laptop with AMD graphics and the CPU build": change(laptop(), gpus={"cards": ("AMD",)}),
    "Grace Hopper, which is an Arm": change(
        with_card(name="NVIDIA GH200", capability="9.0"), machine={"architecture": "aarch64"}
    ),
    "CUDA 12.6 for a card of 2017": with_card(
        name="Tesla V100",
        capability="7.0",
        version="2.14.1+cu126",
        cuda="12.6",
        architectures=["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"],
    ),
    "a server in another environment": change(laptop(), jupyter={"server": "/opt/hub"}),
    "a system that writes UTF-8": change(laptop(), machine={"encoding": "utf-8"}),
    "WSL with a card": change(with_card(), machine={"wsl": True}),
    "Windows with a card and a triton of its own": replace(
        windows(),
        packages=copies(triton="3.8.0"),
        torch=facts.Import(0, said={**with_card().torch.said, "file": None}),
        torchvision=with_card().torchvision,
        gpus=with_card().gpus,
    ),
    "memory that cannot be seen": laptop(room=facts.Room(None, None, 80 * GIB)),
}
