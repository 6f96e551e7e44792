"""What happened when in a round."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.blocks import InMemory
from patternbench.analyze.over_time import MOST_STEPS, over_time, typical, width_for


def attempts(*rows: tuple[int, int, bool, str]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["start_us", "end_us", "success", "outcome"])
    return table.assign(attempt=np.where(table["outcome"].isin(["dropped", "rejected"]), 0, 1))


def test_attempts_count_in_the_step_in_which_they_ended() -> None:
    found = over_time(
        attempts(
            (0, 40_000, True, "answered"),
            (10_000, 140_000, True, "answered"),
            (20_000, 150_000, False, "timeout"),
            (0, 350_000, False, "connection_error"),
            (0, 60_000, False, "cancelled"),
            (0, 0, False, "dropped"),
        ),
        0.1,
    )
    assert found["second"].tolist() == pytest.approx([0.05, 0.15, 0.25, 0.35])
    assert found["good"].tolist() == [10, 10, 0, 0]
    assert found["failed"].tolist() == [0, 10, 0, 10]
    assert found["p50_ms"].tolist()[:2] == [40, 130]
    assert found["p50_ms"][2:].isna().all()


def test_a_round_without_attempts_has_no_steps() -> None:
    assert over_time(attempts(), 0.1).empty


def test_rounds_are_put_together_by_their_medians() -> None:
    rounds = [over_time(attempts((0, 10_000 * count, True, "answered")), 0.1) for count in (1, 2, 6)]
    assert typical(rounds)["p50_ms"].tolist() == [20]


@pytest.mark.parametrize("seconds", [0.01, 1, 6, 6.1, 59, 3600])
def test_a_picture_has_no_more_steps_than_it_can_show(seconds: float) -> None:
    assert seconds / width_for(seconds) <= MOST_STEPS


def test_a_round_in_blocks_is_the_same_over_time() -> None:
    rng = np.random.default_rng(1)
    outcomes = ["answered", "timeout", "cancelled", "dropped"]
    rows = [(int(a), int(a + b), bool(b % 3), str(rng.choice(outcomes))) for a, b in rng.integers(1, 10**6, (200, 2))]
    whole = attempts(*rows)
    pd.testing.assert_frame_equal(over_time(InMemory(whole, 7), 0.1), over_time(whole, 0.1))
