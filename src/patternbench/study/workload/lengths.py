"""How long a round offers calls, as its study declares it: the time that rates per second are over.

A round with few calls ends its last one long before that time is over, or begins its first one long after it began.
Per second between the two, one call of 2.5 ms in a round of 1 s would be 400 calls per second.
"""

from __future__ import annotations

from patternbench.study.model.levels import only
from patternbench.study.model.share import ShareOfCapacity
from patternbench.study.workload.workloads import Open, Workload
from patternbench.terms.units import Duration


def declared(workload: Workload, warm_up: Duration) -> Duration | None:
    """How long a concrete workload offers calls after the warm-up; None if only a count or a file says when it ends."""
    if workload.open is None:
        return only(workload.lasting)
    return _of_arrivals(workload.open, warm_up)


def _of_arrivals(opened: Open, warm_up: Duration) -> Duration | None:
    """Return the time until the arrivals end: by their duration, their stairs or their number, whichever is first.

    Stairs and numbers are counted from the round's start, durations from the end of the warm-up.
    """
    if opened.schedule and opened.schedule.trace:
        return None
    from_start = [end for end in (stairs(opened), _counted(opened)) if end is not None]
    lasting = only(opened.duration)
    ends = [max(end.us - warm_up.us, 0) for end in from_start] + ([lasting.us] if lasting else [])
    first: int = min(ends, default=0)
    return Duration(first) if first else None


def stairs(opened: Open) -> Duration | None:
    """Return the length of a schedule that is a list of rates."""
    if opened.schedule is None or opened.schedule.steps is None:
        return None
    return Duration(sum(stair.for_.level.us for stair in opened.schedule.steps))


def _counted(opened: Open) -> Duration | None:
    """Return the time that a number of arrivals takes at a constant rate with equal gaps: each has one gap."""
    rate, number = _even_rate(opened), only(opened.arrivals)
    return Duration(round(number / rate * 1e6)) if rate and number else None


def _even_rate(opened: Open) -> float | None:
    if only(opened.spacing) == "poisson":
        return None
    constant = opened.schedule.constant.rate if opened.schedule and opened.schedule.constant else opened.rate
    rate = only(constant)
    return None if isinstance(rate, ShareOfCapacity) else rate
