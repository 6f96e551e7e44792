"""Searches of a boundary in simulated time: their rounds, their map, what may rest on them. Shares of a capacity."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from tests.support.simulated import as_if_measured, checked, model, simulate

from patternbench.cli.main import cli
from patternbench.plan.expand import expand
from patternbench.records import held_out, stored
from patternbench.records.folder import RunFolder, digest
from patternbench.records.held_out import HeldOut, covering
from patternbench.report import boundaries, build
from patternbench.report.boundaries import SearchedBoundary
from patternbench.report.sections import boundary as section
from patternbench.report.sections import predicted
from patternbench.run.round.orders import RoundOrder, RoundResult
from patternbench.simulation import checking, evidence
from patternbench.simulation.checking import HeldOutPart
from patternbench.simulation.place import SimulatedExecutor
from patternbench.study.load import load, loads

MODEL = """\
patternbench-model: 1
name: target
system: target
entry: target
services: {target: {workers: 1, times: {exponential: 10ms}}}
"""
STUDY = """\
patternbench: 1
name: edge
system: target
warm_up: 1s
workload:
  open: {rate: 50, spacing: poisson, duration: 15s, in_flight: 5000}
  request: {path: /bytes/10, timeout: 300ms}
faults: [{freeze: {}, where: target, when: {from: 5s, for: [500ms, 1s]}}]
strategies:
  - {client: native, baseline: {}}
  - {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 10ms}}}}
boundary: {over: open.rate, between: [20, 100], until: {half_width: 10}, max: 14}
"""
SHORT = STUDY.replace("[500ms, 1s]", "1s").replace("max: 14", "max: 12")
SHARES = """\
patternbench: 1
name: shares
system: target
rounds: 2
warm_up: 1s
capacity: CAPACITY
workload:
  open: {rate: {share: [50 %, 80 %]}, spacing: poisson, duration: 10s}
  request: {path: /bytes/10, timeout: 300ms}
strategies: [{client: native, baseline: {}}, {client: native, retry: {max_attempts: 2, backoff: {fixed: {delay: 9ms}}}}]
"""
GIVEN, MEASURED = "{rate: 100/s}", "{objective: p95 <= 200ms, duration: 10s, rounds: 3, start: 20}"


@dataclass(frozen=True)
class Searched:
    """A run with a search, and what it found by strategy and length of the freeze."""

    run: RunFolder
    found: dict[tuple[str, str], SearchedBoundary]


def boundaries_of(run: RunFolder) -> dict[tuple[str, str], SearchedBoundary]:
    study = load(run.study)
    assert study.boundary is not None
    report = build.gather(run)
    every = boundaries.margins(report.rounds, report, study, study.boundary).searched
    return {_key(one): one for one in every}


def _key(one: SearchedBoundary) -> tuple[str, str]:
    levels = one.configuration.levels
    return str(levels["strategy"]), str(levels.get("freeze.when.for"))


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    folder = tmp_path_factory.mktemp("searched")
    run, _ = simulate(STUDY, model(folder, MODEL), folder / "run")
    build.build(run)
    return Searched(run, boundaries_of(run))


@pytest.fixture(scope="module")
def page(searched: Searched) -> str:
    """The report's page."""
    return searched.run.report.read_text()


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run with a shorter search, of one length of the freeze."""
    folder = tmp_path_factory.mktemp("short")
    return simulate(SHORT, model(folder, MODEL), folder / "run", cores=3)[0]


def words_of(run: RunFolder) -> str:
    """What the section on the margin says."""
    (made,) = section.sections(build.gather(run), load(run.study))
    return "\n".join(made.words)


def test_a_search_begins_with_the_middle_and_no_configuration_gets_more_than_its_most(searched: Searched) -> None:
    planned = stored.plan(searched.run)
    rate = {one.id: one.levels["rate"] for one in planned.scenarios}
    first = [rate[one.scenario] for one in planned.rounds if one.block == 0]
    assert first == [60] * 4
    assert all(8 <= len(one.tries) <= 14 for one in searched.found.values())
    assert sum(len(one.tries) for one in searched.found.values()) == len(planned.rounds)


def test_a_queue_comes_back_from_more_load_without_retries_than_with_them(searched: Searched) -> None:
    retry, without = searched.found["retry", "1s"].tries, searched.found["baseline", "500ms"].tries
    assert {one.held for one in retry if one.dose >= 60} == {False}, "three attempts per call are more than it serves"
    assert {one.held for one in retry if one.dose <= 25} == {True}
    assert {one.held for one in without if one.dose <= 60} == {True}


def test_the_same_search_has_the_same_rounds_on_any_number_of_cores(short: RunFolder, tmp_path: Path) -> None:
    alone, _ = simulate(SHORT, model(tmp_path, MODEL), tmp_path / "run", cores=1)
    first, second = ([path.name + digest(path) for path in sorted(one.attempts.iterdir())] for one in (short, alone))
    assert len(first) >= 16
    assert first == second
    assert stored.plan(short).rounds == stored.plan(alone).rounds


def test_the_report_has_the_map_and_the_safe_loads_by_length_and_says_that_they_are_simulated(page: str) -> None:
    first_screen, of_margin = page.partition('id="margin"')[::2]
    assert first_screen.count(", in simulated time.") >= 4
    assert "These rounds were simulated, not measured." in of_margin
    assert "Map of the boundary" in of_margin
    assert "Safe dose by" in of_margin


def test_tables_of_boundaries_are_marked(searched: Searched) -> None:
    tables = [pd.read_csv(path) for path in sorted((searched.run.path / "tables").glob("margin*.csv"))]
    by_length = next(table for table in tables if "500 ms" in table.columns or "500ms" in table.columns)
    assert by_length["configuration"].tolist() == ["baseline", "retry"]
    assert all(table["simulated"].all() for table in tables)


def test_nothing_is_recommended_from_boundaries_of_a_model_that_was_never_checked(searched: Searched) -> None:
    done = CliRunner().invoke(cli, ["recommend", str(searched.run.path)])
    assert (done.exit_code, "never held against measured rounds" in done.output) == (2, True), done.output
    assert "never held against measured rounds" in words_of(searched.run)


def covers(text: str) -> HeldOut:
    """A check that was right about recovery in all scenarios of a study."""
    scenarios = [one.configuration for one in expand(loads(text, "study.yaml")).scenarios]
    words = dict.fromkeys(("recovered", "p95", "failure_rate", "goodput"), "within 10 %")
    verdicts = HeldOut.model_validate(
        {"rule": "as a test says", "rounds": 6, "verdicts": words, "scenarios": [], "covers": covering(scenarios)}
    )
    assert verdicts.covers
    return verdicts


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("[20, 100]", "[30, 80]", "workload.open.rate is"),
        ("for: 1s", "for: 2s", " is 1, and 2 to 2 was checked"),
        ("max_attempts: 3", "max_attempts: 2", "max_attempts is 3, and 2 to 2 was checked"),
        ("", "", ""),
    ],
)
def test_a_boundary_outside_of_what_was_checked_says_so_and_nothing_is_recommended(
    short: RunFolder, tmp_path: Path, old: str, new: str, why: str
) -> None:
    run = RunFolder(shutil.copytree(short.path, tmp_path / "run"))
    held_out.write(run, covers(SHORT.replace(old, new)))
    done = CliRunner().invoke(cli, ["recommend", str(run.path), "--objective", "maximise goodput"])
    words, refused = words_of(run), "outside what was checked"
    assert (refused in done.output, refused in words) == (bool(why), bool(why)), done.output
    assert why in done.output
    assert why in words


# --- shares of a capacity


def test_shares_of_a_given_capacity_are_simulated_as_rates(tmp_path: Path) -> None:
    run, _ = simulate(SHARES.replace("CAPACITY", GIVEN), model(tmp_path, MODEL), tmp_path / "run")
    goodput = build.measures(run).rounds.groupby("rate")["goodput"].mean()
    assert goodput.tolist() == pytest.approx([50, 80], rel=0.1)
    assert stored.manifest(run).capacity["before"].rate == 100


def test_the_capacity_of_a_model_is_what_queueing_theory_says(tmp_path: Path) -> None:
    """Of an M/M/1 of 100 per second 95 of 100 calls take at most ln(20) / (100 - rate): 200 ms at 85 per second."""
    run, _ = simulate(SHARES.replace("CAPACITY", MEASURED), model(tmp_path, MODEL), tmp_path / "run")
    known = stored.manifest(run).capacity
    assert known["before"].rate == pytest.approx(85, abs=8)
    assert known["after"] == known["before"], "nothing drifts in simulated time"
    goodput = build.measures(run).rounds.groupby("rate")["goodput"].mean()
    assert goodput.iloc[0] == pytest.approx(0.5 * (known["before"].rate or 0), rel=0.1)


def test_a_run_of_shares_is_checked_at_the_rates_that_were_driven(tmp_path: Path) -> None:
    target = model(tmp_path, MODEL)
    run, _ = simulate(SHARES.replace("CAPACITY", MEASURED), target, tmp_path / "run")
    capacity = stored.manifest(run).capacity["before"].rate
    assert capacity is not None
    source = evidence.read(as_if_measured(run).path)
    division = evidence.divide(source, (), ())
    rates = [source.driven(one).workload.open.rate.level for one in division.used]  # type: ignore[union-attr]
    assert rates == pytest.approx([0.5 * capacity, 0.8 * capacity], abs=0.001)
    found = checking.check(target.model, [HeldOutPart(source, division.held_out)], division.rule)
    assert {one.strategy for one in found.covers} == {"retry"}
    assert found.covers[0].ranges["workload.open.rate"] == pytest.approx(rates)
    alone = SHARES.replace("{client: native, baseline: {}}, ", "").replace("CAPACITY", f"{{rate: {capacity}}}")
    later, _ = simulate(alone, checked(target, found), tmp_path / "later")
    assert predicted.unchecked(build.gather(later), ["goodput"]) == []


# --- rounds for a check


def test_a_check_simulates_a_run_with_a_search_as_often_as_asked_and_searches_nothing(
    short: RunFolder, tmp_path: Path
) -> None:
    run = as_if_measured(RunFolder(shutil.copytree(short.path, tmp_path / "run")))
    source = evidence.read(run.path)
    rounds = checking.simulated_rounds(model(tmp_path, MODEL).model, HeldOutPart(source, source.scenarios[:2]), 3)
    assert Counter(rounds["scenario"]) == {one.scenario.id: 3 for one in source.scenarios[:2]}


def test_a_check_of_a_traced_run_makes_no_counting_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced = SHARES.replace("CAPACITY", GIVEN) + "traces: {sample: 1%, counting_pass: true}\n"
    target = model(tmp_path, MODEL)
    run, _ = simulate(traced, target, tmp_path / "run")
    source = evidence.read(as_if_measured(run).path)
    orders: list[int] = []
    carry_out = SimulatedExecutor.carry_out

    def counted(executor: SimulatedExecutor, order: RoundOrder) -> RoundResult:
        orders.append(order.index)
        return carry_out(executor, order)

    monkeypatch.setattr(SimulatedExecutor, "carry_out", counted)
    checking.simulated_rounds(target.model, HeldOutPart(source, source.scenarios), 2)
    assert sorted(orders) == list(range(8))
