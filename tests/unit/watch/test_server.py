"""The page of ``patternbench watch``: what it answers, to whom, and how often it looks for how many viewers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest
from tests.support.measured_run import measured_run

from patternbench.records.folder import RunFolder
from patternbench.terms.problems import InputError
from patternbench.watch import hub as hubs
from patternbench.watch.hub import LIST, Hub
from patternbench.watch.server import Access, PageServer, page
from patternbench.watch.watched import WatchedRun, check_paths, name_of, runs_in


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    measured_run(folder / "one")
    damaged = measured_run(folder / "two")
    damaged.plan.write_text("{")
    (folder / "no run").mkdir()
    return folder


@pytest.fixture
def server(runs: Path) -> Iterator[PageServer]:
    hub = Hub([runs])
    made = PageServer("127.0.0.1", 0, hub)
    hub.start()
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()
    hub.stop()


def asked(server: PageServer, path: str, method: str = "GET", **headers: str) -> HTTPResponse:
    connection = HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def event(answer: HTTPResponse) -> dict[str, Any]:
    """The next event of a stream."""
    line = answer.readline()
    while not line.startswith(b"data: "):
        assert line, "the stream has ended"
        line = answer.readline()
    told: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
    return told


def test_the_list_has_each_run_with_its_first_sentence_and_a_damaged_one_says_so(server: PageServer) -> None:
    told = {one["folder"]: one for one in event(asked(server, "/events"))["runs"]}
    assert set(told) == {"one", "two"}
    assert (told["one"]["state"], told["one"]["name"]) == ("over", "made-up")
    assert told["one"]["sentence"].startswith("Users ")
    assert told["two"]["state"] == "can't be read"
    assert "is not JSON" in told["two"]["sentence"]


def test_a_run_is_told_with_its_decision_as_the_report_shows_it(server: PageServer, runs: Path) -> None:
    view = event(asked(server, f"/events?run={name_of(runs / 'one')}"))
    assert view["counts"]["ended"] == 16
    assert 'class="choices"' in view["decision"]
    assert view["sentences"][0] in view["decision"]
    assert view["round"]["when"] == "round 15 of block 4, as it went"


def test_a_run_can_be_seen_as_it_was(server: PageServer, runs: Path) -> None:
    view = json.loads(asked(server, f"/replay?run={name_of(runs / 'one')}&rounds=8").read())
    assert (view["counts"]["ended"], view["replayed"]) == (8, 8)
    assert "As it was" in view["caveat"]
    assert view["round"]["when"].startswith("round 7")


@pytest.mark.parametrize("path", ["/other", "/events?run=nothing", "/replay?run=x&rounds=1", "/replay?run=x&rounds=-1"])
def test_what_is_not_there_is_not_found(server: PageServer, path: str) -> None:
    assert asked(server, path).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_but_get_is_answered(server: PageServer, method: str) -> None:
    assert asked(server, "/", method).status == 501


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:1", 200), ("localhost", 200), ("[::1]:80", 200), ("evil.test", 403), ("", 403), ("[", 403)],
)
def test_a_page_of_another_site_gets_nothing_through_a_name_that_leads_here(
    server: PageServer, host: str, status: int
) -> None:
    assert asked(server, "/", Host=host).status == status


def test_beyond_this_machine_every_address_needs_the_token() -> None:
    access = Access.of("0.0.0.0")
    assert len(access.token) > 20
    assert access.allows("anything", access.token)
    assert not access.allows("127.0.0.1", "")
    assert not access.allows("127.0.0.1", "ä")
    assert Access.of("127.0.0.1").token == ""
    assert Access.of("192.168.1.2").token != Access.of("192.168.1.2").token


def test_the_page_loads_nothing_from_elsewhere_and_runs_its_own_script_alone(server: PageServer) -> None:
    answer = asked(server, "/")
    policy, text = answer.headers["Content-Security-Policy"], answer.read().decode()
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert text.count(f'nonce="{nonce}"') == 2
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert "@@" not in text
    assert page("a") != page("b")


@pytest.mark.parametrize("path", ["/", "/events", "/replay?run=NAME&rounds=8", "/elsewhere", "/events?run=none"])
def test_no_answer_is_kept_guessed_at_or_named_to_other_sites(server: PageServer, runs: Path, path: str) -> None:
    """The address of the page may hold its token, which a browser would send along with each link that is followed."""
    answer = asked(server, path.replace("NAME", name_of(runs / "one")))
    said = {name: answer.headers[name] for name in ("Referrer-Policy", "Cache-Control", "X-Content-Type-Options")}
    kept_to_itself = {
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    assert said == kept_to_itself
    if not path.startswith("/events") or answer.status != 200:
        assert len(answer.read()) == int(answer.headers["Content-Length"])


def test_ten_viewers_of_a_run_cost_no_more_looks_than_one(
    server: PageServer, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = list[int]()
    look = WatchedRun.refresh
    monkeypatch.setattr(WatchedRun, "refresh", lambda run: (looks.append(1), look(run))[1])
    streams = [asked(server, f"/events?run={name_of(runs / 'one')}") for _ in range(10)]
    views = [event(stream) for stream in streams]
    assert len({json.dumps(view) for view in views}) == 1
    assert len(looks) < 10
    assert server.viewers == 10
    for stream in streams:
        stream.close()


def test_what_nobody_watches_is_not_looked_at(runs: Path) -> None:
    now = [100.0]
    hub = Hub([runs], clock=lambda: now[0])
    assert hub._wanted(now[0]) == []
    hub.next_text(LIST, 0, 0.0)
    assert hub._wanted(now[0]) == [LIST]
    now[0] += hubs.WATCHED_S + 1
    assert hub._wanted(now[0]) == []


def test_a_run_that_nothing_has_changed_in_is_not_read_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = WatchedRun(runs / "one")
    run.refresh()
    before = run.view()
    monkeypatch.setattr(run._records, "look", lambda: pytest.fail("nothing has changed"))
    run.refresh()
    assert run.view() == before
    run.close()


def test_watching_changes_nothing_in_a_runs_folder(runs: Path) -> None:
    def files() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in (runs / "one").rglob("*")}

    before = files()
    run = WatchedRun(runs / "one")
    run.refresh()
    run.view_after(4)
    run.close()
    assert files() == before


def test_whether_a_process_runs_it_is_known_by_its_lock(tmp_path: Path) -> None:
    run = measured_run(tmp_path / "run", blocks=1)
    watched = WatchedRun(run.path)
    watched.refresh()
    assert watched.view().state == "over"
    run.lock()
    assert watched.view().state == "going on"
    run.unlock()
    assert watched.view().state == "over"
    watched.close()


def test_runs_are_found_in_folders_and_by_themselves_the_newest_first(runs: Path, tmp_path: Path) -> None:
    assert {path.name for path in runs_in([runs])} == {"one", "two"}
    assert list(runs_in([runs / "two"])) == [runs / "two"]
    assert list(runs_in([tmp_path])) == []
    with pytest.raises(InputError) as raised:
        check_paths([tmp_path / "nowhere"])
    assert "isn't a folder" in str(raised.value)


def test_a_name_with_markup_stays_text_in_the_decision(tmp_path: Path) -> None:
    run = measured_run(tmp_path / "run")
    text = run.manifest.read_text().replace("made-up", "<img src=x>\\u001b[2J")
    run.manifest.write_text(text)
    run.journal.write_text("")
    view = json.loads(hubs.as_text(_refreshed(run)))
    assert view["name"] == "<img src=x><1b>[2J"
    assert "<img" not in view["decision"]


def _refreshed(run: RunFolder) -> Any:
    watched = WatchedRun(run.path)
    watched.refresh()
    view = watched.view()
    watched.close()
    return view
