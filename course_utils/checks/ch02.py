"""Exercises and questions of chapter 2: builds, versions, causes, rules.

Kind:    plumbing; the chapter's own text is lessons/02_install_and_check.md
Public:  EXERCISES, QUESTIONS
Imports: checks.exercise
"""

from __future__ import annotations

from course_utils.checks.exercise import Option, Question

__all__ = ["EXERCISES", "QUESTIONS"]

EXERCISES = []

QUESTIONS = [
    Question(
        id="2.q1",
        text="A Linux laptop without a GPU; you type `pip install torch torchvision`. What do you "
        "get?",
        options=[
            Option(
                "The CUDA build, several gigabytes of it.",
                right=True,
                because="Pip looks at the operating system only, and on Linux that means CUDA 13.",
            ),
            Option(
                "The CPU build, since there is no GPU.",
                because="Pip never looks for a GPU; uv with --torch-backend=auto does.",
            ),
            Option(
                "An error: no CUDA found.",
                because="The CUDA build installs and runs on a CPU as well, only larger.",
            ),
        ],
    ),
    Question(
        id="2.q2",
        text="torch.version.cuda is 13.0, nvidia-smi says CUDA 13.1, nvcc is 12.4. What must be "
        "repaired before the GPU works?",
        options=[
            Option(
                "Nothing.",
                right=True,
                because="The driver reaches CUDA 13; nvcc is not asked.",
            ),
            Option(
                "Install the CUDA 13.0 toolkit.",
                because="Torch brings its own CUDA libraries; a toolkit is for building extensions.",
            ),
            Option(
                "Install a driver with exactly CUDA 13.0.",
                because="The driver's number is a promise of 'up to'; newer is fine.",
            ),
        ],
    ),
    Question(
        id="2.q3",
        text="In a notebook you have upgraded torch. Now `import torchvision` fails. What first?",
        options=[
            Option(
                "Restart the kernel.",
                right=True,
                because="The old torch is still in memory and meets what is new on the disk.",
            ),
            Option(
                "Reinstall both in a fresh environment.",
                because="That may be needed later; a restart takes a second and is tried first.",
            ),
            Option(
                "Downgrade torchvision.",
                because="That changes the disk once more, and memory still holds the old torch.",
            ),
        ],
    ),
    Question(
        id="2.q4",
        text="Which of these fails on a machine without a C++ compiler?",
        options=[
            Option(
                "Calling a function compiled with the backend inductor.",
                right=True,
                because="Only here is a kernel built. The rest never meets the compiler.",
            ),
            Option(
                "Counting the graphs of a function.",
                because="Dynamo captures in Python; no kernel is built for it.",
            ),
            Option(
                "`torch.compiler.list_backends()`",
                because="It reads a list that came with the package.",
            ),
            Option(
                "`torch.compile(f)`, without calling the result.",
                because="Nothing is compiled before the first call.",
            ),
        ],
    ),
    Question(
        id="2.q5",
        text="A graph is captured, a new kernel appears in the cache, and the compiled function "
        "is slower than eager. What follows?",
        options=[
            Option(
                "The installation works; this function did not profit.",
                right=True,
                because="Small functions, and those of one big operation, have nothing to save.",
            ),
            Option(
                "The installation is broken; reinstall.",
                because="A broken one builds no kernel. Speed is a property of the function.",
            ),
            Option(
                "TORCH_COMPILE_DISABLE is set.",
                because="Then there would be no graph and no kernel.",
            ),
        ],
    ),
]
