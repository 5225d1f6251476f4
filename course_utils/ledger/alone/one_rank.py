"""Form a group of one process, and put the pieces of torch.distributed to the test."""

import json
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel


def attempt(call):
    """Return what a call gives as text, or the kind of its error."""
    try:
        return str(call())
    except Exception as error:
        return type(error).__name__


def step(model):
    """Train one step and tell whether each weight got a gradient."""
    model(torch.ones(4, 8)).sum().backward()
    return all(weight.grad is not None for weight in model.parameters())


with tempfile.TemporaryDirectory() as folder:
    meeting = f"{Path(folder).as_uri()}/meeting"
    dist.init_process_group("gloo", init_method=meeting, rank=0, world_size=1)
    mesh, square = init_device_mesh("cpu", (1,)), torch.ones(4, 4)
    sharded = nn.Linear(8, 2)
    fully_shard(sharded, mesh=mesh)
    said = {
        "too_many": attempt(lambda: distribute_tensor(square, mesh, [None, "shard"])),
        "a_word": attempt(lambda: distribute_tensor(square, mesh, ["shard"])),
        "columns": attempt(lambda: distribute_tensor(square, mesh, [Shard(1)]).placements),
        "cuda_mesh": attempt(lambda: DeviceMesh("cuda", [0]).device_type),
        "ddp": step(DistributedDataParallel(nn.Linear(8, 2))),
        "fsdp": step(sharded) and type(sharded.weight).__name__ == "DTensor",
    }
    dist.destroy_process_group()
print(json.dumps(said))
