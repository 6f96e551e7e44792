"""The insurance as a system: one start, then its paths, what changes while it runs, and what a round leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import httpx
import pytest

from patternbench.lab import bench, systems
from patternbench.lab.bench import Bench

SYSTEM = "insurance"
SETTINGS: Mapping[str, object] = {"limit_at": "instance"}
ADDRESS = {"streetAddress": "Bahnhofplatz 8", "postalCode": "8640", "city": "Rapperswil"}
QUOTE = {
    "customerInfo": {
        "customerId": "c000000001",
        "firstname": "Alan",
        "lastname": "Baumann",
        "contactAddress": ADDRESS,
        "billingAddress": ADDRESS,
    },
    "insuranceOptions": {
        "startDate": "2030-02-01",
        "insuranceType": "Home Insurance",
        "deductible": {"amount": 500, "currency": "CHF"},
    },
}
QUOTES = "/self-service/insurance-quote-requests"
LIMIT, SENT = 5, 20


@pytest.fixture(scope="module")
def insurance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The insurance, up; skips where the machine lacks what it needs."""
    system = systems.load(SYSTEM)
    lacking = bench.needs_problems(system, {name: [value] for name, value in SETTINGS.items()})
    if lacking:
        pytest.skip("; ".join(f"{problem.message} ({problem.hint})" for problem in lacking))
    with bench.named(system, SETTINGS, tmp_path_factory.mktemp(SYSTEM)) as up:
        yield up


def changed(insurance: Bench, **settings: object) -> None:
    insurance.change(bench.of_file(systems.load(SYSTEM), {**SETTINGS, **settings}))


def signed_in(insurance: Bench, entry: str, email: str) -> httpx.Client:
    login = {"email": email, "password": "insurance"}
    token = httpx.post(f"{insurance.endpoint}/{entry}/auth", json=login, timeout=20).json()["token"]
    return httpx.Client(base_url=insurance.endpoint, headers={"Authorization": f"Bearer {token}"}, timeout=20)


@pytest.fixture(scope="module")
def employee(insurance: Bench) -> Iterator[httpx.Client]:
    with signed_in(insurance, "management", "e000000001@example.org") as http:
        yield http


@pytest.fixture(scope="module")
def customer(insurance: Bench) -> Iterator[httpx.Client]:
    with signed_in(insurance, "self-service", "c000000001@example.org") as http:
        yield http


@pytest.mark.timeout(600)
def test_each_entry_service_is_behind_the_gateway_under_its_path(
    employee: httpx.Client, customer: httpx.Client
) -> None:
    assert employee.get("/management/customers/c000000002").json()["customerId"] == "c000000002"
    assert customer.get("/self-service/customers/c000000001").json()["customerId"] == "c000000001"
    assert customer.get("/self-service/customers/c000000002").status_code == 403
    assert employee.get("/policy-management/policies/nobody").status_code == 404


def test_how_deep_a_bundle_goes_changes_while_it_runs(insurance: Bench) -> None:
    depths = []
    for reads, forward in (("batched", "once"), ("one_by_one", "each")):
        changed(insurance, bundle_reads=reads, bundle_forward=forward)
        assert list(insurance.started) == []
        for name in ("policy-management", "customer-self-service"):
            admin = insurance.endpoints()[f"{name}.admin"]
            depths.append(httpx.get(f"{admin}/actuator/bundle").json())
    assert depths == [{"reads": "batched", "forward": "once"}] * 2 + [{"reads": "one_by_one", "forward": "each"}] * 2


def test_a_limit_of_an_instance_is_set_while_it_runs_and_holds_for_it_alone(
    insurance: Bench, employee: httpx.Client
) -> None:
    changed(insurance, limit=LIMIT, limit_window="1h")
    assert list(insurance.started) == []
    answers = [employee.get("/policy-management/policies/nobody") for _ in range(SENT)]
    assert Counter(answer.status_code for answer in answers) == {404: LIMIT, 429: SENT - LIMIT}
    assert all("x-envoy-ratelimited" in answer.headers for answer in answers if answer.status_code == 429)
    assert employee.get("/management/customers/c000000002").status_code == 200
    changed(insurance)
    assert {employee.get("/policy-management/policies/nobody").status_code for _ in range(SENT)} == {404}


def test_a_reset_removes_what_was_created_and_keeps_customers_and_logins(
    insurance: Bench, customer: httpx.Client
) -> None:
    created = customer.post(QUOTES, json=QUOTE).json()["id"]
    assert customer.get(f"{QUOTES}/{created}").status_code == 200
    changed(insurance)
    assert {"db", "queue"} <= set(insurance.reset())
    assert customer.get(f"{QUOTES}/{created}").status_code == 404
    with signed_in(insurance, "self-service", "c000000001@example.org") as again:
        assert again.get("/self-service/customers/c000000001").status_code == 200
    assert "policy-management" not in insurance.carried_over()
