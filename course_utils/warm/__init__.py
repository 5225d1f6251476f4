"""Compile ahead what the chapters compile, once for all users of a machine.

Every new user waits for the same compilations: half a minute for the first function, seconds for
each later one. Here each notebook that compiles is run in a process of its own, with folders of
its own, and after each what it left is laid into the folder where ``runtime.start`` looks (see
``warmed``). So the names of what is compiled are those that the notebooks will ask for, and
stopping half-way keeps what is done.

Kind:    plumbing; chapter 9 explains the cache
Public:  Notebook, Ran, Refused, Report, find, main, warm
Imports: the standard library, places, warmed; its children: IPython, torch, runtime, workloads
"""

from course_utils.warm.command import main
from course_utils.warm.filling import Refused, Report, warm
from course_utils.warm.pieces import Notebook, find
from course_utils.warm.running import Ran

__all__ = ["Notebook", "Ran", "Refused", "Report", "find", "main", "warm"]
