"""Rounds that stop by themselves in a whole run: which blocks are added, and what the plan keeps."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.unit.run.test_whole_run import STUDY, MadeUp, carried_out, environment, rounds_of, typed

from patternbench.analyze.metrics import round_metrics
from patternbench.cli.plan import plan
from patternbench.cli.resume import resume
from patternbench.records import attempts, stored
from patternbench.records.folder import RunFolder
from patternbench.report.build import gather
from patternbench.report.sections.declared import _rules, with_sections
from patternbench.run import prepared_run
from patternbench.run.before.evidence import rule_of
from patternbench.run.lanes.places import LaneTask, ReadyLanes
from patternbench.run.round.executor import LocalExecutor

UNTIL = "rounds: {until: {response: p95, half_width: 30%}, min: 3, max: 6}"

__all__ = ["environment"]


def test_a_run_adds_blocks_until_every_scenario_is_known_well_enough_or_has_the_most(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MadeUp, "breaking", {4})
    text = STUDY.replace("rounds: 3", UNTIL)
    (environment / "study.yaml").write_text(text)
    folder, _ = carried_out(environment)
    plan = json.loads((folder / "plan.json").read_text())
    entries = {entry.round: entry for entry in rounds_of(folder)}
    assert sorted(entries) == [one["index"] for one in plan["rounds"]] == list(range(len(plan["rounds"])))
    assert {one["index"]: one["scenario"] for one in plan["rounds"]} == {n: e.scenario for n, e in entries.items()}
    blocks = [[one["scenario"] for one in plan["rounds"] if one["block"] == b] for b in range(7)]
    assert [len(block) for block in blocks[:3]] == [6, 6, 6] and blocks[6] == []
    assert all(set(later) <= set(earlier) for earlier, later in pairwise(blocks))
    known: dict[str, list[float]] = {}
    for entry in entries.values():
        if entry.counts:
            frame = attempts.read(RunFolder(folder).attempts_of(entry.file))
            known.setdefault(entry.scenario, []).append(round_metrics(frame, 0.03, 2.0)["p95"])
    assert {scenario: len(values) for scenario, values in known.items()} != dict.fromkeys(blocks[0], 3)
    for scenario, values in known.items():
        most = sum(scenario in block for block in blocks) == 6
        half = 1.96 * np.std(values, ddof=1) / math.sqrt(len(values)) / np.mean(values)
        assert most or half < 0.3, "it was left before it was known to within 30 %"
    before = (folder / "plan.json").read_bytes()
    typed(resume, str(folder))
    assert (folder / "plan.json").read_bytes() == before, "nothing more is needed"


def test_a_run_that_was_killed_between_two_blocks_continues_with_the_next_one(environment: Path) -> None:
    (environment / "study.yaml").write_text(STUDY.replace("rounds: 3", UNTIL))
    folder, _ = carried_out(environment)
    whole = json.loads((folder / "plan.json").read_text())
    kept = [one for one in whole["rounds"] if one["block"] < 3]
    assert len(kept) < len(whole["rounds"])
    lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
    early = [line for line in lines if json.loads(line)["round"] < len(kept)]
    (folder / "journal.jsonl").write_text("".join(early))
    (folder / "plan.json").write_text(json.dumps({**whole, "rounds": kept}))
    typed(resume, str(folder))
    assert json.loads((folder / "plan.json").read_text())["rounds"] == whole["rounds"]


@dataclass
class Changing:
    """A place whose lanes come and go: how many there are at each look, of which the last number stays."""

    lanes: list[int]

    def up(self) -> Sequence[str]:
        return [""] * (self.lanes.pop(0) if len(self.lanes) > 1 else self.lanes[0])

    @contextmanager
    def ready(self, task: LaneTask) -> Iterator[ReadyLanes]:
        with LocalExecutor(task.folder, task.engine_only, task.on_progress) as executor:
            yield ReadyLanes(executor, self.up)


class Quiet:
    """Hears of a run and says nothing."""

    def __getattr__(self, _: str) -> object:
        return lambda *_: None


LOUD = "rounds: {until: {response: p95, half_width: 0.001%}, min: 3, max: 8}"


def on_lanes(environment: Path, *lanes: int) -> RunFolder:
    """The run of the study at a place with so many lanes, asked for once before the first round and at each look."""
    folder = RunFolder(environment / "run")
    prepared_run.reopen(folder.path).execute(Quiet(), place=Changing([lanes[0], *lanes]))  # type: ignore[arg-type]
    return folder


def begun(environment: Path) -> None:
    """The folder of a run of which nothing was measured yet."""
    (environment / "study.yaml").write_text(STUDY.replace("rounds: 3", LOUD))
    prepared = prepared_run.begin(prepared_run.StudyFile.read(environment / "study.yaml"), environment / "run", False)
    prepared.folder.unlock()


def looks_of(folder: RunFolder) -> list[tuple[int, int]]:
    return [(look.blocks, look.step) for look in stored.plan(folder).looks]


def test_each_look_is_kept_with_the_lanes_that_were_up_then_and_the_report_judges_by_them(environment: Path) -> None:
    begun(environment)
    folder = on_lanes(environment, 2, 1, 4)
    assert looks_of(folder) == [(3, 2), (5, 1), (6, 4), (8, 4)], "the last look adds no more than the most"
    reported, rule = gather(folder), rule_of(prepared_run.loads((folder.path / "study.yaml").read_text(), ""))
    assert rule is not None
    assert {(one.step, one.looks) for one in _rules(reported, rule).values()} == {(4, ((3, 2), (5, 1), (6, 4), (8, 4)))}


def test_a_finished_run_that_is_resumed_with_other_lanes_looks_as_it_did_and_adds_nothing(environment: Path) -> None:
    (environment / "study.yaml").write_text(STUDY.replace("rounds: 3", UNTIL))
    carried_out(environment)
    before = (environment / "run" / "plan.json").read_bytes()
    on_lanes(environment, 3)
    assert (environment / "run" / "plan.json").read_bytes() == before


def test_a_run_of_before_which_kept_no_looks_is_read_and_gone_on_with(environment: Path) -> None:
    begun(environment)
    folder = on_lanes(environment, 2)
    plan = json.loads(folder.plan.read_text())
    looks = plan.pop("looks")
    assert [(look["blocks"], look["step"]) for look in looks] == [(3, 2), (5, 2), (7, 2), (8, 2)]
    folder.plan.write_text(json.dumps(plan))
    reported, rule = gather(folder), rule_of(prepared_run.loads((folder.path / "study.yaml").read_text(), ""))
    assert rule is not None
    assert {(one.step, one.looks) for one in _rules(reported, rule).values()} == {(1, ())}
    on_lanes(environment, 2)
    assert json.loads(folder.plan.read_text())["looks"] == looks


CHOSEN = """\
rounds: {until: {choice: within 10%}, min: 3, max: 6}
recommend: {objectives: [minimise p95]}"""


def blocks_by_condition(folder: Path) -> list[dict[object, set[str]]]:
    """For each block of a plan, the strategies that it holds at each rate."""
    plan = json.loads((folder / "plan.json").read_text())
    levels = {one["id"]: one["levels"] for one in plan["scenarios"]}
    blocks: list[dict[object, set[str]]] = []
    for one in plan["rounds"]:
        blocks += [{} for _ in range(one["block"] + 1 - len(blocks))]
        own = levels[one["scenario"]]
        name = f"{own['strategy']} {own.get('retry.backoff.fixed.delay')}"
        blocks[one["block"]].setdefault(own["rate"], set()).add(name)
    return blocks


def test_a_run_adds_blocks_of_what_may_still_be_the_choice_until_it_is_known_or_has_the_most(environment: Path) -> None:
    (environment / "study.yaml").write_text(STUDY.replace("rounds: 3", CHOSEN))
    folder, done = carried_out(environment)
    blocks = blocks_by_condition(folder)
    assert [len(names) for block in blocks[:3] for names in block.values()] == [3] * 6
    assert 3 < len(blocks) <= 6
    assert all("baseline None" in names for block in blocks for names in block.values()), "each has its other side"
    looks = looks_of(RunFolder(folder))
    assert [look for look, _ in looks] == [look for look in (3, 5, 6) if look <= len(blocks)]
    assert "after 3 blocks: " in done.stderr
    before = (folder / "plan.json").read_bytes()
    typed(resume, str(folder))
    assert (folder / "plan.json").read_bytes() == before, "nothing more is needed"


def test_a_run_that_was_killed_after_a_look_at_its_choices_goes_on_with_the_blocks_of_that_look(
    environment: Path,
) -> None:
    (environment / "study.yaml").write_text(STUDY.replace("rounds: 3", CHOSEN))
    folder, _ = carried_out(environment)
    whole = json.loads((folder / "plan.json").read_text())
    kept = [one for one in whole["rounds"] if one["block"] < 3]
    lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
    early = [line for line in lines if json.loads(line)["round"] < len(kept)]
    (folder / "journal.jsonl").write_text("".join(early))
    (folder / "plan.json").write_text(json.dumps({**whole, "rounds": kept, "looks": []}))
    typed(resume, str(folder))
    assert json.loads((folder / "plan.json").read_text())["rounds"] == whole["rounds"]


def test_the_looks_at_a_choice_come_later_where_more_lanes_measure_blocks_at_once(environment: Path) -> None:
    loud = CHOSEN.replace("10%", "0.1%").replace("p95", "p999").replace("max: 6", "max: 20")
    (environment / "study.yaml").write_text(STUDY.replace("rounds: 3", loud))
    prepared = prepared_run.begin(prepared_run.StudyFile.read(environment / "study.yaml"), environment / "run", False)
    prepared.folder.unlock()
    looks = [blocks for blocks, _ in looks_of(on_lanes(environment, 4))]
    assert looks == [look for look in (3, 7, 11, 15, 20) if look <= looks[-1]]


def test_the_plan_says_when_it_is_looked_and_by_another_run_how_many_rounds_to_expect(environment: Path) -> None:
    (environment / "study.yaml").write_text(STUDY.replace("rounds: 3", CHOSEN))
    alone = typed(plan, str(environment / "study.yaml")).stdout
    assert "rounds end once the choice is at most 10 % worse than the best; looks after 3, 5, 6 blocks" in alone
    assert "--from RUN" in alone
    folder, _ = carried_out(environment)
    printed = typed(plan, str(environment / "study.yaml"), "--from", str(folder)).stdout
    assert "by that run: about " in printed
    assert "where equal rounds to the most are 36; looks before the end pay under " in printed
    data = json.loads(typed(plan, str(environment / "study.yaml"), "--from", str(folder), "--json").stdout)["choices"]
    assert data["looks"] == [3, 5, 6]
    assert data["equal_rounds"] == 36
    assert [one["given"] for one in data["conditions"]] == ["rate=50", "rate=100"]


def test_the_report_says_what_was_saved_and_how_many_equal_rounds_would_have_shown_the_same(environment: Path) -> None:
    text = STUDY.replace("rounds: 3", CHOSEN)
    (environment / "study.yaml").write_text(text)
    folder, _ = carried_out(environment)
    reported = with_sections(gather(RunFolder(folder)), prepared_run.loads(text, ""))
    (found,) = (one for one in reported.sections if one.anchor == "stopping")
    assert found.title == "Rounds that stopped once the choice was known"
    used = len(json.loads((folder / "plan.json").read_text())["rounds"])
    assert f"choices known after {used} of 36 rounds: {1 - used / 36:.0%} saved." in found.words[0]
    assert found.words[1].startswith("Equal rounds for every scenario would ")
    assert "Looks came after 3, 5, 6 blocks at the earliest." in found.words[2]
    assert list(found.tables[0].frame["condition"]) == ["rate=50", "rate=100"]
    assert reported.looked == 3
