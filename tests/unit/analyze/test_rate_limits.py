"""What a limiter cost and how exact it was, on tables small enough to judge by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze import rate_limits
from patternbench.analyze.throttling import Rule

RULE = Rule(window_us=1_000_000, limit=2, tolerance_us=20_000)


def test_an_answer_of_429_was_rejected_and_every_other_was_let_through() -> None:
    attempts = pd.DataFrame(
        {
            "group": ["high", "high", "low", "low"],
            "user": [0, 0, 0, 1],
            "start_us": [1, 2, 3, 4],
            "status": pd.array([200, 429, 500, None], dtype="UInt16"),
        }
    )
    found = rate_limits.of_attempts(attempts)
    assert found["client"].tolist() == ["high 0", "high 0", "low 0"]
    assert found["allowed"].tolist() == [True, False, True]


def test_the_ends_of_the_scale_are_judged_on_the_same_arrivals() -> None:
    # Four requests at once on a limit of two: the third was wrongly let through, the fourth rightly rejected.
    table = pd.DataFrame({"client": ["a"] * 4, "time_us": [0, 1, 2, 3], "allowed": [True, True, True, False]})
    found = rate_limits.judged(table, RULE)
    assert found["measured"]["deviation"] == 25
    assert found["measured"]["peak"] == 1.5
    assert found["no limiter"]["deviation"] == 50
    assert found["exact log"]["deviation"] == 0


def test_each_group_is_judged_by_its_own_requests() -> None:
    # Three requests of one user at once on a limit of two, all let through; another group stays below the limit.
    clients = ["far off 0", "far off 0", "far off 0", "low 0", "low 1"]
    table = pd.DataFrame({"client": clients, "time_us": [0, 1, 2, 3, 4], "allowed": [True] * 5})
    assert rate_limits.by_group(table, RULE) == {"far off": pytest.approx(100 / 3), "low": 0}


def test_the_overhead_is_the_difference_to_the_rounds_without_a_limiter() -> None:
    rows = pd.DataFrame({"algorithm": ["none", "none", "gcra", "gcra"], "ms": [10.0, 12.0, 13.0, 15.0]})
    found = rate_limits.overheads(rows, ["algorithm"], rows["algorithm"] == "none", "ms").set_index("algorithm")
    assert found.loc["none", "overhead"] == 0
    assert found.loc["gcra", "overhead"] == pytest.approx(3)
    assert found.loc["gcra", "percent"] == pytest.approx(300 / 11)
    assert found.loc["gcra", "low"] < 3 < found.loc["gcra", "high"]


def test_one_round_a_side_gives_an_overhead_without_an_interval() -> None:
    rows = pd.DataFrame({"algorithm": ["none", "gcra"], "ms": [10.0, 13.0]})
    found = rate_limits.overheads(rows, ["algorithm"], rows["algorithm"] == "none", "ms").set_index("algorithm")
    assert found.loc["gcra", "overhead"] == 3
    assert np.isnan(found.loc["gcra", "low"])


def test_without_rounds_without_a_limiter_the_overhead_is_unknown_and_not_zero() -> None:
    rows = pd.DataFrame({"algorithm": ["gcra", "gcra"], "ms": [13.0, 14.0]})
    found = rate_limits.overheads(rows, ["algorithm"], pd.Series(False, rows.index), "ms")
    assert found["overhead"].isna().all()
    assert found["mean"].tolist() == [13.5]
