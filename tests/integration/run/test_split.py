"""A load that several generators make, over real sockets: together they send what one would."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from tests.integration.run.conftest import entries, left_behind, patternbench
from tests.integration.run.test_bad_input import refused
from tests.support.targets import target_up

from patternbench.drivers.driver import DrivenRound, Task
from patternbench.drivers.engine import EngineDriver
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.records.load_summaries import LoadProgress, LoadSummary
from patternbench.study.load import loads
from patternbench.study.model.system import Endpoint
from patternbench.terms.units import Duration

AROUND = """\
patternbench: 1
name: split
system: {name: target, settings: {service_time: "fixed:1ms"}}
rounds: 1
warm_up: 0s
time_limit: 30s
"""
PATHS = "  feeder: {file: names.csv}\n  journey: [{path: '/${feed.name}/${user}/${call}'}]\n"
LOADS = {
    "regular arrivals": "open: {rate: 150, duration: 800ms, users: 4}",
    "poisson arrivals": "open: {rate: 150, spacing: poisson, duration: 800ms, users: 4}",
    "a trace": "open: {schedule: {trace: trace.csv}, users: 4}",
    "closed users": "duration: 1s\n  groups: [{name: all, users: 20, rate: 5, start_over: 150ms}]",
}


class Hearing(ThreadingHTTPServer):
    """A server that remembers what it was asked for."""

    daemon_threads = True
    request_queue_size = 200

    def __init__(self) -> None:
        self.paths: list[str] = []
        super().__init__(("127.0.0.1", 0), _Answer)


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hearing

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[Hearing]:
    with Hearing() as hearing:
        serving = threading.Thread(target=hearing.serve_forever, daemon=True)
        serving.start()
        yield hearing
        hearing.shutdown()


def drive(folder: Path, load: str, url: str, generators: int, **more: Any) -> tuple[pd.DataFrame, DrivenRound]:
    """The attempts of a round that so many generators make, and what the driver says of it."""
    folder.mkdir()
    (folder / "names.csv").write_text("name\n" + "".join(f"n{number}\n" for number in range(70)))
    (folder / "trace.csv").write_text("at_us\n" + "".join(f"{number * 7_001}\n" for number in range(100)))
    scenario = expand(loads(f"{AROUND}workload:\n  {load}\n{PATHS}", "x.yaml")).scenarios[0]
    limits = (Duration.parse("30s"), Duration.parse("0s"))
    task = Task(scenario, (Endpoint(url),), *limits, 1, 0, Inputs(folder), generators=generators)
    into = folder / "00000.parquet"
    measured = EngineDriver(folder / "load", folder / "logs").drive(replace(task, **more), into)
    return pd.read_parquet(into), measured


def in_order(rows: pd.DataFrame) -> list[tuple[int, ...]]:
    return sorted(rows[["intended_us", "user", "call"]].itertuples(index=False, name=None))


@pytest.mark.parametrize("kind", LOADS)
def test_three_generators_send_what_one_sends_with_its_times_users_and_lines(
    kind: str, server: Hearing, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{server.server_port}"
    alone, _ = drive(tmp_path / "alone", LOADS[kind], url, 1)
    heard, server.paths = sorted(server.paths), []
    split, measured = drive(tmp_path / "split", LOADS[kind], url, 3)
    assert in_order(split) == in_order(alone)
    if kind == "closed users":
        # In a load of one generator, whose answer comes first takes the next line: that is the system's doing.
        numbers = [(int(user), int(call)) for _, _, user, call in (path.split("/") for path in server.paths)]
        assert sorted(server.paths) == sorted(f"/n{(call * 20 + user) % 70}/{user}/{call}" for user, call in numbers)
    else:
        assert sorted(server.paths) == heard
    assert split["end_us"].is_monotonic_increasing
    summary = LoadSummary.model_validate_json((tmp_path / "split/load/00000/summary.json").read_text())
    assert (summary.requests, measured.rows) == (len(alone), len(alone))
    counts = [one.requests for one in summary.generators]
    assert (len(counts), sum(counts)) == (3, len(alone))
    assert max(counts) - min(counts) <= len(alone) // 3
    # Its clock is our own: it is found to be off by nothing, within what a busy machine leaves uncertain.
    assert all(abs(one.clock_offset_us) <= one.clock_uncertainty_us for one in summary.generators)
    assert not {"generator_lost", "clocks_apart"} & {warning.kind for warning in measured.warnings or []}
    kept = {str(path.relative_to(tmp_path / "split/load/00000")) for path in (tmp_path / "split/load").rglob("*.*")}
    own = {f"generator-{number}/{file}" for number in (1, 2, 3) for file in ("summary.json", "histograms.json")}
    assert kept == own | {"summary.json", "histograms.json"}


def test_percentiles_of_a_split_load_are_those_of_all_its_calls(tmp_path: Path) -> None:
    with target_up(tmp_path, "--workers", "4", "--service-time", "exponential:5ms") as url:
        rows, _ = drive(tmp_path / "split", "open: {rate: 300, duration: 1s}", url, 2)
    summary = LoadSummary.model_validate_json((tmp_path / "split/load/00000/summary.json").read_text())
    calls = sorted((rows["end_us"] - rows["intended_us"]) / 1000)
    for percent, said in ((50, summary.response_ms.p50), (90, summary.response_ms.p90), (99, summary.response_ms.p99)):
        rank = -(-len(calls) * percent // 100)
        # HdrHistogram keeps three significant digits.
        assert said == pytest.approx(calls[rank - 1], rel=0.002)
    assert summary.response_ms.max == pytest.approx(calls[-1], rel=0.002)


def test_a_killed_generator_makes_the_round_invalid_with_a_sentence_that_names_it(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_the_second(said: LoadProgress) -> None:
        if said.requests and not killed:
            below = psutil.Process().children(recursive=True)
            mine = [one for one in below if one.cmdline()[1:2] == ["load"] and "generator-2/begin" in one.cmdline()[-1]]
            killed.extend(one.pid for one in mine)
            mine[0].kill()

    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        rows, measured = drive(
            tmp_path / "split", "open: {rate: 100, duration: 20s}", url, 3, on_progress=kill_the_second
        )
    assert len(killed) == 1
    (lost,) = [warning for warning in measured.warnings or [] if warning.kind == "generator_lost"]
    assert lost.invalidates and measured.shortfall is None
    assert lost.message.startswith(
        "generator 2 of 3 was lost, and its share of the load is missing: the load engine died"
    )
    assert 0 < len(rows) < 1500, "the others were ended, and what they recorded is kept"
    summary = LoadSummary.model_validate_json((tmp_path / "split/load/00000/summary.json").read_text())
    assert not summary.valid and [one.lost is None for one in summary.generators] == [True, False, True]
    assert left_behind(str(tmp_path / "split")) == []


def test_the_command_splits_a_load_and_refuses_what_cannot_be_split(tmp_path: Path) -> None:
    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        out = tmp_path / "records"
        flags = ("--rate", "60", "--duration", "1s", "--generators", "2")
        done = patternbench("load", f"{url}/bytes/5", *flags, "--out", str(out), "--json")
    assert done.returncode in (0, 3), done.stderr
    told = json.loads(done.stdout)
    assert (told["requests"], told["statuses"]) == (60, {"2xx": 60})
    assert len(pd.read_parquet(out / "attempts.parquet")) == 60
    said = refused("load", "http://127.0.0.1:1", "--users", "2", "--generators", "3")
    assert "--users" in said and "some generator would have nothing to send" in said


STRATEGIES = """\
strategies:
  - {client: native, circuit_breaker: {failure_rate: 50, window: {calls: 9}, minimum_calls: 5, open_for: 1s, half_open_calls: 1}}
  - {client: native, name: thrifty, stack: [{retry: {max_attempts: 2, backoff: {fixed: {delay: 1ms}}}}, {retry_budget: {ratio: 0.1, capacity: 9}}]}
  - {client: native, name: guarded, stack: [{bulkhead: {max_concurrent: 3}}]}
  - {client: native, name: limited, stack: [{rate_limit: {calls: 3, per: 1s}}]}
"""  # noqa: E501


def test_a_study_with_generators_refuses_each_shared_strategy_by_name_at_its_place(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    text = f"{AROUND}generators: 2\nworkload: {{closed: {{users: 4, requests: 5}}, request: {{path: /}}}}\n{STRATEGIES}"
    study.write_text(text)
    said = " ".join(refused("run", str(study), "--out", str(tmp_path / "run")).split())
    for number, place in enumerate(
        ("circuit_breaker", "stack[1].retry_budget", "stack[0].bulkhead", "stack[0].rate_limit")
    ):
        name = place.rpartition(".")[2]
        assert f"strategies[{number}].{place}.scope: all users share one {name}" in said
    assert "scope: user, or one generator" in said
    assert not (tmp_path / "run").exists()


def test_a_study_with_generators_refuses_clients_that_make_their_load_alone(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    workload = "workload: {closed: {users: 4, requests: 5}, request: {path: /}}\n"
    study.write_text(f"{AROUND}generators: 2\n{workload}strategies: [{{client: resilience4j, baseline: {{}}}}]\n")
    said = refused("run", str(study), "--out", str(tmp_path / "run"))
    assert "client resilience4j makes its load alone" in said


def test_a_study_with_generators_runs_and_its_scenarios_keep_their_ids(tmp_path: Path) -> None:
    workload = "workload: {open: {rate: 80, duration: 1s}, request: {path: /bytes/5}}\n"
    (tmp_path / "one.yaml").write_text(AROUND + workload)
    (tmp_path / "two.yaml").write_text(f"{AROUND}generators: 2\n{workload}")
    done = patternbench("run", str(tmp_path / "two.yaml"), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode in (0, 1), done.stderr
    (entry,) = entries(tmp_path / "run")
    assert (entry["status"], entry["rows"]) == ("done", 80)
    ids = [expand(loads((tmp_path / name).read_text(), name)).scenarios[0].id for name in ("one.yaml", "two.yaml")]
    assert ids == [entry["scenario"]] * 2
    assert len(json.loads((tmp_path / "run/load/00000/summary.json").read_text())["generators"]) == 2
