"""First studies: from what is measured, what is to be found out and how long that may take, to the files of it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent, indent

from patternbench.terms.problems import InputError, Problem

FEWEST, MOST = 3, 30
"""Rounds: with fewer there is no interval, and more than that tell little more."""
LENGTHS_S = (5, 4, 3, 2)
"""How long a round measures: as long as leaves enough rounds."""
GOOD = 6
"""Rounds that are worth a shorter measuring time of each."""
AROUND_S = 1.2
"""Seconds of a round in addition to measuring: the warm-up, and the time between two rounds."""
USERS = 10
RATE = 50
"""Arrivals per second where users who wait would hide a fault: they send nothing while it acts."""


@dataclass(frozen=True)
class Goal:
    """A goal of a study: its name, its question, its number of scenarios, and its part of the file.

    ``{users}``, ``{rate}`` and ``{seconds}`` in the text are filled in. ``component`` is the same where the lab starts
    what is measured, so that faults can act on it; empty where that makes no difference.
    """

    word: str
    question: str
    scenarios: int
    text: str
    component: str = ""


WORKLOAD = """\
workload:
  closed: {users: {users}, think_time: 20ms, duration: {seconds}s}   # users who wait for their answers
"""
RETRY = Goal(
    "retry",
    "Which retry hides its failures, and what does it cost?",
    10,
    WORKLOAD
    + """\
{request}
faults:
  - abort: {percentage: [0, 20], status: 503}       # this share of the requests fails at the edge
strategies:
  - {client: native, baseline: {}}                  # no retry: what the others are compared with
  - client: native
    retry:
      max_attempts: [2, 4]                          # the first included
      backoff: {exponential: {initial: [10ms, 100ms], multiplier: 2}}
      jitter: full
recommend:
  objectives: [minimise call_success_p95]
  subject_to: [failure_rate <= 1%]
""",
)
BREAKER = Goal(
    "breaker",
    "Does a circuit breaker help, and how long should it stay open?",
    6,
    WORKLOAD
    + """\
{request}
faults:
  - abort: {percentage: [0, 60], status: 503}       # this share of the requests fails at the edge
strategies:
  - {client: native, baseline: {}}                  # no breaker: what the others are compared with
  - client: native
    circuit_breaker:
      failure_rate: 50                              # opens when this percentage of the window failed
      window: {calls: 20}
      minimum_calls: 10
      open_for: [100ms, 1s]
      half_open_calls: 4
""",
)
TIMEOUT = Goal(
    "timeout",
    "Which time-out, with one more attempt, is best when some answers hang?",
    8,
    WORKLOAD
    + """\
{request}
faults:
  - delay: {percentage: [0, 10], duration: 2s}      # this share of the requests hangs
strategies:
  - {client: native, baseline: {}}                  # waits as long as it takes
  - client: native
    stack:
      - retry: {max_attempts: 2, backoff: {fixed: {delay: 10ms}}, jitter: full}
      - timeout: [100ms, 300ms, 1s]                 # of each attempt
recommend:
  objectives: [minimise call_success_p95]
  subject_to: [failure_rate <= 1%]
""",
)
LOAD = Goal(
    "load",
    "How much load does it take before it becomes slow?",
    6,
    """\
workload:
  open: {rate: [5, 10, 20, 50, 100, 200], duration: {seconds}s}   # per second, however long answers take
{request}
strategies:
  - {client: native, baseline: {}}
""",
)
ARRIVALS = """\
workload:
  open: {rate: {rate}, duration: {seconds}s}        # arrivals per second, who come whether or not others wait
"""
HELD_OFF = """\
strategies:
  - {client: native, baseline: {}}                  # waits as long as it takes
  - client: native
    stack:
      - retry: {max_attempts: 4, backoff: {exponential: {initial: 50ms}}, jitter: full}
      - timeout: 300ms                              # of each attempt: without one no retry acts on what hangs
recommend:
  objectives: [minimise call_success_p95]
  subject_to: [failure_rate <= 1%]
"""
FAULTS = Goal(
    "faults",
    "What do its callers see of a fault, with a retry and without?",
    6,
    ARRIVALS
    + """\
{request}
faults:
  - reset: {percentage: [0, 2, 20]}                 # this share of the answers breaks off
"""
    + HELD_OFF,
    component=ARRIVALS
    + """\
{request}
faults:
  - freeze: {}                                      # it is frozen; `crash` would kill it and start it again
    where: {name}
    when: {from: 500ms, for: [0ms, 500ms, 1s]}      # at least a tenth of a round, so that its p95 shows it
"""
    + HELD_OFF,
)
GOALS = {goal.word: goal for goal in (RETRY, BREAKER, TIMEOUT, LOAD, FAULTS)}
"""The goals by name, in the order in which they are offered."""


@dataclass(frozen=True)
class RunningService:
    """A service that already runs, at a URL that answers."""

    root: str
    path: str
    name: str = "service"


@dataclass(frozen=True)
class StartedService:
    """A service that the lab starts: the settings of its component, by kind, and the path that is asked."""

    kind: str
    settings: Mapping[str, object]
    path: str
    name: str = "service"


Subject = RunningService | StartedService


@dataclass(frozen=True)
class Budget:
    """How many rounds of how many measured seconds each scenario gets."""

    rounds: int
    seconds: int

    def minutes(self, scenarios: int) -> float:
        """How long a run of this many scenarios takes, in minutes."""
        return scenarios * self.rounds * (self.seconds + AROUND_S) / 60

    def too_few(self, scenarios: int) -> str:
        """Return what fewer rounds than are good lack, and the time that those take; nothing if there are enough."""
        if self.rounds >= GOOD:
            return ""
        enough = math.ceil(Budget(GOOD, LENGTHS_S[-1]).minutes(scenarios))
        return (
            f"{self.rounds} rounds of each scenario fit into that time, and a 95 % interval of a median takes {GOOD}: "
            f"`--minutes {enough}` leaves time for them"
        )

    def words(self, scenarios: int) -> str:
        """How long a run of this many scenarios takes, in words."""
        minutes = max(1, round(self.minutes(scenarios)))
        return f"about {minutes} minutes" if minutes > 1 else "about a minute"


def budget(scenarios: int, minutes: float) -> Budget:
    """Return the rounds that fit into a time; raises InputError where not even the fewest of the shortest do."""
    if not math.isfinite(minutes):
        raise InputError(Problem("isn't a number of minutes", "--minutes", value=f"{minutes:g}", allowed="such as 10"))
    fitting = [Budget(int(minutes * 60 // (scenarios * (seconds + AROUND_S))), seconds) for seconds in LENGTHS_S]
    chosen = next((one for one in fitting if one.rounds >= GOOD), fitting[-1])
    if chosen.rounds < FEWEST:
        least = math.ceil(Budget(FEWEST, LENGTHS_S[-1]).minutes(scenarios))
        message = f"is too short for {scenarios} scenarios of {FEWEST} rounds"
        raise InputError(Problem(message, "--minutes", value=f"{minutes:g}", allowed=f"at least {least}"))
    return Budget(min(chosen.rounds, MOST), chosen.seconds)


def study(subject: Subject, goal: Goal, plan: Budget) -> str:
    """Return the text of a study that finds something out about a subject."""
    own = isinstance(subject, StartedService) and subject.kind == "process" and goal.component
    request = f"  request: {{path: {_written(subject.path)}}}"
    numbers = {"users": str(USERS), "rate": str(RATE), "seconds": str(plan.seconds)}
    words = {**numbers, "request": request, "name": subject.name}
    # In one pass: what is put in is a user's text, which may itself hold such a mark.
    filled = re.sub(r"\{(users|rate|seconds|request|name)\}", lambda mark: words[mark[1]], own or goal.text)
    head = f"""\
        # {goal.question}
        # patternbench plan {goal.word}.yaml lists what will be run; patternbench run {goal.word}.yaml runs it,
        # in {plan.words(goal.scenarios)}.
        patternbench: 1
        name: {goal.word}
        """
    return f"{dedent(head)}{_system(subject)}rounds: {plan.rounds}\nwarm_up: 1s\n{filled}"


def _system(subject: Subject) -> str:
    if isinstance(subject, StartedService):
        return f"system: {subject.name}                                      # systems/{subject.name}.yaml\n"
    return f"system: {{url: {_written(subject.root)}, ready: {_written(subject.path)}}}\n"


def _written(value: object) -> str:
    """Return a value as YAML: what JSON writes, every character as it is."""
    return json.dumps(value, ensure_ascii=False)


def system(subject: StartedService) -> str:
    """Return the text of the system file of a subject that the lab starts."""
    lines = "\n".join(
        f"{name}: {_written(value)}" for name, value in {"name": subject.name, **subject.settings}.items()
    )
    head = f"""\
        patternbench-system: 1
        name: {subject.name}
        about: what is measured
        components:
          - {subject.kind}:
        """
    return f"{dedent(head)}{indent(lines, ' ' * 6)}\nendpoint: {subject.name}\n"
