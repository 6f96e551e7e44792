"""A JVM service whose calls between its classes are known by heart: a counting pass counts the same."""

from __future__ import annotations

import json
import subprocess

import pandas as pd
import pytest
from tests.support.studies import ROOT

from patternbench.lab import tracing
from patternbench.lab.software import debian, installing
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Journal
from patternbench.report.build import build
from patternbench.run import prepared_run
from patternbench.study.load import StudyFile

SOURCES = ROOT / "tests" / "data" / "java-calls"
SERVICE = {
    "jvm_app": {
        "name": "orders",
        "jar": "../orders.jar",
        "packages": ["org.example.orders"],
        "ready": {"path": "/ready", "status": 200},
    }
}
SYSTEM = {
    "patternbench-system": 1,
    "name": "orders",
    "about": "a JVM service that sums up the lines of an order",
    "components": [SERVICE],
    "endpoint": "orders",
}
STUDY = """\
patternbench: 1
name: orders
system: orders
rounds: 1
warm_up: 0ms
time_limit: 60s
workload: {closed: {users: 1, requests: 3}, parameters: {lines: [0, 1, 10]}, request: {path: "/orders/${lines}"}}
traces: {sample: 100%, counting_pass: true}
"""


class Silent:
    """Hears of a run's progress, and says nothing."""

    def round_started(self, _: object) -> None: ...

    def place_noticed(self, _: str) -> None: ...

    def looked(self, _: str) -> None: ...

    def round_progressed(self, _: object) -> None: ...

    def round_ended(self, _: object) -> None: ...


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("jvm-calls")
    sources = [str(path) for path in sorted(SOURCES.rglob("*.java"))]
    subprocess.run([debian.program("javac"), "-d", str(folder / "classes"), *sources], check=True)
    jar = [debian.program("jar"), "--create", "--file", "orders.jar", "--main-class", "org.example.orders.Service"]
    subprocess.run([*jar, "-C", "classes", "."], cwd=folder, check=True)
    installing.install(tracing.needs())
    (folder / "systems").mkdir()
    (folder / "systems" / "orders.yaml").write_text(json.dumps(SYSTEM))
    (folder / "study.yaml").write_text(STUDY)
    begun = prepared_run.begin(StudyFile.read(folder / "study.yaml"), folder / "out", skip_unavailable=False)
    begun.execute(Silent())
    build(begun.folder)
    return begun.folder


def test_the_counted_calls_between_classes_of_a_jvm_service_are_those_that_were_counted_by_hand(run: RunFolder) -> None:
    rounds = pd.read_parquet(run.rounds).set_index("parameters.lines")["in_memory_calls"]
    assert {int(lines): count for lines, count in rounds.items()} == {lines: 5 + 4 * lines for lines in (0, 1, 10)}


def test_probes_of_readiness_whose_spans_come_late_are_no_requests_of_a_round(run: RunFolder) -> None:
    assert {path for name in ("00000", *counting(run)) for path in spans(run, name)["path"]} == {
        f"/orders/{lines}" for lines in (0, 1, 10)
    }


def test_a_measured_round_runs_without_the_extension_that_counts(run: RunFolder) -> None:
    reported = {name: spans(run, name)["in_memory_calls"] for name in ("00000", *counting(run))}
    assert reported.pop("00000").isna().all()
    assert all(of_pass.notna().any() for of_pass in reported.values())


def counting(run: RunFolder) -> list[str]:
    return [entry.file for entry in Journal(run.journal).entries() if entry.counting]


def spans(run: RunFolder, name: str) -> pd.DataFrame:
    (file,) = run.observed_of(name).glob("traces/spans*.parquet")
    return pd.read_parquet(file)
