"""The page of libraries says agrees or contradicted by a rule whose error rate is known, and costs with intervals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from reproductions.libraries import page as measured

BLOCKS, RUNS = 10, 100
STRATEGIES = ("baseline", "retry", "circuit_breaker")


def made_up(slower: float = 1.0, cpu_us: float = 300.0, spread: float = 0.02, seed: int = 1) -> pd.DataFrame:
    """A run of two clients that are alike, but for times and what a retry of ``failsafe`` costs in CPU."""
    rng = np.random.default_rng(seed)
    cells = product(("native", "failsafe"), STRATEGIES, (0, 50), range(BLOCKS))
    rows = [_round(cell, slower, cpu_us, np.exp(rng.normal(0, spread, 3))) for cell in cells]
    return pd.DataFrame(rows).assign(warnings=None, scenario="")


def _round(
    cell: tuple[str, str, int, int], slower: float, cpu_us: float, noise: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> dict[str, object]:
    client, strategy, fault, _block = cell
    own = client == "failsafe"
    seconds = 0.005 * (slower if own else 1.0)
    per_call_us = 50.0 + (cpu_us if own and strategy == "retry" else 0.0)
    return {
        **dict(zip(("client", "strategy", "abort.percentage", "block"), cell, strict=True)),
        "TotalCalls": 1000.0,
        "generator_cpu_s": 1000 * per_call_us / 1e6 * noise[0],
        "amplification": 1.9 if fault else 1.0,
        "failure_rate": 21.6 if fault else 0.0,
        "rejected_rate": 0.0,
        "call_success_p50": seconds * noise[1],
        "call_success_p95": seconds * noise[2],
    }


def words(rounds: pd.DataFrame) -> list[str]:
    """The words of all cells of the first table."""
    text = measured.differences(next(measured.comparisons(rounds)))
    (line,) = [line for line in text.splitlines() if line.startswith("| failsafe")]
    return [cell.rpartition(": ")[2].strip() for cell in line.strip("|").split("|")[1:]]


def test_clients_that_do_the_same_agree() -> None:
    assert words(made_up()) == ["agrees"] * 4


def test_a_client_that_is_twice_as_slow_differs_in_its_times_alone() -> None:
    assert words(made_up(slower=2.0)) == ["agrees", "agrees", "contradicted", "contradicted"]


@pytest.mark.slow
def test_a_client_at_the_margin_gets_either_word_in_at_most_five_of_a_hundred_tables() -> None:
    tables = [words(made_up(slower=1.2, spread=0.1, seed=seed))[2:] for seed in range(RUNS)]
    for wrong in ("agrees", "contradicted"):
        assert sum(wrong in reported for reported in tables) / RUNS <= 0.08, wrong


def test_one_block_tells_nothing() -> None:
    assert set(words(made_up().query("block == 0"))) == {"inconclusive"}


def short(rounds: pd.DataFrame) -> list[list[str]]:
    """The rows of the table that the page begins with."""
    lines = measured.in_short(list(measured.comparisons(rounds))).splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:] if line.startswith("|")]


def test_the_page_begins_with_how_many_comparisons_agree_and_who_differs_in_what() -> None:
    assert short(made_up()) == [
        ["Retry", "50 %", "1", "4", "0", "0", "none shown"],
        ["Circuit breaker", "50 %", "1", "5", "0", "0", "none shown"],
    ]
    retry, breaker = short(made_up(slower=2.0))
    assert (retry[3:6], breaker[3:6]) == (["2", "2", "0"], ["3", "2", "0"])
    assert retry[6] == breaker[6] == "failsafe: median of successful calls, p95 of successful calls"


def test_a_comparison_that_is_inconclusive_is_counted_as_that() -> None:
    assert [row[3:] for row in short(made_up().query("block == 0"))] == [
        ["0", "0", "4", "none shown"],
        ["0", "0", "5", "none shown"],
    ]


def test_the_figure_has_every_client_with_every_pattern() -> None:
    (figure,) = measured.drawn(made_up()).values()
    expected = ("native", "failsafe", measured.NONE, *measured.PATTERNS.values())
    assert [text for text in expected if f">{text}<" not in figure] == []


def test_rejected_calls_are_told_of_breakers_alone() -> None:
    retry, breaker = map(measured.differences, measured.comparisons(made_up()))
    assert ("rejected calls" in retry, "rejected calls" in breaker) == (False, True)


def cost_of(client: str, rounds: pd.DataFrame, harness: object = None) -> dict[str, str]:
    """A row of the table of costs, by its heads."""
    heads, _, *lines = (line.strip("|").split("|") for line in measured.costs(rounds, harness).splitlines())
    (row,) = [line for line in lines if line[0].strip() == client]
    return dict(zip((head.strip() for head in heads), (cell.strip() for cell in row), strict=True))


def test_the_cost_of_a_pattern_is_reported_without_that_of_the_harness() -> None:
    row = cost_of("failsafe", made_up(cpu_us=300.0))
    assert 280 < float(row["CPU more with a retry"].split()[0]) < 320
    assert row["CPU more with a circuit breaker"].endswith("inconclusive")


def test_what_the_harness_costs_by_itself_stands_next_to_or_that_it_was_not_measured() -> None:
    head = "harness alone: CPU us per attempt"
    rows = [{"round": n, "client": "failsafe", "strategy": "baseline", "cpu_us": 40.0 + n} for n in range(3)]
    assert cost_of("failsafe", made_up(), {"rounds": rows})[head] == "41 (40 to 42)"
    assert cost_of("failsafe", made_up())[head] == "not measured"


def test_a_client_without_a_pattern_has_an_empty_cell() -> None:
    rounds = made_up().query("client == 'native' or strategy != 'circuit_breaker'")
    assert cost_of("failsafe", rounds)["CPU more with a circuit breaker"] == ""
