"""What a check of the contract's rules has to hand: rounds, a scripted target, and a client to run them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import httpx
import orjson
from pydantic import ValidationError

from patternbench.conformance.cases import ClientDescription, StatedProblem, StatedProblems, StrategyName
from patternbench.conformance.scripted_target import Script, ScriptedAnswer, ScriptedTarget
from patternbench.drivers.contract import ClientAbort, ContractViolation, End, read_rows, split_lines
from patternbench.records.batches import OUTCOMES, Batch

Json = dict[str, object]

EARLY_US = 1_000
LATE_US = 50_000
STRATEGIES = ("baseline", "retry", "circuit_breaker", "stack")
BASELINE: Json = {"baseline": {}}
FIXED_10MS: Json = {"fixed": {"delay_us": 10_000}}


class RuleBrokenError(Exception):
    """The client breaks a rule. The message says what was seen."""


class TooLateError(RuleBrokenError):
    """The client was late; on a busy machine that is worth another try."""


class InconclusiveError(RuleBrokenError):
    """The client was late, and so was this machine: that says nothing about the client."""


class NotApplicableError(Exception):
    """The client says that it cannot express what the rule needs."""


def expect(holds: bool, seen: object) -> None:
    """Fail the rule with what was seen, unless it holds."""
    if not holds:
        raise RuleBrokenError(str(seen))


class Row(NamedTuple):
    """One row of a stream, with ``outcome`` unchanged."""

    user: int
    call: int
    attempt: int
    start_us: int
    end_us: int
    outcome: int | str


@dataclass
class Outcome:
    """A round that has ended: its rows, when each line arrived (seconds), rows up to each, its last line."""

    script: Script
    rows: list[Row]
    lines_at: list[float]
    rows_so_far: list[int]
    end: End

    def of_user(self, user: int) -> list[Row]:
        """Give the rows of one user, in order."""
        return [row for row in self.rows if row.user == user]

    @property
    def attempts(self) -> list[Row]:
        """Give the rows that cost an attempt."""
        return [row for row in self.rows if row.attempt > 0]

    @property
    def rejected(self) -> list[Row]:
        """Give the rows of rejected calls."""
        return [row for row in self.rows if row.attempt == 0]


def retry(max_attempts: int, backoff: Mapping[str, object] = FIXED_10MS, jitter: str | float = "none") -> Json:
    """Make a retry strategy."""
    return {"retry": {"max_attempts": max_attempts, "backoff": backoff, "jitter": jitter}}


def breaker(**changes: object) -> Json:
    """Make a breaker that two failures open, as good as for ever."""
    config: Json = {
        "failure_rate": 100,
        "slow_call": None,
        "window": {"calls": 2},
        "minimum_calls": 2,
        "open_for_us": 60_000_000,
        "half_open_calls": 1,
        "scope": "client",
    }
    return {"circuit_breaker": {**config, **changes}}


def stack(*policies: Json) -> Json:
    """Make a stack, the outermost policy first; a retry in it does not honour ``Retry-After``."""
    return {"stack": [_stacked(policy) for policy in policies]}


def _stacked(policy: Json) -> Json:
    retry_ = policy.get("retry")
    return {"retry": {**retry_, "retry_after_max_us": 0}} if isinstance(retry_, dict) else policy


@dataclass
class ClientTrial:
    """A client under test and a target for it; one round at a time."""

    client: httpx.Client
    target: ScriptedTarget
    description: ClientDescription | None = None

    @property
    def strategies(self) -> list[StrategyName]:
        """The strategies that the client says it has; none as long as it has said nothing."""
        return self.description.strategies if self.description else []

    def round(self, script: Script | None = None, strategy: Json = BASELINE, **changes: object) -> Json:
        """Make a round of one user and one successful call, but for the changes."""
        plain_request: Json = {
            "method": "GET",
            "path": script.path if script else "/",
            "headers": {},
            "body": None,
            "timeout_us": 5_000_000,
        }
        body: Json = {
            "contract": 1,
            "target": self.target.url,
            "users": 1,
            "think_time_us": 0,
            "successes": 1,
            "max_attempts": None,
            "rejected_pause_us": 1_000,
            "time_limit_us": 10_000_000,
            "seed": 1,
            "strategy": strategy,
        }
        request = changes.pop("request", {})
        assert isinstance(request, dict)
        return deepcopy({**body, **changes, "request": {**plain_request, **request}})

    def run(self, answers: Callable[[int], ScriptedAnswer], users: int = 1, **changes: object) -> Outcome:
        """Run a round to its end against a script, and read all its rows."""
        script = self.target.script(answers)
        body = self.round(script, users=users, **changes)  # type: ignore[arg-type]  # any field of a round
        self.need(body)
        with self.started(body) as response:
            return _read(response, script, users)

    def need(self, body: Json) -> None:
        """Call the rule not applicable when the client cannot express the round."""
        problems = self.problems(body)
        if problems:
            raise NotApplicableError(_shown(problems))

    def problems(self, body: object) -> list[StatedProblem]:
        """Ask the client what of a round it cannot express."""
        response = self.post("/check", body)
        expect(response.status_code == httpx.codes.OK, f"/check answered {response.status_code}")
        return problems_of(response)

    def post(self, path: str, body: object) -> httpx.Response:
        """Send a body to the client; bytes go as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(path, content=content, headers={"Content-Type": "application/json"})

    @contextmanager
    def started(self, body: Json) -> Iterator[httpx.Response]:
        """Start a round; it is abandoned when the context ends before the stream does."""
        headers = {"Content-Type": "application/json"}
        with self.client.stream("POST", "/rounds", content=json.dumps(body).encode(), headers=headers) as response:
            if response.status_code != httpx.codes.OK:
                response.read()
                expect(False, f"/rounds answered {response.status_code}: {response.text[:200]}")
            kind = response.headers.get("Content-Type", "none").split(";")[0]
            expect(kind == "application/x-ndjson", f"the stream has Content-Type {kind}")
            yield response


def problems_of(response: httpx.Response) -> list[StatedProblem]:
    """Read a list of problems from an answer, and check its form."""
    try:
        refusal = StatedProblems.model_validate(json_of(response))
    except ValidationError:
        raise RuleBrokenError(f'answer {response.text[:200]} isn\'t {{"problems": [...]}}') from None
    return [_problem(problem) for problem in refusal.problems]


def _problem(stated: object) -> StatedProblem:
    try:
        return StatedProblem.model_validate(stated)
    except ValidationError:
        raise RuleBrokenError(f"{stated} is not a problem with path, value, message and allowed") from None


def json_of(response: httpx.Response) -> object:
    """Read an answer as JSON."""
    try:
        body: object = orjson.loads(response.content)  # refuses what is nested too deeply
        return body
    except ValueError:
        raise RuleBrokenError(f"answer {response.status_code} {response.text[:200]!r} is not JSON") from None


def _read(response: httpx.Response, script: Script, users: int) -> Outcome:
    lines_at: list[float] = []
    stream = read_rows(_noting(split_lines(response.iter_bytes()), lines_at), users)
    rows: list[Row] = []
    rows_so_far = []
    try:
        for batch in stream:
            rows.extend(_rows(batch))
            rows_so_far.append(len(rows))
    except (ContractViolation, ClientAbort) as error:
        raise RuleBrokenError(str(error)) from None
    assert stream.end is not None
    expect(bool(rows), "a round without a row, though each makes a call")
    return Outcome(script, rows, lines_at, rows_so_far, stream.end)


def _noting(lines: Iterator[bytes], at: list[float]) -> Iterator[bytes]:
    for line in lines:
        at.append(time.monotonic())
        yield line


def _rows(batch: Batch) -> Iterator[Row]:
    columns = (
        batch.user,
        batch.call,
        batch.attempt,
        batch.start_us,
        batch.duration_us,
        batch.outcome,
        batch.status,
    )
    for user, call, attempt, start, duration, code, status in zip(*(c.tolist() for c in columns), strict=True):
        yield Row(user, call, attempt, start, start + duration, status or OUTCOMES[code])


def _shown(problems: list[StatedProblem]) -> str:
    return "; ".join(f"{problem.path}: {problem.message}" for problem in problems)


@dataclass(frozen=True)
class ContractRule:
    """One rule of the contract, and how to see whether a client keeps it.

    ``check`` returns what was seen, or raises ``RuleBrokenError`` or ``NotApplicableError``.
    """

    name: str
    expected: str
    needs: StrategyName
    check: Callable[[ClientTrial], str]


RULES: list[ContractRule] = []


def rule(
    name: str, expected: str, needs: StrategyName = "baseline"
) -> Callable[[Callable[[ClientTrial], str]], Callable[[ClientTrial], str]]:
    """Make a function the check of a rule."""

    def register(check: Callable[[ClientTrial], str]) -> Callable[[ClientTrial], str]:
        RULES.append(ContractRule(name, expected, needs, check))
        return check

    return register


def require(strategy: str, trial: ClientTrial) -> None:
    """Call a rule not applicable when the client does not have its strategy."""
    if strategy not in trial.strategies:
        raise NotApplicableError(f"the client does not have {strategy}")
