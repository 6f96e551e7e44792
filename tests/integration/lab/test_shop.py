"""The shop as a system: one start, then its journey, its limits, its pages, and what outlives a killed service."""

from __future__ import annotations

import http.client
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.support.asking import Asking, asking
from tests.support.brought_up import brought_up
from tests.support.chromium import chromium
from tests.support.studies import ROOT

from patternbench.drivers import engine, jobs
from patternbench.drivers.driver import Task
from patternbench.lab import systems, topologies
from patternbench.lab.environment import Environment
from patternbench.lab.faults.family import kill, stop, wake
from patternbench.records.inputs import Inputs
from patternbench.records.load_summaries import TracedAttempt
from patternbench.run.before import preflight
from patternbench.study.load import load
from patternbench.study.model.system import Endpoint

SYSTEM = "shop"
# A busy machine is slow, which is not what is tested here; without its store a balancer rejects.
SETTINGS: Mapping[str, object] = {"limit": 100_000, "window": "1h", "store_timeout": "1s", "when_store_fails": "closed"}
STUDIES = ROOT / "studies"
TEASTORE = "/tools.descartes.teastore"
PERSISTENCE, AUTH = f"{TEASTORE}.persistence/rest", f"{TEASTORE}.auth/rest"
RECOMMENDER, IMAGE = f"{TEASTORE}.recommender/rest", f"{TEASTORE}.image/rest"
REQUESTS_OF_A_PASS = {
    "1 home": 3,
    "2 log in": 1,
    "3 list products": 5,
    "4 look at product": 17,
    "5 add to cart": 17,
    "6 another page": 5,
    "7 add another": 18,
    "8 log out": 1,
}
"""Of each transaction, as Kalyanasundaram et al. (2025) sent them to TeaStore: 67 in all."""
BUNDLED = {**REQUESTS_OF_A_PASS, "4 look at product": 8, "5 add to cart": 8, "7 add another": 8}
TRANSACTIONS: list[tuple[str, str, object]] = [
    ("GET", f"{PERSISTENCE}/categories?start=-1&max=-1", None),
    ("POST", f"{AUTH}/useractions/login?name=user1&password=password", {}),
    ("GET", f"{PERSISTENCE}/products/category/2?start=0&max=20", None),
    ("GET", f"{PERSISTENCE}/products/7", None),
    ("POST", f"{AUTH}/cart/add/7", {}),
    ("POST", f"{IMAGE}/image/getProductImages", {"7": "64x64"}),
    ("POST", f"{RECOMMENDER}/recommend?uid=1", []),
    ("POST", f"{AUTH}/useractions/logout", {}),
]
"""A request of each transaction."""
SERVICES = {"persistence", "auth", "recommender", "image", "webui"}
ODD_KEYS = (b"\xff\xfe\x80", b"a\tb", b"'; DROP TABLE x; --", b"pb:{ann}:x", b"k" * 4000)
LIMIT, SENT = 30, 90
PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """The shop, up; skips where the machine lacks what it needs."""
    with brought_up(SYSTEM, SETTINGS, tmp_path_factory.mktemp(SYSTEM)) as up:
        yield up


def changed(shop: Environment, **settings: object) -> None:
    shop.change(topologies.of_file(systems.load(SYSTEM), {**SETTINGS, **settings}))


def passed_through(shop: Environment, name: str, folder: Path, scenario: int = 0) -> dict[str, list[TracedAttempt]]:
    """What each group of a study asks in one pass through the shop."""
    file = STUDIES / f"{name}.yaml"
    study, inputs = load(file), Inputs(STUDIES)
    chosen = preflight.expanded(study, inputs).scenarios[scenario]
    targets = tuple(map(Endpoint, shop.targets))
    task = Task(chosen, targets, study.time_limit, study.longest_warm_up, study.seed, 0, inputs, shop.dead)
    return {group: engine.attempts_of(job, task, folder) for group, job in jobs.once(task)}


@pytest.mark.timeout(900)
def test_a_pass_through_the_shop_is_67_requests_and_all_are_answered_well(shop: Environment, tmp_path: Path) -> None:
    for attempts in passed_through(shop, "rate-limiting-shop-quick", tmp_path).values():
        assert [one.missed for one in attempts if not one.success] == []
        assert {one.status for one in attempts} == {200}
        assert Counter(one.step for one in attempts) == REQUESTS_OF_A_PASS
    assert sum(REQUESTS_OF_A_PASS.values()) == 67


def test_bundled_product_reads_leave_39_requests_of_a_pass(shop: Environment, tmp_path: Path) -> None:
    attempts = passed_through(shop, "shop-bundles", tmp_path, scenario=-1)["high"]
    assert [one.missed for one in attempts if not one.success] == []
    assert Counter(one.step for one in attempts) == BUNDLED
    assert sum(BUNDLED.values()) == 39


@pytest.mark.parametrize(
    ("name", "other"),
    [("shop-limits-by-route", "scrapers"), ("shop-overload", "flood"), ("shop-load-shedding", "flood")],
)
def test_who_is_not_a_shopper_asks_once_and_is_answered_well(
    shop: Environment, tmp_path: Path, name: str, other: str
) -> None:
    asked_by = passed_through(shop, name, tmp_path)
    assert {group: len(attempts) for group, attempts in asked_by.items()} == {"shoppers": 67, other: 1}
    assert [one.missed for attempts in asked_by.values() for one in attempts if not one.success] == []


@pytest.mark.parametrize("balancers", [2, 4])
def test_a_burst_over_eight_transactions_admits_exactly_the_limit(shop: Environment, balancers: int) -> None:
    changed(shop, limit=LIMIT, balancers=balancers)
    assert {start.component for start in shop.started}.isdisjoint(SERVICES)
    targets, requests = cycle(shop.targets), cycle(TRANSACTIONS)
    with httpx.Client(headers={"X-Api-Key": "ann"}, timeout=60) as ann, ThreadPoolExecutor(16) as burst:
        sent = [(next(targets), *next(requests)) for _ in range(SENT)]
        statuses = Counter(burst.map(lambda one: ann.request(one[1], one[0] + one[2], json=one[3]).status_code, sent))
    assert statuses == {200: LIMIT, 429: SENT - LIMIT}


def test_a_key_of_odd_bytes_is_one_client_over_all_balancers(shop: Environment) -> None:
    changed(shop, limit=4)
    for key in ODD_KEYS:
        with httpx.Client(headers={b"X-Api-Key": key}, timeout=60) as odd:
            answers = [odd.post(f"{url}{AUTH}/useractions/logout", json={}) for url in shop.targets * 3]
        assert Counter(answer.status_code for answer in answers) == {200: 4, 429: 2}, key
    assert requested(shop, 6, f"{AUTH}/useractions/logout") == {200: 4, 429: 2}, "nobody has used what is another's"


def test_a_service_above_its_limit_of_requests_in_progress_answers_503_until_the_limit_is_gone(
    shop: Environment,
) -> None:
    changed(shop, concurrency_limit=1)
    assert {start.component for start in shop.started}.isdisjoint(SERVICES)
    with in_progress(shop.running["image"].url) as ended:
        assert refused(shop).headers["Retry-After"] == "1"
        assert picture(shop).status_code == 503
        assert ended() == 200
    changed(shop)
    with in_progress(shop.running["image"].url) as ended:
        assert picture(shop).status_code == 200
        assert ended() == 200


PICTURES = f"{IMAGE}/image/getProductImages"


@contextmanager
def in_progress(url: str) -> Iterator[Callable[[], int]]:
    """A request to the service whose body ends when the test asks for its status, so it is in progress until then."""
    body, place = b'{"7": "64x64"}', urlsplit(url)
    with closing(http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)) as connection:
        connection.putrequest("POST", PICTURES)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:-1])

        def ended() -> int:
            connection.send(body[-1:])
            return connection.getresponse().status

        yield ended


def picture(shop: Environment) -> httpx.Response:
    """The answer to a request for one small picture, through a balancer."""
    return httpx.post(shop.endpoint + PICTURES, json={"7": "64x64"}, headers={"X-Api-Key": "ann"}, timeout=60)


def refused(shop: Environment) -> httpx.Response:
    """The first answer 503: the request that is in progress may reach the service a moment after it was sent."""
    return next(answer for answer in (picture(shop) for _ in range(1000)) if answer.status_code == 503)


def test_recommendations_have_a_limit_of_their_own(shop: Environment) -> None:
    changed(shop, limits="by_route", limit=20, recommend_limit=4)
    assert requested(shop, 10, f"{RECOMMENDER}/recommend?uid=1") == {200: 4, 429: 6}
    # A request that the limit of a route rejected has taken nothing from the limit of all routes.
    assert requested(shop, 20, f"{AUTH}/useractions/logout") == {200: 16, 429: 4}


def test_what_costs_more_counts_for_more(shop: Environment) -> None:
    changed(shop, limits="by_cost", limit=20)
    assert requested(shop, 3, f"{RECOMMENDER}/recommend?uid=1", X_Cost="5") == {200: 3}
    assert requested(shop, 8, f"{AUTH}/useractions/logout") == {200: 5, 429: 3}


def requested(shop: Environment, times: int, path: str, **headers: str) -> Counter[int]:
    """The statuses of so many requests of one client, sent to the balancers in turn."""
    named = {"X-Api-Key": "ann", **{name.replace("_", "-"): value for name, value in headers.items()}}
    targets = (shop.targets * times)[:times]
    return Counter(httpx.post(url + path, json=[], headers=named, timeout=60).status_code for url in targets)


def test_distance_is_the_way_between_clients_and_balancers(shop: Environment) -> None:
    changed(shop, distance="40ms")
    for url in shop.targets:
        assert httpx.post(f"{url}{AUTH}/useractions/logout", json={}, timeout=60).elapsed.total_seconds() > 0.08
    changed(shop)


def test_how_recommendations_are_made_changes_while_it_runs(shop: Environment) -> None:
    made = []
    for algorithm in ("popularity", "slope_one"):
        changed(shop, recommendations=algorithm)
        assert "recommender" not in {start.component for start in shop.started}
        made.append(httpx.post(f"{shop.endpoint}{RECOMMENDER}/recommend?uid=7", json=[], timeout=60).json())
    assert [len(one) for one in made] == [10, 10]
    assert made[0] != made[1]


@pytest.mark.browser
def test_someone_buys_something(shop: Environment) -> None:
    changed(shop)
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        heard: list[str] = []
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        buy(page, shop.endpoint)
        assert heard == []
    assert "persistence" in shop.reset()
    assert httpx.get(f"{shop.endpoint}{PERSISTENCE}/orders", timeout=60).json()[-1]["id"] <= 1000


def buy(page: Page, url: str) -> None:
    """Sign in, look around, put two of something into the cart, and buy them."""
    page.goto(url)
    page.get_by_role("link", name="Sign in").click()
    page.get_by_label("Name").fill("user7")
    page.get_by_label("Password").fill("password")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("navigation", name="Categories").get_by_role("link", name="Rooibos").click()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="2").click()
    expect(page.locator(".pages [aria-current]")).to_have_text("2")
    expect(page.locator(".products img")).to_have_count(20)
    page.get_by_role("link", name="Mountain Blend").click()
    price = float(page.locator(".product .price").inner_text().removesuffix(" €"))
    expect(page.locator(".advice li")).to_have_count(10)
    page.get_by_role("button", name="Add to cart").click()
    page.get_by_label("Quantity of Mountain Blend").fill("2")
    page.get_by_role("button", name="Change").click()
    expect(page.locator("#cart")).to_have_text("Cart (2)")
    total = f"{2 * price:.2f} €"
    expect(page.locator("#total")).to_have_text(total)
    page.get_by_label("Name").fill("Ada <b>Baumann</b>")
    page.get_by_label("Street").fill("Teestrasse 8")
    page.get_by_role("button", name="Buy").click()
    bought = page.locator("tbody tr").first
    expect(bought).to_contain_text("Ada <b>Baumann</b>, Teestrasse 8")
    expect(bought).to_contain_text(total)
    expect(page.locator("#cart")).to_have_text("Cart (0)")


ALIVE: Mapping[str, tuple[str, str]] = {
    "persistence": ("GET", f"{PERSISTENCE}/products/7"),
    "auth": ("POST", f"{AUTH}/useractions/logout"),
    "recommender": ("POST", f"{RECOMMENDER}/recommend?uid=1"),
    "image": ("POST", f"{IMAGE}/image/getWebImages"),
    "webui": ("GET", "/login"),
}
"""For each service a request that it answers; the page is put together with persistence and image."""
BODIES: Mapping[str, object] = {"recommender": [], "image": {"icon": "64x64"}}
LEAST = 5
"""How many answers of each service are waited for before and after one is killed."""
BROKEN_OFF = "broken off"
"""An answer whose head had come when the service was killed that had not yet sent the rest."""
OF_A_KILLED_SERVICE = {200, 502, BROKEN_OFF}


@dataclass(frozen=True)
class Load:
    """The answers so far by service: statuses, and those that were broken off."""

    answers: Mapping[str, list[int | str]]
    at_work: Asking

    def wait_for_more(self) -> None:
        """Wait until every service was asked some more times."""
        enough = {name: len(answers) + LEAST for name, answers in self.answers.items()}
        self.at_work.until(lambda: all(len(self.answers[name]) >= least for name, least in enough.items()))

    def kinds(self) -> dict[str, set[int | str]]:
        """What was answered so far, by service."""
        return {name: set(answers) for name, answers in self.answers.items()}


def answer(http: httpx.Client, name: str) -> int | str:
    """The status of a service's answer."""
    method, path = ALIVE[name]
    try:
        return http.request(method, path, json=BODIES.get(name), headers={"X-Api-Key": name}).status_code
    except httpx.RemoteProtocolError:
        return BROKEN_OFF


@contextmanager
def load_on(shop: Environment) -> Iterator[Load]:
    """Each service asked all the time, one request after the other."""
    answers: dict[str, list[int | str]] = {name: [] for name in ALIVE}
    with httpx.Client(base_url=shop.endpoint, timeout=60) as http:
        asks = [lambda name=name, kept=kept: kept.append(answer(http, name)) for name, kept in answers.items()]
        with asking(asks, pause_s=0.02) as at_work:
            yield Load(answers, at_work)


def killed_under_load(shop: Environment, name: str) -> tuple[dict[str, set[int | str]], dict[str, int | str]]:
    """Kill a service under load; for each service, all kinds of its answers, and the last one."""
    with load_on(shop) as load:
        load.wait_for_more()
        shop.expect_down(name)
        kill(shop.running[name].process)
        load.wait_for_more()
    return load.kinds(), {one: answers[-1] for one, answers in load.answers.items()}


def statuses_of_the_transactions(shop: Environment) -> set[int]:
    """The statuses of a request of each transaction, sent to the balancers in turn."""
    with httpx.Client(headers={"X-Api-Key": "ann"}, timeout=60) as ann:
        sent = zip(cycle(shop.targets), TRANSACTIONS, strict=False)
        return {ann.request(how, url + path, json=body).status_code for url, (how, path, body) in sent}


@pytest.mark.parametrize(("policy", "status"), [("closed", 429), ("local", 200)])
def test_a_killed_store_of_limits_costs_shoppers_no_more_than_its_policy_says(
    shop: Environment, policy: str, status: int
) -> None:
    changed(shop, when_store_fails=policy)
    with load_on(shop) as load:
        load.wait_for_more()
        shop.expect_down("redis")
        kill(shop.running["redis"].process)
        load.at_work.until(lambda: statuses_of_the_transactions(shop) == {status})
        load.wait_for_more()
        shop.restart("redis")
        load.at_work.until(lambda: statuses_of_the_transactions(shop) == {200})
    assert set().union(*load.answers.values()) == {200, status}


def test_a_frozen_store_of_limits_is_used_again_when_it_thaws(shop: Environment) -> None:
    changed(shop, when_store_fails="closed", store_timeout="100ms")
    redis = shop.running["redis"].process
    with load_on(shop) as load:
        load.wait_for_more()
        stop(redis)
        try:
            load.at_work.until(lambda: statuses_of_the_transactions(shop) == {429})
        finally:
            wake(redis)
        load.at_work.until(lambda: statuses_of_the_transactions(shop) == {200})
    assert set().union(*load.answers.values()) == {200, 429}


def test_without_persistence_pages_say_so_and_what_asks_no_one_continues(shop: Environment) -> None:
    changed(shop)
    kinds, last = killed_under_load(shop, "persistence")
    assert last == {"persistence": 502, "auth": 200, "recommender": 200, "image": 200, "webui": 503}
    assert kinds["auth"] == kinds["recommender"] == kinds["image"] == {200}
    assert kinds["webui"] == {200, 503}
    assert kinds["persistence"] <= OF_A_KILLED_SERVICE
    page = httpx.get(shop.endpoint, timeout=60)
    assert (page.status_code, "does not answer" in page.text) == (503, True)
    login = httpx.post(f"{shop.endpoint}{AUTH}/useractions/login?name=user1&password=password", json={}, timeout=60)
    assert login.status_code == 502
    shop.restart("persistence")
    assert httpx.get(shop.endpoint, timeout=60).status_code == 200


def test_pages_are_shown_without_what_was_killed(shop: Environment) -> None:
    """One after the other, and none comes back: each time everything that is left continues."""
    gone: set[str] = set()
    for name in ("image", "recommender", "auth", "webui"):
        kinds, last = killed_under_load(shop, name)
        assert last[name] == 502
        assert kinds[name] <= OF_A_KILLED_SERVICE
        gone.add(name)
        assert {one: kinds[one] for one in ALIVE.keys() - gone} == {one: {200} for one in ALIVE.keys() - gone}
        if name != "webui":
            page = httpx.get(f"{shop.endpoint}/product?id=7", timeout=60)
            assert page.status_code == 200
            assert ("<img" in page.text, "You might like" in page.text) == (False, "recommender" not in gone)
    assert httpx.post(f"{shop.endpoint}{AUTH}/cart/add/7", json={}, timeout=60).status_code == 502
