"""Predictions that were off are printed like those that were near: the numbers of both, the error, the word."""

from __future__ import annotations

from patternbench.records.held_out import HeldOut
from patternbench.report.sections import predicted

CHECK = HeldOut.model_validate(
    {
        "rule": "every other level of load; without 2 scenarios that can't be simulated (the model has no service db)",
        "rounds": 6,
        "verdicts": {"p99": "not usable", "goodput": "within 10 %", "recovered": "inconclusive"},
        "covers": [],
        "scenarios": [
            {
                "scenario": "abc",
                "levels": {"rate": 320, "strategy": "retry"},
                "rounds": 4,
                "responses": [
                    {
                        "response": "p99",
                        "relative": True,
                        "verdict": "not usable",
                        "measured": 0.2,
                        "predicted": 0.1,
                        "error": -50.0,
                        "low": -60.0,
                        "high": -38.0,
                    },
                    {
                        "response": "goodput",
                        "relative": True,
                        "verdict": "within 10 %",
                        "measured": 318.0,
                        "predicted": 319.0,
                        "error": 0.3,
                        "low": -1.0,
                        "high": 1.6,
                    },
                    {"response": "recovered", "relative": False, "verdict": "inconclusive", "measured": 75.0},
                ],
            }
        ],
    }
)


def test_a_miss_is_in_the_tables_with_what_was_measured_and_what_was_predicted() -> None:
    summed, each = (table.frame for table in predicted.section(CHECK).tables)
    assert summed["verdict"].tolist() == ["not usable", "within 10 %", "inconclusive"]
    first = each.iloc[0]
    assert first["verdict"] == "not usable"
    assert "0.2" in first["measured"] or "200" in first["measured"]
    assert "0.1" in first["predicted"] or "100" in first["predicted"]
    assert "50" in first["error"] and "60" in first["error"] and "38" in first["error"]
    assert each["verdict"].tolist() == ["not usable", "within 10 %", "inconclusive"], "in the order of the check"


def test_a_miss_looks_worse_and_an_open_word_does_not_look_better() -> None:
    looks = predicted.section(CHECK).tables[1].looks["verdict"]
    assert (looks["not usable"], looks["inconclusive"], looks["within 10 %"]) == ("worse", "open", "better")


def test_what_could_not_be_simulated_is_in_the_words() -> None:
    assert "without 2 scenarios that can't be simulated" in predicted.section(CHECK).words[0]
