"""Verdicts as a pipeline reads them: JUnit's XML, and the summary of a job."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from tests.unit.report.test_claims_section import run

from patternbench.cli.compare import compare
from patternbench.cli.report import report
from patternbench.records.folder import RunFolder
from patternbench.report.pipeline import SUMMARY, CaseOutcome, CheckedCase, add_to_summary, junit, summary

__all__ = ["run"]
CASES = [
    CheckedCase("p95 > +10%", CaseOutcome.PASSED, "pass", "over 2 scenarios"),
    CheckedCase("a | <b>\x1b\ufffe", CaseOutcome.FAILED, "contradicted", "x & y < z"),
    CheckedCase("open", CaseOutcome.UNDECIDED, "inconclusive"),
]


def test_each_verdict_is_a_case_with_its_outcome() -> None:
    suite = ET.fromstring(junit("runs/a", CASES))[0]
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "skipped")} == {
        "name": "runs/a",
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }
    assert [[child.tag for child in case] for case in suite] == [["system-out"], ["failure"], ["skipped"]]
    assert suite[1].get("name") == "a | <b>\ufffd\ufffd", "no sign that XML forbids"
    assert suite[1][0].text == "x & y < z"


def test_a_summary_has_a_row_for_each_verdict_whatever_it_holds() -> None:
    lines = summary("runs/<a>", CASES).splitlines()
    assert lines[0] == "### runs/&lt;a>"
    assert lines[5].startswith("| ❌ contradicted | a \\| &lt;b>")
    assert [line.replace("\\|", "").count("|") for line in lines[2:]] == [4] * 5


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    """Tables of six runs: three of a version, three of one that is half as slow again."""
    rng = np.random.default_rng(1)
    for name, middle in [("a", 1.0), ("b", 1.5)]:
        for number in range(3):
            rows = {"strategy": "baseline", "block": range(6), "p95": middle * rng.lognormal(0, 0.01, 6)}
            pd.DataFrame(rows).to_csv(tmp_path / f"{name}{number}.csv", index=False)
    return [",".join(str(tmp_path / f"{name}{number}.csv") for number in range(3)) for name in "ab"]


def gate(*words: object) -> Result:
    return CliRunner().invoke(compare, [str(word) for word in words])


@pytest.mark.parametrize("said", [("p95 > +10%", "failure", 1), ("p95 > +80%", "system-out", 0)])
def test_the_gate_tells_a_pipeline_what_its_exit_code_says(
    runs: list[str], tmp_path: Path, said: tuple[str, str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    condition, tag, code = said
    monkeypatch.setenv(SUMMARY, str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    done = gate(*runs, "--fail-if", condition, "--junit", tmp_path / "out.xml")
    assert done.exit_code == code, done.output
    (case,) = ET.parse(tmp_path / "out.xml").getroot()[0]
    assert (case.get("name"), case[0].tag) == (condition, tag)
    assert (tmp_path / "summary.md").read_text().startswith("before\n### ")


def test_a_gate_without_a_condition_has_nothing_to_write(runs: list[str], tmp_path: Path) -> None:
    done = gate(*runs, "--junit", tmp_path / "out.xml")
    assert done.exit_code == 2
    assert "Write --fail-if" in done.output
    assert not (tmp_path / "out.xml").exists()


def test_a_summary_that_cannot_be_written_is_one_line(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SUMMARY, "/nowhere/summary.md")
    done = gate(*runs, "--fail-if", "p95 > +10%")
    assert done.exit_code == 2
    assert "error: /nowhere/summary.md: No such file or directory" in done.output


def test_the_claims_of_a_run_are_cases(run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SUMMARY, raising=False)
    words = [str(run.path), "--part", "claims", "--junit", str(tmp_path / "claims.xml")]
    done = CliRunner().invoke(report, words, catch_exceptions=False)
    assert done.exit_code == 0
    suite = ET.parse(tmp_path / "claims.xml").getroot()[0]
    assert suite.get("tests") == "2"
    assert suite[0].get("name") == "a retry | makes <b>calls</b> succeed"


def test_a_summary_that_a_full_disk_does_not_take_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SUMMARY, "/dev/full")
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        add_to_summary("### verdict")
