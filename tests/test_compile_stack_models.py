"""Graphs and breaks agree with torch's own count on code that is not ours, where it can be trusted.

Torch's ``explain`` counts graphs rightly. Its breaks are the graphs less one, which is right for
a function whose graphs follow each other, and only there: without a graph it says -1.
"""

import pytest
import torch
import torchvision

from course_utils.compile_stack import count_graphs, explain


class LSTMByHand(torch.nn.Module):
    """One layer, a step at a time."""

    def __init__(self, inputs, hidden):
        """Hold the weights of all four gates in one layer."""
        super().__init__()
        self.gates = torch.nn.Linear(inputs + hidden, 4 * hidden)
        self.hidden = hidden

    def forward(self, sequence):
        """Return the last hidden state."""
        h = c = sequence.new_zeros(sequence.shape[1], self.hidden)
        for x in sequence:
            i, f, g, o = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


def training_step():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, (torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1]))


def resnet18():
    return torchvision.models.resnet18().eval(), (torch.randn(1, 3, 32, 32),)


def vision_transformer():
    model = torchvision.models.VisionTransformer(
        image_size=16, patch_size=8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32
    )
    return model.eval(), (torch.randn(1, 3, 16, 16),)


def encoder_layer():
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return layer, (torch.randn(2, 5, 16),)


def lstm_by_hand():
    return LSTMByHand(4, 8), (torch.randn(5, 2, 4),)


def lstm_of_torch():
    return torch.nn.LSTM(4, 8), (torch.randn(5, 2, 4),)


MODELS = {  # what is made: breaks as we count them, and whether torch's own count is right
    resnet18: (0, True),
    vision_transformer: (0, True),
    encoder_layer: (0, True),
    lstm_by_hand: (0, True),
    lstm_of_torch: (1, False),  # torch says -1
    training_step: (4, False),  # torch says 1, and three are in the optimiser, without a graph
}


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_graphs_and_breaks_agree_with_torch(make):
    breaks, is_comparable = MODELS[make]
    function, inputs = make()

    found = count_graphs(function, *inputs)

    theirs = torch._dynamo.explain(function)(*inputs)
    assert found.graphs == theirs.graph_count
    assert found.breaks == breaks
    if is_comparable:
        assert found.breaks == theirs.graph_break_count


def test_a_chain_of_operations_saves_its_input_only_where_eager_saves_each_step():
    def chain(x):
        for _ in range(5):
            x = torch.sin(x) * torch.cos(x)
        return x

    x = torch.randn(100, requires_grad=True)
    saved = {}

    def note(tensor):
        saved[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    found = explain(chain, x, without_inductor=True)

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        chain(x)
    del saved[x.data_ptr()]
    assert sum(saved.values()) == 14 * 400  # two factors of each product, and what went into it
    assert [(one.size, one.is_input) for one in found.graphs[0].saved] == [((100,), True)]
    assert found.saved_bytes == 0


def test_a_large_model_goes_through_autograd_too():
    model, inputs = resnet18()

    found = explain(model, *inputs, without_inductor=True)

    (graph,) = found.graphs
    assert graph.forward.count("aten.convolution.default") == 20
    assert graph.backward.count("aten.convolution_backward.default") == 20
    assert found.missing == ()
