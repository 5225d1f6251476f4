"""A check that compiles an answer says the same however often it is asked."""

import pytest

from course_utils.checks import check
from tests.answers.trials import module

MORE_THAN_TORCH_COMPILES = 10  # it gives up on a function after eight graphs


@pytest.mark.parametrize("id", ["1.7", "7.8", "7.11", "9.7", "9.8", "9.10", "11.12"])
def test_a_right_answer_stays_right_when_it_is_checked_again_and_again(id):
    answer = module(int(id.split(".")[0]), answers=True).ANSWERS[id].right[0]

    verdicts = {str(check(id, answer)) for _ in range(MORE_THAN_TORCH_COMPILES)}

    assert verdicts == {f"{id} right"}
