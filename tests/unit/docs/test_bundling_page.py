"""The page on request bundles says what its rounds say, and its scripts find what made-up rounds hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
import pytest
from reproductions.elmalki_zdun_2021 import bundle_findings as findings
from reproductions.elmalki_zdun_2021 import bundles
from reproductions.elmalki_zdun_2021.bundle_rounds import usable
from reproductions.pages import STUDIES
from tests.support.changes import numbers

from patternbench.lab.systems import file_of
from patternbench.plan.expand import expand
from patternbench.study.load import load

SIZES, BLOCKS = (10, 30), 5
REQUEST_S, ITEM_S = 0.01, 0.002
"""Of the made-up rounds: seconds of one request, and of an item in a bundle."""


def made_up(
    item_s: float = ITEM_S, connection_s: float = 0.003, tracing: float = 1.1, noise: float = 0.01
) -> pd.DataFrame:
    """A run with new and kept connections, with and without tracing, whose times follow a rule."""
    rng = np.random.default_rng(1)
    cells = product("NY", ("new", "reuse"), ("0%", "100%"), ("Get", "Update", "Create"), SIZES, range(BLOCKS))
    rows = [_round(cell, item_s, connection_s, tracing, float(rng.normal(0, noise))) for cell in cells]
    return pd.DataFrame(rows).assign(round=range(len(rows)), status="done", valid=True, warnings=None)


def _round(
    cell: tuple[str, str, str, str, int, int], item_s: float, connection_s: float, tracing: float, noise: float
) -> dict[str, object]:
    bundle, connection, share, method, size, block = cell
    requests = size if bundle == "N" else 1
    seconds = size * (REQUEST_S if bundle == "N" else item_s) + (connection == "new") * requests * connection_s
    per_request = 1 if bundle == "N" else size
    calls = {
        "database_calls": per_request * (1 if method == "Get" else 2),
        "distributed_calls": per_request if bundle == "N" or method == "Create" else 1,
        "in_memory_calls": 10 * per_request + {"Get": 3, "Update": 5, "Create": 7}[method],
    }
    times = {name.replace("calls", "time"): 0.0005 * count * np.exp(noise) for name, count in calls.items()}
    levels = {"request_bundle": bundle, "connection": connection, "traces.sample": share}
    levels |= {"parameters.method": method, "parameters.size": size}
    scenario = "-".join(map(str, levels.values()))
    slower = tracing if share == "100%" else 1.0
    return {
        **levels,
        **calls,
        **times,
        "journey_p50": seconds * slower * np.exp(noise),
        "block": block,
        "scenario": scenario,
    }


def rows_of(table: str) -> Iterator[list[str]]:
    for line in table.splitlines():
        if line.startswith("|") and not line.startswith("|---"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def words(rounds: pd.DataFrame) -> dict[str, str]:
    """The verdict on each claim."""
    return {row[0]: row[-1] for row in rows_of(findings.verdict_table(usable(rounds)))}


def test_a_bundle_that_saves_most_of_the_time_is_confirmed_and_its_saving_told() -> None:
    rounds = made_up()
    reported = [word for claim, word in words(rounds).items() if "A bundle cuts" in claim]
    assert reported == ["confirmed"] * 4
    saved = {(row[0], row[1]): row[3] for row in rows_of(findings.savings(usable(rounds)))}
    assert numbers(saved["Get", "10"]) == pytest.approx([80, 80, 80], abs=1)


def test_a_bundle_that_costs_time_is_contradicted() -> None:
    reported = [
        word for claim, word in words(made_up(item_s=2 * REQUEST_S)).items() if claim.endswith("connections kept")
    ]
    assert reported == ["contradicted", "contradicted"]


def test_what_a_new_connection_and_tracing_cost_is_reported() -> None:
    connections, tracing = findings.costs(usable(made_up(noise=1e-7))).split("\n\n")
    assert "+3\u00a0ms (+3 to +3\u00a0ms)" in connections
    assert "+10\u00a0% (+10 to +10\u00a0%)" in tracing


def test_a_study_of_one_kind_of_connection_says_that_it_tells_no_cost_of_it() -> None:
    rounds = made_up()
    only = rounds[(rounds["connection"] == "reuse") & (rounds["traces.sample"] == "100%")]
    reported = findings.costs(usable(only.drop(columns=["connection", "traces.sample"])))
    assert reported.count("is not known") == 2


def test_counts_that_differ_from_the_published_formulas_are_not_equal() -> None:
    rounds = usable(made_up())
    assert "in 12 of 12 scenarios" in findings.table_2(rounds)
    wrong = rounds.assign(database_calls=rounds["database_calls"] + (rounds["parameters.method"] == "Get"))
    assert "in 8 of 12 scenarios" in findings.table_2(wrong)


def test_a_term_that_the_rounds_do_not_tell_is_left_out_of_our_models() -> None:
    rounds = usable(made_up())
    assert "left out of our models" not in bundles.models(rounds)
    unknown = bundles.models(rounds.assign(in_memory_calls=np.nan))
    assert "| -0.081 / unknown |" in unknown
    assert "left out of our models" in unknown


def deep(batched: float) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    cells = product(("one_by_one", "batched"), ("each", "once"), (10, 50), range(BLOCKS))
    rows = [
        {"bundle_reads": reads, "bundle_forward": forward, "parameters.method": "Create", "parameters.size": size}
        | {
            "block": block,
            "journey_p50": 0.1 * (batched if reads == "batched" else 1) * (1 + block / 100) * rng.normal(1, 1e-7),
        }
        | {
            "database_calls": 2 if reads == "batched" else 2 * size,
            "distributed_calls": 1 if forward == "once" else size,
        }
        for reads, forward, size, block in cells
    ]
    return pd.DataFrame(rows).assign(status="done", valid=True)


def test_what_depth_adds_is_reported_next_to_its_calls() -> None:
    rows = list(rows_of(findings.depth(deep(batched=0.5))))
    published = ["100", "50", "102 (100 to 104)", "–"]
    deepest = ["2", "1", "51 (50 to 52)", "−50\u00a0% (−50 to −50\u00a0%)"]
    assert ["Create", "50", "one_by_one", "each", *published] in rows
    assert ["Create", "50", "batched", "once", *deepest] in rows


@pytest.mark.parametrize("name", ["status", "valid"])
def test_rounds_that_failed_or_are_not_valid_do_not_count(name: str) -> None:
    rounds = made_up()
    bad = rounds.assign(**{name: "failed" if name == "status" else False}, journey_p50=9.0)
    both = pd.concat([rounds, bad], ignore_index=True)
    assert findings.savings(usable(both)) == findings.savings(usable(rounds))


def test_the_study_of_depth_varies_what_acts_and_nothing_else() -> None:
    study = load(STUDIES / "insurance-bundle-depth.yaml")
    scenarios = expand(study, file_of(study.system)).scenarios
    assert len(scenarios) == 16
    forwarded = {s.levels["parameters.method"] for s in scenarios if s.levels["bundle_forward"] == "once"}
    assert forwarded == {"Create"}
