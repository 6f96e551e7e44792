"""Answers of commands on rate limits."""

from __future__ import annotations

from patternbench.cli.answers.parts import CommandAnswer
from patternbench.ratelimit.records.simulated import MapScenario


class SimulateLimitsAnswer(CommandAnswer):
    """`simulate-limits`: each scenario of the map with its verdict, and which were left out."""

    left_out: list[str]
    scenarios: list[MapScenario]


class WrongDecision(CommandAnswer):
    """A decision that was not the expected one: the line of the file, the request, and which limits decided it."""

    line: int
    number: int
    method: str
    path: str
    time_s: float
    expected: str
    expected_by: str | None = None
    got: str
    got_by: list[str] | None = None
    detail: str | None = None


class LimitCounts(CommandAnswer):
    """What a limit decided."""

    name: str
    allowed: int
    rejected: int
    withdrawn: int


class LimitTestAnswer(CommandAnswer):
    """`test-limits`: the unexpected decisions, and what each limit decided."""

    requests: int
    lines: int
    wrong: list[WrongDecision]
    limits: list[LimitCounts]
