"""Say what the variables of this process did: graphs that were captured, instructions in use."""

import json

import torch

graphs = []


def listen(graph, inputs):
    """Keep the graph and hand it back."""
    graphs.append(graph)
    return graph.forward


torch.compile(lambda x: x.sin() + 1, backend=listen)(torch.ones(3))
right = torch.equal(torch.ones(8, 8) @ torch.ones(8, 8), torch.full((8, 8), 8.0))
capability = torch.backends.cpu.get_cpu_capability()
print(json.dumps({"graphs": len(graphs), "capability": capability, "right": right}))
