"""Every word, table and figure of the sections that only some runs have is as agreed: searches, models, screens.

What is not agreed but follows (a boundary, an error in points) is worked out next to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from tests.support.boundary_searches import Flat, Truth
from tests.support.golden import is_golden_section
from tests.support.synthetic_run import synthetic_run
from tests.unit.report.test_boundary_section import reported
from tests.unit.report.test_predicted_section import CHECK

from patternbench.observe.section import Section
from patternbench.records.later_traces import KeptLaterTraces
from patternbench.records.screened import ScreenRecord
from patternbench.report.model import RunReport
from patternbench.report.sections import boundary, later_traces, predicted, screened

LINES = [
    {"kind": "end to end", "name": "shop", "response": "p95", "relative": True, "verdict": "within 10 %"}
    | {"traced": 0.02, "predicted": 0.021, "error": 5.0, "low": 1.0, "high": 9.0},
    {"kind": "service", "name": "stock", "response": "p50", "relative": True, "verdict": "not usable"}
    | {"traced": 0.004, "predicted": 0.008, "error": 100.0, "low": 80.0, "high": 120.0},
    {"kind": "calls", "name": "shop → stock", "response": "calls per request", "relative": True}
    | {"verdict": "within 25 %", "traced": 2.0, "predicted": 2.3, "error": 15.0, "low": 12.0, "high": 18.0},
    {"kind": "service", "name": "mail", "response": "p95", "relative": True, "verdict": "inconclusive", "traced": 0.1},
]
LATER = KeptLaterTraces.model_validate(
    {
        "changed": False,
        "check": {
            "traces": ["monday.jsonl", "tuesday.jsonl"],
            "requests": 1234,
            "blocks": 5,
            "verdicts": {"p50": "not usable", "p95": "inconclusive", "calls per request": "within 25 %"},
            "lines": LINES,
            "left_out": ["audit", "billing"],
        },
    }
)


def screened_run() -> RunReport:
    """A run of what a screen kept."""
    levels: dict[str, list[Any]] = {"users": [50, 100], "fault": [80], "client": ["native"]}
    return synthetic_run(rounds=3, strategy=["baseline", "circuit_breaker"], **levels)


def screen(response: str, minimise: bool) -> Section:
    """A screen of a run with four scenarios, of which one was never measured and one has no prediction."""
    report = synthetic_run(
        rounds=3, users=[50, 100], fault=[80], client=["native"], strategy=["baseline", "circuit_breaker"]
    )
    said = {"s000": 0.09, "s001": 0.11, "s002": None, "s004": 0.13, "s999": 0.2}
    kept = [{"scenario": name, "predicted": {response: value}} for name, value in said.items()]
    record = {"model": "target", "sha256": "0" * 64, "objective": response, "minimise": minimise}
    whole = ScreenRecord.model_validate({**record, "rounds": 2, "scenarios": 9, "kept": kept})
    rounds = report.rounds.round(9)
    return screened.section(whole, replace(report, rounds=rounds[rounds["scenario"] != "s004"]))


SECTIONS: Mapping[str, Callable[[], Section]] = {
    "predicted": lambda: predicted.section(CHECK),
    "later": lambda: later_traces.section(LATER),
    "later-changed": lambda: later_traces.section(LATER.model_copy(update={"changed": True})),
    "screen-least": lambda: screen("p95", minimise=True),
    "screen-most": lambda: screen("success_rate", minimise=False),
    "boundary-claims": lambda: boundary.sections(*reported([Truth(85, 1), Truth(50, 1)]))[0],
    "boundary-open": lambda: boundary.sections(*reported([Flat(0.0), Flat(1.0)]))[0],
    "boundary-falls": lambda: boundary.sections(*reported([Truth(60, 4, falls=True), Truth(70, 12)]))[0],
    "boundary-map": lambda: boundary.sections(
        *reported([Truth(90, 2), Truth(70, 2), Truth(70, 2), Flat(1.0)], "[1s, 2s]", claims=False)
    )[0],
}


@pytest.mark.parametrize("name", SECTIONS)
def test_every_word_table_and_figure_is_as_agreed(name: str) -> None:
    section = SECTIONS[name]()
    is_golden_section(f"report/sections/{name}", section)


def test_what_a_screen_says_of_measuring_is_the_mean_of_the_measured_rounds() -> None:
    section = screen("p95", minimise=True)
    (table,) = section.tables
    report = synthetic_run(
        rounds=3, users=[50, 100], fault=[80], client=["native"], strategy=["baseline", "circuit_breaker"]
    )
    means = report.rounds.groupby("scenario")["p95"].mean()
    assert table.frame["predicted"].tolist() == ["90 ms", "110 ms", "–", "130 ms"]
    changed = [100 * (means["s000"] / 0.09 - 1), 100 * (means["s001"] / 0.11 - 1)]
    shown = table.frame["measuring changed it by"].tolist()
    assert [float(_plain(text)) for text in shown[:2]] == pytest.approx(changed, rel=0.02)
    assert shown[2:] == ["–", "–"]


def _plain(text: str) -> str:
    return text.removesuffix(" %").replace("−", "-").replace("+", "")


def test_a_notice_names_each_word_of_a_check_once_the_better_first() -> None:
    words = predicted.notice_of(CHECK, LATER)
    near, far = words.index("within 10 % for"), words.index("not usable for")
    assert near < far
    assert words.startswith("On 1 scenario that the model did not rest on, predictions were within 10 % for ")
    assert "On 1,234 requests of later traces the model was not usable for p50, inconclusive for p95" in words
    assert words.endswith("That is the system as it was: what a study changes is not validated.")


def test_what_was_never_held_against_anything_decides_nothing() -> None:
    assert predicted.notice_of(None) == predicted.NEVER_CHECKED
    assert predicted.notice_of(None, LATER).startswith("On 1,234 requests of later traces")


def test_rounds_of_a_table_are_simulated_where_one_of_them_is() -> None:
    assert not predicted.simulated_rows(pd.DataFrame({"p95": [1.0]}))
    assert not predicted.simulated_rows(pd.DataFrame({"simulated": [None, False]}))
    assert predicted.simulated_rows(pd.DataFrame({"simulated": [None, True]}))
