"""A run of which one thing was damaged gets the answer of before, or one that says what is wrong; never another one."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.answers import VERBS, Answer, answer, told
from tests.support.damages import DAMAGES
from tests.support.file_damages import sample
from tests.support.measured_run import measured_run

QUICK = ("export", "recommend")
"""Verbs that read a run in the two ways that there are: measured anew, and with the study's objectives."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, another run of the same study, and room for one that is damaged."""
    place = tmp_path_factory.mktemp("damaged")
    measured_run(place / "whole")
    measured_run(place / "another", seed=2)
    return place


@pytest.fixture
def run(place: Path) -> Iterator[Path]:
    """A copy to damage, always under one name."""
    yield Path(shutil.copytree(place / "whole", place / "run"))
    shutil.rmtree(place / "run")


@pytest.fixture(scope="module")
def undisturbed(place: Path) -> dict[str, Answer]:
    run = Path(shutil.copytree(place / "whole", place / "run"))
    answers = {verb: answer(verb, run, place / "out.csv") for verb in VERBS}
    shutil.rmtree(run)
    return answers


def test_of_a_run_that_is_whole_no_verb_says_that_it_is_damaged(undisturbed: dict[str, Answer]) -> None:
    assert {verb: one.code for verb, one in undisturbed.items()} == dict.fromkeys(VERBS, 0)
    assert not [one.said for one in undisturbed.values() if "damaged" in one.said or "left out" in one.said]


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("verb", QUICK)
def test_no_damage_changes_an_answer_without_a_word(
    verb: str, name: str, run: Path, place: Path, undisturbed: dict[str, Answer]
) -> None:
    DAMAGES[name](run, place / "another", random.Random(f"{verb} {name}"))
    after = answer(verb, run, place / "out.csv")
    assert told(undisturbed[verb], after), (after.code, after.said, after.result[0])


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in QUICK])
@pytest.mark.parametrize("name", ["a file in attempts is cut", "a line of the journal is gone", "lines of another run"])
def test_every_verb_that_reads_a_run_says_what_is_damaged(
    verb: str, name: str, run: Path, place: Path, undisturbed: dict[str, Answer]
) -> None:
    DAMAGES[name](run, place / "another", random.Random(name))
    after = answer(verb, run, place / "out.csv")
    assert told(undisturbed[verb], after), (after.code, after.said, after.result[0])
    assert any(words in after.said for words in ("left out", "damaged at line", "lacks what was", "no result yet"))


def test_a_plan_that_was_changed_is_refused_by_its_name(run: Path, place: Path) -> None:
    DAMAGES["two scenarios have each other's levels"](run, place, random.Random(1))
    after = answer("export", run, place / "out.csv")
    assert after.code == 2
    assert f"error: {run / 'plan.json'}: was changed after the rounds of this run were measured" in after.said
    assert "restore it from a copy of the run" in after.said


def test_a_study_that_was_changed_is_named_in_every_answer_and_in_the_report(run: Path, place: Path) -> None:
    DAMAGES["the study has other objectives"](run, place, random.Random(1))
    for verb in ("recommend", "claims", "report"):
        assert f"{run / 'study.yaml'} was changed after the rounds were measured" in answer(verb, run, place / "o").said
    assert "was changed after the rounds were measured" in (run / "report.html").read_text()


def test_rounds_without_a_result_are_said_by_every_verb(run: Path, place: Path) -> None:
    lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    (run / "journal.jsonl").write_text("".join(lines[:-3]))
    for verb in VERBS:
        assert "3 of 16 rounds have no result yet; type `patternbench resume" in answer(verb, run, place / "o").said
    assert "3 of 16 rounds have no result yet" in (run / "report.html").read_text()


def test_a_run_that_lost_its_plan_gets_no_answer_from_its_older_table(run: Path, place: Path) -> None:
    assert answer("report", run, place / "o").code == 0
    (run / "plan.json").unlink()
    after = answer("fit", run, place / "o")
    assert (after.code, "plan.json: there is no such file" in after.said) == (2, True)


@pytest.mark.parametrize("verb", ["attempts", "recommend", "gate", "watch"])
def test_no_damage_to_any_file_of_a_run_changes_an_answer_without_a_word(verb: str, place: Path) -> None:
    """Other files, damages and verbs are tried on a run that was really measured."""
    run = place / "run"
    shutil.copytree(place / "whole", run)
    before = answer(verb, run, place / "out.csv")
    shutil.rmtree(run)
    silent = []
    for name, damage in sample(place / "whole", 12, seed=len(verb)).items():
        shutil.copytree(place / "whole", run)
        damage(run, place / "another", random.Random(f"{verb} {name}"))
        after = answer(verb, run, place / "out.csv")
        silent += [] if told(before, after) else [f"{name}: {after.code}: {after.said[-300:]}"]
        shutil.rmtree(run)
    assert silent == []
