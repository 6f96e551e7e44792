"""Decides when a scenario has enough rounds, in a way that looking after every round does not spoil.

Stopping at the first look at which an ordinary interval is narrow enough favours rounds that happen to
agree, so the interval covers less often than it claims (90 % instead of 95 % at worst, between 3 and 30
rounds). The remedy is a stricter confidence at every look, calibrated to the looks that are planned so that
the interval at the moment of stopping has its nominal coverage however wide the noise is. The mean of normal
rounds is independent of their variances (Helmert), so given where the rule stops the mean is an honest one
and coverage depends on a single number, the noise relative to the wanted width: the worst such noise is
searched. The price is paid where the choice is made: the first look, at which quiet scenarios stop, and the
last, at which loud ones do, choose nothing and stay near the claim; the looks between them are stricter.

All this is of normal, independent rounds. Rounds that agree by chance look precise whatever the rule: where one round
in five is slow, three quick ones are the likeliest first look, and a clock that ticks in milliseconds reads the same
time again and again. The second is mended here (``_least_half``), the first can only be named (``warnings``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from patternbench.terms.arrays import Floats, Ints
from patternbench.terms.data_problems import DataError, DataProblem, plural, raise_if_any
from patternbench.terms.quantities import SECONDS, UNITS, quantity

_PATHS = 4_000
_SIMULATED = 0.002
"""How far below the claim a simulated coverage may lie: three of its standard errors."""
_MOST_NOISE, _LEAST_NOISE, _NOISES = 0.05, 8.0, 32
"""Wanted half width over the standard deviation of a round, from hopeless to trivial, and how many are tried."""
_ENDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7)
"""Which part of the error probability (5 %, as the claim is of 95 %) the first and last look give up, mildest first."""
_STRICTEST = 0.7
"""Which part the looks between them may give up at most: 98.5 % instead of 95 %."""
_FEWEST = 3
_EQUAL_FROM = 6
"""From how many rounds on it is believed that all are equal: six of two equally likely values are, 3 times in 100."""
Look = tuple[int, int]
"""A look: at how many rounds it was taken, and how many come until the next one."""
_WIDTH = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(%|us|ms|s|m)?\s*$")


@dataclass(frozen=True)
class StoppingRule:
    """Add rounds until the interval of ``response``'s mean is within ``half_width`` of it.

    ``half_width`` is a share of the mean when ``relative`` (0.05 is 5 %), else in the response's unit. Between
    ``fewest`` (at least 3) and ``most`` rounds; ``confidence`` is what the final interval claims. ``step`` is how many
    rounds come between two looks: one, or one of each lane. Where that changed in between, ``looks`` are those up to
    now.
    """

    response: str
    half_width: float
    relative: bool
    fewest: int = 3
    most: int = 30
    confidence: float = 0.95
    step: int = 1
    looks: tuple[Look, ...] = ()


@dataclass(frozen=True)
class Decision:
    """Whether to stop, why (narrow_enough, too_few, at_most, too_wide), and the interval so far.

    ``half_width`` is None while there are too few rounds, or too few that are all equal; ``expected_rounds`` estimates
    how many the scenario needs in all.
    """

    stop: bool
    reason: str
    rounds: int
    mean: float | None
    half_width: float | None
    expected_rounds: int | None
    words: str


def parse_rule(until: Mapping[str, object], fewest: int, most: int, confidence: float = 0.95) -> StoppingRule:
    """Read ``{response: p95, half_width: 5%}`` with its bounds; raises ``DataError`` listing all problems."""
    response, text = str(until.get("response", "")), str(until.get("half_width", ""))
    match = _WIDTH.match(text)
    problems = _rule_problems(response, text, match, fewest, most)
    raise_if_any(problems)
    assert match is not None
    amount, unit = float(match.group(1)), match.group(2)
    relative = unit == "%"
    return StoppingRule(
        response,
        amount * (0.01 if relative else UNITS.get(unit or "", 1.0)),
        relative,
        fewest,
        most,
        confidence,
    )


def _rule_problems(response: str, text: str, match: re.Match[str] | None, fewest: int, most: int) -> list[DataProblem]:
    problems = []
    if not response:
        problems.append(DataProblem("no response is named.", "rounds.until.response", "Write response: p95."))
    if match is None or float(match.group(1)) == 0:
        problems.append(DataProblem(f"'{text}' isn't a half-width.", "rounds.until.half_width", "Write 5% or 20ms."))
    elif response in SECONDS and match.group(2) is None:
        problems.append(
            DataProblem(f"{response} is a time, so {text} needs a unit.", "rounds.until.half_width", "Write 20ms.")
        )
    if fewest < _FEWEST:
        problems.append(DataProblem(f"{fewest} is too few.", "rounds.min", f"At least {_FEWEST} rounds show a spread."))
    if most < fewest:
        problems.append(DataProblem(f"{most} is below min ({fewest}).", "rounds.max", f"Write {fewest} or more."))
    return problems


def decide(values: Sequence[float] | Floats, rule: StoppingRule) -> Decision:
    """Decide on one scenario from its rounds so far (the response of each finished round, in any order).

    A pure function of its arguments. A round whose value is missing or infinite does not count.
    """
    seen = np.asarray(values, dtype=float)
    seen = seen[np.isfinite(seen)]
    n = len(seen)
    if n < rule.fewest:
        words = f"{plural(n, 'round')} of at least {rule.fewest}."
        return Decision(False, "too_few", n, None, None, None, words)
    mean, spread = float(seen.mean()), float(seen.std(ddof=1))
    half = max(quantile_at(n, rule) * spread / np.sqrt(n), _least_half(seen, rule.response))
    expected = rule.half_width * abs(mean) if rule.relative else rule.half_width
    if np.ptp(seen) == 0 and n < min(_EQUAL_FROM, rule.most):
        words = f"{rule.response} was the same in {plural(n, 'round')}, too few to know its spread."
        return Decision(False, "too_wide", n, mean, None, min(_EQUAL_FROM, rule.most), words)
    return _decided(n, mean, float(half), expected, rule)


def _least_half(seen: Floats, response: str) -> float:
    """Return the least half width that rounds can claim which a coarse clock makes alike.

    Half a step of the clock where times repeat: rounds tell no more than between which two steps the mean lies. Without
    any two that differ the step is unknown.
    """
    values = np.unique(seen)
    repeated = 1 < len(values) < len(seen) and response in SECONDS
    return float(np.diff(values).min()) / 2 if repeated else 0.0


def _decided(n: int, mean: float, half: float, expected: float, rule: StoppingRule) -> Decision:
    narrow = half <= expected
    stop = narrow or n >= rule.most
    reason = "narrow_enough" if narrow else "at_most" if stop else "too_wide"
    needed = n if narrow else min(rule.most, max(n + 1, _needed(n, half, expected)))
    words = (
        f"{rule.response} known to {_shown(half, mean, rule)} after {plural(n, 'round')}; "
        f"wanted {_shown(expected, mean, rule)}."
    )
    return Decision(stop, reason, n, mean, half, needed, words)


def _needed(n: int, half: float, expected: float) -> int:
    return int(np.ceil(n * (half / expected) ** 2)) if expected > 0 and np.isfinite(half / expected) else 10**9


def _shown(width: float, mean: float, rule: StoppingRule) -> str:
    return f"+-{width / abs(mean):.1%}" if rule.relative and mean else f"+-{quantity(rule.response, width)}"


def quantile_at(n: int, rule: StoppingRule) -> float:
    """Return how many standard errors the interval of ``n`` rounds spans to each side under ``rule``."""
    planned = confidences(rule.fewest, rule.most, rule.confidence, rule.step, rule.looks)
    strict = planned[min(n, rule.most) - rule.fewest]
    return float(special.stdtrit(n - 1, (1 + strict) / 2))


def confidences(
    fewest: int, most: int, confidence: float, step: int = 1, taken: Sequence[Look] = ()
) -> tuple[float, ...]:
    """Return the confidence for each number of rounds, ``fewest`` to ``most``, that makes the stopped interval cover.

    Ints are those that were ``taken``, then every ``step`` rounds, and at ``most``. With few looks the first and the
    last give up less. Where lanes come or are lost, the looks to come are planned again, for what those before them
    used.
    """
    looks: tuple[int, ...] = ()
    planned: tuple[float, ...] = ()
    used: tuple[float, ...] = ()
    for number, (at, then) in enumerate(taken or [(fewest, step)]):
        before = (one for one, _ in taken[:number])
        coming = tuple(sorted({*before, at, *range(at, most, then), most}))
        if coming != looks:
            looks, planned = coming, _confidences(fewest, coming, confidence, used)
        used = (*used, planned[min(at, most) - fewest])
    return planned


@lru_cache(maxsize=64)
def _confidences(
    fewest: int, looks: tuple[int, ...], confidence: float, used: tuple[float, ...] = (), seed: int = 1
) -> tuple[float, ...]:
    """Return the confidences for these looks, of which the first ones ``used`` theirs already.

    The first and the last look share one confidence, as near to the claim as looks between them of a confidence up to
    ``_STRICTEST`` allow. Found over 4,000 simulated sequences of variances (from ``seed``), for the worst of 32 noises.
    """
    if len(looks) == 1:
        return (confidence,)
    errors = _standard_errors(np.array(looks), np.random.default_rng(seed))
    for share in _ENDS:
        end = 1 - (1 - confidence) * (1 - share)
        strict = _least_strict(errors, np.array(looks), end, confidence, used)
        if strict is not None:
            break
    return tuple(_planned(looks[-1] - fewest + 1, end, strict or end).tolist())


def _least_strict(errors: Floats, looks: Ints, end: float, expected: float, used: tuple[float, ...]) -> float | None:
    """Find by bisection the lowest confidence between the ends that covers as ``expected``, or None when none does."""

    def covers(strict: float) -> bool:
        planned = _planned(len(looks), end, strict)
        planned[: len(used)] = used
        return worst_coverage(errors, looks, planned) >= expected - _SIMULATED

    low, high = end, 1 - (1 - expected) * (1 - _STRICTEST)
    if covers(low):
        return low
    if not covers(high):
        return None
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (low, middle) if covers(middle) else (middle, high)
    return high


def _planned(looks: int, end: float, between: float) -> Floats:
    planned = np.full(looks, between)
    planned[[0, -1]] = end
    return planned


def _standard_errors(looks: Ints, rng: np.random.Generator) -> Floats:
    """Return s_n / sqrt(n) of unit-variance rounds along simulated paths: paths x looks."""
    squares = rng.chisquare(1, (_PATHS, int(looks[-1]) - 1)).cumsum(axis=1)
    variances = squares[:, looks - 2] / (looks - 1)
    errors: Floats = np.sqrt(variances / looks)
    return errors


def worst_coverage(errors: Floats, looks: Ints, planned: Floats) -> float:
    """Return the lowest coverage over all noises when each look uses its ``planned`` confidence."""
    halves = errors * special.stdtrit(looks - 1, (1 + planned) / 2)
    return min(_coverage(halves, looks, float(noise)) for noise in np.geomspace(_MOST_NOISE, _LEAST_NOISE, _NOISES))


def _coverage(halves: Floats, looks: Ints, expected: float) -> float:
    narrow = halves <= expected
    stopped = np.where(narrow.any(axis=1), narrow.argmax(axis=1), len(looks) - 1)
    half = np.take_along_axis(halves, stopped[:, None], axis=1)[:, 0]
    return float((2 * special.ndtr(half * np.sqrt(looks[stopped])) - 1).mean())


def next_block(rounds: Mapping[str, Sequence[float]], rule: StoppingRule) -> list[str]:
    """Return the scenarios that need one more round, in the given order: the next block.

    ``rounds`` maps each scenario to its response per finished round. Scenarios that stop leave the blocks;
    the others stay together, so that every block still holds each open scenario once.
    """
    return [name for name, values in rounds.items() if not decide(values, rule).stop]


@dataclass(frozen=True)
class Saving:
    """The rounds that the rule saved, compared with the maximum for every scenario."""

    rounds: int
    at_most: int
    scenarios: int
    unresolved: tuple[str, ...]
    words: str


def saving(decisions: Mapping[str, Decision], rule: StoppingRule) -> Saving:
    """Say what stopping early saved, and which scenarios stayed wider than wanted."""
    if not decisions:
        raise DataError(DataProblem("no scenario has a finished round."))
    used, most = sum(d.rounds for d in decisions.values()), rule.most * len(decisions)
    unresolved = tuple(name for name, d in decisions.items() if d.reason == "at_most")
    words = f"{used} of {most} rounds were needed: {1 - used / most:.0%} saved."
    if unresolved:
        words += (
            f" {plural(len(unresolved), 'scenario')} still wider than wanted after {rule.most} rounds: {unresolved[0]}."
        )
    return Saving(used, most, len(decisions), unresolved, words)
