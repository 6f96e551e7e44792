"""What a round has left behind: attempts that were given up, and sent after the last that was answered well."""

from __future__ import annotations

import pandas as pd
import pytest

from patternbench.analyze.unanswered import COLUMNS, left_behind

GOOD, LATE, ENDED, BAD, REFUSED = "answered", "timeout", "cancelled", "500", "connection_error"


def attempts(*outcomes: str, calls: tuple[int, ...] = ()) -> pd.DataFrame:
    """Attempts of one user, sent one after another, each of a call of its own unless they are named."""
    of = calls or tuple(range(len(outcomes)))
    rows = [
        (0, call, 1000 * number, "answered" if outcome == BAD else outcome, outcome == GOOD)
        for number, (call, outcome) in enumerate(zip(of, outcomes, strict=True))
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"outcome": "category"})


@pytest.mark.parametrize(
    ("outcomes", "left"),
    [
        ((GOOD, GOOD), 0),
        ((), 0),
        ((GOOD, LATE, LATE), 2),
        ((LATE, LATE, GOOD), 0),
        ((GOOD, LATE, GOOD, LATE, ENDED), 2),
        ((LATE, LATE), 2),
        ((GOOD, LATE, BAD, LATE), 2),
        ((GOOD, REFUSED), 0),
    ],
)
def test_only_what_was_given_up_after_the_last_good_answer_is_left_behind(outcomes: tuple[str, ...], left: int) -> None:
    assert left_behind(attempts(*outcomes)) == left


def test_the_slower_of_two_attempts_of_a_call_that_was_answered_is_not_left_behind() -> None:
    assert left_behind(attempts(GOOD, ENDED, LATE, calls=(0, 0, 1))) == 1


def test_the_same_call_of_another_user_is_another_call() -> None:
    rows = attempts(GOOD, LATE, calls=(0, 0))
    assert left_behind(rows.assign(user=[0, 1])) == 1
