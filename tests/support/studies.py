"""Study texts that several tests start from."""

from __future__ import annotations

import textwrap
from pathlib import Path

from patternbench.plan.expand import Plan
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.terms.problems import InputError, Problem

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = """\
patternbench: 1
name: retry-and-circuit-breaker
system: httpbin
rounds: 10
seed: 7
workload:
  closed: {users: [50, 100, 150], successes: 10, max_attempts: 500}
  request: {method: GET, path: /bytes/1000}
faults:
  - abort: {percentage: [0, 20, 40, 60, 80], status: 503}
strategies:
  - {client: resilience4j, baseline: {}}
  - client: resilience4j
    retry: {max_attempts: 6, backoff: {exponential: {initial: [20ms, 40ms, 60ms], multiplier: 1.5}}}
  - client: resilience4j
    circuit_breaker:
      {failure_rate: 100, window: {calls: 2}, minimum_calls: 2, open_for: [20ms, 40ms, 60ms], half_open_calls: 1}
"""

OWN_SYSTEM = """\
patternbench-system: 1
name: own
about: a service of a user's own
components:
  - process:
      name: shop
      {}
endpoint: shop
"""


def own_system(*lines: str) -> str:
    """The file of a system whose only component, a process, says these lines."""
    return OWN_SYSTEM.format("\n      ".join(lines))


def study(text: str = EXAMPLE, **changes: str) -> Study:
    """The study of a text in which each keyword's line-start ``key:`` is replaced by another value."""
    return loads(changed(text, **changes), "study.yaml")


def changed(text: str = EXAMPLE, **changes: str) -> str:
    lines = text.splitlines(keepends=True)
    for key, value in changes.items():
        kept = [line for line in lines if not line.startswith(f"{key}:")]
        lines = [*kept, f"{key}: {value}\n"]
    return "".join(lines)


def completed(part: str) -> str:
    """A part of a study, as a page shows it, made a whole study."""
    parts = {
        "patternbench": "patternbench: 1\n",
        "name": "name: x\n",
        "system": "system: target\n",
        "strategies": "strategies:\n  - {client: native, baseline: {}}\n",
        "workload": "workload: {open: {rate: 1, duration: 1s}}\n",
    }
    around = [text for key, text in parts.items() if f"\n{key}:" not in f"\n{part}"]
    return "".join([*around, part])


def problems(text: str, name: str = "study.yaml") -> list[Problem]:
    """What is wrong with a study's text; fails the test when nothing is."""
    try:
        loads(textwrap.dedent(text), name)
    except InputError as error:
        return error.problems
    raise AssertionError("the study was accepted")


def levels(plan: Plan) -> dict[str, list[object]]:
    """The levels of each factor of a plan."""
    return {name: list(factor.levels) for name, factor in plan.factors.items()}
