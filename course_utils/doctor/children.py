"""Hold the small programs that the doctor runs in a child process.

What may crash, hang or abort must not do so in the doctor's own process. Each program prints
lines that begin with ``MARK`` and hold one JSON value; everything else they print is noise.

Kind:    plumbing
Public:  COMPILE, CPP, IMPORTS, LOAD, MARK, OPENMP, WHOSE, answers
Imports: the standard library only
"""

from __future__ import annotations

import json

__all__ = ["COMPILE", "CPP", "IMPORTS", "LOAD", "MARK", "OPENMP", "WHOSE", "answers"]

MARK = "course-doctor:"

# arguments: the packages to import, torch first; one answer per package that could be imported
IMPORTS = r"""
import json, sys

def ask(question):
    try:
        return question()
    except Exception as error:
        return {"error": "%s: %s" % (type(error).__name__, error)}

def say(answer):
    print("\ncourse-doctor:" + json.dumps(answer, default=str), flush=True)

import torch
say({
    "package": "torch",
    "version": str(torch.__version__),
    "file": getattr(torch, "__file__", None),
    "cuda": ask(lambda: torch.version.cuda),
    "hip": ask(lambda: torch.version.hip),
    "capability": ask(lambda: torch.backends.cpu.get_cpu_capability()),
    "addition": ask(lambda: (torch.ones(2) + 1).sum().item()),
    "numpy": ask(lambda: torch.ones(2).numpy().tolist()),
    "architectures": ask(lambda: torch.cuda.get_arch_list()),
    "gpu_works": ask(lambda: torch.cuda.is_available()),
    "mps_works": ask(lambda: torch.backends.mps.is_available()),
    "mps_built": ask(lambda: torch.backends.mps.is_built()),
    # a file of the learner with one of these names would be imported in its place
    "modules": sorted({name.partition(".")[0] for name in sys.modules}
                      & set(getattr(sys, "stdlib_module_names", ()))),
})
if "torchvision" in sys.argv[1:]:
    import torchvision
    boxes = torch.tensor([[0.0, 0.0, 1.0, 1.0]])
    say({
        "package": "torchvision",
        "version": str(torchvision.__version__),
        "file": getattr(torchvision, "__file__", None),
        "cuda": ask(lambda: torchvision.version.cuda),
        "nms": ask(lambda: torchvision.ops.nms(boxes, torch.ones(1), 0.5).tolist()),
    })
"""

# compiles one function forward and backward and compares with eager; where that fails it tries
# the two backends that need no compiler
COMPILE = r"""
import json, os, sys, time
import torch

if sys.argv[1:]:  # the folder of the cache, with two words that only torch can say
    capability = str(torch.backends.cpu.get_cpu_capability()).replace(" ", "_")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = (
        sys.argv[1].replace("{torch}", torch.__version__).replace("{capability}", capability)
    )

def curve(x):
    # under the compiler the second value is True; where torch.compile does nothing it is False
    return (torch.sin(x) * torch.exp(-x * x) + x).mean(), torch.compiler.is_compiling()

def values(function):
    x = torch.linspace(-3, 3, 1000, requires_grad=True)
    loss, compiled = function(x)
    loss.backward()
    return torch.cat([loss.detach().reshape(1), x.grad]), compiled

def attempt(backend):
    torch.compiler.reset()
    try:
        result, compiled = values(torch.compile(curve, backend=backend))
        return {"compiled": compiled, "difference": (result - values(curve)[0]).abs().max().item()}
    except BaseException as error:
        return {"error": "%s: %s" % (type(error).__name__, error)}

start = time.perf_counter()
found = attempt("inductor")
found["seconds"] = round(time.perf_counter() - start, 2)
found["modules"] = sorted({name.partition(".")[0] for name in sys.modules}
                          & set(getattr(sys, "stdlib_module_names", ())))
found["fallback"] = None
if "error" in found:
    found["fallback"] = next((b for b in ("aot_eager", "eager") if "error" not in attempt(b)), None)
print("\ncourse-doctor:" + json.dumps(found), flush=True)
"""

# does a library that was built in the cache folder load?
LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"

# which Python is this, and can it find torch? (finding is quick, importing is not)
WHOSE = r"""
import json, sys
try:
    from importlib.util import find_spec
    torch = find_spec("torch") is not None
except Exception:
    torch = None
print("\ncourse-doctor:" + json.dumps({"prefix": sys.prefix, "torch": torch}))
"""

CPP = """#include <cmath>
#ifdef _WIN32
#define SHOWN __declspec(dllexport)
#else
#define SHOWN
#endif
extern "C" SHOWN double course_doctor(double x) { return 2 * std::fabs(x); }
"""

OPENMP = """#include <omp.h>
extern "C" int course_doctor() { return omp_get_max_threads(); }
"""


def answers(out: str) -> list:
    """Return the JSON values that a child printed, leaving out lines it did not finish."""
    found = []
    for line in out.splitlines():
        if line.startswith(MARK):
            try:
                found.append(json.loads(line[len(MARK) :]))
            except ValueError:
                continue
    return [answer for answer in found if isinstance(answer, dict)]
