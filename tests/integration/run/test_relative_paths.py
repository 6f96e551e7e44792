"""Paths that a user gives are found from where the user stands, though our processes run in folders of their own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.integration.run.conftest import command, entries
from tests.support.targets import target_up

from patternbench.lab.software import engine

REPOSITORY = Path(__file__).resolve().parents[3]
EXAMPLE = REPOSITORY / "docs" / "examples" / "plain_client.py"
OWN_CLIENT = """\
patternbench: 1
name: own-client
system: {name: target, settings: {service_time: "fixed:1ms"}}
rounds: 1
warm_up: 0s
clients: {mine: {command: [python3, plain_client.py, --port, "0"]}}
time_limit: 5s
workload: {closed: {users: 1, successes: 2}, request: {path: /bytes/5}}
strategies: [{client: mine, baseline: {}}]
"""


def standing_in(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def with_a_client_beside_its_study(folder: Path) -> None:
    """The study and its client, which reads the contract's schema two folders above it."""
    (folder / "a" / "study").mkdir(parents=True)
    (folder / "contracts").symlink_to(REPOSITORY / "contracts")
    (folder / "a" / "study" / "plain_client.py").write_text(EXAMPLE.read_text())
    (folder / "a" / "study" / "own.yaml").write_text(OWN_CLIENT)


def test_the_results_of_load_lie_where_a_relative_out_says(tmp_path: Path) -> None:
    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        done = standing_in(
            tmp_path / "here", "load", f"{url}/bytes/5", "--requests", "5", "--users", "1", "--out", "some/where"
        )
    assert done.returncode == 0, done.stderr
    kept = {path.name for path in (tmp_path / "here" / "some" / "where").iterdir()}
    assert kept == {"attempts.parquet", "histograms.json", "summary.json"}


def test_a_relative_body_file_is_what_load_sends(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "order.json").write_text('{"items": [1, 2]}')
    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        flags = ("--requests", "2", "--users", "1", "--method", "POST", "--body", "@order.json", "--json")
        done = standing_in(tmp_path / "here", "load", f"{url}/bytes/5", *flags)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["errors"] == 0


def test_an_engine_that_is_named_relatively_is_the_one_that_runs(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "engine").symlink_to(engine.binary())
    with target_up(tmp_path, "--service-time", "fixed:1ms") as url:
        flags = ("load", f"{url}/bytes/5", "--requests", "2", "--users", "1")
        done = standing_in(tmp_path, *flags, PATTERNBENCH_ENGINE="bin/engine")
    assert done.returncode == 0, done.stderr


def test_the_command_of_a_client_is_found_next_to_its_study(tmp_path: Path) -> None:
    with_a_client_beside_its_study(tmp_path)
    done = standing_in(tmp_path, "run", "a/study/own.yaml", "--out", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [entry["status"] for entry in entries(tmp_path / "out")] == ["done"]


def test_a_run_is_resumed_from_another_folder_than_it_began_in(tmp_path: Path) -> None:
    with_a_client_beside_its_study(tmp_path)
    assert standing_in(tmp_path, "run", "a/study/own.yaml", "--out", "out").returncode == 0
    (tmp_path / "out" / "journal.jsonl").write_text("")
    done = standing_in(tmp_path / "elsewhere", "resume", "../out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [entry["status"] for entry in entries(tmp_path / "out")] == ["done"]
