"""When a run stops before its last round: measuring on would only fill a folder with rounds that do not count."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from patternbench.observe.warning import NOTHING_SEEN
from patternbench.plan.order import Round
from patternbench.plan.scenarios import Scenario
from patternbench.records.journal import DONE, Entry
from patternbench.run.round import warnings
from patternbench.run.round.warnings import TARGET_GONE

FEWEST = 2
"""One round that is not valid, or one start that failed, may be bad luck."""


def stops(made: Sequence[Entry], coming: Round) -> bool:
    """Whether a run stops before the coming round, from what it has made, in its order.

    Counting passes among them only say whether the system starts, and whether anything can be counted.
    """
    rounds = [entry for entry in made if not entry.outside]
    if _counts_nothing(made) or _cannot_start(made):
        return True
    return bool(rounds) and (_gone(rounds[-1]) or _hopeless(rounds, coming))


def out_of_reach(expected: Scenario, scenarios: Collection[Scenario], made: Sequence[Entry]) -> bool:
    """Whether the system or the client of a scenario never came up, however often that was tried.

    Other scenarios with the same system, settings and client count as tries of it.
    """
    if sum(map(warnings.is_failed_start, made)) < FEWEST:
        return False
    alike = {one.id for one in scenarios if (one.system, one.client) == (expected.system, expected.client)}
    return _cannot_start([entry for entry in made if entry.scenario in alike])


def _counts_nothing(made: Sequence[Entry]) -> bool:
    """Whether the last counting pass had nothing to count, as it would be in all that follow."""
    return bool(made) and made[-1].counting and saw_nothing(made[-1])


def saw_nothing(entry: Entry) -> bool:
    """Whether an observer saw nothing at all of a round."""
    return any(warning.kind == NOTHING_SEEN for warning in entry.doubts)


def _cannot_start(made: Sequence[Entry]) -> bool:
    """Whether the system never came up, however often that was tried."""
    return len(made) >= FEWEST and all(warnings.is_failed_start(entry) for entry in made)


def _gone(last: Entry) -> bool:
    return any(warning.kind == TARGET_GONE for warning in last.doubts)


def _hopeless(made: Sequence[Entry], coming: Round) -> bool:
    """Whether a whole block has been run, and not one of its rounds is valid that came to an end."""
    finished = [entry for entry in made if entry.status == DONE]
    return coming.block > made[0].block and len(finished) >= FEWEST and not any(entry.valid for entry in finished)
