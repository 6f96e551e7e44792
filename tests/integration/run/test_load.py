"""Load by the engine: exact counts, kept rates, journeys and polling against a scripted server, and the command."""

from __future__ import annotations

import json
import signal
import subprocess
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs

import pandas as pd
import psutil
import pytest
from tests.integration.run.conftest import command, entries, left_behind, patternbench
from tests.integration.run.test_bad_input import refused
from tests.support.targets import target_up

from patternbench.analyze.metrics import round_metrics
from patternbench.drivers.driver import DriverError, Task
from patternbench.drivers.engine import EngineDriver, problems_of
from patternbench.lab.software import engine
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.study.load import loads
from patternbench.study.model.system import Endpoint
from patternbench.terms.units import Duration

AROUND = """\
patternbench: 1
name: load
system: {name: target, settings: {service_time: "fixed:1ms"}}
rounds: 1
warm_up: 0s
time_limit: 30s
strategies:
  - {client: native, baseline: {}}
"""
TABLE_III = """\
workload:
  duration: 4s
  groups:
    - {name: high, users: 5, rate: 120/m}
    - {name: moderate, users: 20, rate: 90/m}
    - {name: low, users: 75, rate: 30/m}
  request: {path: /bytes/10}
"""


def drive(text: str, url: str, folder: Path, warm_up: str = "0s") -> tuple[pd.DataFrame, Any]:
    """The attempts of one round of the first scenario, and what the driver says of it."""
    (folder / "attempts").mkdir()
    around = AROUND.partition("strategies:")[0] if "strategies:" in text else AROUND
    scenario = expand(loads(around + text, "x.yaml")).scenarios[0]
    limits = (Duration.parse("30s"), Duration.parse(warm_up))
    into = folder / "attempts" / "00000.parquet"
    measured = EngineDriver(folder / "load", folder / "logs").drive(
        Task(scenario, (Endpoint(url),), *limits, 1, 0, Inputs(folder)), into
    )
    return pd.read_parquet(into), measured


def test_what_exceeds_the_cap_is_dropped_and_counted_exactly(tmp_path: Path) -> None:
    # One worker holds the first call for longer than all arrivals take: the cap lets three in, and no other.
    text = "workload: {open: {rate: 100, arrivals: 40, in_flight: 3}, request: {path: /bytes/1, timeout: 20s}}"
    with target_up(tmp_path, "--workers", "1", "--service-time", "fixed:2s") as url:
        rows, measured = drive(text, url, tmp_path)
    assert Counter(rows["outcome"]) == {"answered": 3, "dropped": 37}
    assert (rows.loc[rows["outcome"] == "dropped", "attempt"] == 0).all()
    assert measured.rows == 40
    found = {warning.kind: warning for warning in measured.warnings}
    assert not found["dropped_arrivals"].invalidates
    assert "`in_flight`" in found["dropped_arrivals"].remedy


def test_groups_keep_the_rates_of_table_iii(tmp_path: Path) -> None:
    with target_up(tmp_path, "--workers", "64", "--service-time", "fixed:1ms") as url:
        rows, _ = drive(TABLE_III, url, tmp_path)
    groups = rows.groupby("group", observed=True)
    assert groups["user"].nunique().to_dict() == {"high": 5, "moderate": 20, "low": 75}
    # In four seconds a user of each group is due at 8, 6 and 2 moments; the default ``late: catch_up`` leaves none out.
    assert groups.size().to_dict() == {"high": 5 * 8, "moderate": 20 * 6, "low": 75 * 2}
    gaps = rows.sort_values("intended_us").groupby(["group", "user"], observed=True)["intended_us"].diff()
    per_minute = 60e6 / gaps.groupby(rows["group"], observed=True).mean()
    for group, rate in (("high", 120), ("moderate", 90), ("low", 30)):
        assert per_minute[group] == pytest.approx(rate, rel=0.005)


def test_a_group_of_arrivals_keeps_its_rate_whatever_the_users_next_to_it_wait_for(tmp_path: Path) -> None:
    text = (
        "workload:\n  duration: 1s\n  groups:\n"
        "    - {name: arriving, open: {rate: 50}}\n    - {name: waiting, users: 2}\n  request: {path: /bytes/1}\n"
    )
    with target_up(tmp_path, "--workers", "64", "--service-time", "fixed:100ms") as url:
        rows, _ = drive(text, url, tmp_path)
    arriving = rows[rows["group"] == "arriving"].sort_values("intended_us")
    assert len(arriving) == 50
    assert set(arriving["intended_us"].diff().dropna()) == {20_000}
    assert 2 <= (rows["group"] == "waiting").sum() <= 20


def test_the_warm_up_is_recorded_and_marked(tmp_path: Path) -> None:
    text = "workload: {open: {rate: 50, duration: 1s}, request: {path: /bytes/1}}"
    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        rows, _ = drive(text, url, tmp_path, warm_up="500ms")
    assert Counter(rows["warm_up"]) == {True: 25, False: 50}
    assert (rows["warm_up"] == (rows["intended_us"] < 500_000)).all()


@pytest.mark.parametrize(
    ("says", "cause"),
    [
        ('{"progress": {}}', "the load engine died"),
        ("no json", "the load engine broke its contract"),
        ('{"error": "the disk is full"}', "gave up: the disk is full"),
        ('{"problems": [{"path": "seed", "message": "is odd"}]}', "refused its job: seed: is odd"),
    ],
)
def test_an_engine_that_fails_is_a_cause_and_no_crash(
    says: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "engine"
    stand_in.write_text(f"#!/bin/sh\nif [ $1 = load ]; then echo '{says}'; exit 3; fi\nexec {engine.binary()} \"$@\"\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATTERNBENCH_ENGINE", str(stand_in))
    with pytest.raises(DriverError, match=cause):
        drive("workload: {open: {rate: 5, duration: 1s}}", "http://127.0.0.1:1", tmp_path)


@pytest.mark.parametrize(
    ("does", "cause"),
    [
        ('echo \'{"error": "no room"}\'; exit 1', "can't check its job: no room"),
        ("echo no json", "broke its contract"),
        ("echo '[1]'", "broke its contract"),
        ("exit 3", "can't check its job: check ended with code 3"),
    ],
)
def test_an_engine_that_fails_at_a_check_is_a_cause_and_no_crash(
    does: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "engine"
    stand_in.write_text(f'#!/bin/sh\nif [ $1 = load ]; then {does}; exit 0; fi\nexec {engine.binary()} "$@"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATTERNBENCH_ENGINE", str(stand_in))
    with pytest.raises(DriverError, match=cause):
        problems_of({"contract": 1}, tmp_path)


class Shop(BaseHTTPRequestHandler):
    """A scripted shop: log in, browse, order (answered later, by correlation id), log out."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    requested: ClassVar[Counter[str]] = Counter()
    token: ClassVar[str] = ""
    """What a login is answered, where that isn't the name."""
    seen: ClassVar[list[tuple[str, str]]] = []
    guard = threading.Lock()

    def _answer(self, status: int, value: Any, **headers: str) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        with self.guard:
            self.seen.append((self.path, sent))
        if self.path == "/login":
            name = sent.partition("=")[2]
            self._answer(200, {"token": self.token or f"t-{name}"}, Set_Cookie=f"session={name}")
        elif not self.headers.get("Cookie", "").startswith("session="):
            self._answer(401, {})
        elif self.path == "/orders":
            self._answer(202, {"accepted": True}, Location=f"/orders/{self.headers['X-Correlation-Id']}")
        else:
            self._answer(200, {})

    def do_GET(self) -> None:
        if self.path == "/cold":
            with self.guard:
                self.requested[self.path] += 1
                cold = self.requested[self.path] <= 200
            # As a service whose code is not compiled yet; when warm it sleeps too, so that a busy machine adds little.
            time.sleep(0.03 if cold else 0.01)
        if not self.path.startswith("/orders/"):
            self._answer(200, {"items": [{"id": 7}]})
            return
        with self.guard:
            self.requested[self.path] += 1
            done = self.requested[self.path] >= 3
        self._answer(200, {"state": "done" if done else "working"})

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def shop() -> Iterator[str]:
    Shop.requested, Shop.seen = Counter(), []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


JOURNEY = """\
workload:
  closed: {users: 2, requests: 8}
  journey:
    cookies: true
    steps:
      - {name: login, method: POST, path: /login, form: {name: "user-${user}"}, capture: {token: {json: $.token}}}
      - {name: browse, path: /items, capture: {item: {json: "$.items[0].id"}}}
      - name: order
        method: POST
        path: /orders
        headers: {X-Correlation-Id: "${token}-${call}"}
        json: {item: "${item}"}
        expect: {statuses: [202], json: {$.accepted: true}}
        capture: {order: {header: Location}}
        poll: {path: "${order}", every: 10ms, limit: 10s, until: {json: {$.state: done}}}
      - {name: logout, method: POST, path: /logout}
"""


def test_a_journey_logs_in_orders_polls_until_done_and_logs_out(shop: str, tmp_path: Path) -> None:
    rows, measured = drive(JOURNEY, shop, tmp_path)
    assert measured.shortfall is None
    assert rows["success"].groupby(rows["step"], observed=True).last().all()
    calls = rows.groupby(["user", "call"], observed=True).agg(step=("step", "first"), attempts=("attempt", "max"))
    assert Counter(calls["step"]) == {"login": 4, "browse": 4, "order": 4, "logout": 4}
    # An order and the three questions until it is done are one call.
    assert set(calls.loc[calls["step"] == "order", "attempts"]) == {4}
    assert Counter(path for path, _ in Shop.seen) == {"/login": 4, "/orders": 4, "/logout": 4}
    assert {sent for path, sent in Shop.seen if path == "/orders"} == {'{"item":"7"}'}
    assert all(count == 3 for count in Shop.requested.values())


def test_a_capture_that_finds_nothing_is_that_users_failed_expectation(shop: str, tmp_path: Path) -> None:
    text = (
        "workload:\n  closed: {users: 1, requests: 2}\n"
        "  journey: [{name: a, path: /items, capture: {x: {json: $.nothing}}}, {name: b, path: '/${x}'}]\n"
    )
    rows, _ = drive(text, shop, tmp_path)
    assert set(zip(rows["step"], rows["outcome"], rows["success"], strict=True)) == {("a", "expectation_failed", False)}


BATCH = """\
workload:
  closed: {users: 1, journeys: 2}
  connection: new
  parameters: {size: 3}
  lists: {ids: {count: "${size}", of: "C${cycle:1-9}"}}
  journey:
    - name: list
      path: "/items?ids=${ids}"
      repeat: 2
      expect: {count: {"$.items[*]": 1}}
      capture: {items: {json: "$.items[*].id", pick: all}}
      items: {carried: "${size}", failed: "$.items[?@.id == 7]"}
    - {name: one, path: "/items/${item}", for_each: items, items: 1}
    - {name: wait, path: "/orders/${call}", expect: {json: {$.state: done}}, until_expected: {every: 5ms, limit: 5s}}
"""


def test_a_batch_is_worked_through_and_told_by_its_journeys_its_items_and_its_repeated_calls(
    shop: str, tmp_path: Path
) -> None:
    rows, measured = drive(BATCH, shop, tmp_path)
    assert measured.shortfall is None
    responses = round_metrics(rows)
    reported = ("journeys", "unfinished_journeys", "journey_failure_rate", "items", "TotalCalls", "amplification")
    assert [responses[name] for name in reported] == [2, 0, 0, 14, 8, 12 / 8]
    assert responses["item_failure_rate"] == pytest.approx(100 * 4 / 14)
    assert responses["journey_success_max"] >= 0.010, "two pauses of the repeated call are part of it"
    assert rows.loc[rows["step"] == "wait", "success"].tolist() == [False, False, True] * 2
    summary = json.loads((tmp_path / "load" / "00000" / "summary.json").read_text())
    assert (summary["journeys"], summary["generator"]["connections"]) == (2, 12)


SIGNED_IN = """\
workload:
  closed: {users: 2, requests: 3}
  set_up: [{name: login, method: POST, path: /login, form: {name: ann}, capture: {token: {json: $.token}}}]
  journey: [{name: order, method: POST, path: /items, headers: {Cookie: "session=${token}"}, body: "${token}"}]
"""


def test_a_set_up_is_taken_once_before_the_round_and_what_it_captures_holds_for_every_call(
    shop: str, tmp_path: Path
) -> None:
    rows, measured = drive(SIGNED_IN, shop, tmp_path)
    assert measured.shortfall is None
    assert (set(rows["step"]), len(rows), rows["success"].all()) == ({"order"}, 6, True)
    assert Shop.seen == [("/login", "name=ann"), *[("/items", "t-ann")] * 6]
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and b"t-ann" in file.read_bytes()]
    assert not kept


HOSTILE_TOKEN = 'ann"b\\c&d+e f'
USES_TOKEN = """\
workload:
  closed: {users: 1, requests: 2}
  set_up: [{name: login, method: POST, path: /login, json: {name: x}, capture: {token: {json: $.token}}}]
  journey:
    - {name: as-json, method: POST, path: /json, headers: {Cookie: session=1}, json: {token: "${token}"}}
    - {name: as-form, method: POST, path: /form, headers: {Cookie: session=1}, form: {token: "${token}", last: 1}}
"""


def test_a_set_ups_value_with_quotes_and_ampersands_arrives_as_it_was_in_json_and_in_a_form(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shop, "token", HOSTILE_TOKEN)
    drive(USES_TOKEN, shop, tmp_path)
    sent = dict(Shop.seen)
    assert json.loads(sent["/json"]) == {"token": HOSTILE_TOKEN}
    assert parse_qs(sent["/form"], strict_parsing=True) == {"token": [HOSTILE_TOKEN], "last": ["1"]}


def test_a_set_up_that_is_not_answered_as_expected_fails_the_round_with_its_step(shop: str, tmp_path: Path) -> None:
    with pytest.raises(DriverError, match=r"the set-up failed at `login` \(401\)"):
        drive(SIGNED_IN.replace("path: /login", "path: /orders"), shop, tmp_path)


def study(folder: Path, text: str) -> str:
    path = folder / "study.yaml"
    path.write_text(AROUND + text)
    return str(path)


@pytest.mark.parametrize(("warm_up", "warned"), [("0s", True), ("{requests: 250, at_most: 20s}", False)])
def test_a_service_that_is_not_warm_yet_gets_a_warning_until_its_warm_up_is_long_enough(
    shop: str, tmp_path: Path, warm_up: str, warned: bool
) -> None:
    text = (
        f"patternbench: 1\nname: cold\nsystem: {{url: {shop}}}\nrounds: 1\nwarm_up: {warm_up}\ntime_limit: 30s\n"
        "workload: {closed: {users: 1, requests: 600}, request: {path: /cold}}\n"
    )
    (tmp_path / "cold.yaml").write_text(text)
    result = patternbench("run", str(tmp_path / "cold.yaml"), "--out", str(tmp_path / "run"))
    (entry,) = entries(tmp_path / "run")
    assert entry["status"] == "done", result.stderr
    reported = {warning["kind"]: warning for warning in entry["doubts"]}
    assert ("warm_up_drift" in reported) == warned
    assert not warned or "the service was not warm yet: set `warm_up: " in reported["warm_up_drift"]["remedy"]


def test_a_study_of_an_open_workload_runs_and_its_steps_are_reported(tmp_path: Path) -> None:
    text = (
        "workload:\n  open: {rate: [20, 40], duration: 1s}\n"
        "  journey: [{name: look, path: /bytes/10}, {name: buy, path: '/bytes/${random:1-20}'}]\n"
    )
    run = tmp_path / "run"
    done = patternbench("run", study(tmp_path, text), "--out", str(run), "--json")
    assert done.returncode == 0, done.stderr
    assert [entry["rows"] for entry in sorted(entries(run), key=lambda entry: entry["rows"])] == [40, 80]
    assert len(pd.read_parquet(run / "attempts" / "00000.parquet")) in (40, 80)
    summary = json.loads((run / "load" / "00000" / "summary.json").read_text())
    assert {"histograms.json", "summary.json"} == {path.name for path in (run / "load" / "00000").iterdir()}
    assert "valid" in summary
    steps = pd.read_parquet(run / "steps.parquet")
    assert set(steps["step"]) == {"look", "buy"}
    valid = pd.read_parquet(run / "rounds.parquet")["valid"]
    # The machine may hold the generator up: rounds that are not valid stand in the records, and in no table.
    assert ("<h2>Steps</h2>" in (run / "report.html").read_text()) == bool(valid.any())


def test_everything_wrong_with_a_load_is_listed_with_its_line_before_the_start(tmp_path: Path) -> None:
    text = (
        "workload:\n  open: {rate: 5, duration: 1s}\n  journey:\n"
        "    - {path: '/${nobody}'}\n    - path: /\n      body_file: nowhere.json\n"
    )
    message = refused("run", study(tmp_path, text), "--out", str(tmp_path / "run"))
    assert "study.yaml:12: workload.journey[0].path: `${nobody}` isn't known" in message
    assert "study.yaml:14: workload.journey[1].body_file" in message
    assert not (tmp_path / "run").exists()


def test_what_only_the_engine_finds_wrong_is_listed_with_its_line_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("at_us\n5\n3\n")
    text = "workload:\n  open:\n    schedule: {trace: t.csv}\n  request: {path: /}\n"
    message = refused("run", study(tmp_path, text), "--out", str(tmp_path / "run"))
    assert "study.yaml:11: workload.open.schedule.trace" in message
    assert "earlier than the one before" in message
    assert not (tmp_path / "run").exists()


def test_a_librarys_client_is_refused_an_open_workload_by_name(tmp_path: Path) -> None:
    path = Path(study(tmp_path, "workload: {open: {rate: 1, duration: 1s}}\n"))
    path.write_text(path.read_text().replace("native", "resilience4j"))
    message = refused("run", str(path), "--out", str(tmp_path / "run"))
    assert "client resilience4j cannot drive an open workload" in message


def test_a_round_that_would_outlast_its_limit_is_refused(tmp_path: Path) -> None:
    text = "workload: {open: {rate: 1, duration: 31s}}\n"
    message = refused("run", study(tmp_path, text), "--out", str(tmp_path / "run"))
    assert "workload.open.duration" in message
    assert "time_limit" in message


def test_a_warm_up_that_may_take_all_of_a_rounds_time_is_refused(tmp_path: Path) -> None:
    written = Path(study(tmp_path, "workload: {closed: {users: 1, requests: 5}}\n"))
    written.write_text(written.read_text().replace("warm_up: 0s", "warm_up: {requests: 9}"))
    message = refused("run", str(written), "--out", str(tmp_path / "run"))
    assert "warm_up: takes the whole round" in message
    assert "less than time_limit (30s)" in message


def ended_well(out: Path) -> int:
    """The exit code of load whose calls ended well: 3 when the generator itself was held up, as it may be here."""
    return 0 if json.loads((out / "summary.json").read_text())["valid"] else 3


def test_load_ends_with_exactly_one_object(tmp_path: Path) -> None:
    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        out = tmp_path / "records"
        done = patternbench("load", f"{url}/bytes/5", "--rate", "50", "--duration", "1s", "--out", str(out), "--json")
    assert done.returncode == ended_well(out), done.stderr
    reported = json.loads(done.stdout)
    assert list(reported) == [
        "requests",
        "errors",
        "dropped",
        "statuses",
        "outcomes",
        "duration_s",
        "rate_per_s",
        "response_ms",
        "service_ms",
        "lateness_ms",
        "generator_cpu_s",
    ]
    assert (reported["requests"], reported["errors"], reported["dropped"]) == (50, 0, 0)
    assert reported["statuses"] == {"2xx": 50}
    assert list(reported["response_ms"]) == ["p50", "p90", "p99", "p999", "max"]
    assert len(pd.read_parquet(out / "attempts.parquet")) == 50


def test_load_takes_the_journeys_of_a_file_and_stops_after_as_many_calls_as_were_asked(
    shop: str, tmp_path: Path
) -> None:
    (tmp_path / "order.yaml").write_text(textwrap.dedent(JOURNEY.partition("  journey:\n")[2]))
    flags = ("--users", "1", "--requests", "8", "--journey", str(tmp_path / "order.yaml"))
    done = patternbench("load", shop, *flags, "--header", "X-All: 1", "--out", str(tmp_path / "out"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["errors"] == 0
    rows = pd.read_parquet(tmp_path / "out" / "attempts.parquet")
    ended = rows[rows.groupby(["user", "call"], observed=True)["attempt"].transform("max") == rows["attempt"]]
    assert Counter(ended["step"]) == {"login": 2, "browse": 2, "order": 2, "logout": 2}
    assert ended["ends_journey"].sum() == 2
    message = refused("load", shop, *flags, "--method", "POST")
    assert "--journey: does not go with --method" in message


def test_load_at_nothing_ends_with_1_and_a_url_that_is_none_with_2() -> None:
    done = patternbench("load", "http://127.0.0.1:1/", "--requests", "3", "--users", "1", "--json")
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["errors"] == 3
    assert "URL: " in refused("load", "htp:/x", "--rate", "5")
    assert "--rate" in refused("load", "http://127.0.0.1:1/", "--rate", "often")


def test_a_stack_of_policies_comes_from_a_file_or_from_flags(tmp_path: Path) -> None:
    (tmp_path / "stack.yaml").write_text("- deadline: 5s\n- hedge: {delay: 5ms}\n")
    flags = ("--users", "1", "--requests", "10")
    with target_up(tmp_path, "--workers", "4", "--service-time", "fixed:30ms") as url:
        by_file = patternbench("load", url + "/bytes/5", *flags, "--policies", str(tmp_path / "stack.yaml"))
        by_flags = patternbench("load", url + "/bytes/5", *flags, "--deadline", "5s", "--hedge", "5ms", "--json")
    assert by_file.returncode == 0, by_file.stderr
    assert "acted: deadline 0, hedge 10" in by_file.stdout
    reported = json.loads(by_flags.stdout)
    assert (reported["requests"], reported["errors"]) == (20, 0)
    assert reported["policies"] == [{"policy": "deadline", "acted": 0}, {"policy": "hedge", "acted": 10}]
    (tmp_path / "wrong.yaml").write_text("- retry: {max_attempts: 3}\n- timeout: 5\n")
    message = refused("load", url, "--policies", str(tmp_path / "wrong.yaml"))
    assert "wrong.yaml:1: stack[0].retry.backoff: `backoff` is missing" in message
    assert "wrong.yaml:2: stack[1].timeout: a duration needs a unit" in message


def test_load_that_a_slow_system_leaves_no_room_for_is_dropped_and_counted_and_a_result(tmp_path: Path) -> None:
    # One worker holds the first call for the whole second: nine in ten arrivals find the cap taken.
    with target_up(tmp_path, "--workers", "1", "--service-time", "fixed:2s") as url:
        flags = ("--rate", "20", "--duration", "1s", "--in-flight", "2", "--timeout", "10s", "--json")
        done = patternbench("load", f"{url}/bytes/1", *flags)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["dropped"] == 18
    assert "18 arrivals (90.00 %) were not sent" in done.stderr


def test_load_whose_generator_stood_still_has_no_result(tmp_path: Path) -> None:
    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        flags = ("--rate", "100", "--duration", "3s", "--json")
        process = subprocess.Popen(command("load", url + "/bytes/1", *flags), stdout=-1, stderr=-1, text=True)
        generator = eventually(lambda: _generator(process.pid))
        time.sleep(1)
        generator.suspend()
        time.sleep(1)
        generator.resume()
        out, err = process.communicate(timeout=280)
    assert process.returncode == 3, err
    assert json.loads(out)["requests"] > 0
    assert "not valid:" in err


def _generator(command_pid: int) -> psutil.Process | None:
    """The load engine below a command, itself and not the guard that starts it."""
    below = psutil.Process(command_pid).children(recursive=True)
    return next(
        (each for each in below if each.name() == "patternbench-engine" and "load" in each.cmdline()[1:2]), None
    )


def eventually(found: Callable[[], Any]) -> Any:
    """What a question answers at last, asked for ten seconds at most."""
    for _ in range(200):
        answer = found()
        if answer is not None:
            return answer
        time.sleep(0.05)
    raise AssertionError("nothing was found in ten seconds")


def test_load_that_is_interrupted_shows_what_there_is(tmp_path: Path) -> None:
    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        out = tmp_path / "records"
        process = subprocess.Popen(
            command("load", url, "--rate", "50", "--duration", "60s", "--out", str(out), "--json"), stdout=-1, text=True
        )
        deadline = time.monotonic() + 60
        while not (out / "attempts.parquet").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=280)
    assert process.returncode == 130
    assert json.loads(printed)["requests"] > 0
    assert left_behind(str(out)) == []
