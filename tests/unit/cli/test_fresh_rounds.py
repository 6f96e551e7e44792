"""Analyses of a run read its records as they are now, whatever its table of rounds still says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from tests.support.studies import ROOT

from patternbench.cli.compare import compare
from patternbench.cli.fit import fit
from patternbench.cli.loadtest import loadtest
from patternbench.cli.recommend import recommend
from patternbench.terms.problems import InputError

ASKED: dict[str, tuple[click.Command, list[str]]] = {
    "fit": (fit, ["--formula", "TotalExecutionTime ~ C(strategy)"]),
    "fit --estimates": (fit, ["--formula", "TotalExecutionTime ~ C(strategy)", "--estimates"]),
    "compare": (compare, ["--baseline", "strategy=baseline"]),
    "recommend": (recommend, ["--objective", "minimise TotalExecutionTime"]),
    "loadtest": (loadtest, ["--load", "retry.backoff.fixed.delay"]),
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "tests" / "data" / "run-before-roles", tmp_path / "run"))


def requested(verb: str, run: Path) -> Result:
    command, options = ASKED[verb]
    return CliRunner().invoke(command, [str(run), *options])


@pytest.mark.parametrize("verb", ASKED)
def test_a_run_whose_records_are_all_damaged_gets_no_answer_from_its_older_table(verb: str, run: Path) -> None:
    for file in (run / "attempts").glob("*.parquet"):
        file.write_bytes(b"damaged")
    result = requested(verb, run)
    assert result.exit_code == 2, result.output
    assert "has no finished round" in " ".join(result.output.split())


@pytest.mark.parametrize("verb", ["fit", "fit --estimates", "recommend"])
def test_a_table_of_rounds_that_was_changed_changes_no_answer(verb: str, run: Path) -> None:
    before = requested(verb, run)
    (run / "rounds.parquet").write_bytes(b"changed")
    after = requested(verb, run)
    assert (before.exit_code, after.exit_code) == (0, 0), after.output
    assert after.output == before.output


def test_a_run_that_was_never_reported_is_estimated_as_one_that_was(run: Path) -> None:
    before = requested("fit --estimates", run)
    (run / "rounds.parquet").unlink()
    after = requested("fit --estimates", run)
    assert (before.exit_code, after.exit_code) == (0, 0), after.output
    assert after.output == before.output
    assert "Compared with strategy = " in after.output


def test_a_run_whose_first_round_has_not_ended_says_what_to_type(run: Path) -> None:
    (run / "journal.jsonl").unlink()
    result = requested("fit", run)
    assert (result.exit_code, "patternbench resume" in result.output) == (2, True)


@pytest.mark.parametrize("name", ["journal.jsonl", "rounds.parquet", "attempts/00000.parquet"])
def test_a_pipe_in_place_of_a_runs_file_is_never_waited_for(run: Path, name: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    result = requested("fit", run)
    assert result.exit_code == 0 or "is a pipe" in str(result.exception)
    assert result.exception is None or isinstance(result.exception, InputError)


def test_a_journal_that_never_ends_is_refused(run: Path) -> None:
    (run / "journal.jsonl").unlink()
    (run / "journal.jsonl").symlink_to("/dev/zero")
    assert isinstance(requested("fit", run).exception, InputError)
