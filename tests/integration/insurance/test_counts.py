"""The calls of each operation, counted from the spans of counting passes, are those that its papers and pages print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd
import pytest
from tests.support.studies import ROOT

from patternbench.lab import tracing
from patternbench.lab.software import installing
from patternbench.plan.scenarios import Scenario
from patternbench.records import attempts
from patternbench.records.journal import Entry
from patternbench.records.load_summaries import LoadProgress
from patternbench.run import prepared_run
from patternbench.study.load import StudyFile
from patternbench.traces.records.collected import records

pytestmark = pytest.mark.timeout(900)
STUDY = ROOT / "tests/data/insurance/counts.yaml"
SIZES = (1, 10, 50)
PUBLISHED, DEEP = "one_by_one", "batched"


class Count(NamedTuple):
    """Calls of databases, and of other services or their queue, in all services together."""

    database: int
    distributed: int

    def times(self, n: int) -> Count:
        """So many of them."""
        return Count(self.database * n, self.distributed * n)


ONE = {
    "GET customers": Count(1, 1),
    "PUT customers": Count(2, 1),
    "POST insurance-quote-requests": Count(2, 1),
    "GET insurance-quote-requests": Count(1, 0),
    "DELETE insurance-quote-requests": Count(2, 1),
    "POST policies": Count(2, 1),
    "GET policies": Count(1, 0),
    "PUT policies": Count(3, 1),
    "DELETE policies": Count(1, 0),
}
"""The calls for one item. Of the first three El Malki and Zdun (2021) print them, in Table II: Get, Update, Create."""
FORWARDED_TOGETHER = ("GET customers", "PUT customers")
"""Whose published bundles continue as one call."""


class Levels(NamedTuple):
    """What a counting pass was of."""

    bundle: str
    reads: str
    size: int


@dataclass(frozen=True)
class Pass:
    """What was seen of a scenario: its requests as traces tell them, and its attempts."""

    requests: pd.DataFrame
    attempts: pd.DataFrame

    def count(self, operation: str) -> Count:
        """The calls of all requests of an operation."""
        of_it = self.requests[self.requests["operation"].map(named) == operation]
        return Count(int(of_it["database_calls"].sum()), int(of_it["distributed_calls"].sum()))

    def requests_of(self, operation: str) -> int:
        """How many requests an operation took."""
        return int((self.requests["operation"].map(named) == operation).sum())


@dataclass
class Passes:
    """Hears of a run's rounds, and interrupts it before the first that is measured."""

    count: int
    ended: list[Entry] = field(default_factory=list)

    def round_started(self, scenario: Scenario) -> None:
        if len(self.ended) == self.count:
            raise KeyboardInterrupt

    def place_noticed(self, _: str) -> None: ...

    def looked(self, _: str) -> None: ...

    def round_progressed(self, progress: LoadProgress) -> None:
        """Nothing."""

    def round_ended(self, entry: Entry) -> None:
        self.ended.append(entry)


def named(operation: str) -> str:
    """The method and the collection of an operation: ``GET customers`` of ``GET /customers/{id}``."""
    method, _, route = operation.partition(" ")
    return f"{method} {route.split('/')[1]}"


@pytest.fixture(scope="module")
def passes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Levels, Pass]:
    installing.install(tracing.needs())
    folder = tmp_path_factory.mktemp("counts")
    begun = prepared_run.begin(StudyFile.read(STUDY), folder / "run", skip_unavailable=False)
    listener = Passes(len(begun.plan.scenarios))
    with pytest.raises(KeyboardInterrupt):
        begun.execute(listener)
    assert [entry.cause for entry in listener.ended] == [None] * listener.count
    files = {entry.scenario: entry.file for entry in listener.ended}
    return {levels_of(one): pass_of(begun, files[one.id]) for one in begun.plan.scenarios}


def levels_of(scenario: Scenario) -> Levels:
    levels = scenario.levels
    bundle, reads, size = (levels[name] for name in ("request_bundle", "bundle_reads", "parameters.size"))
    return Levels(str(bundle), str(reads), int(str(size)))


def pass_of(run: prepared_run.PreparedRun, file: str) -> Pass:
    spans = records(run.folder.observed_of(file) / "traces")
    return Pass(spans.requests, attempts.read(run.folder.attempts_of(file)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("operation", ONE)
def test_single_requests_make_the_published_calls_for_each_item(
    operation: str, size: int, passes: Mapping[Levels, Pass]
) -> None:
    seen = passes[Levels("N", PUBLISHED, size)]
    requests = 1 if operation.startswith("DELETE") else size
    assert seen.requests_of(operation) == requests
    assert seen.count(operation) == ONE[operation].times(requests)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("operation", ONE)
def test_a_bundle_makes_the_calls_that_are_published(operation: str, size: int, passes: Mapping[Levels, Pass]) -> None:
    seen = passes[Levels("Y", PUBLISHED, size)]
    expected = ONE[operation].times(size)
    assert seen.requests_of(operation) == 1
    assert seen.count(operation) == (expected._replace(distributed=1) if operation in FORWARDED_TOGETHER else expected)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("operation", ONE)
def test_a_bundle_as_deep_as_it_goes_makes_the_calls_of_one_item(
    operation: str, size: int, passes: Mapping[Levels, Pass]
) -> None:
    seen = passes[Levels("Y", DEEP, size)]
    assert seen.requests_of(operation) == 1
    assert seen.count(operation) == ONE[operation]


def test_no_request_and_no_item_of_a_counting_pass_fails(passes: Mapping[Levels, Pass]) -> None:
    assert len(passes) == len(SIZES) * 3
    for levels, seen in passes.items():
        assert seen.attempts["success"].all(), levels
        assert seen.attempts["failed_items"].fillna(0).sum() == 0, levels
