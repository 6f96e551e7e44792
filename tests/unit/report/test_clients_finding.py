"""What a report says of its clients, on runs whose truth is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.support.factors import factors
from tests.support.synthetic_run import synthetic_run

from patternbench.analyze.metrics import RESPONSES
from patternbench.analyze.statements.lines import Change
from patternbench.records.stored import PlannedScenario
from patternbench.report.html import render
from patternbench.report.layout import layout
from patternbench.report.model import RunReport
from patternbench.report.sections import clients
from patternbench.report.sections.clients import _line, client_headlines
from patternbench.report.sections.findings import Headline

STRATEGIES = ["baseline", "retry"]


def run_of(slower: dict[str, float], rounds: int = 8, noise: float = 0.02, seed: int = 5) -> RunReport:
    """Make a run: each client's p95 of successes as a multiple of the first one's, the same for all strategies."""
    generator = np.random.default_rng(seed)
    levels: list[dict[str, object]] = [
        {"client": client, "strategy": strategy} for client in slower for strategy in STRATEGIES
    ]
    rows = [
        {
            "round": 0, "block": block, "scenario": f"s{place}", "status": "done", "cause": None,
            **dict.fromkeys(RESPONSES, 1.0), "failure_rate": 0.0, "rejected_rate": 0.0,
            "success_rate": 100.0,
            "call_success_p95": slower[str(each["client"])] * generator.lognormal(0, noise),
            "time_to_success": generator.lognormal(0, noise),
        }
        for block in range(rounds)
        for place, each in enumerate(levels)
    ]  # fmt: skip
    empty = synthetic_run(rounds=1, users=[50], fault=[0])
    return replace(
        empty,
        factors=factors({"client": list(slower), "strategy": STRATEGIES}),
        scenarios=[PlannedScenario(id=f"s{place}", levels=each) for place, each in enumerate(levels)],
        rounds=pd.DataFrame(rows),
        latencies=empty.latencies.iloc[:0],
    )


def message(report: RunReport) -> list[Headline]:
    return client_headlines(report, layout(report))


def test_clients_that_differ_are_named_with_intervals_the_greatest_difference_first() -> None:
    (reported,) = message(run_of({"a": 1.0, "b": 1.0, "c": 1.3, "d": 1.6}))
    assert reported.title == "Clients"
    first, *lines = reported.lead.replace("\u00a0", " ").split("\n")
    assert first == "Compared with a, which does the same:"
    (line,) = lines
    assert line.startswith("p95 of successful calls: d +")
    assert line.index(" d +") < line.index(" c +")
    assert " b " not in line
    assert "No clear difference: Successful calls (share), Goodput, Time to a success." in reported.more[0]


@pytest.mark.slow
def test_of_equal_clients_at_most_one_run_in_twenty_names_a_difference() -> None:
    runs = [run_of(dict.fromkeys("abcd", 1.0), rounds=6, seed=seed) for seed in range(100)]
    wrong = sum("No client differs clearly" not in reported.lead for run in runs for reported in message(run))
    assert wrong <= 9


def test_a_run_of_one_client_or_of_one_round_says_nothing_of_clients() -> None:
    assert message(run_of({"a": 1.0})) == []
    assert message(run_of({"a": 1.0, "b": 2.0}, rounds=1)) == []


def test_the_finding_on_clients_follows_what_to_choose() -> None:
    page = render(run_of({"a": 1.0, "b": 1.6}))
    assert page.index("<h3>What to choose</h3>") < page.index("<h3>Clients</h3>")
    assert "<li>Compared with a, which does the same:</li>" in page


def test_a_difference_with_a_condition_parts_the_clients_that_it_names() -> None:
    plain = Change(
        **dict.fromkeys(Change._fields, 0.0)  # type: ignore[arg-type]  # all that a line is made of is said below
    )._replace(item="b", response="p95", relative=True, change=30.0, low=20.0, high=40.0, firm=True)
    even = plain._replace(item="c", change=-10.0, low=-12.0, high=-8.0, firm=False)
    many = [plain._replace(item=f"c{number}", change=float(number)) for number in range(1, 9)]
    assert "; c −10" in _line("p95", [even, plain]).replace("\u00a0", " ")
    assert "), " in _line("p95", [plain, plain._replace(item="d")])
    reported = _line("p95", many)
    assert [reported.index(f"c{number} ") for number in (8, 7)] == sorted(
        reported.index(f"c{number} ") for number in (8, 7)
    )
    assert f", and {len(many) - clients._NAMED} more." in reported
