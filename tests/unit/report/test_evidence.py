"""The report's sections on evidence: words, tables and figures of what the study asks for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.support.factors import factors
from tests.support.studies import EXAMPLE, changed, study
from tests.support.synthetic_run import synthetic_run

from patternbench.analyze.recommend.objectives import parse_limit, parse_objective
from patternbench.analyze.recommend.recommendation import Candidate, Choice, Recommendation
from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.statements.verdict import ChoiceVerdict
from patternbench.observe.section import Section
from patternbench.plan.expand import expand
from patternbench.records.stored import PlannedScenario
from patternbench.report.layout import layout
from patternbench.report.model import RunReport
from patternbench.report.sections.choosing import how_often_chosen, where_chosen
from patternbench.report.sections.declared import counted, with_sections
from patternbench.report.sections.findings import findings, headlines

STRATEGIES = ["baseline", "retry", "hedge", "circuit_breaker"]
FACTORS = factors({"abort.percentage": [0, 30], "users": [9, 20, 60], "strategy": STRATEGIES})
RULE = "{until: {response: p95, half_width: 5%}, min: 3, max: 10}"
FORMULA = "['p95 ~ users + C(strategy)']"
SMALL = EXAMPLE.replace("[0, 20, 40, 60, 80]", "[0, 40]").replace("[50, 100, 150]", "[50, 150]")


def report(rounds: int = 4) -> RunReport:
    """Rounds of 28 scenarios: retrying halves p95 and the failures, a breaker cuts p95 and fails more."""
    plan, source = expand(study(SMALL)), np.random.default_rng(3)
    rows = [
        {"round": 0, "block": block, "scenario": s.id, "status": "done", **s.levels, **_measured(s.levels, source)}
        for block in range(rounds)
        for s in plan.scenarios
    ]
    described = [PlannedScenario(**scenario.as_json()) for scenario in plan.scenarios]
    return RunReport("x", EXAMPLE, {}, plan.factors, described, pd.DataFrame(rows))


def _measured(levels: dict[str, object], source: np.random.Generator) -> dict[str, float]:
    factor = {"baseline": 1.0, "retry": 0.5, "circuit_breaker": 0.8}[str(levels["strategy"])]
    failing = {"baseline": 1.0, "retry": 0.0, "circuit_breaker": 2.0}[str(levels["strategy"])]
    p95 = 0.002 * float(str(levels["users"])) * factor * source.lognormal(0, 0.02)
    return {"p95": p95, "call_success_p95": p95, "failure_rate": failing * float(str(levels["abort.percentage"])) / 2}


def sections(**changes: str) -> dict[str, Section]:
    made = with_sections(report(), study(changed(SMALL, **changes)))
    return {section.anchor: section for section in made.sections}


def test_a_study_with_a_number_of_rounds_and_no_models_gets_a_recommendation_alone() -> None:
    assert list(sections()) == ["recommendation"]


def test_each_model_is_said_in_words_before_its_tables_and_pictures() -> None:
    model = sections(models=FORMULA)["model-1"]
    assert "explains" in model.words[0]
    assert any("strategy = retry instead of baseline cuts p95 by" in sentence for sentence in model.points)
    assert [table.title.split(" (")[0] for table in model.tables][:3] == [
        "Coefficients",
        "Prediction errors",
        "Assumptions",
    ]
    assert {"Effects", "Normal quantiles of the residuals"} <= {figure.title for figure in model.figures}


def test_several_responses_are_looked_at_together_too() -> None:
    assert list(sections(models="['p95 + failure_rate ~ users + C(strategy)']"))[:3] == [
        "model-1-1",
        "model-1-2",
        "model-1-together",
    ]


def test_a_model_that_cannot_be_fitted_is_a_section_that_says_why() -> None:
    words = sections(models="['p99 ~ users']")["model-1"].words
    assert "couldn't be computed" in words[0]
    assert "no column is called p99" in words[1]


def test_what_stopping_early_saved_is_said() -> None:
    stopping = sections(rounds=RULE)["stopping"]
    assert stopping.words[0] == "112 of 280 rounds were needed: 60% saved."
    assert "to within 5 % of it, but at least 3 and at most 10" in stopping.words[1]
    assert len(stopping.tables[0].frame) == len(expand(study(SMALL)).scenarios)


def test_the_assumed_aim_of_a_recommendation_is_said_and_the_studys_own_is_followed() -> None:
    assumed, own = sections(), sections(recommend="{objectives: [maximise p95]}")
    assert "minimise call_success_p95, subject to failure_rate <= 1%" in assumed["recommendation"].words[0]
    assert "is assumed" in assumed["recommendation"].words[0]
    assert own["recommendation"].words[0] == "Chosen to maximise p95."
    table = assumed["recommendation"].tables[0].frame
    assert table["choose"].str.startswith("strategy=retry").all()
    assert list(table["condition"]) == [
        f"abort.percentage={fault}, users={users}" for fault in (0, 40) for users in (50, 150)
    ]


def test_the_first_screen_says_what_to_choose_where_and_how_surely() -> None:
    reported, aim = sections()["recommendation"].choice
    assert reported.splitlines()[0].startswith("Abort percentage 0\xa0%, users 50")
    assert "retry · 40 ms, but these rounds can't tell it apart from retry · 20 ms, retry · 60 ms" in reported
    assert aim.startswith("Aim: the lowest p95 of successful calls with failed calls at most 1 %. The study does not")


def choice(fault: int, users: int, verdict: str, order: Sequence[str], sure: bool = True) -> Choice:
    names = dict.fromkeys([*order, "baseline", "retry"])
    values = {name: {"failure_rate": 4.4 if name == "retry" else 30.0} for name in names}
    each = {name: candidate({"strategy": name}, values[name]) for name in names}
    ties = tuple(each[name] for name in order) if verdict == "tie" else ()
    chosen = each["baseline" if verdict == "tie" and "baseline" in order else order[0]] if order else None
    given = {"abort.percentage": fault, "users": users}
    return Choice(given, chosen, None, tuple(each.values()), (), "", ChoiceVerdict(verdict), ties, 0.0, sure)


def candidate(levels: dict[str, object], means: dict[str, float]) -> Candidate:
    return Candidate(ScenarioRounds("", levels, {}), means, True, 1.0, 1.0, True, 0.0)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (choice(0, 9, "tie", ["retry", "baseline"]), "baseline, because these rounds show no gain over it"),
        (choice(0, 9, "tie", ["retry", "hedge"]), "retry, but these rounds can't tell it apart from hedge"),
        (choice(0, 9, "clear", ["circuit_breaker"]), "clearly circuit breaker"),
        (
            choice(0, 9, "unsure", ["retry"]),
            "retry came first, but which ones keep failed calls at most 1 % is inconclusive",
        ),
        (
            choice(0, 9, "nothing", []),
            "nothing keeps failed calls at most 1 %; closest: retry with 4.4 %",
        ),
        (
            choice(0, 9, "nothing", [], sure=False),
            "nothing kept failed calls at most 1 %; closest: retry with 4.4 %",
        ),
    ],
)
def test_each_verdict_has_its_own_words_on_the_first_screen(made: Choice, message: str) -> None:
    assert where_chosen(recommended([made]), FACTORS) == [f"Abort percentage 0\xa0%, users 9: {message}."]


def recommended(choices: list[Choice]) -> Recommendation:
    limits = (parse_limit("failure_rate <= 1%"),)
    return Recommendation(
        (parse_objective("minimise p95"),), limits, ("abort.percentage", "users"), tuple(choices), (), ()
    )


def bundled(conditions: dict[str, object], chosen: int, *several: int) -> Choice:
    """A choice among configurations with automatic bundles and without."""
    levels: list[dict[str, object]] = [{"auto_bundle": "none", "method": "a"}]
    levels += [{"auto_bundle": "all", "method": one} for one in "ab"]
    candidates = tuple(candidate({**levels[one], **conditions}, {"failure_rate": 0.0}) for one in several)
    return Choice(conditions, candidates[chosen], None, candidates, (), "", ChoiceVerdict.CLEAR, (), 0.0, True)


BUNDLES = factors(
    {"auto_bundle": ["none", "all"], "method": ["a", "b"], "users": [1, 2]},
    none={"auto_bundle": "none"},
    patterns=["auto_bundle"],
)


def test_a_level_that_all_configurations_of_its_kind_have_is_not_named() -> None:
    message = [
        where_chosen(replace(recommended([bundled({}, chosen, 0, 1, 2)]), conditions=()), BUNDLES)
        for chosen in range(3)
    ]
    assert message == [["Clearly no auto bundle."], ["Clearly all · method a."], ["Clearly all · method b."]]


def test_what_configurations_differ_in_under_another_condition_is_named_under_all() -> None:
    made = [bundled({"users": 1}, 0, 1, 0), bundled({"users": 2}, 0, 2, 0)]
    message = where_chosen(replace(recommended(made), conditions=("users",)), BUNDLES)
    assert message == ["Users 1: clearly all · method a.", "Users 2: clearly all · method b."]


def test_a_choice_is_named_as_figures_name_it() -> None:
    own = [{"strategy": "baseline", "retries": 0}, {"strategy": "baseline", "retries": 2}, {"strategy": "hedge"}]
    candidates = tuple(candidate(levels, {"failure_rate": 0.0}) for levels in own)
    made = Choice({}, candidates[1], None, candidates, (), "", ChoiceVerdict.CLEAR, (), 0.0, True)
    known = factors({"strategy": ["baseline", "hedge"], "retries": [0, 2]}, patterns=["retries"])
    assert where_chosen(replace(recommended([made]), conditions=()), known) == ["Clearly baseline · 2 retries."]


def test_what_was_measured_alone_is_not_called_the_choice() -> None:
    alone = replace(recommended([bundled({"users": 1}, 0, 0)]), conditions=("users",))
    assert where_chosen(alone, BUNDLES) == ["Users 1: only no auto bundle was measured."]
    assert how_often_chosen(alone, BUNDLES) == ["Only one configuration was measured under 1 of 1 conditions."]


def test_conditions_with_one_answer_share_a_line_and_a_whole_grid_is_named_by_its_levels() -> None:
    same = [choice(fault, users, "clear", ["retry"]) for fault in (0, 30) for users in (20, 60)]
    assert where_chosen(recommended(same), FACTORS) == [
        "Abort percentage 0\xa0% or 30\xa0%, users 20 or 60: clearly retry."
    ]
    assert where_chosen(recommended(same[1:3]), FACTORS) == [
        "Abort percentage 0\xa0%, users 60; abort percentage 30\xa0%, users 20: clearly retry."
    ]


def test_ties_with_the_same_first_share_a_line_that_counts_the_others() -> None:
    ties = [choice(0, 20, "tie", ["retry", "hedge"]), choice(0, 60, "tie", ["retry", "hedge", "limiter"])]
    assert where_chosen(recommended(ties), FACTORS) == [
        "Abort percentage 0\xa0%, users 20 or 60: retry, but these rounds can't tell it apart from 1 to 2 others."
    ]


def test_as_many_others_in_each_tie_are_one_number() -> None:
    ties = [choice(0, 20, "tie", ["retry", "hedge"]), choice(0, 60, "tie", ["retry", "limiter"])]
    assert where_chosen(recommended(ties), FACTORS) == [
        "Abort percentage 0\xa0%, users 20 or 60: retry, but these rounds can't tell it apart from 1 of the others."
    ]


def test_many_conditions_are_counted_and_what_is_not_clear_is_distinguished() -> None:
    clear = [choice(0, users, "clear", ["retry"]) for users in (1, 2)]
    unclear = [choice(30, 1, "tie", ["hedge", "retry"]), choice(30, 2, "unsure", ["retry"])]
    assert how_often_chosen(recommended([*clear, *unclear, choice(60, 1, "nothing", [])]), FACTORS) == [
        "Clearly retry under 2 of 5 conditions.",
        "Nothing keeps failed calls at most 1 % under 1 of 5 conditions.",
        "No choice is clear under 2 of 5 conditions. Which came first there, and how often: hedge (1), retry (1).",
    ]


@pytest.mark.slow
def test_a_choice_that_is_not_clear_everywhere_is_not_shown_as_a_gain() -> None:
    run = synthetic_run()
    arrangement = layout(run)
    reported = [
        headlines(findings(run), arrangement, [replace(section, choice_is_clear=clear)])[0].verdict
        for section in [sections()["recommendation"]]
        for clear in (False, True)
    ]
    assert not sections()["recommendation"].choice_is_clear
    assert reported == ["inconclusive", "better"]


@pytest.mark.parametrize(
    ("clear", "message"),
    [(0, "not clear under any of them"), (2, "clearly under 2, not clear under the others"), (3, "clearly under each")],
)
def test_a_count_of_conditions_calls_no_choice_a_tie_that_is_only_not_clear(clear: int, message: str) -> None:
    assert counted("retry", 3, clear, 8) == f"retry is the choice under 3 of 8 conditions: {message}."


def test_what_few_rounds_cannot_tell_is_said_where_they_stopped_by_themselves() -> None:
    words = sections(rounds=RULE)["stopping"].words
    assert any("Warning: The intervals are those of a typical round." in text for text in words)
    assert any("is inconclusive with fewer than 5 rounds" in text for text in words)


def test_limits_that_nothing_keeps_are_said() -> None:
    criteria = "{objectives: [minimise p95], subject_to: [p95 <= 1ms]}"
    words = sections(recommend=criteria)["recommendation"].words
    assert "No configuration keeps the limits under 4 of 4 conditions." in words


@pytest.mark.parametrize("nothing", ["no rounds", "one configuration"])
def test_without_a_choice_there_is_no_recommendation(nothing: str) -> None:
    whole = report()
    rows = whole.rounds[:0] if nothing == "no rounds" else whole.rounds[whole.rounds["strategy"] == "baseline"]
    assert with_sections(replace(whole, rounds=rows), study(SMALL)).sections == ()


def test_every_picture_is_plain_data() -> None:
    found = sections(models=FORMULA, rounds=RULE)
    specs = [figure.spec for section in found.values() for figure in section.figures]
    assert len(specs) > 5
    assert all(json.loads(json.dumps(spec)) for spec in specs)


def test_a_model_whose_coefficients_never_vary_between_blocks_has_its_section_too() -> None:
    """Rounds that repeat in every block leave variances of rounding alone, some of them below zero."""
    requested = study(changed(models="['p95 + failure_rate ~ users * strategy']"))
    run = synthetic_run()
    levels = pd.DataFrame([{"scenario": each.id, **each.levels} for each in run.scenarios])
    found = with_sections(replace(run, rounds=run.rounds.merge(levels, on="scenario")), requested).sections
    (section,) = [section for section in found if section.anchor == "model-1-2"]
    words = " ".join([*section.words, *section.points, *(table.note for table in section.tables)])
    assert "Wald " in words
    assert "nan" not in words
