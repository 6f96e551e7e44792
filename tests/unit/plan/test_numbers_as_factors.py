"""Numbers inside a path, a query, a form and a body vary by themselves, and responses are derived from them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.recorded_run import pinned
from tests.support.studies import ROOT, problems, study

from patternbench.analyze import derived
from patternbench.analyze.rounds import roles
from patternbench.drivers import jobs
from patternbench.drivers.rounds import ClientRound, client_round
from patternbench.plan.expand import Plan, expand
from patternbench.plan.order import Round
from patternbench.records import attempts, folder
from patternbench.records.batches import Batch
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, Entry, Journal
from patternbench.report.build import refresh_rounds
from patternbench.run.before import evidence
from patternbench.study.load import load
from patternbench.terms.data_problems import DataError
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

GOLDEN = ROOT / "tests" / "golden" / "plan" / "scenario_ids.json"
JOURNEY = """\
patternbench: 1
name: journey
system: target
workload:
  open: {rate: [10, 20], duration: 1s}
  journey:
    - {name: list, path: /items, query: {page: 2, sort: name, all: true}}
    - {name: order, method: POST, path: /orders, form: {item: "${user}", count: 3}}
    - {name: json, method: POST, path: /orders, json: {items: [1, 2], price: 2.5}}
strategies: [{client: native, baseline: {}}]
"""
JOURNEY_IDS = ["8805d3f57240", "bde10ced9f53"]
NUMBERS = """\
patternbench: 1
name: numbers
system: target
workload:
  closed: {users: 2, successes: 3}
  parameters: {size: [100, 1000], kind: small}
  request:
    method: POST
    path: "/bytes/${size}?k=${kind}"
    query: {limit: [10, 25], q: "a b", deep: true}
    headers: {X-Size: "${size}"}
    body: '{"size": ${size}}'
strategies: [{client: native, baseline: {}}]
derived: {items_per_s: "goodput * request.query.limit", per_byte: "p95 / parameters.size"}
models: ["derived.items_per_s ~ request.query.limit + parameters.size"]
"""


def planned(text: str = NUMBERS, **changes: str) -> Plan:
    found = study(text, **changes)
    plan = expand(found)
    evidence.check(found, plan)
    return plan


def round_of(plan: Plan, place: int) -> ClientRound:
    return client_round(plan.scenarios[place], "http://127.0.0.1:1", Duration.parse("1s"), 1)


@pytest.mark.parametrize("name", sorted(json.loads(GOLDEN.read_text())))
def test_a_study_of_ours_expands_to_the_scenario_ids_it_always_had(name: str) -> None:
    assert [scenario.id for scenario in expand(load(ROOT / name)).scenarios] == json.loads(GOLDEN.read_text())[name]


def test_a_journey_with_queries_and_forms_keeps_its_scenario_ids() -> None:
    assert [scenario.id for scenario in expand(study(JOURNEY)).scenarios] == JOURNEY_IDS


def test_numbers_in_queries_and_parameters_are_factors_with_numeric_levels() -> None:
    plan = planned()
    assert plan.factors["request.query.limit"].levels == (10, 25)
    assert plan.factors["parameters.size"].levels == (100, 1000)
    assert len(plan.scenarios) == 4


def test_a_librarys_client_is_given_the_numbers_filled_in() -> None:
    request = round_of(planned(), 0).request
    assert request.path == "/bytes/100?k=small&limit=10&q=a%20b&deep=true"
    assert request.headers == {"X-Size": "100"}
    assert json.loads(str(request.body)) == {"size": 100}
    assert "query" not in request.model_dump()


def test_the_engine_is_given_parameters_as_values_and_the_query_as_text() -> None:
    scenario = planned().scenarios[3]
    task: Any = SimpleNamespace(
        generators=1,
        treatment=scenario,
        targets=(),
        seed=1,
        number=7,
        warm_up=Duration(0),
        warm_up_requests=None,
        settles=False,
        time_limit=Duration.parse("1s"),
        limit_with_warm_up=Duration.parse("1s"),
        inputs=None,
        lateness=None,
        core=None,
    )
    job = jobs.job(task).job
    assert job["constants"] == {"round": "7"}
    assert job["values"] == {"size": "1000", "kind": "small"}
    (step,) = job["groups"][0]["journeys"][0]["steps"]
    assert step["query"] == {"limit": "25", "q": "a b", "deep": "true"}


@pytest.mark.parametrize("name", ["user", "round", "Size", "a b"])
def test_a_parameter_is_not_called_as_what_the_engine_fills_in(name: str) -> None:
    text = NUMBERS.replace("size: [100, 1000]", f"{json.dumps(name)}: 1, size: 1")
    assert any(problem.path.startswith("workload.parameters") for problem in problems(text))


def test_a_parameter_holds_no_text_that_reads_otherwise_in_a_query() -> None:
    (problem,) = problems(NUMBERS.replace("kind: small", 'kind: "a&b=1"'))
    assert problem.path == "workload.parameters.kind"


def test_a_derived_response_is_arithmetic_on_responses_and_levels() -> None:
    tree = derived.parse("-(goodput - 2) * request.query.limit / 4 + 1")
    assert derived.names(tree) == ["goodput", "request.query.limit"]
    assert derived.value(tree, {"goodput": 10.0, "request.query.limit": 25}) == -49.0
    assert math.isnan(derived.value(tree, {"goodput": 10.0}))
    assert math.isnan(derived.value(derived.parse("1 / p95"), {"p95": 0.0}))


@pytest.mark.parametrize(
    "text", ["__import__('os')", "p95 ** 9", "f(x)", "a if b else c", "(", "'x'", "p95 +", "a.b().c"]
)
def test_a_derived_response_evaluates_nothing_else(text: str) -> None:
    with pytest.raises(DataError, match="cannot be computed"):
        derived.parse(text)


def test_a_derived_response_of_unknown_names_is_refused_before_the_run() -> None:
    with pytest.raises(InputError) as caught:
        planned(NUMBERS.replace("p95 / parameters.size", "p95 / parameters.sise"))
    (problem,) = caught.value.problems
    assert problem.path == "derived.per_byte" and "parameters.size" in problem.hint


def test_derived_responses_are_columns_of_the_rounds_and_no_factors(tmp_path: Path) -> None:
    plan = planned()
    described = [scenario.as_json() for scenario in plan.scenarios]
    places = [Round(number, 0, scenario.id) for number, scenario in enumerate(plan.scenarios)]
    run = pinned(RunFolder(tmp_path / "run"), described, places, plan.as_json()["factors"])
    noted = {**folder.read_json(run.manifest), "derived": {"items_per_s": "goodput * request.query.limit"}}
    folder.write_json(run.manifest, noted)
    journal = Journal(run.journal)
    for place in places:
        attempts.write(run.attempts_of(f"{place.index:05d}"), attempts.from_batches([two_calls()], warm_up=False))
        journal.append(Entry(place.index, 0, place.scenario, DONE, f"{place.index:05d}", 1e9, 1.0, 2))
    table = refresh_rounds(run).rounds
    assert list(table["derived.items_per_s"]) == list(table["goodput"] * table["request.query.limit"])
    assert set(roles(table, responses=["derived.items_per_s"]).factors) == set(plan.factors)
    assert set(roles(table).factors) == set(plan.factors)


def two_calls() -> Batch:
    """Two users with one good call of 10 ms each."""
    user, ones = np.array([0, 1]), np.ones(2, dtype=np.int64)
    return Batch(user, 0 * user, ones, 10 * user, 10_000 * ones, np.zeros(2, np.int8), (200 * ones).astype(np.int16))


def test_levels_of_a_url_are_reached_in_one_way() -> None:
    (problem,) = problems(NUMBERS.replace("system: target", 'system: {url: ["http://a", "unix:/run/b.sock"]}'))
    assert "all http://" in problem.allowed
