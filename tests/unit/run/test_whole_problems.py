"""Every problem of a study is reported as agreed: where, what is wrong, what is allowed, what to type."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from tests.support.golden import is_golden
from tests.support.studies import completed

from patternbench.drivers.client import ClientError, ClientProblem
from patternbench.drivers.rounds import ClientRound
from patternbench.observe.registry import problems_of
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.run.before import preflight
from patternbench.run.round import fixture
from patternbench.study.load import loads
from patternbench.terms.problems import InputError, Problem, gathered

RETRY = "{client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: [10ms, 40ms]}}}}"
STRATEGIES = f"strategies:\n  - {{client: native, baseline: {{}}}}\n  - {RETRY}\n"
RATES = "workload: {open: {rate: [5, 10], duration: 2s}}\n"
CLAIM = "{says: a, response: p95, from: {strategy: baseline}, to: {strategy: retry}, change: lower"
BREAKER = "failure_rate: 50, window: {calls: 5}, minimum_calls: 9, half_open_calls: 1, open_for: 1s"
STACK = f"{{timeout: 1s}}, {{circuit_breaker: {{{BREAKER}}}}}"
LIBRARY = "strategies: [{client: resilience4j, baseline: {}}, {client: polly, baseline: {}}]\n"
SHARED = "share: 100, rate: 5, journey: [{path: /}]"

SHARES = "workload: {open: {rate: {share: 70 %}, duration: 5s}}\n"


def searched(more: str, fault: str = "when: {from: 8s, for: 2s}") -> str:
    """A study that searches the load from which on rounds are lost, with this in its search."""
    faults = f"faults: [{{freeze: {{}}, where: target, {fault}}}]\n" if fault else ""
    of_it = f"over: open.rate, between: [30 %, 100 %], until: {{half_width: 4 points}}, {more}"
    load = "workload: {open: {rate: {share: 50 %}, duration: 30s}}\n"
    return f"capacity: {{rate: 100/s}}\n{faults}boundary: {{{of_it}}}\n{load}"


WRONG = {
    "rule": f"rounds: {{until: {{response: p59, half_width: 5%}}, min: 3, max: 9}}\n{RATES}",
    "rule-of-few": f"rounds: {{until: {{response: p95, half_width: 5%}}, min: 2, max: 9}}\n{RATES}",
    "derived": "derived: {a: 2 *, b: 2 * failure, c: p95 + users, d: rate * p95, e: 1 / 0}\n" + RATES,
    "models": "models: [p95 ~, pp ~ rate, p95 ~ rats + block, 'p95 + p50 ~ C(strategy) + round', log(p95 ~ rate]\n"
    + RATES,
    "wish": "recommend: {objectives: [minimise p59, p95, maximise p95], subject_to: [failure_rate <= x, q <= 1%]}\n"
    + RATES,
    "claims-response": f"claims: [{CLAIM.replace('p95', 'p59')}}}]\n{RATES}{STRATEGIES}",
    "claims-factor": f"claims: [{CLAIM}, where: {{rates: 5}}}}, {CLAIM}, where: {{rate: 7}}}}]\n{RATES}{STRATEGIES}",
    "claims-twice": f"claims: [{CLAIM}, where: {{strategy: retry}}}}]\n{RATES}{STRATEGIES}",
    "claims-level": f"claims: [{CLAIM.replace('retry', 'hedge')}}}]\n{RATES}{STRATEGIES}",
    "claims-same": f"claims: [{CLAIM.replace('retry', 'baseline')}}}]\n{RATES}{STRATEGIES}",
    "claims-margin": f"claims: [{CLAIM}, margin: 5 apples}}, {CLAIM}, margin: 5%}}]\n{RATES}{STRATEGIES}",
    "claims-than": f"claims: [{CLAIM}, where: {{rate: 5}}, than: {{rate: 5}}, over: [rates]}}, "
    f"{CLAIM}, than: {{rate: 5}}}}]\n{RATES}{STRATEGIES}",
    "claims-beside": "claims: [{says: a, response: p95, from: {retry.backoff.fixed.delay: 10ms}, "
    f"to: {{strategy: baseline}}, change: lower}}]\n{RATES}{STRATEGIES}",
    "library-open": RATES + LIBRARY,
    "library-group": f"workload: {{duration: 1s, users: 10, groups: [{{name: a, {SHARED}}}]}}\n" + LIBRARY,
    "library-direct": "system: {urls: ['http://127.0.0.1:1', 'http://127.0.0.1:2']}\n"
    "workload: {closed: {users: 1, successes: 1}}\n" + LIBRARY,
    "library-limits": "workload: {closed: {users: 1, successes: 1}}\nstrategies:\n"
    "  - {client: resilience4j, retry: {max_attempts: 2, backoff: {exponential: {initial: 20ms}}, jitter: equal}}\n"
    f"  - {{client: resilience4j, stack: [{STACK}]}}\n"
    "  - client: tenacity\n    circuit_breaker:\n"
    "      {failure_rate: 50, window: {calls: 2}, minimum_calls: 2, half_open_calls: 1, open_for: 1s}\n"
    "  - {client: gobreaker, stack: [{hedge: {delay: 5ms}}, {timeout: 1s}]}\n"
    "  - {client: nowhere, baseline: {}}\n",
    "places": "workload:\n  open: {rate: 1, duration: 1s}\n"
    "  request: {path: '/${a}', headers: {X: '${feed.b}', Y: '${user}'}, query: {c: '${random:1-0}'}}\n",
    "library-places": "workload:\n  closed: {users: 1, successes: 1}\n"
    "  request: {path: '/${user}', headers: {X: '${round}'}}\n" + LIBRARY,
    "files": "workload:\n  closed: {users: 1, duration: 1s}\n  feeder: {file: none.csv}\n"
    "  journey: [{path: /, method: POST, body_file: none.txt}, {path: '/${feed.a}'}]\n",
    "columns": "workload:\n  closed: {users: 1, duration: 1s}\n  feeder: {file: names.csv}\n"
    "  journey: [{path: '/${feed.name}'}, {path: '/${feed.nam}'}]\n",
    "when": "workload:\n  parameters: {size: [1, 2]}\n  closed: {users: 1, duration: 1s}\n"
    "  journey: [{path: /a, when: {parameters.size: 3}}, {path: /b, when: {parameters.sise: 1}}]\n",
    "fault-late": "system: httpbin\nfaults: [{abort: {percentage: 5}, when: [{from: 9s, for: 1s}]}]\n" + RATES,
    "fault-nowhere": "system: shop\nfaults: [{freeze: {}, where: nobody}, {delay: {duration: 5ms, percentage: 9}, "
    "where: a-b}, {crash: {}, where: gateway}]\n" + RATES,
    "settings": "system: {name: httpbin, settings: {none: 1, workers: [0, x]}}\n" + RATES,
    "system": "system: nobody\n" + RATES,
    "certificate": "system: {url: 'https://127.0.0.1:1', ca: names.csv}\n" + RATES,
    "no-certificate": "system: {url: 'https://127.0.0.1:1', ca: none.pem}\n" + RATES,
    "capacity-none": SHARES,
    "capacity-unused": "capacity: {objective: p99 <= 1s}\n" + RATES,
    "capacity-objective": "capacity: {objective: p59 <= 1s, start: 9, most: 5}\n" + SHARES,
    "capacity-closed": "capacity: {objective: p99 <= 1s}\nworkload: {closed: {users: 1, duration: 1s}}\n",
    "boundary-response": searched("of: recoverd"),
    "boundary-limit": searched("of: 'p95 <'"),
    "boundary-undecided": searched("of: p95"),
    "boundary-too-late": searched("of: goodput_lost <= 5 %"),
    "boundary-no-fault": searched("of: recovered", fault=""),
    "boundary-endless": searched("of: recovered", fault="when: {from: 28s, for: 2s}"),
    "boundary-in-time": searched("of: recovered", fault="when: {from: 27s, for: 2s}"),
    "boundary-claims": searched("claims: [{says: x, change: lower, from: {strategy: baseline}, to: {strategy: none}}]"),
    "boundary-without-capacity": searched("of: recovered").partition("\n")[2],
}
"""Those that are in no one's way end with none: ``boundary-in-time``."""


def problems(text: str, folder: Path) -> list[Problem]:
    """All that the checks of a plan and of a run say of a study, but for what this machine lacks."""
    found: list[Problem] = []
    with gathered(found):
        study, inputs = loads(completed(text), "study.yaml"), Inputs(folder)
        plan = preflight.expanded(study, inputs)
        found += preflight.driver_problems(study, plan)
        with gathered(found):
            found += preflight.described_problems(study, plan, inputs)
        with gathered(found):
            found += [one for one in preflight.system_problems(study, inputs) if "missing" not in one.message]
        found += problems_of(study.watch)
    return found


def reported(problem: Problem, folder: Path) -> str:
    parts = {name: str(part).replace(str(folder), "FOLDER") for name, part in asdict(problem).items() if part}
    lines = [f"    {name}: {part[:150]}" for name, part in parts.items() if name not in ("message", "path")]
    return "\n".join([f"  {problem.path or '-'}: {problem.message}", *lines])


@pytest.mark.parametrize("name", WRONG)
def test_every_problem_of_a_study_is_reported_as_agreed(name: str, tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("name,age\na,1\n")
    found = problems(WRONG[name], tmp_path)
    is_golden(f"problems/{name}.txt", "".join(f"{reported(one, tmp_path)}\n" for one in found))


def test_a_claim_and_a_derived_response_may_be_about_what_a_round_costs(tmp_path: Path) -> None:
    derived = "derived: {cores: system_cpu_s / seconds}\n"
    claims = f"claims: [{CLAIM.replace('p95', 'system_cpu_s')}}}, {CLAIM.replace('p95', 'derived.cores')}}}]\n"
    assert problems(derived + claims + RATES + STRATEGIES, tmp_path) == []


def test_a_claim_on_a_time_that_an_observer_measures_needs_a_unit(tmp_path: Path) -> None:
    claim = CLAIM.replace("p95", "database_time").replace("lower", "'< -5'")
    found = problems(f"traces: {{sample: 100%}}\nclaims: [{claim}}}]\n{RATES}{STRATEGIES}", tmp_path)
    assert [one.message for one in found] == ["database_time is a time, so its change needs a unit (us, ms, s, m) or %"]
    assert found[0].path == "claims[0].change"


class Refusing:
    """A client that refuses a part of every round, or breaks down."""

    alive, cpus = True, ()

    failure: Exception | None = None
    bodies: list[ClientRound] = []  # noqa: RUF012 - one list for all

    def __init__(self, *_: object) -> None: ...

    def check(self, body: ClientRound) -> list[ClientProblem]:
        self.bodies.append(body)
        if self.failure:
            raise self.failure
        odd = ClientProblem(path="strategy.retry.max_attempts", message="is odd", value=3, allowed="an even number")
        return [odd] if "retry" in body.strategy else []

    def limits(self) -> dict[str, str]:
        return {}

    def close(self) -> None: ...


OWN = """\
system: {url: 'http://127.0.0.1:1'}
clients: {mine: {url: 'http://127.0.0.1:2'}}
time_limit: 3s
workload: {closed: {users: 1, successes: 1}}
strategies:
  - {client: mine, baseline: {}}
  - {client: mine, retry: {max_attempts: 3, backoff: {fixed: {delay: 10ms}}}}
"""


@pytest.mark.parametrize(
    ("change", "failure", "message"),
    [
        (("", ""), None, [("strategies[1].retry.max_attempts", "client mine: is odd", 3, "an even number")]),
        (("", ""), ClientError("it died"), [("clients", "it died", None, "")]),
        (
            ("users: 1, successes: 1", "users: 1, duration: 4s"),
            None,
            [
                (
                    "workload.closed.duration",
                    "with its warm-up of 0ms the round is longer than time_limit (3s)",
                    "4s",
                    "",
                ),
                ("strategies[1].retry.max_attempts", "client mine: is odd", 3, "an even number"),
            ],
        ),
    ],
    ids=["refused", "broken", "too long"],
)
def test_what_a_client_refuses_is_reported_at_its_place_in_the_study(
    change: tuple[str, str],
    failure: Exception | None,
    message: list[tuple[object, ...]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fixture, "Client", Refusing)
    monkeypatch.setattr(Refusing, "failure", failure)
    monkeypatch.setattr(Refusing, "bodies", [])
    study, inputs = loads(completed(OWN.replace(*change)), "study.yaml"), Inputs(tmp_path)
    plan = preflight.expanded(study, inputs)
    found = preflight.inexpressible(study, plan.scenarios, inputs, [], frozenset())
    assert [(one.path, one.message, one.value, one.allowed) for one in found] == message
    kept = [one for one in found if not one.path.startswith("strategies[1]")]
    at = [Problem("x", "strategies[1].retry.max_attempts.level"), Problem("y", "strategies[1].retry")]
    assert preflight.inexpressible(study, plan.scenarios, inputs, at, frozenset()) == ([] if failure else kept)
    assert len(Refusing.bodies) == (2 if failure else 4)


def test_a_client_that_cannot_be_found_is_left_out_only_where_that_is_asked_for_and_others_remain() -> None:
    text = "workload: {closed: {users: 1, successes: 1}}\nclients: {mine: {url: 'http://127.0.0.1:2'}}\n"
    both = text + "strategies: [{client: mine, baseline: {}}, {client: nowhere, baseline: {}}]\n"
    study = loads(completed(both), "study.yaml")
    plan = expand(study)
    available = preflight.available_clients(study, plan, skip_unavailable=True)
    assert (list(available.clients), list(available.left_out)) == (["mine"], ["nowhere"])
    kept = preflight.without(plan, available.left_out)
    assert [one.client for one in kept.scenarios] == ["mine"]
    assert {name: list(one.levels) for name, one in kept.factors.items()} == {
        "client": ["mine"],
        "strategy": ["baseline"],
    }
    with pytest.raises(InputError):
        preflight.available_clients(study, plan, skip_unavailable=False)
    assert [one.message for one in preflight.lacking_clients(study, plan)] == [available.left_out["nowhere"]]
    alone = loads(completed(text + "strategies: [{client: nowhere, baseline: {}}]\n"), "study.yaml")
    with pytest.raises(InputError):
        preflight.available_clients(alone, expand(alone), skip_unavailable=True)
