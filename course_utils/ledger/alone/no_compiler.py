"""Ask a machine whose C++ compiler is missing; the process that starts this one takes it away."""

import json
import logging

import torch

logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)


def shift(x):
    """Do something that can be compiled."""
    return x.sin() + 1


x = torch.ones(3)
captured = torch.equal(torch.compile(shift, backend="aot_eager")(x), shift(x))
try:
    torch.compile(shift)(x)
    error = ""
except Exception as failure:
    error = str(failure)
listed = "inductor" in torch.compiler.list_backends()
print(json.dumps({"captured": captured, "listed": listed, "error": error}))
