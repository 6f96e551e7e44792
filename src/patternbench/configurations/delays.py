"""The pauses of a retry as the contract of clients defines them, and which other forms of jitter say the same."""

from __future__ import annotations

from dataclasses import dataclass

from patternbench.study.model.levels import Levels
from patternbench.study.workload.policies import Backoff, Retry
from patternbench.terms.units import Duration

JITTERS = {"none": (1.0, 0.0), "full": (0.5, 1.0), "equal": (0.75, 1 / 3)}
"""Each jitter as a part of the delay and a share to either side of that: ``full`` is half of it, give or take all."""


@dataclass(frozen=True)
class JitterSpread:
    """A jitter as every library knows it: a part of each delay, spread by a share to either side."""

    part: float
    share: float

    def of(self, delay: Duration) -> Duration:
        """Return the middle of a delay that is drawn so, cut to microseconds."""
        return Duration(int(delay.us * self.part))


def spread(retry: Retry) -> JitterSpread:
    """Return the jitter of a retry as a share to either side of a part of its delays, which is drawn alike."""
    jitter = retry.jitter.level
    return JitterSpread(*JITTERS[jitter]) if isinstance(jitter, str) else JitterSpread(1.0, float(jitter))


def pauses(retry: Retry, longest: bool = True) -> list[float]:
    """Return the delay before each further attempt in microseconds, before jitter (contracts/client/README.md).

    Without ``longest`` they grow beyond the longest delay.
    """
    numbers = range(retry.max_attempts.level - 1)
    bound = getattr(retry.backoff.chosen, "max", None) if longest else None
    return [_at_most(_pause(retry.backoff, number), bound) for number in numbers]


def _pause(backoff: Backoff, number: int) -> float:
    if backoff.fixed:
        return float(backoff.fixed.delay.level.us)
    if backoff.linear:
        return float(backoff.linear.initial.level.us + number * backoff.linear.increment.level.us)
    growing = backoff.exponential
    assert growing is not None  # exactly one is given
    try:
        return float(growing.initial.level.us * growing.multiplier.level**number)
    except OverflowError:
        return float("inf") if growing.initial.level.us else 0.0


def _at_most(us: float, longest: Levels[Duration] | None) -> float:
    return us if longest is None else min(us, float(longest.level.us))


def is_bounded(retry: Retry) -> bool:
    """Whether any pause of this retry is cut by its longest delay."""
    return pauses(retry) != pauses(retry, longest=False)


def steady(retry: Retry) -> Duration | None:
    """Return the delay of a retry whose pauses all have one length; None where they differ."""
    lengths = {round(us) for us in pauses(retry)} or {round(_pause(retry.backoff, 0))}
    return Duration(lengths.pop()) if len(lengths) == 1 else None


def mean(retry: Retry) -> Duration:
    """Return the mean of the pauses."""
    found = pauses(retry)
    return Duration(round(sum(found) / len(found))) if found else Duration(0)
