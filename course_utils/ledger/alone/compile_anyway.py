"""Compile one function without torchvision, whatever variables the process was given."""

import json
import logging
import sys

sys.modules["torchvision"] = None  # importing it raises ImportError from now on

import torch  # noqa: E402

logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)

x = torch.linspace(-1, 1, 64)
compiled = torch.compile(lambda x: torch.sin(x) * 2 + 1)
print(json.dumps({"equal": torch.allclose(compiled(x), torch.sin(x) * 2 + 1, atol=1e-5)}))
