"""Compile without torchvision, alone and while two workers load, each with a cache of its own.

The process that starts this one adds variables that are said to be loud, and a foreign nvcc.
"""

import json
import logging
import os
import sys
import tempfile
from pathlib import Path

sys.modules["torchvision"] = None  # importing it raises ImportError from now on

import torch  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

FOLDER = "LEDGER_FOLDER"


def wave(x):
    """Do something that can be compiled."""
    return torch.sin(x) * 2 + 1


def own_cache(worker):
    """Give a worker the folder that the article wants it to have."""
    folder = Path(os.environ[FOLDER], str(worker))
    folder.mkdir(exist_ok=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)


def load_and_compile(folder):
    """Go through the data twice, and compile at the first batch; the workers wait meanwhile."""
    os.environ[FOLDER] = folder
    options = {"num_workers": 2, "worker_init_fn": own_cache, "persistent_workers": True}
    loader = DataLoader(TensorDataset(torch.arange(16.0)), batch_size=4, **options)
    torch.compiler.reset()
    compiled = torch.compile(wave)
    batches = sum(torch.allclose(compiled(x), wave(x)) for _ in range(2) for (x,) in loader)
    files = sum(path.is_file() for path in Path(folder).rglob("*"))
    return {"batches": batches, "folders": len(list(Path(folder).iterdir())), "files": files}


def main():
    """Print what came of both."""
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
    x = torch.linspace(-1, 1, 64)
    equal = torch.allclose(torch.compile(wave)(x), wave(x), atol=1e-5)
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_and_compile(folder)
    print(json.dumps({"equal": equal, **loaded}))


if __name__ == "__main__":  # a worker that is spawned imports this file
    main()
