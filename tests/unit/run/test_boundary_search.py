"""A whole run that searches a boundary, without a system: its doses, its blocks, how it continues, what it reports."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.unit.run.test_whole_run import MadeUp, Row, carried_out, environment, rounds_of, table, typed

from patternbench.analyze.boundary.search import SearchOutcome
from patternbench.cli.plan import plan
from patternbench.cli.resume import resume
from patternbench.cli.run import run
from patternbench.drivers.driver import DrivenRound, Task
from patternbench.plan.factors import Level
from patternbench.records import attempts, stored
from patternbench.records.folder import RunFolder
from patternbench.records.stored import MeasuredCapacity
from patternbench.report import boundaries, build
from patternbench.report.sections import boundary as section
from patternbench.run.round import executor
from patternbench.run.single import capacity_of_run
from patternbench.study.load import load
from patternbench.terms.problems import InputError

STUDY = """\
patternbench: 1
name: edge
seed: 5
system: target
warm_up: 50ms
workload: {open: {rate: 50, duration: 2s, in_flight: 100}}
strategies:
  - {client: native, baseline: {}}
  - {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 10ms}}}}
boundary: {of: failure_rate <= 50 %, over: open.rate, between: [20, 100], until: {half_width: 8}, max: 25}
"""
EDGES = {"baseline": 80.0, "retry": 55.0}
CALLS = 20
__all__ = ["environment"]


class AtTheEdge(MadeUp):
    """A driver whose calls all fail above a rate, which differs a little from round to round."""

    def drive(self, task: Task, into: Path) -> DrivenRound:
        self.tasks.append(task)
        opened = task.treatment.workload.open
        assert opened is not None and opened.rate is not None
        shift = np.random.default_rng(task.seed).normal(0, 3)
        lost = opened.rate.level + shift > EDGES[task.treatment.strategy.kind]
        rows = [
            Row(0, call, 1, 60_000 + call * 1000, 60_000 + call * 1000, 70_000 + call * 1000, "answered", status, False)
            for call in range(CALLS)
            for status in [500 if lost else 200]
        ]
        attempts.write(into, table(rows))
        task.begun(0)
        return DrivenRound(len(rows), 0.25, None, [], CALLS, CALLS, 5_000, 50_005_000, 0)


@pytest.fixture
def searched(environment: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that has searched both boundaries."""
    monkeypatch.setattr(executor, "EngineDriver", AtTheEdge)
    (environment / "study.yaml").write_text(STUDY)
    folder, result = carried_out(environment)
    assert result.return_value in (None, 0), result.output
    return folder


def found(folder: Path) -> dict[Level, boundaries.SearchedBoundary]:
    run, study = RunFolder(folder), load(folder / "study.yaml")
    assert study.boundary is not None
    report = build.gather(run)
    said = boundaries.margins(report.rounds, report, study, study.boundary)
    return {one.configuration.levels["strategy"]: one for one in said.searched}


def test_each_configuration_gets_its_own_boundary(searched: Path) -> None:
    for strategy, one in found(searched).items():
        edge = one.answer.boundary
        assert one.answer.found is SearchOutcome.LOCATED and one.answer.over
        assert edge is not None and edge.low is not None and edge.high is not None
        assert edge.low <= EDGES[str(strategy)] <= edge.high
        assert edge.high - edge.low <= 16


def test_a_block_has_a_round_of_each_open_configuration_at_its_own_dose(searched: Path) -> None:
    planned = stored.plan(RunFolder(searched))
    strategy = {one.id: one.levels["strategy"] for one in planned.scenarios}
    rate = {one.id: one.levels["rate"] for one in planned.scenarios}
    last = max(one.block for one in planned.rounds)
    blocks = [[one.scenario for one in planned.rounds if one.block == block] for block in range(last + 1)]
    assert all(max(Counter(strategy[one] for one in block).values()) == 1 for block in blocks)
    assert [{rate[one] for one in block} for block in blocks[:3]] == [{60}, {100}, {20}]
    assert any(len({rate[one] for one in block}) == 2 for block in blocks)
    orders = {tuple(strategy[one] for one in block) for block in blocks if len(block) == 2}
    assert len(orders) == 2, "who comes first differs between blocks"
    assert sorted(entry.round for entry in rounds_of(searched)) == [one.index for one in planned.rounds]


@pytest.mark.parametrize("over", [1, 4, 9])
def test_a_search_that_was_killed_continues_exactly(searched: Path, over: int) -> None:
    whole = (searched / "plan.json").read_text()
    planned = json.loads(whole)
    lines = (searched / "journal.jsonl").read_text().splitlines(keepends=True)
    block = next(one["block"] for one in planned["rounds"] if one["index"] == over)
    kept = [one for one in planned["rounds"] if one["block"] <= block]
    (searched / "plan.json").write_text(json.dumps({**planned, "rounds": kept}))
    (searched / "journal.jsonl").write_text("".join(line for line in lines if json.loads(line)["round"] < over))
    typed(resume, str(searched))
    assert json.loads((searched / "plan.json").read_text()) == planned
    before = (searched / "journal.jsonl").read_bytes()
    typed(resume, str(searched))
    assert (searched / "journal.jsonl").read_bytes() == before, "nothing more is needed"


def test_the_report_leads_with_the_margin(searched: Path) -> None:
    study, report = load(searched / "study.yaml"), build.gather(RunFolder(searched))
    (made,) = section.sections(report, study)
    first, second = made.choice[0].split("\n")
    assert (
        first.startswith("baseline: today's 50/s is ") and " below the edge: half of the rounds are lost at " in first
    )
    assert second.startswith("retry: ")
    assert [table.title for table in made.tables][1] == "How many times the dose of baseline others bear"
    assert made.tables[1].frame["verdict"].tolist() == ["bears less"]
    assert {one.levels["rate"] for one in report.scenarios} < {*range(20, 101, 4)}, "doses that were tried"


def test_the_plan_says_what_a_search_takes_at_most(environment: Path) -> None:
    (environment / "study.yaml").write_text(STUDY)
    said = typed(plan, str(environment / "study.yaml")).output
    assert "edge: 2 scenarios x 8 to 25 rounds = 16 to 50 rounds" in said
    assert "each scenario is one of 21 doses of open.rate, from 20 to 100" in said


RANGE_OF_SHARES = "[20 %, 100 %], until: {half_width: 8 points}"


def test_shares_of_a_given_capacity_are_searched_and_sent_as_rates(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "EngineDriver", AtTheEdge)
    text = STUDY.replace("rate: 50", "rate: {share: 40 %}") + "capacity: {rate: 120/s}\n"
    text = text.replace("[20, 100], until: {half_width: 8}", RANGE_OF_SHARES)
    (environment / "study.yaml").write_text(text)
    folder, _ = carried_out(environment)
    one = found(folder)["baseline"]
    assert one.answer.boundary is not None
    assert one.answer.boundary.at == pytest.approx(100 * EDGES["baseline"] / 120, abs=10)
    rates = {task.treatment.workload.open.rate.level for task in AtTheEdge.tasks}  # type: ignore[union-attr]
    assert {24.0, 72.0, 120.0} <= rates
    noted = stored.manifest(RunFolder(folder))
    assert noted.capacity["before"].rate == 120 and "after" not in noted.capacity
    planned = {one.id: one.levels["rate"] for one in stored.plan(RunFolder(folder)).scenarios}
    assert all(str(planned[entry.scenario]).endswith(" %") for entry in rounds_of(folder))
    (made,) = section.sections(build.gather(RunFolder(folder)), load(folder / "study.yaml"))
    assert "today's 40 % is " in made.choice[0]


def test_a_capacity_that_is_measured_is_so_before_the_rounds_and_after_them(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "EngineDriver", AtTheEdge)
    measured = iter([120.0, 90.0])
    told = lambda *_: MeasuredCapacity(rate=next(measured), objective="p99 <= 1s", rounds=9)  # noqa: E731
    monkeypatch.setattr(capacity_of_run, "measured", told)
    text = STUDY.replace("rate: 50", "rate: {share: 40 %}") + "capacity: {objective: p99 <= 1s}\n"
    (environment / "study.yaml").write_text(text.replace("[20, 100], until: {half_width: 8}", RANGE_OF_SHARES))
    folder, result = carried_out(environment)
    noted = stored.manifest(RunFolder(folder)).capacity
    assert {when: one.rate for when, one in noted.items()} == {"before": 120, "after": 90}
    assert "The capacity changed by -25 % while rounds ran" in result.stderr + result.output
    typed(resume, str(folder))
    assert stored.manifest(RunFolder(folder)).capacity == noted, "it is measured no third time"


def test_a_capacity_that_cannot_be_measured_is_refused_before_any_round(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "EngineDriver", AtTheEdge)
    monkeypatch.setattr(capacity_of_run, "measured", lambda *_: MeasuredCapacity(rate=None, note="it is gone"))
    text = STUDY.replace("rate: 50", "rate: {share: 40 %}") + "capacity: {objective: p99 <= 1s}\n"
    (environment / "study.yaml").write_text(text.replace("[20, 100], until: {half_width: 8}", RANGE_OF_SHARES))
    words = [str(environment / "study.yaml"), "--out", str(environment / "run")]
    result = CliRunner().invoke(run, words, standalone_mode=False)
    assert isinstance(result.exception, InputError)
    told = str(result.exception)
    assert "capacity: could not be measured: it is gone; give it" in told
    assert "more `rounds` or of a longer `duration`" in told
    assert rounds_of(environment / "run") == []
