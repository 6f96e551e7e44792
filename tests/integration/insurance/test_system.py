"""The insurance up once, with two replicas of each entry service: paths, settings, what it refuses, bad days."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pandas as pd
import pytest
from tests.integration.lab.test_host import until
from tests.support.brought_up import brought_up
from tests.support.insurance import (
    ADDRESS,
    CUSTOMERS,
    OTHER,
    PATIENCE_S,
    POLICIES,
    POLICY,
    QUOTE,
    QUOTES,
    RECEIVED,
    SENT,
    STORED_POLICIES,
    quote_of,
    signed_in,
    stored,
    writing,
)
from tests.support.studies import ROOT

from patternbench.drivers import engine, jobs
from patternbench.drivers.driver import DrivenRound, Task
from patternbench.drivers.engine import EngineDriver
from patternbench.gateways.statistics import GatewayCounts, counts
from patternbench.lab import systems, topologies
from patternbench.lab.announced import GATEWAY, STATUS
from patternbench.lab.environment import Environment
from patternbench.lab.faults.act import FaultSetup
from patternbench.lab.faults.kinds.crash import ComponentCrash
from patternbench.plan.scenarios import Scenario
from patternbench.records import attempts
from patternbench.records.inputs import Inputs
from patternbench.run.before import preflight
from patternbench.study.load import load
from patternbench.study.model.system import Endpoint
from patternbench.study.models import Study

pytestmark = pytest.mark.timeout(900)
SYSTEM = "insurance"
REPLICAS = 2
SETTINGS: Mapping[str, object] = {"replicas": REPLICAS}
ENTRIES = ("customer-management", "customer-self-service", "policy-management")
LIMIT, REQUESTS = 5, 20
MOST_ITEMS = 1000
TEN_MEGABYTES = 10_000_000


@pytest.fixture(scope="module")
def insurance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """The insurance, up; skips where the machine lacks what it needs."""
    with brought_up(SYSTEM, SETTINGS, tmp_path_factory.mktemp(SYSTEM)) as up:
        yield up


def changed(insurance: Environment, **settings: object) -> None:
    insurance.change(topologies.of_file(systems.load(SYSTEM), {**SETTINGS, **settings}))


@pytest.fixture(scope="module")
def employee(insurance: Environment) -> Iterator[httpx.Client]:
    with signed_in(insurance, "management", "e000000001@example.org") as http:
        yield http


@pytest.fixture(scope="module")
def customer(insurance: Environment) -> Iterator[httpx.Client]:
    with signed_in(insurance, "self-service", "c000000001@example.org") as http:
        yield http


@pytest.fixture
def emptied(insurance: Environment) -> Environment:
    """The insurance without quotes and policies, as at the beginning of a round."""
    changed(insurance)
    insurance.reset()
    return insurance


def test_every_service_takes_its_classes_from_an_archive_of_its_jar_taken_apart(insurance: Environment) -> None:
    services = {name: running for name, running in insurance.running.items() if running.launch.kind == "jvm_app"}
    assert len(services) == 1 + REPLICAS * len(ENTRIES)
    for running in services.values():
        words = [word.partition("=") for word in running.launch.command]
        archive = next(value for name, _, value in words if name == "-XX:SharedArchiveFile")
        assert Path(archive).with_name("lib").is_dir()
        assert archive in Path(f"/proc/{running.process.family()[0].pid}/maps").read_text()


def test_each_entry_service_is_behind_the_gateway_under_its_path(
    employee: httpx.Client, customer: httpx.Client
) -> None:
    assert employee.get(f"{CUSTOMERS}/c000000002").json()["customerId"] == "c000000002"
    assert customer.get("/self-service/customers/c000000001").json()["customerId"] == "c000000001"
    assert employee.get(f"{POLICIES}/nobody").status_code == 404


def test_how_deep_a_bundle_goes_changes_while_it_runs(insurance: Environment) -> None:
    depths = []
    for reads, forward in (("batched", "once"), ("one_by_one", "each")):
        changed(insurance, bundle_reads=reads, bundle_forward=forward)
        assert list(insurance.started) == []
        for name in ("policy-management-1", "policy-management-2", "customer-self-service-1"):
            admin = insurance.endpoints()[f"{name}.admin"]
            depths.append(httpx.get(f"{admin}/actuator/bundle").json())
    assert depths == [{"reads": "batched", "forward": "once"}] * 3 + [{"reads": "one_by_one", "forward": "each"}] * 3


def test_a_limit_of_an_instance_is_set_while_it_runs_so_that_two_let_twice_as_much_through(
    insurance: Environment, employee: httpx.Client
) -> None:
    changed(insurance, limit_at="instance", limit=LIMIT, limit_window="1h")
    assert sorted(start.component for start in insurance.started) == sidecars()
    answers = [employee.get(f"{POLICIES}/nobody") for _ in range(REQUESTS)]
    admitted = REPLICAS * LIMIT
    assert Counter(answer.status_code for answer in answers) == {404: admitted, 429: REQUESTS - admitted}
    assert all("x-envoy-ratelimited" in answer.headers for answer in answers if answer.status_code == 429)
    assert employee.get(f"{CUSTOMERS}/c000000002").status_code == 200
    changed(insurance)
    assert {employee.get(f"{POLICIES}/nobody").status_code for _ in range(REQUESTS)} == {404}


def test_single_requests_of_a_caller_are_bundled_without_a_start_of_anything_else(
    insurance: Environment, employee: httpx.Client
) -> None:
    changed(insurance, auto_bundle="customers", bundle_size=3, bundle_wait="8s")
    assert [start.component for start in insurance.started] == ["customer-bundler"]
    ids = ("c000000001", "c000000002", "nobody")
    with ThreadPoolExecutor(len(ids)) as clients:
        answers = [*clients.map(lambda one: employee.get(f"{CUSTOMERS}/{one}"), ids)]
    assert [answer.status_code for answer in answers] == [200, 200, 404]
    assert [answer.json().get("customerId") for answer in answers] == [*ids[:2], None]
    page = httpx.get(f"{insurance.endpoints()[f'customer-bundler.{STATUS}']}/status").json()
    assert (page["requests"], page["calls"], page["bundled"]) == (3, 1, 3)
    changed(insurance, auto_bundle="customers", bundle_wait="1ms")
    assert list(insurance.started) == []
    alone = employee.get(f"{CUSTOMERS}/c000000001")
    assert (alone.json(), alone.headers["Content-Type"]) == (answers[0].json(), answers[0].headers["Content-Type"])
    changed(insurance)
    assert list(insurance.started) == []
    assert employee.get(f"{CUSTOMERS}/c000000001").status_code == 200


def sidecars() -> list[str]:
    return sorted(f"{entry}-sidecar-{number}" for entry in ENTRIES for number in range(1, REPLICAS + 1))


def test_a_reset_removes_what_was_created_and_keeps_customers_and_logins(
    insurance: Environment, customer: httpx.Client
) -> None:
    created = customer.post(QUOTES, json=QUOTE).json()["id"]
    assert customer.get(f"{QUOTES}/{created}").status_code == 200
    changed(insurance)
    assert {"db", "queue"} <= set(insurance.reset())
    assert customer.get(f"{QUOTES}/{created}").status_code == 404
    with signed_in(insurance, "self-service", "c000000001@example.org") as again:
        assert again.get("/self-service/customers/c000000001").status_code == 200
    assert "policy-management-1" not in insurance.carried_over()


def combined(request_bundle: str) -> tuple[Study, Scenario]:
    """A scenario of the study of combined patterns: the first that it has with or without bundles."""
    study = load(ROOT / "studies/insurance-combined.yaml")
    scenarios = preflight.expanded(study, Inputs(ROOT / "studies")).scenarios
    return study, next(one for one in scenarios if one.levels["request_bundle"] == request_bundle)


def task_of(study: Study, scenario: Scenario, insurance: Environment) -> Task:
    targets = tuple(map(Endpoint, insurance.targets))
    limits = (study.time_limit, study.longest_warm_up, study.seed, 0)
    return Task(scenario, targets, *limits, Inputs(ROOT / "studies"), insurance.dead)


OPERATIONS = (
    *("get customers", "update addresses", "create quotes", "get quotes", "delete quotes"),
    *("create policies", "get policies", "update policies", "delete policies"),
)


@pytest.mark.parametrize(("request_bundle", "requests"), [("N", 10), ("Y", 1)])
def test_each_operation_of_the_combined_study_on_ten_items_is_ten_requests_or_one_bundle(
    request_bundle: str, requests: int, emptied: Environment, tmp_path: Path
) -> None:
    study, scenario = combined(request_bundle)
    assert (scenario.levels["parameters.size"], scenario.levels["limit"]) == (10, "none")
    task = engine.set_up(task_of(study, scenario, emptied), tmp_path)
    reported = [attempt for _, job in jobs.once(task) for attempt in engine.attempts_of(job, task, tmp_path)]
    assert [attempt.step for attempt in reported if not attempt.success] == []
    assert Counter(attempt.step for attempt in reported) == dict.fromkeys(OPERATIONS, requests)
    named = [attempt.url for attempt in reported if attempt.step in ("get quotes", "delete policies")]
    assert len({one for url in named for one in str(url).rsplit("/", 1)[1].split(",")}) == 2 * 10
    assert stored(emptied, SENT) + stored(emptied, STORED_POLICIES) == []


def test_a_user_of_the_combined_study_whose_creations_are_rejected_asks_only_for_what_was_created(
    emptied: Environment, tmp_path: Path
) -> None:
    changed(emptied, limit_at="instance", limit=3, limit_window="1h")
    task = engine.set_up(task_of(*combined("N"), emptied), tmp_path)
    reported = [attempt for _, job in jobs.once(task) for attempt in engine.attempts_of(job, task, tmp_path)]
    made = Counter(attempt.step for attempt in reported if attempt.step.startswith("create") and attempt.success)
    seen = Counter(attempt.step for attempt in reported)
    assert seen["create quotes"] == seen["create policies"] == 10
    assert {attempt.status for attempt in reported if not attempt.success} == {429}
    assert 0 < made["create quotes"] == seen["get quotes"] == seen["delete quotes"] < 10
    assert 0 < made["create policies"] == seen["get policies"] == seen["delete policies"] < 10
    changed(emptied)


@dataclass(frozen=True)
class Refused:
    """A request that is refused as a whole: by whom it is sent, and with which status it is answered."""

    caller: str
    method: str
    path: str
    body: str
    status: int


REFUSED = {
    "a bundle of no quotes": Refused("customer", "POST", f"{QUOTES}/bundle", "[]", 400),
    "a bundle of no policies": Refused("employee", "POST", f"{POLICIES}/bundle", "[]", 400),
    "a bundle of no addresses": Refused("employee", "PUT", f"{CUSTOMERS}/addresses", "[]", 400),
    "a list of no ids": Refused("employee", "GET", f"{CUSTOMERS}/,", "", 400),
    "10,000 quotes": Refused("customer", "POST", f"{QUOTES}/bundle", f"[{','.join(['{}'] * 10_000)}]", 400),
    "10,000 policies": Refused("employee", "PUT", POLICIES, f"[{','.join(['{}'] * 10_000)}]", 400),
    "1,001 ids": Refused("employee", "GET", f"{CUSTOMERS}/{','.join(['c000000001'] * 1001)}", "", 400),
    "a path above 60 KiB": Refused("employee", "GET", f"{CUSTOMERS}/{','.join(['c000000001'] * 5900)}", "", 431),
    "a body of 10 MB": Refused("customer", "POST", f"{QUOTES}/bundle", f'["{"x" * TEN_MEGABYTES}"]', 413),
    "broken JSON": Refused("customer", "POST", QUOTES, '{"customerInfo": ', 400),
    "a broken bundle": Refused("employee", "POST", f"{POLICIES}/bundle", "[{}, ", 400),
    "an object instead of a bundle": Refused("employee", "POST", f"{POLICIES}/bundle", "{}", 400),
    "another customer's data": Refused("customer", "GET", "/self-service/customers/c000000002", "", 403),
    "another customer's address": Refused(
        "customer", "PUT", "/self-service/customers/c000000002/address", json.dumps(ADDRESS), 403
    ),
    "what is for employees": Refused("customer", "GET", f"{CUSTOMERS}/c000000001", "", 403),
    "policies, which are for employees": Refused("customer", "GET", f"{POLICIES}/nobody", "", 403),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_request_that_cannot_be_carried_out_is_refused_as_a_whole_and_stops_no_other(
    what: str, employee: httpx.Client, customer: httpx.Client
) -> None:
    refused = REFUSED[what]
    http = customer if refused.caller == "customer" else employee
    json_body = {"Content-Type": "application/json"}
    answer = http.request(refused.method, refused.path, content=refused.body, headers=json_body)
    assert answer.status_code == refused.status, answer.text
    if refused.status != 431:  # the gateway's own answer
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == refused.status
    assert employee.get(f"{CUSTOMERS}/c000000002").status_code == 200


def test_a_bundle_of_one_item_and_of_the_most_items_are_answered(
    insurance: Environment, employee: httpx.Client
) -> None:
    changed(insurance, bundle_reads="batched")  # item by item a busy machine takes longer than READ_TIMEOUT
    for ids in (["c000000001"], ["c000000001"] * MOST_ITEMS):
        answer = employee.get(f"{CUSTOMERS}/{','.join(ids)},").json()
        assert answer["size"] == len(answer["items"]) == len(ids)
        assert {item["status"] for item in answer["items"]} == {200}


@pytest.mark.parametrize(("reads", "forward"), [("one_by_one", "each"), ("batched", "once")])
def test_a_bad_item_of_a_bundle_fails_alone_and_a_duplicate_is_answered_as_often_as_it_is_asked_for(
    reads: str, forward: str, emptied: Environment, employee: httpx.Client, customer: httpx.Client
) -> None:
    changed(emptied, bundle_reads=reads, bundle_forward=forward)
    requested = [QUOTE, {}, quote_of(OTHER), "x", QUOTE]
    created = customer.post(f"{QUOTES}/bundle", json=requested).json()["items"]
    assert [item["status"] for item in created] == [200, 400, 403, 400, 200]
    first, last = (created[place]["id"] for place in (0, 4))
    assert statuses(customer.get(f"{QUOTES}/{first},nobody,{first},{last}")) == [200, 404, 200, 200]
    until(lambda: stored(emptied, RECEIVED) == sorted([first, last]), PATIENCE_S)
    assert statuses(customer.delete(f"{QUOTES}/{first},{first},{last},nobody")) == [204, 404, 204, 404]
    policy = employee.post(POLICIES, json=POLICY).json()["policyId"]
    assert statuses(employee.delete(f"{POLICIES}/{policy},{policy}")) == [204, 404]


def statuses(bundle: httpx.Response) -> list[int]:
    assert bundle.status_code == 200, bundle.text
    return [item["status"] for item in bundle.json()["items"]]


def test_what_belongs_to_another_customer_is_neither_shown_nor_deleted(
    emptied: Environment, customer: httpx.Client
) -> None:
    own = customer.post(QUOTES, json=QUOTE).json()["id"]
    with signed_in(emptied, "self-service", "c000000002@example.org") as other:
        assert other.get(f"{QUOTES}/{own}").status_code == 403
        assert statuses(other.get(f"{QUOTES}/{own},{own}")) == [403, 403]
        assert other.delete(f"{QUOTES}/{own}").status_code == 403
    assert customer.get(f"{QUOTES}/{own}").status_code == 200


WRITERS, SOME = 4, 40


@pytest.mark.parametrize("component", ["db", "queue"])
def test_a_store_that_is_killed_and_started_again_under_load_loses_and_doubles_nothing_that_was_confirmed(
    component: str, emptied: Environment, employee: httpx.Client, customer: httpx.Client
) -> None:
    crash = ComponentCrash(component, FaultSetup(emptied, time.monotonic_ns))
    with writing(customer, employee, WRITERS) as writers:

        def confirmed() -> int:
            return sum(writer.confirmed for writer in writers)

        until(lambda: confirmed() >= SOME, PATIENCE_S)
        crash.begin()
        until(lambda: sum(writer.failures for writer in writers) > 0, PATIENCE_S)
        crash.end()
        before = confirmed()
        until(lambda: confirmed() >= before + SOME, PATIENCE_S)
    quotes = sorted(quote for writer in writers for quote in writer.quotes)
    until(lambda: stored(emptied, RECEIVED) == quotes, PATIENCE_S)
    assert stored(emptied, SENT) == quotes
    policies = {policy for writer in writers for policy in writer.policies}
    kept = set(stored(emptied, STORED_POLICIES))
    assert policies <= kept
    assert len(kept - policies) <= sum(writer.failures for writer in writers)
    assert emptied.dead() == []


USERS = 6
KILLED = "policy-management-1"
KILLED_AFTER_S = 1.5


class Killing:
    """Kills a component a while after the load has begun, and notes when it was signalled and when it was gone."""

    def __init__(self, name: str, insurance: Environment) -> None:
        self.crash = ComponentCrash(name, FaultSetup(insurance, time.monotonic_ns))
        self.told_ns = self.gone_ns = 0

    def begun(self, from_ns: int) -> None:
        """Hear from when on load is measured."""
        left_s = (from_ns - time.monotonic_ns()) / 1e9 + KILLED_AFTER_S
        threading.Timer(max(left_s, 0.0), self._kill).start()

    def _kill(self) -> None:
        self.told_ns = self.crash.begin()
        self.gone_ns = time.monotonic_ns()


def driven(insurance: Environment, killing: Killing, folder: Path) -> tuple[pd.DataFrame, DrivenRound]:
    """The attempts of a load under which a component is killed."""
    study = load(ROOT / "tests/data/insurance/load.yaml")
    (scenario,) = preflight.expanded(study, Inputs(ROOT)).scenarios
    task = replace(task_of(study, scenario, insurance), begun=killing.begun)
    done = EngineDriver(folder / "load", folder / "logs").drive(task, folder / "attempts.parquet")
    return attempts.read(folder / "attempts.parquet"), done


def counted(insurance: Environment) -> GatewayCounts:
    """What the gateway has counted so far."""
    endpoints = insurance.endpoints()
    components = {name: url for name, url in endpoints.items() if name != "system" and "." not in name}
    with httpx.Client() as http:
        return counts(endpoints[f"gateway.{GATEWAY}"], components, http)


def test_a_replica_killed_under_load_fails_no_call_but_those_in_flight(emptied: Environment, tmp_path: Path) -> None:
    """In flight is a call that was sent before the replica was gone, and had not ended when it was told to go."""
    killing, before = Killing(KILLED, emptied), counted(emptied)
    seen, done = driven(emptied, killing, tmp_path)
    told_us, gone_us = ((moment - done.began_ns) / 1000 for moment in (killing.told_ns, killing.gone_ns))
    in_flight = (seen["start_us"] <= gone_us) & (seen["end_us"] >= told_us)
    assert seen[~seen["success"] & ~in_flight].empty
    assert seen["success"][seen["start_us"] > gone_us].sum() > USERS
    since = counted(emptied).since(before)
    assert since.hosts[KILLED] > 0
    assert since.retries > 0
    killing.crash.end()
    assert all_received(emptied) >= (seen["success"] & (seen["step"] == "quotes")).sum()
    until(lambda: serves(emptied, KILLED), PATIENCE_S)


def all_received(insurance: Environment) -> int:
    """How many quote requests were sent, once all of them have been received."""
    sent = stored(insurance, SENT)
    until(lambda: stored(insurance, RECEIVED) == sent, PATIENCE_S)
    return len(sent)


def serves(insurance: Environment, name: str) -> bool:
    """Whether a replica gets its share of requests again."""
    before = counted(insurance)
    with signed_in(insurance, "management", "e000000001@example.org") as employee:
        assert [employee.get(f"{POLICIES}/nobody").status_code for _ in range(4)] == [404] * 4
    since = counted(insurance).since(before)
    return since.hosts[name] > 0 and since.retries == 0
