"""The strategy ``today`` that configurations make, four alternatives to it, and the shortest useful study of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy

from pydantic import ValidationError

from patternbench.configurations.reading.layer import Layer, first_problem
from patternbench.study.models import Strategy
from patternbench.study.starters import Goal
from patternbench.study.text.flow import flow
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration
from patternbench.terms.visible import visible

NAME = "today"
ALTERNATIVES = 4
Entry = dict[str, object]
Stack = list[Entry]
NEVER: Entry = {"timeout": "24h"}
"""Acts never: it stands between two layers that say the same, which a stack takes for a slip."""


def stack(layers: Sequence[Layer]) -> Stack:
    """Return the policies of all layers as a stack of a study. Raises InputError where they make none."""
    found: Stack = []
    for layer in layers:
        own = [_entry(one.kind, one.written) for one in layer.policies]
        found += ([NEVER] if found and own and found[-1] == own[0] else []) + own
    if not found:
        places = ", ".join(str(layer.place) for layer in layers)
        message = f"say nothing of calls that a policy of a study says ({places})"
        raise InputError(Problem(message, hint="look at what was not expressible with `patternbench import-config`"))
    checked(found, files=", ".join(dict.fromkeys(layer.place.file for layer in layers)))
    return found


def _entry(kind: str, written: object) -> Entry:
    return {kind: deepcopy(written)}


def checked(policies: Stack, name: str = NAME, files: str = "") -> Strategy:
    """Return a stack as a strategy of a study. Raises InputError where it makes none."""
    try:
        return Strategy.model_validate({"client": "native", "name": name, "stack": policies})
    except ValidationError as error:
        raise InputError(Problem(f"make no stack of a study: {first_problem(error)}", file=files)) from None


def text(policies: Stack, layers: Sequence[Layer], name: str = NAME) -> str:
    """Return a strategy as a study writes it, with the line that each policy comes from."""
    places = [str(one.place) for layer in layers for one in layer.policies]
    lines = [f"  - client: native\n    name: {name}\n    stack:"]
    sources = iter(places)
    for entry in policies:
        source = "" if entry == NEVER else next(sources, "")
        lines.append(f"      - {flow(entry)}" + (f"   # {visible(source)}" if source else ""))
    return "\n".join(lines) + "\n"


def alternatives(policies: Stack) -> list[tuple[str, Stack]]:
    """Return four stacks that differ from today's in one thing each, the ones that were measured to matter first."""
    found: list[tuple[str, Stack]] = []
    for name, change in CHANGES.items():
        changed = change(deepcopy(policies))
        if changed and changed != policies and changed not in [one for _, one in found] and _possible(name, changed):
            found.append((name, changed))
    return found[:ALTERNATIVES]


def _possible(name: str, policies: Stack) -> bool:
    try:
        checked(policies, name)
    except InputError:
        return False
    return True


def _each(policies: Stack, kind: str) -> Iterator[dict[str, object]]:
    for entry in policies:
        fields = entry.get(kind)
        if isinstance(fields, dict):
            yield fields


def _jitter(policies: Stack) -> Stack:
    for retry in _each(policies, "retry"):
        retry.update(jitter="full")
    return policies


def _budget(policies: Stack) -> Stack:
    kinds = [next(iter(entry)) for entry in policies]
    if "retry" not in kinds or "retry_budget" in kinds:
        return []
    last = len(kinds) - 1 - kinds[::-1].index("retry")
    return [*policies[: last + 1], {"retry_budget": {"ratio": 0.1, "capacity": 10}}, *policies[last + 1 :]]


def _one_layer(policies: Stack) -> Stack:
    """Leave the outermost retry alone with its attempts."""
    retries = list(_each(policies, "retry"))
    for retry in retries[1:]:
        retry.update(max_attempts=1)
    return policies if len(retries) > 1 else []


def _wide_window(policies: Stack) -> Stack:
    for breaker in _each(policies, "circuit_breaker"):
        breaker.update(window={"calls": 100}, minimum_calls=20)
    return policies


def _two_attempts(policies: Stack) -> Stack:
    for retry in _each(policies, "retry"):
        attempts = retry.get("max_attempts")
        retry.update(max_attempts=min(attempts, 2) if isinstance(attempts, int) else attempts)
    return policies


def _without_retry(policies: Stack) -> Stack:
    return [entry for entry in policies if not {"retry", "retry_budget", "hedge"} & entry.keys()]


def _with_retry(policies: Stack) -> Stack:
    retry = {"max_attempts": 2, "backoff": {"exponential": {"initial": "50ms", "max": "1s"}}, "jitter": "full"}
    return [] if any(_each(policies, "retry")) else [{"retry": retry}, *policies]


def _with_three_attempts(policies: Stack) -> Stack:
    found = _with_retry(policies)
    for retry in _each(found, "retry"):
        retry.update(max_attempts=3)
    return found


def _with_breaker(policies: Stack) -> Stack:
    breaker = {
        "failure_rate": 50,
        "window": {"calls": 100},
        "minimum_calls": 20,
        "open_for": "2s",
        "half_open_calls": 5,
    }
    return [] if any(_each(policies, "circuit_breaker")) else [*policies, {"circuit_breaker": breaker}]


def _with_time_out(policies: Stack) -> Stack:
    """Give an attempt a tenth of its time, or a second where it has none."""
    last = policies[-1].get("timeout") if policies else None
    if isinstance(last, str) and last != NEVER.get("timeout"):
        return [*policies[:-1], {"timeout": str(Duration(max(Duration.parse(last).us // 10, 1)))}]
    return [*policies, {"timeout": "1s"}]


CHANGES: Mapping[str, Callable[[Stack], Stack]] = {
    "retry_in_one_layer": _one_layer,
    "full_jitter": _jitter,
    "with_budget": _budget,
    "wider_window": _wide_window,
    "two_attempts": _two_attempts,
    "with_retry": _with_retry,
    "shorter_time_out": _with_time_out,
    "with_breaker": _with_breaker,
    "with_three_attempts": _with_three_attempts,
    "without_retry": _without_retry,
}
"""The alternatives by their names in a study, in the order in which the first four that differ are taken."""
HEAD = """\
workload:
  closed: {users: {users}, think_time: 20ms, duration: {seconds}s}   # users who wait for their answers
{request}
faults:
  - abort: {percentage: [0, 20], status: 503}       # this share of the requests fails at the edge
strategies:
  - {client: native, baseline: {}}                  # no pattern: what the others are compared with
"""
TAIL = """\
recommend:
  objectives: [minimise call_success_p95]
  subject_to: [failure_rate <= 1%]
"""


def goal(layers: Sequence[Layer]) -> Goal:
    """Return the goal of the study that compares ``today`` with no pattern and with four alternatives."""
    own = stack(layers)
    others = alternatives(own)
    strategies = text(own, layers) + "".join(text(other, (), name) for name, other in others)
    scenarios = 2 * (len(others) + 2)
    return Goal(NAME, "Is what runs today the right choice?", scenarios, HEAD + strategies + TAIL)
