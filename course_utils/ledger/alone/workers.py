"""Load with two workers, each with a cache folder of its own, while this process compiles."""

import json
import logging
import os
import sys
import tempfile
from pathlib import Path

import torch
from torch.utils.data import DataLoader, TensorDataset

FOLDER = "LEDGER_FOLDER"


def own_cache(worker):
    """Give a worker the folder that the article wants it to have."""
    folder = Path(os.environ[FOLDER], str(worker))
    folder.mkdir(exist_ok=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)


def main():
    """Go through the data twice, and compile at the first batch."""
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        data = TensorDataset(torch.arange(16.0))
        loader = DataLoader(
            data, batch_size=4, num_workers=2, worker_init_fn=own_cache, persistent_workers=True
        )
        compiled = torch.compile(lambda x: x.sin() * 2 + 1)
        batches = sum(len(compiled(x)) == 4 for _ in range(2) for (x,) in loader)
        folders = sorted(path.name for path in Path(folder).iterdir())
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
    print(json.dumps({"batches": batches, "folders": folders, "files": len(files)}))


if __name__ == "__main__":  # a worker that is spawned imports this file
    sys.exit(main())
