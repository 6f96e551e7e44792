"""The fates of mutants are read as the tools tell them, and counted so that none is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts.checks import scores
from scripts.checks.scores import KILLED, SURVIVED, UNKNOWN, UNTESTED, Fate


def test_what_mutmut_left_is_read_file_by_file(tmp_path: Path) -> None:
    codes = {
        "a.x_f__mutmut_1": 1,
        "a.x_f__mutmut_2": 0,
        "a.x_f__mutmut_3": 33,
        "a.x_g__mutmut_1": -24,
        "a.x_g__2": None,
    }
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.py.meta").write_text(json.dumps({"exit_code_by_key": codes}))
    found = scores.of_mutmut(tmp_path)
    assert {each.part for each in found} == {"run/a.py"}
    assert [each.name for each in found][:2] == ["x_f__mutmut_1", "x_f__mutmut_2"]
    assert [each.fate for each in found] == [KILLED, SURVIVED, UNTESTED, KILLED, UNKNOWN]


def test_what_pit_reports_is_read_mutation_by_mutation(tmp_path: Path) -> None:
    def mutation(status: str) -> str:
        return (
            f"<mutation status='{status}'><sourceFile>Delays.java</sourceFile><mutatedMethod>of</mutatedMethod>"
            "<lineNumber>24</lineNumber><description>negated conditional</description></mutation>"
        )

    reported = "".join(map(mutation, ["KILLED", "SURVIVED", "NO_COVERAGE", "TIMED_OUT", "RUN_ERROR"]))
    (tmp_path / "mutations.xml").write_text(f"<mutations>{reported}</mutations>")
    found = scores.of_pit(tmp_path / "mutations.xml")
    assert found[1] == Fate("Delays.java", "of, line 24: negated conditional", SURVIVED)
    assert [each.fate for each in found] == [KILLED, SURVIVED, UNTESTED, KILLED, UNKNOWN]


def test_what_cargo_mutants_reports_is_read_mutant_by_mutant(tmp_path: Path) -> None:
    def outcome(summary: str) -> dict[str, object]:
        name = "crates/policies/src/retry.rs:31:9: replace Retry::next -> bool with true"
        return {"scenario": {"Mutant": {"file": "crates/policies/src/retry.rs", "name": name}}, "summary": summary}

    reported = [{"scenario": "Baseline", "summary": "Success"}]
    reported += [outcome(summary) for summary in ("CaughtMutant", "MissedMutant", "Timeout", "Unviable")]
    (tmp_path / "outcomes.json").write_text(json.dumps({"outcomes": reported}))
    found = scores.of_cargo(tmp_path / "outcomes.json")
    assert {each.part for each in found} == {"crates/policies/src/retry.rs"}
    assert found[1].name.endswith("replace Retry::next -> bool with true")
    assert [each.fate for each in found] == [KILLED, SURVIVED, KILLED], "what does not compile is no mutant"


def test_the_score_counts_what_no_test_reached_as_not_noticed_and_leaves_out_what_has_no_verdict() -> None:
    fates = [KILLED, KILLED, SURVIVED, UNTESTED, UNKNOWN]
    reported = scores.table([*(Fate("a", "", fate) for fate in fates), Fate("b", "", KILLED)]).splitlines()
    assert reported[2:] == [
        "| a | 4 (1 without a verdict) | 2 | 1 | 1 | 50% |",
        "| b | 1 | 1 | 0 | 0 | 100% |",
        "| **all** | 5 (1 without a verdict) | 3 | 1 | 1 | 60% |",
    ]


def test_every_survivor_is_named_above_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scores, "TOOLS", {"java": lambda: [Fate("a", "kept", SURVIVED), Fate("a", "seen", KILLED)]})
    assert scores.main(["java"]) == 0
    reported = capsys.readouterr().out
    assert "survived  a: kept" in reported
    assert "seen" not in reported


def test_a_tool_that_there_is_none_of_is_named_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert scores.main(["cobol"]) == 2
    assert "unknown: cobol; type python, java" in capsys.readouterr().err


def test_a_tool_that_ends_badly_ends_the_command(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="ended with 3"):
        scores._run(["sh", "-c", "exit 3"], tmp_path)
    scores._run(["sh", "-c", "exit 3"], tmp_path, good=scores.ENDS_OF_CARGO)
