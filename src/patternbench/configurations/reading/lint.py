"""What is known to go wrong with such a configuration: each caution names the page on which it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patternbench.configurations.reading.layer import Layer, ReadPolicy
from patternbench.study.model.levels import only
from patternbench.study.text.nodes import FileLine
from patternbench.study.workload.policies import REPEATING, CircuitBreaker
from patternbench.terms.units import Duration

WORSE = "docs/five-ways-to-make-it-worse.md"
FEWEST_CALLS = 10
"""Measured: a window of ten calls rejects none at 1 % failures, one of two calls rejects three of four."""


@dataclass(frozen=True)
class Caution:
    """Something to beware of: its rule, the lines that it is about, and the page with the numbers."""

    rule: str
    places: tuple[FileLine, ...]
    message: str
    page: str

    def __str__(self) -> str:
        """Return one line: ``application.yml:7: retries without jitter ... (docs/...)``."""
        return f"{', '.join(map(str, self.places))}: {self.message} ({self.page})"

    def as_json(self) -> dict[str, object]:
        """Return it as plain data."""
        places = [{"file": one.file, "line": one.line} for one in self.places]
        return {"rule": self.rule, "places": places, "message": self.message, "page": self.page}


def cautions(layers: Sequence[Layer]) -> list[Caution]:
    """Return what to beware of in layers of which each is around the next."""
    stack = [one for layer in layers for one in layer.policies]
    rules = (_multiplied, _longer_inside, _without_jitter, _without_budget, _small_windows)
    return [*(caution for rule in rules for caution in rule(stack)), *_any_method(layers), *_ejected_at_once(layers)]


def _repeating(stack: Sequence[ReadPolicy]) -> list[ReadPolicy]:
    return [one for one in stack if one.kind in REPEATING and one.policy.attempts > 1]


def _multiplied(stack: Sequence[ReadPolicy]) -> Iterator[Caution]:
    found = _repeating(stack)
    if len(found) < 2:  # noqa: PLR2004 - two of them multiply
        return
    product = 1
    for one in found:
        product *= one.policy.attempts
    factors = " x ".join(str(one.policy.attempts) for one in found)
    message = f"attempts multiply over layers: {factors} = {product} attempts of one call while all of them fail"
    yield Caution("attempts-multiply", _places(found), message, f"{WORSE}#1-retry-at-every-layer")


def _longer_inside(stack: Sequence[ReadPolicy]) -> Iterator[Caution]:
    page = f"{WORSE}#4-a-time-out-longer-than-the-callers"
    times = [(number, one, time) for number, one in enumerate(stack) if (time := _time(one))]
    for number, outer, longest in times:
        for inner_number, inner, time in times:
            between = _repeating(stack[number:inner_number])
            if number < inner_number and longest < time:
                message = f"the outer time-out of {longest} is shorter than the inner one of {time}, which never acts"
                yield Caution("outer-timeout-shorter", (outer.place, inner.place), message, page)
            elif between and number < inner_number and longest.us <= time.us + _first_pause(between[0]).us:
                message = (
                    f"an attempt that times out after {time} leaves no time for another within {longest}: "
                    "the retry between them does nothing for calls that hang"
                )
                yield Caution("no-time-to-retry", (outer.place, between[0].place, inner.place), message, page)


def _time(one: ReadPolicy) -> Duration | None:
    return only(one.policy.timeout) or only(one.policy.deadline)


def _first_pause(one: ReadPolicy) -> Duration:
    return one.policy.retry.backoff.first.level if one.policy.retry else Duration(0)


def _without_jitter(stack: Sequence[ReadPolicy]) -> Iterator[Caution]:
    for one in _repeating(stack):
        if one.policy.retry and only(one.policy.retry.jitter) == "none":
            message = "the retry has no jitter: callers who failed together come back together"
            yield Caution("no-jitter", (one.place,), message, f"{WORSE}#2-retry-without-jitter")


def _without_budget(stack: Sequence[ReadPolicy]) -> Iterator[Caution]:
    found = [one for one in _repeating(stack) if one.kind == "retry"]
    if found and not any(one.kind == "retry_budget" for one in stack):
        message = "nothing bounds the share of retries: after an outage they can keep the service from recovering"
        yield Caution("no-retry-budget", _places(found), message, f"{WORSE}#a-remedy-the-retry-budget")


def _small_windows(stack: Sequence[ReadPolicy]) -> Iterator[Caution]:
    for one in stack:
        breaker = one.policy.circuit_breaker
        calls = _deciding_calls(breaker) if breaker else FEWEST_CALLS
        if calls < FEWEST_CALLS:
            message = f"the circuit breaker judges by {calls} calls: a few failures by chance open it"
            yield Caution("small-window", (one.place,), message, f"{WORSE}#3-a-breaker-that-judges-by-too-few-calls")


def _deciding_calls(breaker: CircuitBreaker) -> int:
    """Return how few results may open a breaker."""
    window = only(breaker.window.calls)
    least = breaker.minimum_calls.level
    return least if window is None else min(window, least)


def _ejected_at_once(layers: Sequence[Layer]) -> Iterator[Caution]:
    for layer in layers:
        failures = layer.settings.get("outlier_failures")
        if isinstance(failures, int) and 0 < failures < 3:  # noqa: PLR2004 - as few as chance gives in a row
            message = f"outlier detection leaves a host out after {failures} failures in a row, which chance gives too"
            page = f"{WORSE}#3-a-breaker-that-judges-by-too-few-calls"
            yield Caution("few-failures-eject", (layer.place,), message, page)


def _any_method(layers: Sequence[Layer]) -> Iterator[Caution]:
    for layer in layers:
        retry = next((one.policy.retry for one in layer.policies if one.policy.retry), None)
        if layer.repeats_any_method and retry and retry.on != ["connection_error"]:
            message = (
                f"{layer.product} tries every method again, a POST too: what has an effect may happen twice, "
                "unless the service knows a repeated call by its key"
            )
            yield Caution("repeats-any-method", (layer.repeats_any_method,), message, "docs/patterns/retry.md#when")


def _places(found: Sequence[ReadPolicy]) -> tuple[FileLine, ...]:
    return tuple(dict.fromkeys(one.place for one in found))
