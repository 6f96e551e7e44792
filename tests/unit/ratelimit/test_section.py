"""The section on rate limiting, from rows of rounds: what it says rests on them, and each limit has its own scale."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from patternbench.observe.section import Section
from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.records import simulated
from patternbench.ratelimit.records.simulated import JudgeSummary, LimitMap, MapScenario, SimulationRecord
from patternbench.ratelimit.report import accuracy, at_a_glance, section, simulation, tables
from patternbench.ratelimit.report.tables import BALANCERS, CLIENTS, COST
from patternbench.records.folder import RunFolder
from patternbench.terms.units import Duration

NAMES = ("deviation", "wrongly_allowed", "wrongly_rejected", "client_mean", "deviation_tolerant")
MORE = ("deviation_least", "deviation_most", "peak")


def row(algorithm: str, ms: float, deviation: float, block: int = 0, **more: object) -> dict[str, object]:
    """A round: its name, latency and deviation; without a limiter it has none by the balancers' log."""
    limited = algorithm != "no limiter"
    measured = {f"{BALANCERS}.measured.{n}": deviation if limited else np.nan for n in (*NAMES, *MORE)}
    ends = {f"{BALANCERS}.{e}.{n}": v for e, v in (("no limiter", 10.0), ("exact log", 0.0)) for n in (*NAMES, *MORE)}
    names = {"algorithm": algorithm, "store": "redis", "synchronisation": "per request", "distance": "0ms"}
    if not limited:
        names |= dict.fromkeys(("store", "synchronisation", "distance"), "-")
    base = {"round": 0, "block": block, "limited": limited, "valid": True, "missing": 0.0}
    names |= {"limit": "10 in 6s", "also": "-"}
    return {**base, **names, COST: ms, "throughput": 80.0, **measured, **ends, **more}


def reported(rows: list[dict[str, object]], bursts: float | None = None) -> str:
    return "\n".join(accuracy.words(pd.DataFrame(rows), lambda _row: bursts))


def test_who_is_accurate_enough_is_counted_and_named_where_they_are_few() -> None:
    rows = [row("no limiter", 10, 0), row("fixed window", 10.4, 0.6), row("sliding window log", 10.5, 0.0)]
    words = reported([*rows, row("gcra", 10.6, 5.0)])
    first = "With the store 0ms away, 2 of 3 configurations are accurate enough"
    assert f"{first}: fixed window over redis, sliding window log over redis." in words
    many = [row("gcra", 10, 0.0, synchronisation=f"{number}. lease") for number in range(accuracy.NAMED + 1)]
    assert "4 of 4 configurations are accurate enough." in reported(many)


def test_the_first_screen_says_who_is_accurate_enough_without_the_scale() -> None:
    rows = [row("no limiter", 10, 0), row("fixed window", 10.4, 0.6), row("gcra", 10.6, 5.0)]
    short = accuracy.in_short(pd.DataFrame(rows))
    assert short == "With the store 0ms away, 1 of 2 configurations is accurate enough: fixed window over redis."
    assert accuracy.in_short(pd.DataFrame([row("gcra", 10, 0.0, valid=False)])) == ""


def test_accuracy_that_holds_only_for_even_clients_is_said_to_be_so() -> None:
    rows = [row("no limiter", 10, 0), row("fixed window", 10.4, 0.6), row("gcra", 10, 5.0)]
    assert "For 1 of them this holds only for even arrivals." in reported(rows, 14.5)
    assert "(simulated): up to 14.5 %, with fixed window over redis at 0ms." in reported(rows, 14.5)
    assert "bursts" not in reported(rows, 0.5)
    assert "bursts" not in reported(rows)


def test_where_nothing_is_accurate_enough_the_nearest_is_named() -> None:
    words = reported([row("no limiter", 10, 0), row("gcra", 10.4, 5.0), row("fixed window", 10, 4.0)])
    assert "none is accurate enough. The closest is fixed window over redis with 4.00 %" in words


def test_where_no_store_answered_that_is_said() -> None:
    assert "no store answered" in reported([row("no limiter", 10, 0), row("gcra", 10.4, 0, missing=50.0)])


def test_what_has_no_valid_round_is_named() -> None:
    words = reported([row("no limiter", 10, 0), row("gcra", 10.4, 0.0, valid=False), row("fixed window", 10.5, 0.5)])
    assert "1 of 1 configurations is accurate enough: fixed window over redis." in words
    assert (
        "Without a valid round yet, and therefore in no table and no recommendation: gcra over redis at 0ms." in words
    )


def test_a_configuration_with_one_valid_round_is_not_said_to_have_none() -> None:
    words = reported([row("no limiter", 10, 0), row("gcra", 10.4, 0.0, valid=False), row("gcra", 10.5, 0.0, block=1)])
    assert "Without a valid round" not in words


def test_an_overhead_over_rounds_that_are_not_valid_is_not_known() -> None:
    words = reported([row("no limiter", 10, 0, valid=False), row("gcra", 10.4, 0.0)])
    assert "No round without a limiter is valid yet, so the latency that the limiters add is unknown." in words


def judged_to(percent: float) -> JudgeSummary:
    """A summary of the judge by which so many percent of requests deviate, by whatever measure."""
    measures = dict.fromkeys(NAMES, percent) | {"client_mean": percent, "peak": 1.0, "asked_store": 100.0}
    return JudgeSummary.model_validate({"requests": 10, **measures})


def whole_section(path: Path, found: SimulationRecord, rows: pd.DataFrame) -> Section:
    """The section of a run next to which this was simulated; its clients saw what its balancers logged."""
    path.mkdir()
    run = RunFolder(path)
    simulated.write(run, found)
    seen = {str(name).replace(BALANCERS, CLIENTS): rows[name] for name in rows if str(name).startswith(BALANCERS)}
    return section.section(run, rows.assign(**seen, **{"group.all": 0.0}), [LIMIT])


LIMIT = EnforcedLimit(algorithm="gcra", limit=10, window=Duration.parse("6s"), store="redis")


def test_the_picture_of_the_first_screen_has_the_most_accurate_limiter_first_and_says_which_are_enough() -> None:
    rounds = range(6)
    rows = [row("gcra", 10, 6.0 + one / 10, one) for one in rounds]
    rows += [row("fixed window", 10, 0.5, one) for one in rounds]
    made = at_a_glance.picture(pd.DataFrame([*rows, row("no limiter", 10, 0)]))
    assert made is not None
    assert made.svg.index("fixed window over redis") < made.svg.index("gcra over redis")
    assert made.svg.count('class="mark better"') == 1
    assert made.svg.count('<path class="mark"') == 1
    assert made.svg.count('class="zero"') == 2


def test_where_no_limiter_was_judged_the_first_screen_has_no_picture() -> None:
    assert at_a_glance.picture(pd.DataFrame([row("no limiter", 10, 0), row("gcra", 10, 0.0, valid=False)])) is None
    assert at_a_glance.picture(pd.DataFrame([row("gcra", 10, 0.0, missing=90.0)])) is None


def test_no_table_and_no_figure_holds_a_round_that_is_not_valid(tmp_path: Path) -> None:
    rows = [row("no limiter", 10, 0), row("gcra", 10.4, 0.0), row("fixed window", 777.7, 66.6, valid=False)]
    answer = judged_to(0.0)
    found = whole_section(tmp_path / "run", SimulationRecord({"0": answer}, [], 10, 0.1), pd.DataFrame(rows))
    shown = [table.frame.to_string() for table in found.tables] + [json.dumps(figure.spec) for figure in found.figures]
    assert len(found.tables) > 4
    assert found.figures
    assert not [text for text in shown if "777.7" in text or "66.6" in text or "fixed window" in text]
    assert any("in no table and no recommendation: fixed window over redis at 0ms." in text for text in found.words)


def test_a_run_of_which_no_limited_round_is_valid_has_a_section_that_says_so(tmp_path: Path) -> None:
    rows = pd.DataFrame([row("no limiter", 10, 0), row("gcra", 10.4, 0.0, valid=False)])
    found = whole_section(tmp_path / "run", SimulationRecord({}, [], 0, 0.0), rows)
    assert found.words[0].startswith("No round with a limiter is valid")
    assert [table.title for table in found.tables] == ["The algorithms as configured (the paper's Table IV)"]


def test_a_simulation_of_rounds_whose_store_never_answered_is_no_comparison() -> None:
    rows = pd.DataFrame([row("gcra", 10, 2.0, missing=50.0)])
    answer = judged_to(2.0)
    found = simulation.part(SimulationRecord({"0": answer}, [], 10, 0.1), rows)
    assert found.words[0] == "No valid round with an answering store could be compared with its simulation."
    assert not found.tables
    assert not found.figures


def test_each_limit_is_compared_with_the_rounds_without_a_limiter_and_has_its_own_ends() -> None:
    rows = pd.DataFrame(
        [
            row(name, ms, 0.5, limit=limit)
            for limit, name, ms in (
                ("5 in 1s", "no limiter", 10),
                ("5 in 1s", "gcra", 11),
                ("9 in 1s", "no limiter", 10),
                ("9 in 1s", "gcra", 13),
            )
        ]
    )
    costs = tables.costs(rows)
    assert costs[costs["algorithm"] == "gcra"]["overhead"].tolist() == [1, 3]
    table = tables.exactness(rows)
    assert table["algorithm"].tolist() == ["no limiter", "gcra", "exact log"] * 2
    assert table["limit"].tolist() == ["5 in 1s"] * 3 + ["9 in 1s"] * 3


def test_what_else_varies_is_compared_with_the_round_without_a_limiter_that_is_alike_in_it() -> None:
    rows = pd.DataFrame(
        [
            row("no limiter", 10, 0, also="users 1"),
            row("no limiter", 50, 0, also="users 9"),
            row("gcra", 11, 0, also="users 1"),
            row("gcra", 52, 0, also="users 9"),
        ]
    )
    costs = tables.costs(rows)
    assert costs[costs["algorithm"] == "gcra"]["overhead"].tolist() == [1, 2]


def test_stores_are_compared_over_the_algorithms_that_both_have() -> None:
    rows = [row("no limiter", 10, 0)]
    for name, ms in (("gcra", 10.0), ("fixed window", 12.0), ("token bucket", 11.0)):
        rows += [row(name, ms, 0), row(name, ms + 0.5 + ms / 100, 0, store="mariadb")]
    found = tables.contrasts(pd.DataFrame(rows)).set_index("choice").loc["mariadb instead of redis"]
    assert found["added, ms"] == pytest.approx(0.61)
    assert (found["pairs of rounds"], found["difference"]) == (3, "clear, in this block")


def test_without_the_simulator_the_section_says_why_and_is_whole_otherwise(tmp_path: Path) -> None:
    rows = pd.DataFrame([row("no limiter", 10, 0), row("gcra", 10.4, 0)])
    answer = judged_to(0.0)
    with_it = whole_section(tmp_path / "with", SimulationRecord({"0": answer}, [], 10, 0.1), rows)
    without = whole_section(tmp_path / "without", SimulationRecord(missing="luajit is not on PATH: install it"), rows)
    why = "These rounds couldn't be simulated (luajit is not on PATH: install it)."
    assert without.words[-1] == why
    own = {table.title for table in without.tables}
    assert own < {table.title for table in with_it.tables}
    assert not [title for title in own if "imulated" in title]
    assert list(without.words[:-1]) == list(with_it.words[: len(without.words) - 1])


def test_a_simulation_that_lies_apart_is_explained_and_those_that_agree_are_counted() -> None:
    crdt = row("gcra", 10, 2.0, round=1, store="crdt")
    rows = pd.DataFrame([row("gcra", 10, 2.0, round=0), crdt, row("fixed window", 10, 2.0, round=2)])
    answer = judged_to(2.0)
    found = simulation.part(SimulationRecord({"0": answer, "1": judged_to(5.0), "2": answer}, [], 10, 0.1), rows)
    assert "2 of 3 configurations deviate as measured, within 0.1 % of requests" in found.words[0]
    assert found.words[1].startswith("1 over copies differs, most of all gcra over crdt at 0ms: measured 2.00 %")


def a_map() -> LimitMap:
    """Two algorithms, of which one is not leased: a grid with a gap."""
    cells = [("fixed_window", "request"), ("fixed_window", "lazy"), ("gcra", "request")]
    scale = {end: judged_to(0.0) for end in ("no limiter", "exact log")}
    scenarios = [
        MapScenario(
            arrivals=arrivals,
            algorithm=algorithm,
            synchronisation=way,
            balancers=n,
            staleness_us=0,
            measured=judged_to(1.0),
            scale=scale,
            cpu_s=0.1,
        )
        for arrivals in ("recorded", "bursty")
        for algorithm, way in cells
        for n in (1, 2, 64)
    ]
    return LimitMap(LIMIT, 0, 2, scenarios, ["gcra with lazy: they compute times"])


def test_every_figure_holds_the_data_that_it_is_drawn_from() -> None:
    rows = pd.DataFrame([row("gcra", 10, 2.0, round=0)])
    answer = judged_to(2.0)
    found = simulation.part(SimulationRecord({"0": answer}, [a_map()], 10, 0.1), rows)
    assert [figure.title.split(",")[0] for figure in found.figures] == [
        "Measured and simulated deviation",
        "Accuracy map",
        "Accuracy map",
    ]
    for figure in found.figures:
        expected = set(re.findall(r'"data": {"name": "([^"]+)"}', json.dumps(figure.spec)))
        assert expected
        assert expected <= set(figure.spec["datasets"])


def test_the_map_leaves_its_order_to_the_drawing_which_misplaces_headings_otherwise() -> None:
    rows = pd.DataFrame([row("gcra", 10, 2.0, round=0)])
    answer = judged_to(2.0)
    found = simulation.part(SimulationRecord({"0": answer}, [a_map()], 10, 0.1), rows)
    maps = found.figures[1:]
    assert len(maps) == 2
    for figure in maps:
        assert "sort" not in figure.spec["facet"]["row"]
        assert "sort" not in figure.spec["facet"]["column"]


def test_the_map_in_short_stands_between_the_ends_of_its_scale() -> None:
    rows = pd.DataFrame([row("gcra", 10, 2.0, round=0)])
    answer = judged_to(2.0)
    found = simulation.part(SimulationRecord({"0": answer}, [a_map()], 10, 0.1), rows)
    short = found.tables[-1].frame
    assert short["algorithm"].tolist() == ["no limiter", "fixed window", "fixed window", "gcra", "exact log"]
    assert "recorded, 64 balancers" in short.columns
