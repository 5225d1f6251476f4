"""What must still hold for compiled code to be used again is said in a learner's words."""

import pytest
import torch

from course_utils.compile_stack import explain, guards

factor = 2.0
table = {"scale": 3}


def helper(x):
    return x + 1


class Settings:
    """What a learner might keep their numbers in."""


settings = Settings()
settings.depth = 2


def words(function, *args):
    """Return the learner's own conditions, as sentences."""
    return [str(g) for g in explain(function, *args, without_inductor=True).guards if g.yours]


def test_a_tensor_is_named_with_dtype_size_device_and_gradient():
    x, w = torch.ones(4, 3), torch.ones(3, dtype=torch.float32, requires_grad=True)

    found = words(lambda x, w: x * w, x, w)

    assert "`x` is a float32 tensor of size (4, 3) on cpu" in found
    assert "`w` is a float32 tensor of size (3,) on cpu, with requires_grad" in found
    assert "gradients are recorded" in found


def test_gradients_that_are_off_are_said_to_be_off():
    with torch.no_grad():
        found = words(lambda x: x * 2, torch.ones(2))

    assert "gradients are not recorded" in found


def test_a_tensor_that_is_not_contiguous_is_named_with_its_strides():
    found = words(lambda x: x * 2, torch.ones(4, 3).T)

    assert "`x` is a float32 tensor of size (3, 4) on cpu with strides (1, 3)" in found


def test_a_size_that_may_change_is_any_and_its_bounds_are_told():
    x = torch.ones(8, 3)
    torch._dynamo.mark_dynamic(x, 0, min=2, max=64)

    found = words(lambda x: (x * 2).sum(0), x)

    assert "`x` is a float32 tensor of size (any, 3) on cpu" in found
    assert "size 0 of `x` is from 2 to 64" in found


def test_values_globals_and_attributes_are_told_with_what_they_are():
    def uses_all(x, n, name, flag, nothing, pair):
        y = helper(x) * n * len(name) * factor * table["scale"] * settings.depth * len(pair)
        return y if flag and nothing is None else x

    found = words(uses_all, torch.ones(2), 3, "ab", True, None, [1, 2])

    for expected in (
        "`n` is 3",
        "`name` is 'ab'",
        "`flag` is True",
        "`nothing` is None",
        "`pair` is a list with 2 entries",
        "`factor` is 2.0",
        "`table['scale']` is 3",
        "`settings.depth` is 2",
        "`helper` is the same function as now",
        "`settings` is of type Settings",
    ):
        assert expected in found


def test_a_module_is_told_by_names_that_its_owner_knows():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 2)
            self.steps = 4

        def forward(self, x):
            return self.layer(x) * self.steps

    found = words(Net(), torch.ones(5, 3))

    assert "`self.steps` is 4" in found
    assert (
        "`self.layer.weight` is a float32 tensor of size (2, 3) on cpu, with requires_grad" in found
    )


def test_a_module_of_torch_is_told_by_the_names_of_its_forward():
    found = words(torch.nn.Linear(3, 2), torch.ones(5, 3))

    assert "`input` is a float32 tensor of size (5, 3) on cpu" in found
    assert any(sentence.startswith("`self.weight` is a float32 tensor") for sentence in found)
    assert not any("args" in sentence or "`fn" in sentence for sentence in found)


def test_the_same_tensor_given_twice_is_a_condition():
    x = torch.ones(2)

    assert "`a` and `b` are the same object" in words(lambda a, b: a + b, x, x)


def test_what_torch_checks_of_its_own_is_kept_apart():
    found = explain(torch.nn.Linear(3, 2), torch.ones(5, 3), without_inductor=True)

    theirs = [guard for guard in found.guards if not guard.yours]
    assert theirs
    assert f"and {len(theirs)} things that torch checks of its own" in str(found)
    assert list(found.guards) == sorted(found.guards, key=lambda guard: not guard.yours)


def test_a_long_list_of_conditions_is_cut_and_counted():
    def many(x, **values):
        for value in values.values():
            x = x + value
        return x

    found = explain(
        many, torch.ones(2), without_inductor=True, **{f"v{i}": i + 0.5 for i in range(20)}
    )

    own = [g for g in found.guards if g.yours and g.kind != "parameter"]
    assert len(own) > 20
    assert f"and {len(own) - 12} more of yours" in str(found)


def test_no_condition_holds_an_address_that_changes_with_every_run():
    found = explain(torch.nn.Linear(3, 2), torch.ones(5, 3), without_inductor=True)

    again = explain(torch.nn.Linear(3, 2), torch.ones(5, 3), without_inductor=True)
    assert [g.words for g in found.guards] == [g.words for g in again.guards]


def test_an_unknown_condition_keeps_torchs_own_words():
    fact = guards.Fact("NEW_KIND", "L['x']", None, ("new_check(L['x'], 3)  # a.py:1",))

    (found,) = guards.checked([fact])

    assert str(found) == "`new_check(x, 3)`"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("2 <= L['x'].size()[0]", "size 0 of `x` is at least 2"),
        ("L['x'].size()[0] == L['y'].size()[1]", "size 0 of `x` == size 1 of `y`"),
        ("3 <= L['x'].size()[1] and L['x'].size()[1] <= 9", "size 1 of `x` is from 3 to 9"),
    ],
)
def test_relations_of_sizes_are_read_aloud(code, told):
    (found,) = guards.checked([guards.Fact("SHAPE_ENV", "", None, (code,))])

    assert (str(found), found.kind) == (told, "size")
