"""Keep this Python off the network; ``site`` imports this file at the start of each process.

Only the first ``sitecustomize`` on the path is imported, so an environment's own is run from here.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import no_network

no_network.install()

_others = [entry for entry in sys.path if Path(entry).resolve() != no_network.FOLDER.resolve()]
_found = importlib.machinery.PathFinder.find_spec("sitecustomize", _others)
if _found is not None and _found.loader is not None:
    _found.loader.exec_module(importlib.util.module_from_spec(_found))
