"""Judge Jupyter's side: which Python its kernels start, and the two halves of the widgets.

Kind:    plumbing
Public:  kernels, widgets
Imports: finding, fixes, tables, versions
"""

from __future__ import annotations

import os

from course_utils.doctor import fixes, tables
from course_utils.doctor.finding import note, ok, unknown, warning
from course_utils.doctor.versions import release

__all__ = ["kernels", "widgets"]

# the name that every notebook of the course asks for
NOTEBOOKS_KERNEL = "python3"


def kernels(facts):
    """Say which Python the kernel of the notebooks starts (D31)."""
    if facts.jupyter.in_notebook:
        return []  # the rule on the notebook's own Python has the answer
    if not facts.packages.get("ipykernel"):
        return []  # said by the rule on missing packages
    named = {kernel.name: kernel for kernel in facts.jupyter.kernels}
    kernel = named.get(NOTEBOOKS_KERNEL)
    if kernel is None:
        # Jupyter offers the Python that has ipykernel under this name, without a file
        return [ok("D31", "Notebooks start this Python")]
    if not kernel.python:
        why = "Jupyter cannot start a kernel from it."
        fix = f"Delete {os.path.dirname(kernel.file)}"
        return [warning("D31", f"{kernel.file} cannot be read", why, fix)]
    if _same_place(kernel, facts.python):
        return [ok("D31", "Notebooks start this Python")]
    own = [other for name, other in named.items() if name != NOTEBOOKS_KERNEL]
    return [_another_python(facts, kernel, any(_same_place(other, facts.python) for other in own))]


def _another_python(facts, kernel, has_own):
    found = f"Jupyter's kernel '{kernel.name}' starts {kernel.python}"
    if kernel.torch is False:
        found += ", which has no torch"
    elif kernel.torch is None and not kernel.prefix:
        found += ", which does not answer" if not facts.fast else ""
    if kernel.torch:
        return note("D31", found, "It has torch too, so either may do.")
    why = f"Notebooks then run there and not in {facts.python.prefix}. It is said in {kernel.file}."
    if has_own:
        return note("D31", found, why, "Kernel > Change Kernel, and take the one of this Python.")
    fix = fixes.make_kernel(facts.python.executable) + ", then Kernel > Change Kernel > course"
    return warning("D31", found, why, fix)


def _same_place(kernel, python):
    if kernel.prefix:
        return os.path.realpath(kernel.prefix) == os.path.realpath(python.prefix)
    # the folder is compared, since in an environment the program itself is a link to another
    own = os.path.dirname(os.path.abspath(python.executable))
    return os.path.realpath(os.path.dirname(kernel.python)) == os.path.realpath(own)


def widgets(facts):
    """Say whether ipywidgets and its half in JupyterLab belong together (D33)."""
    copies = facts.packages.get("ipywidgets", ())
    if not copies:
        return []
    manager = facts.jupyter.manager
    if not manager and facts.jupyter.server:
        found = f"JupyterLab runs in {facts.jupyter.server} and lacks its half of ipywidgets"
        why = "A widget then shows as text."
        return [warning("D33", found, why, _upgrade_in_server(facts))]
    if not manager:
        found = f"ipywidgets {copies[0].version}; JupyterLab's half is not in this environment"
        why = "JupyterLab may run in another one, which the doctor cannot see from here."
        fix = "Where JupyterLab runs: python -m pip install --upgrade jupyterlab_widgets"
        return [unknown("D33", found, why, fix)]
    wanted = tables.IPYWIDGETS_OF_MANAGER.get(manager.split(".")[0])
    found = f"ipywidgets {copies[0].version} with JupyterLab's manager {manager}"
    if wanted is None:
        return [unknown("D33", found + " is not in the doctor's table")]
    if release(copies[0].version)[:1] != (int(wanted),):
        why = "Manager {} goes with ipywidgets {}; a widget then shows as text.".format(
            manager.split(".")[0], wanted
        )
        fix = fixes.install(facts, "jupyterlab_widgets", "ipywidgets")
        if facts.jupyter.server:
            fix = _upgrade_in_server(facts)
        return [warning("D33", found, why, fix + "  Then reload the page in the browser.")]
    return [ok("D33", found)]


def _upgrade_in_server(facts):
    return f'"{facts.jupyter.server}/bin/python" -m pip install --upgrade jupyterlab_widgets'
