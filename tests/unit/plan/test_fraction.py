"""Cheaper designs: balanced, repeatable, the baseline whole, and honest about what they mix up."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from tests.support.studies import EXAMPLE, changed, problems, study

from patternbench.plan.expand import Plan, expand, size
from patternbench.plan.fraction import aliasing
from patternbench.study.load import loads
from patternbench.study.model.settings import Settable
from patternbench.terms.problems import InputError


def plan(design: str, text: str = EXAMPLE) -> Plan:
    return expand(study(changed(text, design=design)))


def test_a_half_runs_about_half_of_each_strategy_and_the_whole_baseline() -> None:
    counts = Counter(scenario.strategy.known_as for scenario in plan("{fraction: 1/2}").scenarios)
    assert counts["baseline"] == 15
    assert all(20 <= counts[name] <= 25 for name in ("retry", "circuit_breaker"))


def test_a_half_keeps_every_level_and_the_ids_of_the_whole() -> None:
    part, whole = plan("{fraction: 1/2}"), expand(study())
    assert part.factors == whole.factors
    assert {s.id for s in part.scenarios} < {s.id for s in whole.scenarios}


def test_a_latin_hypercube_has_at_most_so_many_scenarios_a_strategy_and_every_level() -> None:
    part = plan("{latin_hypercube: 15}")
    counts = Counter(scenario.strategy.known_as for scenario in part.scenarios)
    assert counts["baseline"] == 15
    assert 10 <= counts["retry"] <= 15
    assert part.factors == expand(study()).factors


def test_the_same_seed_draws_the_same_hypercube() -> None:
    ids = [s.id for s in plan("{latin_hypercube: 12}").scenarios]
    assert ids == [s.id for s in plan("{latin_hypercube: 12}").scenarios]
    assert ids != [s.id for s in plan("{latin_hypercube: 12}", changed(seed="8")).scenarios]


def test_the_whole_design_mixes_nothing_up() -> None:
    assert aliasing([scenario.levels for scenario in expand(study()).scenarios]) == []


def test_the_textbook_half_of_two_cubed_aliases_each_factor_with_the_other_two() -> None:
    # defining relation I = ABC (Montgomery, Design and Analysis of Experiments, section 8.2)
    half = [dict(zip("abc", row, strict=True)) for row in product((-1, 1), repeat=3) if row[0] * row[1] * row[2] == 1]
    assert [text.split(": ")[1] for text in aliasing(half)] == [
        "the effect of a can't be distinguished from that of b x c.",
        "the effect of b can't be distinguished from that of a x c.",
        "the effect of c can't be distinguished from that of a x b.",
    ]


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ("{fraction: 1/2, latin_hypercube: 5}", "design.latin_hypercube: does not go with `fraction`"),
        ("{fraction: 1/2, zip: [[users, retry.backoff.exponential.initial]]}", "design.zip: does not go with"),
        ("{fraction: 1/9}", "design.fraction: is too small a fraction for these numbers of levels"),
        ("{latin_hypercube: 45}", "design.latin_hypercube: isn't less than all 45 combinations"),
    ],
)
def test_designs_that_cannot_be_made_are_refused(design: str, message: str) -> None:
    with pytest.raises(InputError, match=r"design\.") as raised:
        plan(design)
    assert any(str(problem).startswith(message) for problem in raised.value.problems)


def test_a_fraction_that_is_none_is_named_with_its_line() -> None:
    (found,) = problems(changed(design="{fraction: 2/3}"))
    assert str(found).startswith("study.yaml:18: design.fraction: is not allowed here (got '2/3')")


def test_the_size_is_that_of_the_whole() -> None:
    assert size(study(changed(design="{fraction: 1/2}"))) == 105


def test_a_fraction_keeps_what_is_no_pattern_of_the_system_whole() -> None:
    text = """\
patternbench: 1
name: x
system: {name: shop, settings: {limiter: [none, gcra], bundle: [1, 5, 25]}}
workload: {closed: {users: [1, 2, 4, 8], successes: 1}}
design: {fraction: 1/2}
"""
    none = {"limiter": ("none", "text"), "bundle": (1, "count")}
    spec = {
        name: {"default": level, "about": name, "role": "pattern", "none": level, "unit": unit}
        for name, (level, unit) in none.items()
    }
    chosen = [
        s.levels for s in expand(loads(text, "study.yaml"), Settable.model_validate({"settings": spec})).scenarios
    ]
    assert [one["users"] for one in chosen if (one["limiter"], one["bundle"]) == ("none", 1)] == [1, 2, 4, 8]
    assert len(chosen) < 4 * 6 * 0.75
