"""The analysis commands on the rounds of a real run: noisy, skewed, nested, with factors named by paths."""

import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from patternbench.cli.compare import compare
from patternbench.cli.fit import fit
from patternbench.cli.predict import predict
from patternbench.cli.recommend import recommend

ROUNDS = str(Path(__file__).parents[3] / "docs" / "reproductions" / "aderaldo-2024" / "rounds.parquet")
P95 = "p95 ~ users + C(strategy) + `abort.percentage` + `retry.backoff.exponential.initial`"
TOTAL = "log(TotalExecutionTime) ~ users + C(strategy) * `abort.percentage`"


@pytest.fixture(autouse=True)
def _no_library_may_warn() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def message(command: click.Command, *arguments: str) -> str:
    """What a command prints, in one line a paragraph; it must not hold numbers that are none."""
    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    text = re.sub(r"\s+", " ", result.output)
    assert re.findall(r"\b(?:nan|inf|None)\b|e\+\d\d", text) == []
    return text


def test_a_fit_speaks_of_times_with_their_units_and_of_what_fails() -> None:
    text = message(fit, ROUNDS, "--formula", P95)
    assert "Raising users from 50 to 150 raises p95 by 119 ms (100 to 138 ms)" in text
    assert "Raising retry.backoff.exponential.initial from 20ms to 60ms raises p95" in text
    assert "The residuals are not normal. With log(p95) they are closer to it" in text
    assert "so the standard errors come from leaving out each block in turn (t with 9 degrees of freedom)" in text


def test_a_factor_in_an_interaction_is_reported_at_both_ends_of_the_other() -> None:
    text = message(fit, ROUNDS, "--formula", TOTAL)
    assert "strategy = retry instead of baseline at abort.percentage = 0 cuts TotalExecutionTime by 17" in text
    assert "strategy = retry instead of baseline at abort.percentage = 80 raises TotalExecutionTime by 127 %" in text


def test_rows_that_stand_out_do_not_hold_factors_that_do_not_apply_to_them() -> None:
    result = CliRunner().invoke(fit, [ROUNDS, "--formula", P95, "--json"])
    rows = json.loads(result.stdout_bytes)["models"][0]["suspicious_rows"]
    assert {row["values"]["strategy"] for row in rows} > {"retry"}
    for row in rows:
        assert ("retry.backoff.exponential.initial" in row["values"]) == (row["values"]["strategy"] == "retry")


def test_a_prediction_takes_durations_as_a_study_writes_them(tmp_path: Path) -> None:
    saved = str(tmp_path / "models.json")
    message(fit, ROUNDS, "--formula", P95, "--save", saved)
    at = "users=100,strategy=retry,abort.percentage=40,retry.backoff.exponential.initial"
    assert "initial=40ms: 367 ms, one observation between" in message(predict, saved, "--at", f"{at}=40ms")
    assert "initial = 3s lies outside what was measured (20ms to 60ms)" in message(predict, saved, "--at", f"{at}=3s")


def test_a_comparison_of_many_scenarios_says_first_what_happened() -> None:
    text = message(compare, ROUNDS, "--baseline", "strategy=baseline", "--response", "p95,failure_rate")
    assert "Higher in 65 of 180 scenarios, most at abort.percentage=80, users=50" in text
    assert "strategy=retry, initial=60ms: +2,012 % (" in text
    assert re.search(r"\d+ of 360 differences are inconclusive although their interval excludes zero", text)
    assert "The noise floor is 40 %" in text


def test_a_pattern_is_not_preferred_to_the_baseline_where_no_fault_lets_them_differ() -> None:
    criteria = ("--objective", "minimise p95", "--subject-to", "failure_rate <= 1%", "--json")
    result = CliRunner().invoke(recommend, [ROUNDS, *criteria])
    calm = [c for c in json.loads(result.stdout_bytes)["choices"] if c["given"]["abort.percentage"] == 0]
    assert {(c["chosen"], c["verdict"]) for c in calm} == {("strategy=baseline", "tie")}


def test_every_interval_of_a_comparison_is_of_a_size_that_can_be_meant() -> None:
    result = CliRunner().invoke(compare, [ROUNDS, "--baseline", "strategy=baseline", "--json"])
    found = json.loads(result.stdout_bytes)["differences"]
    assert len(found) == 6 * 180
    assert max(d["relative_ci_high"] or 0 for d in found) < 20_000
    assert any(d["p_adjusted"] < 0.01 for d in found)


def test_a_recommendation_is_in_order_for_the_library_that_one_has_against_its_own_baseline() -> None:
    criteria = ("--objective", "minimise p95", "--subject-to", "failure_rate <= 1%", "--baseline", "strategy=baseline")
    text = message(recommend, ROUNDS, *criteria)
    places = [int(level) for level in re.findall(r"- At abort.percentage=(\d+)", text)]
    assert places == sorted(places)
    pairs = re.findall(r"- At [^:]*client=(\w+): [^-]*? against [^:]*client=(\w+)", text)
    assert len(pairs) > 5
    assert all(ours == theirs for ours, theirs in pairs)
    assert "At abort.percentage=60, users=50, client=native: no configuration keeps failure_rate <= 1%." in text
