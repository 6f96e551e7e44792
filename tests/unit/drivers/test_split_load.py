"""A load of several generators that are made up: when they begin, what they say together, and what a lost one means."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.made_up_engine import SUMMARY
from tests.unit.drivers.test_jobs import task

from patternbench.cli import load as cli
from patternbench.cli.main import main
from patternbench.drivers import jobs, split_load
from patternbench.drivers.driver import DriverError
from patternbench.drivers.engine import shortfall, warnings
from patternbench.drivers.load import SILENCE_S
from patternbench.drivers.origins import Job
from patternbench.drivers.split_load import LEAD_NS, MOST_LEAD_NS, Generator, SplitLoad, opened, parts_of, together
from patternbench.records import attempts
from patternbench.records.batches import Batch
from patternbench.records.load_summaries import ATTEMPTS, LoadProgress, LoadSummary
from patternbench.records.united import unite

OPEN = "workload: {open: {rate: 30, duration: 1s}}"
NOW_NS = 1_000_000_000_000
INTERRUPTED = "interrupted"
"""What a generator that is made up leaves in its folder where a signal has ended it."""


def written(file: Path, users: list[int], ends_us: list[int]) -> None:
    """Attempts of these users, each a call of its own that ends then."""
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = np.arange(len(users), dtype=np.int64)
    ends = np.array(ends_us, dtype=np.int64)
    status, outcome = np.full(len(users), 200, dtype=np.int16), np.zeros(len(users), dtype=np.int8)
    batch = Batch(np.array(users, dtype=np.int64), whole, whole * 0 + 1, whole * 0, ends, outcome, status)
    attempts.write(file, attempts.from_batches([batch], warm_up=False))


@dataclass
class MadeUpGenerator:
    """A generator that does as it is told: its clock is ahead, and it may be lost."""

    out: Path
    ahead_ns: int = 0
    dies: str = ""
    begun_ns: int | None = None
    stopped: int = 0
    gone: int = 0
    summary: LoadSummary | None = None
    together: Barrier | None = None
    """Where all generators have to come at once to be stopped, and to be gone."""

    def ready(self) -> None:
        if self.dies == "before":
            raise DriverError("it never came up")
        if self.dies == "on Ctrl-C":
            signal.raise_signal(signal.SIGINT)
            raise DriverError("the load engine gave up: the load was ended before it began")

    def now_ns(self) -> int:
        return NOW_NS + self.ahead_ns

    def begin(self, at_ns: int) -> None:
        self.begun_ns = at_ns

    def progress(self) -> Iterator[LoadProgress]:
        number = int(self.out.name.removeprefix("generator-"))
        yield LoadProgress(requests=10 * number, elapsed_us=250_000)
        if self.dies == "later":
            raise DriverError(f"the load engine died: {self.out.name} ended with code 137")
        written(self.out / ATTEMPTS, [number] * 2, [number * 10, number * 1000])
        if self.stopped or self.dies == "by SIGTERM":
            (self.out / INTERRUPTED).touch()

    def stop(self) -> None:
        self.stopped += 1
        self._wait_for_all()

    def __enter__(self) -> MadeUpGenerator:
        return self

    def __exit__(self, *_: object) -> None:
        self.gone += 1
        self._wait_for_all()

    def _wait_for_all(self) -> None:
        if self.together:
            self.together.wait(timeout=10)


@dataclass
class MadeUpPlace:
    """Where generators are made up, by the numbers of those that are special."""

    ahead_ns: dict[int, int] = field(default_factory=dict)
    dies: dict[int, str] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    made: list[MadeUpGenerator] = field(default_factory=list)
    together: Barrier | None = None

    def start(self, name: str, job: Job, out: Path, logs: Path) -> AbstractContextManager[Generator]:
        del logs
        number = int(name.removeprefix("generator-"))
        self.jobs.append(job)
        made = MadeUpGenerator(out, self.ahead_ns.get(number, 0), self.dies.get(number, ""), together=self.together)
        self.made.append(made)
        return made


@pytest.fixture(autouse=True)
def counts_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's own part of uniting is tested with a real one."""

    def united(parts: list[Path], out: Path, logs: Path) -> LoadSummary:
        del out, logs
        numbers = [int(part.name.removeprefix("generator-")) for part in parts]
        generators = [{"part": {"index": number - 1, "of": 3}, "requests": 2, "valid": True} for number in numbers]
        interrupted = any((part / INTERRUPTED).exists() for part in parts)
        return LoadSummary.model_validate({**SUMMARY, "generators": generators, "interrupted": interrupted})

    monkeypatch.setattr(split_load, "united_by_engine", united)


def job() -> Job:
    return jobs.job(replace(task(OPEN), generators=3)).job


def run(folder: Path, place: MadeUpPlace) -> tuple[LoadSummary, list[LoadProgress]]:
    with SplitLoad(job(), folder / "out", folder, place, clock=lambda: NOW_NS) as load:
        heard = list(load.progress())
    assert load.summary is not None
    return load.summary, heard


def test_each_generator_gets_the_same_job_with_its_own_part(tmp_path: Path) -> None:
    place = MadeUpPlace()
    run(tmp_path, place)
    parts = [one.pop("part") for one in place.jobs]
    assert parts == [{"index": index, "of": 3} for index in range(3)]
    assert place.jobs[0] == place.jobs[1] == place.jobs[2]
    assert parts_of(job()) == 3
    assert "part" not in jobs.job(task(OPEN)).job


def test_all_begin_at_one_instant_each_by_its_own_clock(tmp_path: Path) -> None:
    place = MadeUpPlace(ahead_ns={2: 7_000_000, 3: -400_000})
    run(tmp_path, place)
    begun = [one.begun_ns for one in place.made]
    assert begun == [NOW_NS + LEAD_NS + ahead for ahead in (0, 7_000_000, -400_000)]


def test_offsets_of_clocks_are_stored_and_a_warning_comes_above_one_millisecond(tmp_path: Path) -> None:
    summary, _ = run(tmp_path, MadeUpPlace(ahead_ns={1: 999_000, 2: -5_250_000}))
    offsets = [(one.clock_offset_us, one.clock_uncertainty_us) for one in summary.generators]
    assert offsets == [(999.0, 0.0), (-5250.0, 0.0), (0.0, 0.0)]
    (warning,) = summary.doubts
    assert (warning.name, warning.invalidates, summary.valid) == ("clocks_apart", False, True)
    assert warning.message.startswith("the clock of generator 2 of 3 was 5.25 ms behind, give or take 0.00 ms")
    stored = LoadSummary.model_validate_json((tmp_path / "out/summary.json").read_text())
    assert [one.clock_offset_us for one in stored.generators] == [999.0, -5250.0, 0.0]


def test_an_offset_that_is_known_badly_is_a_warning_too(tmp_path: Path) -> None:
    now = [NOW_NS]

    def slow() -> int:
        now[0] += 1_500_000
        return now[0]

    with SplitLoad(job(), tmp_path / "out", tmp_path, MadeUpPlace(), clock=slow) as load:
        list(load.progress())
    assert load.summary is not None
    assert {warning.name for warning in load.summary.doubts} == {"clocks_apart"}
    assert all(one.clock_uncertainty_us >= 750 for one in load.summary.generators)


def test_a_lost_generator_makes_the_round_invalid_with_a_sentence_that_names_it(tmp_path: Path) -> None:
    place = MadeUpPlace(dies={2: "later"})
    summary, _ = run(tmp_path, place)
    (warning,) = summary.doubts
    assert (warning.name, warning.invalidates, summary.valid) == ("generator_lost", True, False)
    why = "the load engine died: generator-2 ended with code 137"
    assert warning.message == f"generator 2 of 3 was lost, and its share of the load is missing: {why}"
    assert [one.stopped for one in place.made] == [1, 1, 1], "the others say nothing any more"
    assert [one.lost for one in summary.generators] == [None, why, None]
    assert pq.read_table(tmp_path / "out" / ATTEMPTS)["user"].to_pylist() == [1, 3, 1, 3], "what they did is kept"
    asked = task("workload: {closed: {users: 9, requests: 50}}")
    assert shortfall(asked, summary) is None, "the warning says it"
    assert [warning.invalidates for warning in warnings(summary)] == [True]


def test_a_round_whose_generators_are_all_lost_has_nothing_to_show(tmp_path: Path) -> None:
    dying = MadeUpPlace(dies=dict.fromkeys((1, 2, 3), "later"))
    with pytest.raises(DriverError, match=r"generator 1 of 3 was lost: .*; generator 2 of 3 was lost"):
        run(tmp_path, dying)


def test_a_generator_that_is_lost_before_the_load_begins_lets_none_begin(tmp_path: Path) -> None:
    place = MadeUpPlace(dies={3: "before"})
    with pytest.raises(DriverError, match="generator 3 of 3 was lost before the load began: it never came up"):
        run(tmp_path, place)
    assert [one.begun_ns for one in place.made] == [None] * 3


def test_a_load_that_is_asked_to_end_is_interrupted_and_one_that_is_over_is_not(tmp_path: Path) -> None:
    assert not run(tmp_path, MadeUpPlace())[0].interrupted
    place = MadeUpPlace()
    with SplitLoad(job(), tmp_path / "again", tmp_path, place, clock=lambda: NOW_NS) as load:
        load.stop()
        list(load.progress())
    assert load.summary is not None and load.summary.interrupted
    assert [one.stopped for one in place.made] == [1, 1, 1]


def test_a_generator_that_a_signal_from_outside_ended_makes_the_load_interrupted(tmp_path: Path) -> None:
    assert run(tmp_path, MadeUpPlace(dies={2: "by SIGTERM"}))[0].interrupted
    lost = MadeUpPlace(dies={2: "by SIGTERM", 3: "later"})
    assert not run(tmp_path / "lost", lost)[0].interrupted, "we end the others where one is lost"


def test_clocks_that_are_known_too_badly_to_begin_soon_are_refused_before_any_begins(tmp_path: Path) -> None:
    assert SILENCE_S * 1e9 / 3 < MOST_LEAD_NS <= SILENCE_S * 1e9 / 2, "a generator that waits must not count as hung"
    place = MadeUpPlace()
    with (
        SplitLoad(job(), tmp_path / "out", tmp_path, place, clock=_answered_after(1_250_000_000)) as load,
        pytest.raises(DriverError) as refused,
    ):
        list(load.progress())
    assert str(refused.value) == (
        "generator 1 of 3 took 1.25 s for its quickest answer, so that 3 generators would have to be told 8.0 s ahead "
        "to begin; at most 7.5 s are allowed: take fewer generators, or machines that are nearer and less busy"
    )
    assert [one.begun_ns for one in place.made] == [None] * 3
    with SplitLoad(job(), tmp_path / "out", tmp_path, place, clock=_answered_after(1_000_000_000)) as load:
        list(load.progress())
    assert all(one.begun_ns for one in place.made[3:])


def _answered_after(ns: int) -> Callable[[], int]:
    """A clock by which each answer takes this long."""
    now = [NOW_NS]

    def clock() -> int:
        now[0] += ns
        return now[0]

    return clock


def test_generators_are_stopped_at_once_and_are_gone_at_once(tmp_path: Path) -> None:
    place = MadeUpPlace(dies={2: "later"}, together=Barrier(3))
    run(tmp_path, place)
    assert [(one.stopped, one.gone) for one in place.made] == [(1, 1)] * 3


def test_generators_that_are_lost_one_after_another_let_all_be_stopped_once(tmp_path: Path) -> None:
    place = MadeUpPlace(dies={1: "later", 2: "later"})
    run(tmp_path, place)
    assert [one.stopped for one in place.made] == [1, 1, 1]


def test_ctrl_c_while_generators_get_ready_interrupts_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = MadeUpPlace(dies={1: "on Ctrl-C"})
    monkeypatch.setattr(cli, "generators_at", lambda *_: nullcontext(place))
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        with pytest.raises(SystemExit) as ended:
            main(["load", "http://127.0.0.1:9/", "--generators", "3", "--rate", "30", "--json"])
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert (ended.value.code, capsys.readouterr().err.strip()) == (130, "interrupted")
    assert [(one.stopped, one.gone, one.begun_ns) for one in place.made] == [(1, 1, None)] * 3


def test_what_they_say_is_added_and_times_are_those_of_the_slowest(tmp_path: Path) -> None:
    _, heard = run(tmp_path, MadeUpPlace())
    assert heard[-1].requests == 60
    said: list[dict[str, Any]] = [
        {"requests": 5, "rate_per_s": 2.5, "statuses": {"2xx": 5}, "response_ms": {"p50": 1.0, "p99": 9.0}},
        {"requests": 7, "rate_per_s": 3.5, "statuses": {"2xx": 6, "5xx": 1}, "response_ms": {"p50": 2.0, "p99": None}},
    ]
    both = together([LoadProgress.model_validate(one) for one in said])
    assert (both.requests, both.rate_per_s, both.statuses) == (12, 6.0, {"2xx": 11, "5xx": 1})
    assert (both.response_ms.p50, both.response_ms.p99, both.measured_from_us) == (2.0, 9.0, None)


def test_attempts_of_several_files_are_one_table_in_the_order_in_which_they_ended(tmp_path: Path) -> None:
    written(tmp_path / "one.parquet", [0, 2, 4], [5, 7, 7])
    written(tmp_path / "two.parquet", [1, 3], [1, 7])
    assert unite([tmp_path / "one.parquet", tmp_path / "two.parquet"], tmp_path / "all.parquet") == 5
    table = pq.read_table(tmp_path / "all.parquet")
    assert table["user"].to_pylist() == [1, 0, 2, 4, 3], "rows that end together keep the order of their files"
    assert table.schema.equals(attempts.SCHEMA)
    assert pa.types.is_dictionary(table.schema.field("outcome").type)


def test_a_job_of_one_generator_is_driven_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_load, "Load", lambda *_: nullcontext("alone"))
    with opened({"seed": 1}, tmp_path, tmp_path) as load:
        assert load == "alone"
