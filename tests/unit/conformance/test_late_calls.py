"""A call that a busy machine makes late is worth another try, and what a client does wrong is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from patternbench.conformance.rules.stacking import timeout_of_calls
from patternbench.conformance.trial import Outcome, Row, RuleBrokenError, TooLateError
from patternbench.drivers.contract import End

WELL = [503, *[200] * 14]


def trial_of(outcomes: list[Any], attempts: dict[int, int] | None = None) -> Any:
    """A trial whose round has these outcomes, the first call ended after 100 ms; ``attempts`` are other than 1."""
    number = dict.fromkeys(range(len(outcomes)), 1) | (attempts or {})
    calls = [place - sum(one > 1 for at, one in number.items() if at <= place) for place in number]
    begin = [0, *(100_000 + 20_000 * place for place in range(1, len(outcomes)))]
    rows = [
        Row(0, calls[at], number[at], begin[at], begin[at] + 20_000, outcome) for at, outcome in enumerate(outcomes)
    ]
    script: Any = SimpleNamespace(arrivals=[None] * len(rows))
    made = Outcome(script, rows, [], [], End(len(rows), 0, 0))
    return SimpleNamespace(run=lambda *_, **__: made)


def test_a_client_that_ends_the_pause_of_a_call_in_time_keeps_the_rule() -> None:
    assert timeout_of_calls(trial_of(WELL)) == "the next call began after 120 ms"


def test_calls_that_the_machine_holds_up_beyond_their_time_out_are_late_and_accuse_nobody_at_once() -> None:
    with pytest.raises(TooLateError, match="2 calls that the target answers after 20 ms were ended after 100 ms"):
        timeout_of_calls(trial_of([503, *[200] * 6, "timeout", "timeout", *[200] * 8]))


def test_an_attempt_that_goes_on_after_its_call_breaks_the_rule() -> None:
    with pytest.raises(RuleBrokenError) as broken:
        timeout_of_calls(trial_of([503, 200, *WELL[1:]], attempts={1: 2}))
    assert not isinstance(broken.value, TooLateError)
