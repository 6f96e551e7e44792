"""A look at the records of a run says what its report would say of the same rounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.measured_run import measured_run

from patternbench.records import damage
from patternbench.records.folder import RunFolder
from patternbench.report import build, measures
from patternbench.report.sections.declared import with_sections
from patternbench.study.load import loads
from patternbench.terms.problems import InputError
from patternbench.watch.looking import NOTHING_YET, RunRecords
from patternbench.watch.view import AS_IT_WAS, GOES_ON, NOT_THE_LAST_WORD, OVER, QUIET, LiveState, view_of


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return measured_run(tmp_path / "run")


def without_the_last(run: RunFolder, lines: int) -> None:
    """Cut the journal, as it was so many rounds ago."""
    kept = run.journal.read_text().splitlines(keepends=True)[:-lines]
    run.journal.write_text("".join(kept))


def test_the_words_and_the_intervals_are_those_of_the_report(run: RunFolder) -> None:
    report = with_sections(build.gather(run), loads(run.study.read_text(), str(run.study)))
    looked = RunRecords(run).look()
    assert report.first_screen is not None
    assert looked.screen == report.first_screen
    assert list(looked.sentences) == list(report.first_screen.sentences)
    assert looked.sentences[0] == report.sections[-1].choice[0].split("\n")[0]


def test_an_earlier_moment_is_what_a_look_said_then(run: RunFolder) -> None:
    whole = RunRecords(run)
    earlier = whole.look(rounds=8)
    without_the_last(run, 8)
    then = RunRecords(run).look()
    assert (earlier.screen, earlier.sentences, earlier.counts) == (then.screen, then.sentences, then.counts)


def test_each_round_is_read_and_checked_only_once(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    read, checked = list[str](), list[str]()
    measure, judged = measures._measure, damage.judged
    monkeypatch.setattr(measures, "_measure", lambda reading: (read.append(reading.entry.file), measure(reading))[1])
    monkeypatch.setattr(damage, "judged", lambda run, entry: (checked.append(entry.file), judged(run, entry))[1])
    lines = run.journal.read_text()
    without_the_last(run, 8)
    records = RunRecords(run)
    records.look()
    run.journal.write_text(lines)
    records.look()
    assert sorted(read) == sorted(set(read))
    assert len(read) == 16
    assert sorted(checked) == sorted(set(checked))


def test_before_a_round_has_ended_nothing_is_said(run: RunFolder) -> None:
    run.journal.unlink()
    looked = RunRecords(run).look()
    assert list(looked.sentences) == [NOTHING_YET]
    assert (looked.counts.ended, looked.counts.left, looked.screen) == (0, 16, None)


def test_one_round_of_each_scenario_is_too_few_and_says_so(run: RunFolder) -> None:
    without_the_last(run, 12)
    assert RunRecords(run).look().sentences


def test_a_damaged_plan_is_said_in_a_sentence(run: RunFolder) -> None:
    run.plan.write_text("{")
    with pytest.raises(InputError) as raised:
        RunRecords(run).look()
    assert "is not JSON" in str(raised.value.problems[0])


def test_a_round_whose_records_are_damaged_is_counted_and_left_out(run: RunFolder) -> None:
    run.attempts_of("00003").write_bytes(b"nothing")
    looked = RunRecords(run).look()
    assert (looked.counts.damaged, looked.counts.ended) == (1, 16)
    assert "round 3: its records are damaged" in looked.causes[0]


def test_a_run_says_how_far_it_is_and_what_may_not_be_concluded_yet(run: RunFolder) -> None:
    whole = RunRecords(run).look()
    over = view_of(whole)
    assert (over.state, over.caveat) == (OVER, "")
    assert over.progress == "over · 16 of 16 rounds · 4 of 4 blocks whole"
    without_the_last(run, 4)
    looked = RunRecords(run).look()
    quiet, going_on = view_of(looked), view_of(looked, LiveState(going_on=True))
    assert (quiet.state, quiet.caveat) == (QUIET, NOT_THE_LAST_WORD)
    assert "no process of this machine runs it" in quiet.progress
    assert (going_on.state, going_on.caveat) == (GOES_ON, NOT_THE_LAST_WORD)
    assert going_on.progress == "going on · 12 of 16 rounds · 3 of 4 blocks whole · about 40 s left"
    assert view_of(whole, replayed=8).caveat == AS_IT_WAS


def test_where_rounds_stop_once_the_choice_is_known_the_words_hold_at_the_looks_of_the_study(run: RunFolder) -> None:
    text = run.study.read_text().replace("rounds: 4", "rounds: {until: {choice: within 5%}, min: 4, max: 40}")
    run.study.write_text(text)
    without_the_last(run, 4)
    looked = RunRecords(run).look()
    assert looked.looks[0] == 4
    caveat = view_of(looked).caveat
    assert caveat.startswith("Not the last word between the looks of the study. At them, after 4, ")
    assert caveat.endswith("40 blocks, it holds.")


def test_a_lost_line_and_a_study_that_was_changed_are_shown_before_any_warning(run: RunFolder) -> None:
    """The choice rests on fewer rounds, and on objectives that no round was measured for."""
    lines = run.journal.read_text().splitlines(keepends=True)
    run.journal.write_text("".join([*lines[:3], *lines[4:]]))
    run.study.write_text(run.study.read_text().replace("minimise p95", "minimise p50"))
    first, second, *_ = view_of(RunRecords(run).look(), LiveState()).remarks
    assert f"{run.journal} lacks what was written before line 4" in first.text
    assert f"{run.study} was changed after the rounds were measured" in second.text
    assert first.grave
    assert second.grave


def test_of_records_as_they_were_written_nothing_is_shown_as_damaged(run: RunFolder) -> None:
    assert list(RunRecords(run).look().damage) == []
