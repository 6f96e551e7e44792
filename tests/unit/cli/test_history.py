"""``history``: the effects of runs are kept, and a change of them is told with its run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.measured_run import STUDY, measured_run, retries_are_slow
from tests.support.simulated import model, simulate

from patternbench.cli.main import main
from patternbench.plan.scenarios import Scenario
from patternbench.records.folder import RunFolder
from patternbench.records.history import HistoryFile, HistoryRun
from patternbench.report.history.lines import history_json, history_of
from patternbench.report.history.page import history_html

SIMULATED = """\
patternbench: 1
name: s
system: target
rounds: 2
warm_up: 100ms
workload: {open: {rate: 50, duration: 1s}, request: {path: /}}
strategies: [{client: native, baseline: {}}]
"""


@dataclass
class Ended:
    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@pytest.fixture
def typed(capfd: pytest.CaptureFixture[str]) -> Any:
    def run(*words: object) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        printed = capfd.readouterr()
        return Ended(int(str(ended.value.code)), printed.out, printed.err)

    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunFolder]:
    place = tmp_path_factory.mktemp("runs")
    return [measured_run(place / f"run-{seed}", seed) for seed in (1, 2)]


def a_year(one: HistoryRun, values: list[float]) -> list[HistoryRun]:
    """The same run again and again, with these values of all its effects."""
    return [
        one.model_copy(
            update={
                "run": f"run-{place}",
                "started": f"2026-01-01T00:{place:02d}:00Z",
                "git_commit": f"{place:040x}",
                "effects": tuple(effect.model_copy(update={"value": value}) for effect in one.effects),
            }
        )
        for place, value in enumerate(values)
    ]


STEP = [20.0 + 0.5 * (place % 3) for place in range(12)] + [60.0 + 0.5 * (place % 3) for place in range(11)]


@pytest.fixture
def stepped(runs: list[RunFolder], tmp_path: Path, typed: Any) -> HistoryFile:
    """A history of which all effects step up at its thirteenth run."""
    typed("history", "add", tmp_path / "first", runs[0].path)
    (first,) = HistoryFile(tmp_path / "first").runs()
    file = HistoryFile(tmp_path / "kept")
    with file.adding():
        for run in a_year(first, STEP):
            file.append(run)
    return file


def test_a_run_is_added_with_its_claims_and_its_configurations_against_the_baseline(
    runs: list[RunFolder], tmp_path: Path, typed: Any
) -> None:
    ended = typed("history", "add", tmp_path / "kept", *(run.path for run in runs), "--json")
    assert ended.code == 0
    assert ended.data["runs"] == 2
    first, second = HistoryFile(tmp_path / "kept").runs()
    kinds = [effect.kind for effect in first.effects]
    assert kinds.count("claim") == 2, "one for each number of users"
    assert kinds.count("effect") == 2 * 6, "two configurations with a retry, in six responses"
    assert [effect.key for effect in first.effects] == [effect.key for effect in second.effects]
    assert len({effect.key for effect in first.effects}) == len(first.effects)
    (claim, _) = [effect for effect in first.effects if effect.kind == "claim"]
    assert claim.name.startswith("a retry waits (")
    assert claim.concluded == "confirmed"
    assert 40 < claim.value < 80
    assert claim.low is not None
    assert claim.high is not None
    assert claim.low < 60 < claim.high, "calls with a retry take 1.6 times as long"


def test_effects_stay_the_same_on_a_machine_that_is_twice_as_fast(tmp_path: Path, typed: Any) -> None:
    def fast(scenario: Scenario) -> float:
        return retries_are_slow(scenario) / 2

    slow, quick = measured_run(tmp_path / "a", 5), measured_run(tmp_path / "b", 5, slowness=fast)
    one, other = (effects_of(tmp_path, run, typed) for run in (slow, quick))
    assert one.keys() == other.keys()
    assert all(one[key] == pytest.approx(other[key], abs=0.5) for key in one)


def effects_of(place: Path, run: RunFolder, typed: Any) -> dict[str, float]:
    folder = place / f"of-{run.path.name}"
    typed("history", "add", folder, run.path)
    (kept,) = HistoryFile(folder).runs()
    times = ("p95", "call_success_p50", "call_success_p95", "call_success_p99")
    return {effect.key: effect.value for effect in kept.effects if effect.response in times}


def test_the_reference_is_kept_and_another_one_is_refused(runs: list[RunFolder], tmp_path: Path, typed: Any) -> None:
    assert typed("history", "add", tmp_path, runs[0].path, "--reference", "strategy=retry").code == 0
    (kept,) = HistoryFile(tmp_path).runs()
    assert kept.reference == ("strategy=retry",)
    against = [effect for effect in kept.effects if effect.kind == "effect" and effect.response == "call_success_p95"]
    assert all(effect.value < 0 for effect in against), "the baseline is faster than the retry"
    ended = typed("history", "add", tmp_path, runs[1].path, "--reference", "strategy=baseline")
    assert ended.code == 2
    assert "is not the one that was kept" in ended.err
    assert typed("history", "add", tmp_path, runs[1].path).code == 0
    assert HistoryFile(tmp_path).runs()[1].reference == ("strategy=retry",)


def test_a_run_is_added_once_and_one_of_another_study_not_at_all(
    runs: list[RunFolder], tmp_path: Path, typed: Any
) -> None:
    typed("history", "add", tmp_path / "kept", runs[0].path)
    again = typed("history", "add", tmp_path / "kept", runs[0].path)
    assert (again.code, "is in this history already" in again.err) == (2, True)
    other = measured_run(tmp_path / "other", text=STUDY.replace("users: [2, 4]", "users: [3, 5]"))
    foreign = typed("history", "add", tmp_path / "kept", other.path)
    assert (foreign.code, "nothing" in foreign.err or "in common" in foreign.err) == (2, True)
    assert len(HistoryFile(tmp_path / "kept").runs()) == 1


def test_a_run_that_is_not_whole_or_was_simulated_is_refused(tmp_path: Path, typed: Any) -> None:
    run = measured_run(tmp_path / "run")
    lines = run.journal.read_text(encoding="utf-8").splitlines(keepends=True)
    run.journal.write_text("".join(lines[:-1]), encoding="utf-8")
    ended = typed("history", "add", tmp_path / "kept", run.path)
    assert (ended.code, "is not whole" in ended.err) == (2, True)
    simulated, _ = simulate(SIMULATED, model(tmp_path), tmp_path / "simulated")
    ended = typed("history", "add", tmp_path / "kept", simulated.path)
    assert (ended.code, "was simulated" in ended.err) == (2, True)


def test_a_change_is_told_with_its_run_its_commit_and_both_levels(stepped: HistoryFile, typed: Any) -> None:
    ended = typed("history", "show", stepped.folder)
    assert ended.code == 0
    told = next(line for line in ended.out.splitlines() if line.startswith("- a retry waits"))
    assert "Higher since run 13 (2026-01-01, commit 0000000000): from +20.5" in told
    assert "to +60.5" in told
    assert "at most 5 of 100 such histories" in ended.out
    assert "call_success_p95" not in ended.out, "effects of configurations are asked for with --all"
    assert "call_success_p95" in typed("history", "show", stepped.folder, "--all").out


def test_what_is_shown_is_data_too(stepped: HistoryFile, typed: Any) -> None:
    data = typed("history", "show", stepped.folder, "--json").data
    assert data["format"] == "patternbench/history/1"
    assert [run["number"] for run in data["runs"]] == list(range(1, 24))
    assert {line["kind"] for line in data["lines"]} == {"claim"}
    (line, _) = data["lines"]
    assert (line["verdict"], line["changes"], line["unit"]) == ("higher", [13], "%")
    first, second = line["stretches"]
    assert (first["first_run"], first["last_run"], second["first_run"]) == (1, 12, 13)
    assert first["mean"] == pytest.approx(20.5, abs=0.1)
    assert len(line["points"]) == 23


def test_a_page_has_a_line_for_each_claim_and_loads_nothing(stepped: HistoryFile, tmp_path: Path, typed: Any) -> None:
    page = tmp_path / "page.html"
    assert typed("history", "show", stepped.folder, "--html", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert text.count('id="line-') == 2
    assert "Higher since run 13" in text
    assert "default-src 'none'" in text, "it may load nothing"
    assert "<script src" not in text
    assert typed("history", "show", stepped.folder, "--html", page).code == 2, "an existing page is kept"


def test_a_new_machine_is_named_next_to_the_change_that_begins_with_it(stepped: HistoryFile) -> None:
    runs = stepped.runs()
    moved = [
        run.model_copy(update={"machine": run.machine.model_copy(update={"cpu": "another"})}) if place >= 12 else run
        for place, run in enumerate(runs)
    ]
    page = history_html(history_of(moved), "History")
    assert "With that run changed: machine (cpu) from" in page


def test_runs_are_ordered_by_their_begin_however_they_were_added(stepped: HistoryFile) -> None:
    runs = stepped.runs()
    assert history_json(history_of(runs[::-1])) == history_json(history_of(runs))


def test_no_change_of_a_raw_margin_is_told(stepped: HistoryFile) -> None:
    runs = [
        run.model_copy(
            update={
                "effects": tuple(
                    effect.model_copy(update={"kind": "margin", "raw": True, "relative": False, "unit": "/s"})
                    for effect in run.effects[:1]
                )
            }
        )
        for run in stepped.runs()
    ]
    (line,) = history_of(runs).lines
    assert line.course is None
    assert "No change of it is reported" in history_html(history_of(runs), "History")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("show",), "holds no history"),
        (("show", "{folder}", "run"), "is of `history add`"),
        (("add",), "is missing"),
        (("add", "{folder}", "--all"), "is of `history show`"),
        (("show", "--reference", "a=b"), "is of `history add`"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...], problem: str, tmp_path: Path, typed: Any) -> None:
    action, *others = (word.format(folder=tmp_path) for word in words)
    ended = typed("history", action, tmp_path / "kept", *others)
    assert (ended.code, problem in ended.err) == (2, True), ended.err
