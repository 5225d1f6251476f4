"""Hold what the rules compare with and ``releases`` does not say: pairs, switches, sizes.

The rules hold no version of their own. Each table says where its lines come from; what is not in a
table is not judged.

Kind:    plumbing
Public:  EXCLUDED_PYTHONS, FIRST_FREE_THREADED, FIRST_TORCH_FOR_NUMPY_2, IPYWIDGETS_OF_MANAGER,
         KNOWN_SWITCHES, LITTLE_DISK, LITTLE_MEMORY, LITTLE_SHARED_MEMORY, SWITCHES_OFF,
         TORCHVISION_OF
Imports: nothing
"""

from __future__ import annotations

__all__ = [
    "EXCLUDED_PYTHONS",
    "FIRST_FREE_THREADED",
    "FIRST_TORCH_FOR_NUMPY_2",
    "IPYWIDGETS_OF_MANAGER",
    "KNOWN_SWITCHES",
    "LITTLE_DISK",
    "LITTLE_MEMORY",
    "LITTLE_SHARED_MEMORY",
    "SWITCHES_OFF",
    "TORCHVISION_OF",
]

# torch -> torchvision, from the table in torchvision's README and the wheels' metadata
TORCHVISION_OF = {
    "2.15": "0.30",
    "2.14": "0.29",
    "2.13": "0.28",
    "2.12": "0.27",
    "2.11": "0.26",
    "2.10": "0.25",
    "2.9": "0.24",
    "2.8": "0.23",
    "2.7": "0.22",
    "2.6": "0.21",
    "2.5": "0.20",
    "2.4": "0.19",
    "2.3": "0.18",
    "2.2": "0.17",
    "2.1": "0.16",
    "2.0": "0.15",
    "1.13": "0.14",
    "1.12": "0.13",
}

# Python versions inside the range that a package excludes by name, from its metadata
EXCLUDED_PYTHONS = {(3, 14, 1): "is the one that torchvision 0.29 excludes"}

# torch has packages for free-threaded builds of Python from here on, from the list of its wheels
FIRST_FREE_THREADED = (3, 14)

# torch built for NumPy 1 cannot hand arrays to NumPy 2; 2.3 is the first that can
FIRST_TORCH_FOR_NUMPY_2 = (2, 3)

# front end "jupyterlab-manager" -> ipywidgets, from ipywidgets' own documentation
IPYWIDGETS_OF_MANAGER = {"5": "8", "3": "7"}

# variables that change what torch.compile does: value (None = any) -> what it does
SWITCHES_OFF = {
    "TORCH_COMPILE_DISABLE": "1",
    "TORCHDYNAMO_DISABLE": "1",
}
KNOWN_SWITCHES = {
    "TORCH_COMPILE_DISABLE": "turns torch.compile off when it is exactly 1",
    "TORCHDYNAMO_DISABLE": "turns torch.compile off when it is exactly 1",
    "TORCHINDUCTOR_CACHE_DIR": "says where compiled kernels are kept",
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "compiles everything anew in each process",
    "TORCHINDUCTOR_MAX_AUTOTUNE": "tries many kernels, so compiling takes much longer",
    "TORCHDYNAMO_SUPPRESS_ERRORS": "hides errors of the compiler and goes on in eager",
    "TORCHDYNAMO_VERBOSE": "makes error messages longer",
    "TORCH_COMPILE_DEBUG": "writes a folder of traces for each compilation",
    "TORCH_LOGS": "prints what the compiler does",
    "ATEN_CPU_CAPABILITY": "makes torch use other vector instructions than this CPU has best",
    "OMP_NUM_THREADS": "limits the threads of one operation",
    "MKL_NUM_THREADS": "limits the threads of one operation",
    "CUDA_VISIBLE_DEVICES": "hides graphics cards",
    "LD_LIBRARY_PATH": "puts other libraries before torch's own",
    "LD_PRELOAD": "loads a library into every program",
    "PYTHONPATH": "puts other packages before this environment's",
    "PYTHONOPTIMIZE": "removes assert statements",
}

# GiB below which the doctor speaks up
LITTLE_MEMORY, LITTLE_SHARED_MEMORY, LITTLE_DISK = 3.0, 1.0, 1.0
