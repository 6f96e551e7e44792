"""A study's claims: which scenarios decide them, what is concluded, how often that is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import cast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.noises import NOISES

from patternbench.analyze.statements.claims.claim import Claim, ClaimText, Level, Levels, amount_of, parse_claim
from patternbench.analyze.statements.claims.judged import ClaimedChange, JudgedClaim, JudgedClaims, judge_claims
from patternbench.analyze.statements.claims.pairs import claimed_pairs, distinguishing, pairs_of, same_level
from patternbench.analyze.statements.claims.rounds_needed import (
    RoundsAim,
    assumed,
    rounds_needed,
    rounds_to_decide,
    scatters_of,
)
from patternbench.analyze.statements.sentences import changed
from patternbench.analyze.statements.verdict import HIGHER, LOWER, Conclusion, Expected, conclude, in_percent
from patternbench.terms.data_problems import DataError
from patternbench.terms.factors import NO_UNITS

FAULT, DELAY = "abort.percentage", "retry.backoff.exponential.initial"
PLANNED: dict[str, dict[str, Level]] = {
    f"{fault}-{delay}": {FAULT: fault, "strategy": "retry" if delay else "baseline", DELAY: delay}
    for fault, delay in product((0, 40, 60), (None, "20ms", "60ms"))
}
RUNS = 150
NO_REMEDY = 10_000


def claim(units: Mapping[str, str] = NO_UNITS, /, **changes: object) -> Claim:
    text: ClaimText = {
        "says": "longer back-offs wait longer",
        "response": "p95",
        "change": "higher",
        "margin": None,
        "from_": {DELAY: "20ms"},
        "to": {DELAY: "60ms"},
        "where": {},
        "over": None,
        "published": None,
    }
    return parse_claim(cast(ClaimText, {**text, **changes}), "claims[0]", units)


def places(one: Claim) -> list[tuple[str, str]]:
    ids = list(PLANNED)
    return [(ids[a], ids[b]) for a, b in pairs_of(one, list(PLANNED.values()))]


def rounds(logs: Mapping[str, np.ndarray], response: str = "p95") -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"scenario": name, "block": block, response: float(np.exp(value))}
            for name, values in logs.items()
            for block, value in enumerate(values)
        ]
    )


def held(table: pd.DataFrame, *claims: Claim) -> JudgedClaims:
    return judge_claims(claims, PLANNED, table, {})


def noisy(spread: float, **shift: float) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    delays = {"20ms": 0.0, "60ms": shift.get("up", 0.0)}
    return rounds({name: rng.normal(delays.get(name.split("-")[1], 0.0), spread, 10) for name in PLANNED})


def test_scenarios_that_differ_in_just_what_a_claim_names_are_compared_under_each_condition() -> None:
    assert places(claim()) == [(f"{fault}-20ms", f"{fault}-60ms") for fault in (0, 40, 60)]
    assert places(claim(where={FAULT: [40, 60]})) == [("40-20ms", "40-60ms"), ("60-20ms", "60-60ms")]


def test_levels_that_come_with_a_pattern_do_not_keep_it_from_its_baseline() -> None:
    one = claim(from_={"strategy": "baseline"}, to={"strategy": "retry"}, where={FAULT: 40})
    assert places(one) == [("40-None", "40-20ms"), ("40-None", "40-60ms")]
    assert distinguishing(one, [(PLANNED[a], PLANNED[b]) for a, b in places(one)]) == [{DELAY: "20ms"}, {DELAY: "60ms"}]


def test_a_factor_that_a_claim_names_on_one_side_alone_does_not_differ() -> None:
    assert places(claim(from_={DELAY: "20ms", FAULT: 40})) == [("40-20ms", "40-60ms")]
    assert places(claim(from_={"strategy": "baseline"}, to={DELAY: "60ms"})) == []


STRATEGIES: dict[str, Levels] = {
    "baseline": {},
    "slow": {"timeout": "10s", "retry.max_attempts": 4},
    "quick": {"timeout": "250ms", "retry.max_attempts": 3},
    "quick_alone": {"timeout": "250ms"},
}


def named_strategies(*left_out: tuple[int, str]) -> list[Levels]:
    return [
        {FAULT: fault, "client": "native", "strategy": name, **levels}
        for fault, (name, levels) in product((0, 20), STRATEGIES.items())
        if (fault, name) not in left_out
    ]


def compared(one: Claim, planned: Sequence[Levels]) -> list[tuple[str, object]]:
    pairs = [(planned[a], planned[b]) for a, b in pairs_of(one, planned)]
    assert all(a[FAULT] == b[FAULT] for a, b in pairs)
    return [(f"{a['strategy']} {b['strategy']}", a[FAULT]) for a, b in pairs]


def test_two_strategies_with_names_are_compared_with_all_that_belongs_to_them() -> None:
    one = claim(from_={"strategy": "slow"}, to={"strategy": "quick"})
    planned = named_strategies()
    assert compared(one, planned) == [("slow quick", 0), ("slow quick", 20)]
    assert [where.where for where in claimed_pairs(one, planned)] == [{FAULT: 0}, {FAULT: 20}]
    both = claim(from_={"strategy": "slow"}, to={"strategy": ["quick", "quick_alone"]}, where={FAULT: 20})
    assert compared(both, planned) == [("slow quick", 20), ("slow quick_alone", 20)]


def test_two_strategies_are_not_compared_under_conditions_or_clients_that_differ() -> None:
    quicker = claim(from_={"strategy": "slow"}, to={"strategy": "quick"})
    assert compared(quicker, named_strategies((0, "slow"), (20, "quick"))) == []
    clients = [{**one, "client": "tower" if one["strategy"] == "quick" else "native"} for one in named_strategies()]
    assert compared(quicker, clients) == []


def test_a_strategy_with_a_grid_is_still_compared_at_equal_levels() -> None:
    planned = [*named_strategies(), {**named_strategies()[1], "timeout": "5s"}]
    assert compared(claim(from_={"strategy": "slow"}, to={"strategy": "quick"}), planned) == []
    both = claim(from_={"strategy": "slow"}, to={"strategy": "quick_alone"}, where={FAULT: 20})
    assert compared(both, planned) == []


def test_a_list_of_levels_is_compared_level_by_level_and_each_is_reported() -> None:
    one = claim(from_={"strategy": "baseline"}, to={"strategy": "retry", DELAY: ["20ms", "60ms"]}, where={FAULT: 40})
    assert places(one) == [("40-None", "40-20ms"), ("40-None", "40-60ms")]
    levels = list(PLANNED.values())
    both = distinguishing(one, [(levels[a], levels[b]) for a, b in pairs_of(one, levels)])
    assert [reported[DELAY] for reported in both] == ["20ms", "60ms"]
    back_offs = claim(from_={DELAY: "20ms"}, to={DELAY: ["20ms", "60ms"]}, where={FAULT: 40})
    assert places(back_offs) == [("40-20ms", "40-60ms")], "nothing is compared with itself"


def test_a_factor_with_several_levels_on_one_side_is_reported_with_both() -> None:
    planned = [{"client": name} for name in ("native", "tower", "backon")]
    one = claim(from_={"client": "native"}, to={"client": ["tower", "backon"]})
    reported = distinguishing(one, [(planned[a], planned[b]) for a, b in pairs_of(one, planned)])
    assert reported == [{"client": "native to tower"}, {"client": "native to backon"}]


def test_a_claim_over_the_mean_has_one_interval_and_every_other_one_for_each_pair() -> None:
    assert held(noisy(0.05), claim(over="mean"), claim()).intervals == 1 + 3
    assert len(held(noisy(0.05), claim(over="mean")).claims[0].changes) == 1


def test_a_claim_over_some_factors_is_about_the_mean_over_them_under_each_level_of_the_others() -> None:
    table = noisy(0.02, up=0.3)
    each, mean, over = held(table, claim(), claim(over="mean"), claim(over=[FAULT])).claims
    assert over.changes == mean.changes
    assert np.log1p(over.changes[0].value / 100) == pytest.approx(
        np.mean([np.log1p(change.value / 100) for change in each.changes])
    )
    back_offs = claim(from_={"strategy": "baseline"}, to={"strategy": "retry"}, over=[FAULT])
    changes = held(table, back_offs).claims[0].changes
    assert [change.where for change in changes] == [{DELAY: "20ms"}, {DELAY: "60ms"}]
    assert [change.sides for change in changes] == [None, None]


def test_a_change_is_compared_with_the_same_change_under_other_levels() -> None:
    rng = np.random.default_rng(6)
    logs = {name: rng.normal(0.4 * (name == "60-60ms"), 0.01, 10) for name in PLANNED}
    more = claim(where={FAULT: 60}, than={FAULT: [0, 40]})
    changes = held(rounds(logs), more).claims[0].changes
    assert [change.where for change in changes] == [{FAULT: "60 against 0"}, {FAULT: "60 against 40"}]
    assert [change.value for change in changes] == pytest.approx([100 * np.expm1(0.4)] * 2, abs=3)
    assert held(rounds(logs), more).claims[0].conclusion is Conclusion.CONFIRMED
    (mean,) = held(rounds(logs), claim(where={FAULT: 60}, than={FAULT: [0, 40]}, over=[FAULT])).claims[0].changes
    assert mean.value == pytest.approx(100 * np.expm1(0.4), abs=3)


def test_a_change_that_is_compared_with_one_that_lacks_rounds_is_unknown() -> None:
    table = noisy(0.02, up=0.3)
    lacking = table[table["scenario"] != "0-20ms"]
    (change,) = held(lacking, claim(where={FAULT: 60}, than={FAULT: 0})).claims[0].changes
    assert (np.isnan(change.value), change.rounds) == (True, 0)


def test_means_over_factors_take_fewer_rounds_and_compared_changes_more() -> None:
    levels = list(PLANNED.values())
    claims = [claim(where={FAULT: 60}), claim(over=[FAULT]), claim(where={FAULT: 60}, than={FAULT: 0})]
    one, mean, than = rounds_needed(claims, levels, RoundsAim(10, assumed(claims, 10.0), 10.0))
    assert (mean.rounds or NO_REMEDY) < (one.rounds or NO_REMEDY) < (than.rounds or NO_REMEDY)
    assert (mean.pairs, mean.intervals) == (3, 1)


@given(st.integers(0, 10_000), st.booleans())
def test_levels_are_the_same_however_they_are_written(number: int, as_float: bool) -> None:
    assert same_level(number, float(number) if as_float else number)
    assert same_level(f"{number}ms", f"{number / 1000:.3f}s")
    assert not same_level(number, f"{number}ms")


@pytest.mark.parametrize(("a", "b"), [("none", None), (1, True), ("1.10", "1.1"), ("40", 40)])
def test_levels_that_look_alike_are_not_the_same(a: Level, b: Level) -> None:
    assert not same_level(a, b)


def test_a_difference_is_confirmed_contradicted_and_inconclusive() -> None:
    clear, none = noisy(0.02, up=0.3), noisy(0.3)
    words = [one.conclusion for one in held(clear, claim(), claim(change="lower"), claim(change="> +10 %")).claims]
    assert words == [Conclusion.CONFIRMED, Conclusion.CONTRADICTED, Conclusion.CONFIRMED]
    assert held(none, claim()).claims[0].conclusion is Conclusion.INCONCLUSIVE
    assert held(noisy(0.01), claim(change="same", margin="10 %")).claims[0].conclusion is Conclusion.AGREES


def test_what_was_not_measured_is_inconclusive() -> None:
    table = noisy(0.02, up=0.3)
    lacking = table[table["scenario"] != "60-60ms"]
    each, mean = held(lacking, claim(), claim(over="mean")).claims
    assert (each.conclusion, mean.conclusion) == (Conclusion.CONFIRMED_IN_PART, Conclusion.INCONCLUSIVE)
    assert held(table, claim(response="goodput")).claims[0].conclusion is Conclusion.INCONCLUSIVE
    assert held(table.iloc[:0], claim()).claims[0].conclusion is Conclusion.INCONCLUSIVE


def test_a_change_in_percent_of_values_of_zero_decides_nothing() -> None:
    table = noisy(0.02, up=0.3)
    table.loc[table["scenario"] == "0-20ms", "p95"] = 0.0
    assert np.isnan(held(table, claim(change="> +10 %")).claims[0].changes[0].value)


@given(st.floats(-50, 50), st.floats(0, 50), st.sampled_from([HIGHER, LOWER, in_percent(20), Expected("> 5", low=5.0)]))
def test_no_interval_is_both_for_and_against_a_claim(middle: float, half: float, expected: Expected) -> None:
    change = ClaimedChange({}, None, middle, middle - half, middle + half, 3)
    assert not (expected.holds(change) and expected.fails(change))
    assert conclude(expected, [change, change]) in (
        *(Conclusion.CONFIRMED, Conclusion.AGREES, Conclusion.CONTRADICTED, Conclusion.INCONCLUSIVE),
    )


@given(st.floats(-50, 50), st.floats(0, 50), st.floats(0, 50))
def test_a_wider_interval_never_decides_more(middle: float, half: float, more: float) -> None:
    narrow = ClaimedChange({}, None, middle, middle - half, middle + half, 3)
    wide = ClaimedChange({}, None, middle, narrow.low - more, narrow.high + more, 3)
    for expected in (HIGHER, LOWER, in_percent(10)):
        assert conclude(expected, [wide]) in (Conclusion.INCONCLUSIVE, conclude(expected, [narrow]))


def test_no_interval_decides_no_claim() -> None:
    unknown = ClaimedChange({}, None, 3.0, np.nan, np.nan, 1)
    assert conclude(HIGHER, [unknown]) is conclude(in_percent(10), [unknown]) is Conclusion.INCONCLUSIVE
    assert conclude(HIGHER, []) is Conclusion.INCONCLUSIVE


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"change": "bigger"}, "isn't a change"),
        ({"change": "> 10 %"}, "lacks the sign"),
        ({"change": "> +10"}, "is a time"),
        ({"change": "same"}, "needs a margin"),
        ({"change": "same", "margin": "0 %"}, "above 0"),
        ({"change": "same", "margin": "1 points"}, "isn't a share"),
        ({"margin": "1 %"}, "goes with `change: same`"),
        ({"response": "failure_rate", "change": "> +1 %"}, "percentage points"),
        ({"response": "goodput", "change": "> +1 ms"}, "isn't a time"),
    ],
)
def test_a_change_without_meaning_is_refused_with_what_to_write(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        claim(**changes)


@pytest.mark.parametrize(("margin", "words"), [("1 points", "1 point"), ("2 points", "2 points")])
def test_one_point_is_not_written_as_several(margin: str, words: str) -> None:
    expected = claim(response="failure_rate", change="same", margin=margin).expected
    assert expected.words == f"the same within {words}"


@pytest.mark.parametrize("response", ["system_cpu_s", "generator_cpu_s", "seconds"])
def test_what_a_round_cost_changes_by_a_time_or_in_percent(response: str) -> None:
    assert claim(response=response, change="< -2s").expected.high == -2.0
    assert claim(response=response, change="same", margin="5 ms").expected.high == pytest.approx(0.005)
    assert claim(response=response, change="> +10 %").relative
    for refused in ({"change": "< -2"}, {"change": "same", "margin": "1"}):
        with pytest.raises(DataError, match=f"{response} is a time, so its change needs a unit"):
            claim(response=response, **refused)
    with pytest.raises(DataError, match=f"{response} isn't a share of calls"):
        claim(response=response, change="same", margin="1 points")


OBSERVED = {"database_time": "s", "heap_mean": "MB"}
"""Units of responses that observers measure."""


@pytest.mark.parametrize("change", [{"change": "> +5"}, {"change": "< -0.5"}, {"change": "same", "margin": "2"}])
def test_a_time_that_an_observer_measures_changes_by_a_time_or_in_percent(change: dict[str, object]) -> None:
    with pytest.raises(DataError, match="database_time is a time, so its change needs a unit"):
        claim(OBSERVED, response="database_time", **change)
    with pytest.raises(DataError, match="heap_mean isn't a time, so its change has no unit ms"):
        claim(OBSERVED, response="heap_mean", change="> +5ms")
    assert claim(OBSERVED, response="heap_mean", **change)
    in_ms = claim(OBSERVED, response="database_time", change="> +5ms", published="+20 ms")
    assert in_ms.expected.low == pytest.approx(0.005)
    assert amount_of(in_ms.published, in_ms.response, in_ms.unit) == (pytest.approx(0.02), False)
    assert amount_of("+20", in_ms.response, in_ms.unit) is None
    assert claim(OBSERVED, response="database_time", change="> +5 %").relative


def test_a_change_is_written_with_its_interval_in_one_unit() -> None:
    assert changed("p95", -41.2, (-44.0, -38.1), relative=True) == "−41.2\u00a0% (−44 to −38.1\u00a0%)"
    assert changed("p95", 0.02, (0.01, 0.03), relative=False) == "+20\u00a0ms (+10 to +30\u00a0ms)"
    assert changed("system_cpu_s", 0.02, (0.01, 0.03), relative=False) == "+20\u00a0ms (+10 to +30\u00a0ms)"
    assert changed("failure_rate", 1.5, (0.5, 2.5), relative=False) == "+1.5 points (+0.5 to +2.5 points)"
    assert changed("p95", 1.0, (np.nan, np.nan), relative=True) == "+1\u00a0% (no interval)"
    assert changed("p95", np.nan, (np.nan, np.nan), relative=True) == "not measured"


def test_the_rounds_that_a_claim_takes_follow_from_its_size_and_the_scatter() -> None:
    levels = list(PLANNED.values())
    claims = [claim(published="+31 %"), claim(change="same", margin="10 %"), claim(), claim(over="mean")]
    quiet, loud = (rounds_needed(claims, levels, RoundsAim(10, assumed(claims, p), 10.0)) for p in (5.0, 20.0))
    counts = [one.rounds or NO_REMEDY for one in quiet]
    assert counts[0] < counts[3] < counts[2] < counts[1]
    assert all((a.rounds or NO_REMEDY) < (b.rounds or NO_REMEDY) for a, b in zip(quiet, loud, strict=True))


@pytest.mark.slow
def test_as_many_rounds_as_are_said_confirm_a_change_of_that_size_four_times_in_five() -> None:
    one = claim(where={FAULT: 40})
    (needed,) = rounds_needed([one], list(PLANNED.values()), RoundsAim(10, assumed([one], 10.0), 10.0))
    rng, confirmed = np.random.default_rng(8), 0
    for _ in range(RUNS):
        logs = {"40-20ms": rng.normal(0, np.log1p(0.1), needed.rounds), "40-60ms": np.log(1.1)}
        logs["40-60ms"] = logs["40-60ms"] + rng.normal(0, np.log1p(0.1), needed.rounds)
        confirmed += held(rounds(logs), one).is_shown
    assert 0.70 <= confirmed / RUNS <= 0.90


def test_the_scatter_of_a_run_is_what_blocks_and_scenarios_leave() -> None:
    rng = np.random.default_rng(4)
    blocks = rng.normal(0, 1.0, 200)
    table = rounds({name: blocks + rng.normal(place, 0.1, 200) for place, name in enumerate(PLANNED)})
    assert scatters_of([claim()], table)["p95"].spread == pytest.approx(0.1, rel=0.1)


def test_an_open_claim_says_how_many_rounds_would_decide_it_and_a_decided_one_does_not() -> None:
    open_, decided = (held(table, claim()).claims[0] for table in (noisy(0.3, up=0.2), noisy(0.02, up=0.3)))
    assert (rounds_to_decide(open_) or 0) > 10
    assert rounds_to_decide(decided) is None


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["log-normal", "unequal spreads", "two speeds", "drifting in time"])
@pytest.mark.parametrize("blocks", [3, 10])
def test_a_study_whose_scenarios_are_all_equal_confirms_or_contradicts_a_claim_in_5_percent_at_most(
    noise: str, blocks: int
) -> None:
    shape = (RUNS, blocks, len(PLANNED))
    logs = NOISES[noise](np.random.default_rng(11), shape)
    claims = [claim(), claim(over="mean"), claim(from_={"strategy": "baseline"}, to={"strategy": "retry"})]
    claims += [claim(over=[FAULT]), claim(where={FAULT: 60}, than={FAULT: [0, 40]})]
    words = [held(rounds(dict(zip(PLANNED, run.T, strict=True))), *claims) for run in logs]
    bound = 0.05 + 3 * np.sqrt(0.05 * 0.95 / RUNS)
    assert np.mean([any(map(_is_confirmed, study.claims)) for study in words]) <= bound
    assert np.mean([study.is_contradicted for study in words]) <= bound


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["log-normal", "unequal spreads"])
def test_changes_that_are_equal_are_distinguished_in_5_percent_of_studies_at_most(noise: str) -> None:
    logs = NOISES[noise](np.random.default_rng(13), (RUNS, 5, len(PLANNED)))
    longer = np.array([0.5 * name.endswith("60ms") for name in PLANNED])
    claims = [claim(where={FAULT: 60}, than={FAULT: 0}), claim(where={FAULT: 60}, than={FAULT: [0, 40]}, over=[FAULT])]
    studies = [held(rounds(dict(zip(PLANNED, (run + longer).T, strict=True))), *claims) for run in logs]
    bound = 0.05 + 3 * np.sqrt(0.05 * 0.95 / RUNS)
    assert np.mean([any(map(_is_confirmed, study.claims)) for study in studies]) <= bound
    assert np.mean([study.is_contradicted for study in studies]) <= bound


@pytest.mark.slow
def test_scenarios_that_differ_by_the_margin_agree_in_5_percent_of_studies_at_most() -> None:
    rng, agreed = np.random.default_rng(12), 0
    one = claim(change="same", margin="10 %", where={FAULT: 40})
    for _ in range(RUNS):
        ends = {"40-20ms": rng.normal(0, 0.05, 10), "40-60ms": rng.normal(np.log(1.1), 0.05, 10)}
        agreed += held(rounds(ends), one).is_shown
    assert agreed / RUNS <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / RUNS)


def _is_confirmed(one: JudgedClaim) -> bool:
    return not one.conclusion.is_contradicted and one.conclusion is not Conclusion.INCONCLUSIVE
