"""List what the current release of torch supports: a data file, to be looked over at each release.

Nothing is computed here. ``tree`` reads it to choose a build, the doctor's rules to judge one. Each
entry says where it comes from, so that the next person can look there again; ``CHECKED`` is the day
on which all of them were.

Kind:    plumbing; chapter 2 shows what follows from it
Public:  ARCHITECTURES, BACKENDS, BUILDS, CHECKED, DRIVERS, EXCLUDED_PYTHONS, GIGABYTES, LIBC,
         MACOS, MAJOR, PAIR, PLAIN_PIP, PROCESSORS, PYTHONS, ROCM, TRITON, TRITON_SYSTEMS
Imports: nothing; parses under Python 3.7
"""

__all__ = [
    "ARCHITECTURES",
    "BACKENDS",
    "BUILDS",
    "CHECKED",
    "DRIVERS",
    "EXCLUDED_PYTHONS",
    "GIGABYTES",
    "LIBC",
    "MACOS",
    "MAJOR",
    "PAIR",
    "PLAIN_PIP",
    "PROCESSORS",
    "PYTHONS",
    "ROCM",
    "TRITON",
    "TRITON_SYSTEMS",
]

CHECKED = "2026-12-01"

# torch and the torchvision that belongs to it. Source: the wheels' metadata, torchvision's README.
# CUDA 12.6 leaves with torch 2.15 (pytorch/pytorch issue 190385), so the pair is named in commands
PAIR = ("2.14", "0.29")

# first and last minor version of Python. Source: Requires-Python and classifiers in the metadata
PYTHONS = ((3, 10), (3, 14))

# versions inside that range that torchvision excludes by name. Source: its Requires-Python
EXCLUDED_PYTHONS = ((3, 14, 1),)

# operating system -> processors for which there are wheels. Source: pip's answer for each platform
PROCESSORS = {
    "linux": ("x86_64", "aarch64"),
    "win32": ("x86_64",),
    "darwin": ("arm64",),
}

# oldest C library, from the tag manylinux_2_28, and oldest macOS, from the tag macosx_14_0_arm64
LIBC = (2, 28)
MACOS = (14,)

# what `pip install torch` brings on each system. Source: torch/version.py inside each wheel
PLAIN_PIP = {"linux": "cu130", "win32": "cpu", "darwin": "mac"}

# builds, best first; CUDA 13.2 is there for who asks for it and serves the same cards as 13.0.
# Source: pytorch/pytorch issue 190355, pull request 194367
BUILDS = {
    "cu130": "CUDA 13.0",
    "cu132": "CUDA 13.2",
    "cu126": "CUDA 12.6",
    "cpu": "CPU",
    "mac": "macOS",
    "rocm": "ROCm",
}

# NVIDIA generations that each build holds code for, by processor; a card runs code of its own
# major version that is not newer than itself. Source: RELEASE.md of torch (pull request 182849,
# 197555) and torch.cuda.get_arch_list() of the wheel
ARCHITECTURES = {
    ("cu126", "x86_64"): ((5, 0), (6, 0), (7, 0), (7, 5), (8, 0), (8, 6), (9, 0)),
    ("cu130", "x86_64"): ((7, 5), (8, 0), (8, 6), (9, 0), (10, 0), (12, 0)),
    ("cu132", "x86_64"): ((7, 5), (8, 0), (8, 6), (9, 0), (10, 0), (12, 0)),
    ("cu126", "aarch64"): ((8, 0), (9, 0)),
    ("cu130", "aarch64"): ((8, 0), (9, 0), (10, 0), (11, 0), (12, 0)),
    ("cu132", "aarch64"): ((8, 0), (9, 0), (10, 0), (11, 0), (12, 0)),
}

# oldest driver of each major version of CUDA; within one major version any driver serves. Source:
# NVIDIA's CUDA compatibility guide, table of minor version compatibility
DRIVERS = {13: 580, 12: 525, 11: 450}
MAJOR = {"cu126": 12, "cu130": 13, "cu132": 13}

# torch.compile for an NVIDIA card needs triton: the oldest card, and the systems that have it.
# Source: GPUTooOldForTriton in torch, the marker of torch's dependency on triton
TRITON = (7, 0)
TRITON_SYSTEMS = ("linux",)

# AMD's ROCm: on Linux only. Source: pytorch/pytorch pull request 194367
ROCM = "7.14"

# what `uv pip install --torch-backend` calls a build; it does not know ROCm 7.14.
# Source: uv pip install --help of the uv in requirements.lock
BACKENDS = ("cpu", "cu126", "cu130", "cu132")

# free disk that an installation needs, with room to unpack. Source: du of each
GIGABYTES = {"cpu": 3, "mac": 3, "cu126": 8, "cu130": 8, "cu132": 8, "rocm": 20}
