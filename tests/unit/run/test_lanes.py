"""Blocks are dealt to lanes whole, whatever becomes of a lane; what no one asked for counts nowhere."""

from __future__ import annotations

import os
import random
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.studies import study

from patternbench.plan.expand import expand
from patternbench.plan.order import Round, rounds_of
from patternbench.records import journal
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, VOIDED, Entry, Journal, latest, standing, voids
from patternbench.run.lanes import dealing
from patternbench.run.lanes.dealing import DealingExecutor, LaneLoss, LaneResult
from patternbench.run.lanes.receiving import UnusableError, checked, keep
from patternbench.run.lanes.voiding import void_divided
from patternbench.run.lanes.worker import LaneDelivery, sha256
from patternbench.run.round.orders import Orders, RoundOrder, RoundResult
from patternbench.terms.problems import InputError

STUDY = study()
SCENARIOS = expand(STUDY).scenarios[:3]
BLOCKS = 6


def batch(blocks: int = BLOCKS, study_folder: Path = Path()) -> list[RoundOrder]:
    """The orders of all rounds of a plan."""
    by_id = {scenario.id: scenario for scenario in SCENARIOS}
    orders = Orders(STUDY, {}, study_folder)
    rounds = rounds_of(SCENARIOS, blocks, 7, "shuffled")
    return [orders.of(one, by_id[one.scenario], f"{one.index:05d}", "warm-up-000") for one in rounds]


ORDERS = batch()


def delivery(order: RoundOrder, lane: str | None = None) -> LaneDelivery:
    """What a lane that works hands over."""
    name, content = f"attempts/{order.file}.parquet", f"attempts of {order.id}".encode()
    entry = Entry(order.index, order.block, order.treatment.id, DONE, order.file, 0.0, 1.0, sha256=sha256(content))
    lane = order.lane if lane is None else lane
    result = RoundResult(replace(entry, lane=lane), files=[name], order=order.id, lane=lane)
    return LaneDelivery(result.as_json(), {name: content}, {name: sha256(content)})


@dataclass
class Scripted:
    """Lanes without machines: each event is drawn, and lanes may be lost with what they have, or come late."""

    names: list[str]
    losing: int = 0
    late: list[str] = field(default_factory=list)
    source: random.Random = field(default_factory=lambda: random.Random(1))
    at: dict[str, RoundOrder] = field(default_factory=dict)
    ghosts: deque[LaneResult] = field(default_factory=deque)
    begun: list[str] = field(default_factory=list)

    def up(self) -> list[str]:
        return [*self.names]

    def begin(self, lane: str, order: RoundOrder) -> None:
        assert lane not in self.at, "a lane has one order at a time"
        assert order.lane == lane
        self.begun.append(order.id)
        self.at[lane] = order

    def drop(self, lane: str) -> None:
        self.names.remove(lane)

    def event(self, within_s: float) -> LaneResult | LaneLoss | None:
        if self.ghosts and self.source.random() < 0.5:
            return self.ghosts.popleft()
        if self.late and self.source.random() < 0.3:
            self.names.append(self.late.pop())
        if not self.at:
            return None
        lane = self.source.choice(sorted(self.at))
        order = self.at.pop(lane)
        if self.losing and self.source.random() < 0.4:
            self.losing -= 1
            self.names.remove(lane)
            self.late.append(f"{lane}+")
            self.ghosts.append(LaneResult(lane, delivery(order)))
            return LaneLoss(lane, "its node left the cluster")
        if self.source.random() < 0.2:
            self.ghosts.append(LaneResult(lane, delivery(order)))
        return LaneResult(lane, delivery(order))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "run")
    run.create()
    return run


def kept(run: RunFolder, executor: DealingExecutor, orders: Iterable[RoundOrder]) -> list[Entry]:
    """The journal of a run, of which the coordinator writes each line as it comes."""
    written = Journal(run.journal)
    for result in executor.map([orders]):
        written.append(result.entry)
    return written.entries()


def assert_whole(entries: list[Entry], orders: Iterable[RoundOrder]) -> None:
    """Each round counts once, and each block on one lane."""
    rounds = standing(entries)
    assert Counter(entry.round for entry in rounds) == Counter(order.index for order in orders)
    lanes = {block: {entry.lane for entry in rounds if entry.block == block} for block in range(BLOCKS)}
    assert all(len(of_block) == 1 for of_block in lanes.values()), lanes


@given(st.integers(1, 5), st.integers(0, 6), st.integers(0, 2**32))
def test_whatever_becomes_of_lanes_each_round_counts_once_and_no_block_is_divided(
    tmp_path_factory: pytest.TempPathFactory, lanes: int, losing: int, seed: int
) -> None:
    run = RunFolder(tmp_path_factory.mktemp("run"))
    run.create()
    drawn = random.Random(seed)
    late = [f"late{number}" for number in range(drawn.randrange(3))]
    scripted = Scripted([f"lane{n}" for n in range(lanes)], min(losing, lanes), late, drawn)
    executor = DealingExecutor(scripted, run)
    entries = kept(run, executor, ORDERS)
    assert_whole(entries, ORDERS)
    assert len(scripted.begun) == len(set(scripted.begun)), "no order is given twice"
    lost = [entry for entry in entries if entry.status == VOIDED]
    assert all(entry.lane not in scripted.names for entry in lost)


def test_a_block_of_a_lane_that_was_lost_is_run_again_whole_and_its_rounds_are_kept_as_evidence(
    folder: RunFolder,
) -> None:
    class LosesTheFirst(Scripted):
        def event(self, within_s: float) -> LaneResult | LaneLoss | None:
            if "00001" in self.begun and "a" in self.names and "a" in self.at:
                self.names.remove("a")
                self.at.pop("a")
                return LaneLoss("a", "its node left the cluster")
            lane = sorted(self.at)[0]
            return LaneResult(lane, delivery(self.at.pop(lane)))

    entries = kept(folder, DealingExecutor(LosesTheFirst(["a", "b"]), folder), ORDERS)
    assert_whole(entries, ORDERS)
    (void,) = (entry for entry in entries if entry.status == VOIDED)
    assert (void.block, void.lane, void.cause) == (0, "a", "its node left the cluster")
    first = [entry for entry in entries if entry.block == 0 and entry.status == DONE]
    assert [(entry.file, entry.lane) for entry in first] == [
        ("00000", "a"),
        ("00000-2", "b"),
        ("00001-2", "b"),
        ("00002-2", "b"),
    ]
    assert folder.attempts_of("00000").read_bytes() == b"attempts of 00000"
    assert [entry.file for entry in latest(entries) if entry.block == 0] == ["00000-2", "00001-2", "00002-2"]


def received(made: LaneDelivery, order: RoundOrder | None, run: RunFolder) -> RoundResult:
    result = checked(made, order)
    keep(made, run)
    return result


def refusal(made: LaneDelivery, order: RoundOrder | None, run: RunFolder) -> UnusableError:
    with pytest.raises(UnusableError) as caught:
        received(made, order, run)
    assert not any(run.attempts.iterdir())
    return caught.value


def test_a_result_comes_once_and_only_for_the_try_that_is_open(folder: RunFolder) -> None:
    order = ORDERS[0].on("a")
    assert not refusal(delivery(order), None, folder).of_open_order
    assert not refusal(delivery(order), order.again(), folder).of_open_order, "of a try that was given up"
    assert not refusal(delivery(order, lane="b"), order, folder).of_open_order
    assert received(delivery(order), order, folder).entry.round == order.index


def test_a_lane_begins_its_next_round_before_the_disk_has_the_one_before(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = Scripted(["a"])
    begun: list[list[str]] = []
    monkeypatch.setattr(dealing, "keep", lambda *_: begun.append([*scripted.begun]))
    entries = kept(folder, DealingExecutor(scripted, folder), ORDERS[:3])
    assert [entry.file for entry in entries] == ["00000", "00001", "00002"]
    assert begun == [["00000", "00001"], ["00000", "00001", "00002"], ["00000", "00001", "00002"]]


def test_a_new_block_begins_only_when_the_journal_has_the_one_before_on_which_it_may_depend(folder: RunFolder) -> None:
    scripted, written = Scripted(["a"]), Journal(folder.journal)

    def orders() -> Iterator[RoundOrder]:
        for order in ORDERS[:6]:
            assert order.index <= 3 or len(written.entries()) == 3, "one order is looked at ahead, as it ends a block"
            yield order

    for result in DealingExecutor(scripted, folder).map([orders()]):
        written.append(result.entry)
    assert len(written.entries()) == 6


def test_a_lane_that_hands_over_damaged_records_is_given_up_and_its_block_runs_elsewhere(folder: RunFolder) -> None:
    class DamagesOnA(Scripted):
        def event(self, within_s: float) -> LaneResult | LaneLoss | None:
            lane = sorted(self.at)[0]
            made = delivery(self.at.pop(lane))
            return LaneResult(lane, replace(made, sha256=dict.fromkeys(made.files, "0")) if lane == "a" else made)

    scripted = DamagesOnA(["a", "b"])
    executor = DealingExecutor(scripted, folder)
    entries = kept(folder, executor, ORDERS)
    assert_whole(entries, ORDERS)
    assert (scripted.names, executor.refused) == (["b"], 1)
    (void,) = (entry for entry in entries if entry.status == VOIDED)
    assert (void.lane, void.cause) == ("a", "attempts/00000.parquet was damaged on its way")


def test_a_record_is_on_the_disk_before_its_line_in_the_journal_is(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync = os.fsync

    def synced(handle: int) -> None:
        done.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        sync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    kept(folder, DealingExecutor(Scripted(["a"]), folder), ORDERS[:1])
    assert done[:3] == ["00000.parquet.tmp", "attempts", "journal.jsonl"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("attempts/00001.parquet", "isn't a record of order 00000"),
        ("attempts/../journal.jsonl", "isn't a record of order 00000"),
        ("/etc/passwd", "isn't a record of order 00000"),
        ("journal.jsonl", "isn't a record of order 00000"),
        ("inputs/00000.parquet", "isn't a record of order 00000"),
    ],
)
def test_a_lane_writes_nothing_but_the_records_of_its_order(folder: RunFolder, name: str, why: str) -> None:
    order = ORDERS[0].on("a")
    good = delivery(order)
    more: Mapping[str, bytes] = {**good.files, name: b"x"}
    made = LaneDelivery(good.result, more, {**good.sha256, name: sha256(b"x")})
    assert why in str(refusal(made, order, folder))


def test_records_that_were_damaged_on_their_way_void_the_block(folder: RunFolder) -> None:
    order = ORDERS[0].on("a")
    good = delivery(order)
    damaged = LaneDelivery(good.result, dict.fromkeys(good.files, b"other"), good.sha256)
    assert refusal(damaged, order, folder).of_open_order
    other_file = LaneDelivery(
        good.result, dict.fromkeys(good.files, b"other"), dict.fromkeys(good.files, sha256(b"other"))
    )
    assert "is not the file that its round tells of" in str(refusal(other_file, order, folder))
    assert "can't be read" in str(refusal(LaneDelivery({"entry": 7}, {}, {}), order, folder))


def resumed(run: RunFolder, lane: str, done: int, lanes: list[str]) -> tuple[list[Entry], list[RoundOrder]]:
    """A run of which a lane had done some rounds of the first block, gone on with; and the orders that were left."""
    written = Journal(run.journal)
    for order in ORDERS[:done]:
        written.append(received(delivery(order.on(lane)), order.on(lane), run).entry)
    left = [Round(order.index, order.block, order.treatment.id) for order in ORDERS[done:]]
    void_divided(run, lanes, left)
    over = {entry.round for entry in latest(written.entries())}
    todo = [order.again() if order.index < done else order for order in ORDERS if order.index not in over]
    return kept(run, DealingExecutor(Scripted(lanes), run), todo), todo


def test_an_open_block_continues_where_it_was_begun(folder: RunFolder) -> None:
    entries, todo = resumed(folder, "b", 2, ["a", "b", "c"])
    assert_whole(entries, ORDERS)
    assert len(todo) == len(ORDERS) - 2
    assert {entry.lane for entry in latest(entries) if entry.block == 0} == {"b"}


@pytest.mark.parametrize("lane", ["gone", ""])
def test_an_open_block_of_a_lane_that_is_not_there_is_run_again(folder: RunFolder, lane: str) -> None:
    entries, todo = resumed(folder, lane, 2, ["a", "b"])
    assert_whole(entries, ORDERS)
    assert len(todo) == len(ORDERS)
    (void,) = (entry for entry in entries if entry.status == VOIDED)
    assert "which is not there to end it" in (void.cause or "")


def test_a_block_of_an_earlier_session_that_loses_its_lane_is_left_to_the_caller(folder: RunFolder) -> None:
    """There are no orders of its rounds that were done before."""

    class LosesB(Scripted):
        def event(self, within_s: float) -> LaneResult | LaneLoss | None:
            if "b" in self.names:
                self.names.remove("b")
                self.at.pop("b", None)
                return LaneLoss("b", "its node left the cluster")
            return super().event(within_s)

    written = Journal(folder.journal)
    order = ORDERS[0].on("b")
    written.append(received(delivery(order), order, folder).entry)
    executor = DealingExecutor(LosesB(["a", "b"]), folder)
    entries = kept(folder, executor, ORDERS[1:])
    assert executor.divided == {0}
    assert not [entry for entry in standing(entries) if entry.block == 0]
    assert {entry.block for entry in standing(entries)} == {1, 2, 3, 4, 5}


def test_an_open_block_waits_for_its_lane_that_is_still_coming_and_continues_there(folder: RunFolder) -> None:
    class ComesLate(Scripted):
        def event(self, within_s: float) -> LaneResult | LaneLoss | None:
            if len(self.begun) > 4 and "b" not in self.names:
                self.names.append("b")
            return super().event(within_s)

    written = Journal(folder.journal)
    written.append(received(delivery(ORDERS[0].on("b")), ORDERS[0].on("b"), folder).entry)
    left = [Round(order.index, order.block, order.treatment.id) for order in ORDERS[1:]]
    void_divided(folder, ["a", "b"], left)
    entries = kept(folder, DealingExecutor(ComesLate(["a"]), folder), ORDERS[1:])
    assert_whole(entries, ORDERS)
    assert {entry.lane for entry in latest(entries) if entry.block == 0} == {"b"}
    assert not [entry for entry in entries if entry.status == VOIDED]


def test_an_open_block_whose_lane_was_lost_before_it_was_due_is_voided_and_waits_for_nobody(folder: RunFolder) -> None:
    class NeverComes(Scripted):
        lost = False

        def event(self, within_s: float) -> LaneResult | LaneLoss | None:
            if not self.lost:
                self.lost = True
                return LaneLoss("b", "can't run a lane")
            return super().event(within_s)

    written = Journal(folder.journal)
    written.append(received(delivery(ORDERS[3].on("b")), ORDERS[3].on("b"), folder).entry)
    executor = DealingExecutor(NeverComes(["a"]), folder)
    for result in executor.map([ORDERS[:3], ORDERS[4:]]):
        written.append(result.entry)
    entries = written.entries()
    assert executor.divided == {1}
    assert [(entry.block, entry.lane, entry.cause) for entry in entries if entry.status == VOIDED] == [
        (1, "b", "can't run a lane")
    ]
    assert {entry.block for entry in standing(entries)} == {0, 2, 3, 4, 5}


def test_a_run_without_a_lane_waits_for_one_and_then_says_so(folder: RunFolder) -> None:
    now = iter(range(0, 10_000, 30))
    executor = DealingExecutor(Scripted([]), folder, clock=lambda: float(next(now)))
    with pytest.raises(InputError, match="no lane is left") as caught:
        kept(folder, executor, ORDERS)
    assert "patternbench resume" in str(caught.value.problems[0].hint)
    assert dealing.PATIENCE_S <= 120


def test_a_batch_begins_when_all_lanes_have_ended_the_one_before(folder: RunFolder) -> None:
    scripted = Scripted(["a", "b"])
    seen: list[int] = []

    def batches() -> Iterator[list[RoundOrder]]:
        yield ORDERS[:9]
        seen.append(len(scripted.at))
        yield ORDERS[9:]

    assert len(list(DealingExecutor(scripted, folder).map(batches()))) == len(ORDERS)
    assert seen == [0]


def test_a_voided_line_ends_what_its_lane_had_made_of_its_block_and_no_more(folder: RunFolder) -> None:
    written = Journal(folder.journal)
    for order, lane in ((ORDERS[0], "a"), (ORDERS[3], "a"), (ORDERS[4], "b")):
        written.append(RoundResult.from_json(delivery(order.on(lane)).result).entry)
    written.append(voids(1, "a", "lost"))
    assert [entry.file for entry in latest(list(journal.read(folder.journal)))] == ["00000", "00004"]
    assert not voids(1, "a", "lost").counting
    assert voids(1, "a", "lost").outside
