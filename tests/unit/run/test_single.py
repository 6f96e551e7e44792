"""What ``try`` and ``capacity`` send and tell, without a system: an engine that is made up keeps the jobs."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
from tests.support.made_up_engine import MadeUp, ending, made_up, over

from patternbench.analyze.load.rate_search import parse_objective
from patternbench.drivers.driver import DriverError
from patternbench.lab.environment import Environment
from patternbench.records.inputs import Inputs
from patternbench.run.before import preflight
from patternbench.run.round.fixture import RoundFixture
from patternbench.run.single import rate_rounds, trying
from patternbench.study.load import StudyFile
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

NO_PROBLEM: dict[str, object] = {"problems": []}


class Answering(BaseHTTPRequestHandler):
    """Answers what it is told to, and keeps the paths and headers that it was asked for."""

    status: ClassVar[int] = 200
    requested: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.requested.append((self.path, self.headers.get("X-Key")))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A service that is up, and no engine."""
    made_up(monkeypatch)
    monkeypatch.setattr(Answering, "status", 200)
    Answering.requested.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def written(url: str, workload: str, more: str = "") -> StudyFile:
    head = f"patternbench: 1\nname: x\nseed: 7\nsystem: {{urls: [{url}], ready: /up, headers: {{X-Key: a}}}}\n{more}"
    return StudyFile("x.yaml", f"{head}{workload}\nstrategies: [{{client: native, baseline: {{}}}}]\n", Path.cwd())


SHOP = """\
workload:
  set_up: [{name: sign-in, path: /in, capture: {token: {json: $.t}}}]
  duration: 1s
  groups:
    - {name: buyers, users: 1, journeys: [{weight: 1, steps: [{path: /a}]}, {weight: 1, steps: [{path: /b}]}]}
    - {name: sellers, users: 1, journeys: [{weight: 1, steps: [{path: "/c/${token}"}]}]}
"""
GOOD = {"group": "g", "step": "s", "start_us": 0, "end_us": 5, "outcome": "answered", "status": 200, "success": True}


def test_a_trial_takes_every_journey_of_every_group_once_after_the_set_up(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MadeUp, "trace", [{**GOOD, "captured": {"token": "t-1"}}])
    ending(monkeypatch, *[[NO_PROBLEM]] * 2, *[[over()]] * 5)
    found = list(trying.trials(written(url, SHOP)))
    reported = [(one.group, one.journey, one.good) for one in found]
    assert reported == [("set-up", 1, True), ("buyers", 1, True), ("buyers", 2, True), ("sellers", 1, True)]
    sent = [job["groups"][0]["journeys"][0]["steps"][0]["path"] for job in MadeUp.jobs[2:]]
    assert sent == ["/in", "/in", "/a", "/b", "/c/${token}"]
    assert MadeUp.jobs[-1]["values"]["token"] == "t-1"
    assert {job["targets"][0]["url"] for job in MadeUp.jobs[2:]} == {url}
    assert {job["seed"] for job in MadeUp.jobs[2:]} == {7}
    assert found[0].as_json() == {
        "group": "set-up",
        "journey": 1,
        "attempts": [{**GOOD, "captured": {"token": "t-1"}}],
        "good": True,
    }


@pytest.mark.parametrize("attempts", [[], [GOOD, {**GOOD, "success": False}]], ids=["nothing sent", "one failed"])
def test_a_journey_of_which_an_answer_is_wrong_is_not_good(
    attempts: list[Any], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MadeUp, "trace", attempts)
    ending(monkeypatch, [NO_PROBLEM], [over()])
    (found,) = trying.trials(written(url, "workload: {closed: {users: 1, journeys: 1}, journey: [{path: /}]}"))
    assert not found.good


def test_what_the_engine_refuses_or_does_not_answer_is_reported_before_anything_is_sent(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = written(url, "workload: {closed: {users: 1, journeys: 1}, journey: [{path: /}]}")
    ending(monkeypatch, [{"problems": [{"path": "seed", "message": "is odd"}]}])
    with pytest.raises(InputError, match="is odd"):
        list(trying.trials(study))
    monkeypatch.setattr(Answering, "status", 500)
    ending(monkeypatch, [NO_PROBLEM])
    with pytest.raises(InputError) as refused:
        list(trying.trials(study))
    (problem,) = refused.value.problems
    assert (problem.message, problem.path, problem.allowed) == ("answers 500", "system.ready", "a status below 500")
    assert Answering.requested == [("/up", "a")]
    assert [command[0] for command in MadeUp.commands] == ["check", "check"]


def test_a_service_that_answers_at_all_below_500_is_ready_and_one_that_does_not_is_named(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(url, "workload: {open: {rate: 1, duration: 1s}}")
    study, inputs = file.study(), Inputs(file.study_folder)
    for status, refused in ((404, False), (499, False), (500, True), (503, True)):
        monkeypatch.setattr(Answering, "status", status)
        assert bool(preflight.unready(study.system, inputs, study.system.addresses)) is refused
    gone = written("http://127.0.0.1:9", "workload: {open: {rate: 1, duration: 1s}}").study()
    (problem,) = preflight.unready(gone.system, inputs, gone.system.addresses)
    assert (problem.path, problem.value) == ("system.urls[0]", "http://127.0.0.1:9")
    assert problem.message.startswith("does not answer: ")
    assert problem.hint == "start it first, or correct `urls[0]`"


def searched(file: StudyFile, rates: list[float]) -> list[Any]:
    with rate_rounds.rate_fixture(file, Duration.parse("3s"), parse_objective("p95 <= 100ms")) as rate_fixture:
        return [rate_fixture.measure(rate) for rate in rates]


def test_each_round_of_a_search_begins_with_the_system_done_with_the_round_before(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an overload leaves waiting would otherwise be missed at the next, lower rate."""
    begun_after: list[str] = []
    plain = RoundFixture.environment

    def noted(self: RoundFixture, *system: Any) -> Environment:
        begun_after.append(self.unfinished)
        return plain(self, *system)

    monkeypatch.setattr(RoundFixture, "environment", noted)
    behind = iter(["calls wait", "", ""])
    monkeypatch.setattr(rate_rounds, "_unfinished", lambda _: next(behind))
    ending(monkeypatch, *[[over()]] * 3)
    searched(written(url, "workload: {open: {rate: 9, duration: 1m}}"), [20.0, 40.0, 20.0])
    assert begun_after == ["", "calls wait", ""]


def test_each_round_of_a_search_is_open_load_at_its_rate_with_its_own_seed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(url, "workload: {open: {rate: 9, duration: 1m}}", "warm_up: 2s\n")
    ending(monkeypatch, *[[over()]] * 2)
    first, second = searched(file, [20.0, 40.0])
    assert (first.step.rate, second.step.rate, first.step.calls) == (20.0, 40.0, 6)
    arrivals = [job["groups"][0]["workload"]["open"] for job in MadeUp.jobs]
    assert [one["schedule"]["constant"]["rate"] for one in arrivals] == [20, 40]
    assert {job["duration_us"] for job in MadeUp.jobs} == {3_000_000}
    assert [job["seed"] for job in MadeUp.jobs] == [7 * 1_000_003 + 1, 7 * 1_000_003 + 2]
    assert [job["constants"]["round"] for job in MadeUp.jobs] == ["1", "2"]
    assert {job["warm_up_us"] for job in MadeUp.jobs} == {2_000_000}
    assert {job["targets"][0]["url"] for job in MadeUp.jobs} == {url}


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ("workload: {open: {rate: [1, 2], duration: 1s}}", "the study has 2 scenarios"),
        ("workload: {closed: {users: 1, successes: 1}}", "has no rate to search"),
    ],
)
def test_a_study_of_several_scenarios_or_without_a_rate_cannot_be_searched(
    workload: str, message: str, url: str
) -> None:
    with pytest.raises(InputError, match=message):
        searched(written(url, workload), [1.0])


def test_the_search_of_a_url_asks_for_its_path_and_query_as_they_are(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, [over()])
    searched(rate_rounds.of_url(f"{url}/a b?x=${{y}}"), [5.0])
    (job,) = MadeUp.jobs
    step = job["groups"][0]["journeys"][0]["steps"][0]
    assert (step["method"], step["path"]) == ("GET", "/a%20b?x=$${y}")
    assert Answering.requested[0][0] == "/a%20b"
    assert (job["warm_up_us"], job["groups"][0]["workload"]["open"]["max_in_flight"]) == (1_000_000, 10_000)


def test_a_search_whose_engine_dies_fails(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, [])
    with pytest.raises(DriverError, match="the load engine died"):
        searched(written(url, "workload: {open: {rate: 9, duration: 1m}}"), [20.0])
