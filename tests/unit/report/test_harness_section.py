"""The report's section on what clients cost by themselves."""

from __future__ import annotations

import pandas as pd

from patternbench.report.sections import harness

CLIENTS = {"native": {"language": "Rust 1.88"}, "tenacity": {"language": "Python 3.11.7"}, "old": "1.2"}


def rounds(**cpu_s: list[float]) -> pd.DataFrame:
    """Rounds of 1,000 attempts without a pattern, and one of each client with a retry that costs ten times as much."""
    rows = [(client, "baseline", one) for client, costs in cpu_s.items() for one in costs]
    rows += [(client, "retry", 10 * max(costs)) for client, costs in cpu_s.items()]
    return pd.DataFrame(rows, columns=["client", "strategy", "generator_cpu_s"]).assign(TotalRequests=1000)


def test_every_client_has_its_cpu_time_per_attempt_of_the_rounds_without_a_pattern() -> None:
    (section,) = harness.sections(CLIENTS, rounds(native=[0.01, 0.02, 0.03], tenacity=[0.4, 0.4, 0.4]))
    assert section.tables[0].frame.values.tolist() == [
        ["native", "Rust 1.88", "20 (10 to 30)", 3],
        ["tenacity", "Python 3.11.7", "400 (400 to 400)", 3],
    ]
    assert "A difference between clients contains the difference between their harnesses" in section.words[0]


def test_a_run_of_one_client_compares_none() -> None:
    assert harness.sections(CLIENTS, rounds(native=[0.01, 0.02])) == []


def test_a_client_without_rounds_that_tell_its_cost_has_no_row() -> None:
    table = rounds(native=[0.01], tenacity=[0.4], old=[0.2])
    table.loc[table["client"] == "tenacity", "TotalRequests"] = 0
    (section,) = harness.sections(CLIENTS, table)
    assert section.tables[0].frame["client"].tolist() == ["native", "old"]
    assert section.tables[0].frame["runtime"].tolist() == ["Rust 1.88", ""]


def test_rounds_of_an_older_run_without_cpu_times_have_no_such_section() -> None:
    assert harness.sections(CLIENTS, rounds(native=[0.01], old=[0.2]).drop(columns="generator_cpu_s")) == []
