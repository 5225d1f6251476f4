"""Compile a function that calls the debugger, and one that a debugger watches from outside."""

import bdb
import io
import json
import pdb
import sys
import warnings

import torch

graphs = []


def listen(graph, inputs):
    """Keep the graph and hand it back."""
    graphs.append(graph)
    return graph.forward


def calls_pdb(x):
    """Stop in the middle."""
    y = torch.sin(x)
    pdb.set_trace()
    return y * 2


def watched(x):
    """Do nothing special; the breakpoint is set in its last line."""
    y = torch.sin(x)
    return y * 2


LAST_LINE = watched.__code__.co_firstlineno + 3


class Watcher(bdb.Bdb):
    """A debugger that goes on at once, and counts how often it stopped at the breakpoint."""

    stops = 0

    def user_line(self, frame):
        """Count, and go on."""
        self.stops += self.break_here(frame)
        self.set_continue()


def stops_in(call):
    """Count the stops at the breakpoint during a call."""
    watcher = Watcher()
    watcher.set_break(__file__, LAST_LINE)
    watcher.runcall(call)
    sys.settrace(None)
    return watcher.stops


x = torch.ones(3)
out, sys.stdout = sys.stdout, io.StringIO()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.compile(calls_pdb, backend=listen)(x)
pieces = len(graphs)
torch.compiler.reset()
try:
    torch.compile(calls_pdb, backend=listen, fullgraph=True)(x)
    refused = False
except Exception:
    refused = True
sys.stdout = out

graphs.clear()
eager_stops = stops_in(lambda: watched(x))
compiled = torch.compile(watched, backend=listen)
compiled_stops = stops_in(lambda: compiled(x)) + stops_in(lambda: compiled(x))
said = {"pieces": pieces, "warned": len(caught) > 0, "refused": refused, "graphs": len(graphs)}
print(json.dumps({**said, "eager_stops": eager_stops, "compiled_stops": compiled_stops}))
