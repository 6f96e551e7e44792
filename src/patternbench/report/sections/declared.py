"""The sections of a run's report that its study asks for: claims, what stopping early saved, models, what to choose.

Plain words first, then tables, then figures. What cannot be analyzed is a section that says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from patternbench.analyze.recommend.objectives import parse_limit
from patternbench.analyze.recommend.recommendation import (
    Against,
    Choice,
    Recommendation,
    configuration,
    flips_in_words,
)
from patternbench.analyze.rounds import label
from patternbench.analyze.stopping import warnings as stopping_warnings
from patternbench.analyze.stopping.rule import Decision, StoppingRule, decide, parse_rule, saving
from patternbench.observe.section import Figure, Section, Table
from patternbench.plan.expand import size
from patternbench.plan.fraction import aliasing
from patternbench.records.stored import PlannedLook
from patternbench.report.choice_rule import choice_rule_of
from patternbench.report.first_screen import FirstScreen
from patternbench.report.model import RunReport
from patternbench.report.pages.chosen import wins
from patternbench.report.pages.comparison_figures import trade_off_figure
from patternbench.report.sections import boundary, chosen_rounds, claims, predicted
from patternbench.report.sections.choosing import ASSUMED, how_surely
from patternbench.report.sections.criteria import DEFAULT, known_of
from patternbench.report.sections.deciding import RunRecommendation, first_screen, recommended
from patternbench.report.sections.stands import stands
from patternbench.study.evidence import Rounds
from patternbench.study.models import Study
from patternbench.terms.data_problems import DataError
from patternbench.terms.quantities import quantity

ALL = 100.0


def with_sections(report: RunReport, study: Study) -> RunReport:
    """Return the report with the sections on its evidence after those that it has."""
    choice, screen = _recommendation(report, study)
    made = [
        *predicted.sections(report),
        *_boundary(report, study),
        *_claims(report, study),
        *_part(report, study),
        *_stopping(report, study),
        *_models(report, study),
        *choice,
    ]
    sections = (*report.sections, *made)
    limit = _failure_limit(study)
    return replace(report, sections=sections, failure_limit=limit, question=study.description, first_screen=screen)


def _failure_limit(study: Study) -> float:
    """How many percent of calls may fail: what the study's recommendation is subject to, else the assumed limit."""
    texts = study.recommend.subject_to if study.recommend else ()
    for one in map(parse_limit, (*texts, *DEFAULT.limits)):
        if one.response == "failure_rate" and one.at_most:
            return one.bound
        if one.response == "success_rate" and not one.at_most:
            return ALL - one.bound
    raise AssertionError("one of the assumed limits is on failures")


def _or_why_not(anchor: str, title: str, make: Callable[[], Sequence[Section]]) -> Sequence[Section]:
    """Return the sections, or one section that says why the records don't suffice for them."""
    try:
        return make()
    except DataError as error:
        return [_why_not(anchor, title, error)]


def _why_not(anchor: str, title: str, error: DataError) -> Section:
    return Section(anchor, title, ["This couldn't be computed from this run:", *map(str, error.problems)])


# --- where rounds begin to be lost


def _boundary(report: RunReport, study: Study) -> Sequence[Section]:
    if study.boundary is None:
        return []
    return _or_why_not(boundary.ANCHOR, boundary.TITLE, lambda: boundary.sections(report, study))


# --- what it expects


def _claims(report: RunReport, study: Study) -> Sequence[Section]:
    if not study.claims:
        return []
    return _or_why_not(claims.ANCHOR, claims.TITLE, lambda: [_judged(report, study)])


def _judged(report: RunReport, study: Study) -> Section:
    made = claims.section(claims.judged(report, study))
    return predicted.marked(made) if report.simulated else made


# --- a part of all combinations


def _part(report: RunReport, study: Study) -> Sequence[Section]:
    if study.design.fraction is None and study.design.latin_hypercube is None:
        return []
    levels = [{name: v for name, v in scenario.levels.items() if v is not None} for scenario in report.scenarios]
    kind = f"the fraction {study.design.fraction}" if study.design.fraction else "a Latin hypercube"
    words = [
        f"Of {size(study)} combinations {len(levels)} were run: {kind} of each strategy, and all of the baseline.",
        *(aliasing(levels) or ["No factor's effect is confounded with an interaction of two others."]),
    ]
    return [Section("design", "What the design confounds", words)]


# --- rounds that stopped by themselves


def _stopping(report: RunReport, study: Study) -> Sequence[Section]:
    if not isinstance(study.rounds, Rounds):
        return []
    choice = choice_rule_of(study)
    if choice is not None:
        return _or_why_not(
            chosen_rounds.ANCHOR, chosen_rounds.TITLE, lambda: [chosen_rounds.section(report, study, choice)]
        )
    rule = parse_rule(study.rounds.until.model_dump(), study.rounds.min, study.rounds.max)
    return _or_why_not("stopping", "Rounds that stopped by themselves", lambda: [_saving(report, rule)])


def _saving(report: RunReport, rule: StoppingRule) -> Section:
    values = _per_scenario(report, rule.response)
    rules = _rules(report, rule)
    decisions = {name: decide(measured, rules[name]) for name, measured in values.items()}
    rows = pd.DataFrame([_decision_row(report, name, rule.response, one) for name, one in decisions.items()])
    width = f"{100 * rule.half_width:.3g} % of it" if rule.relative else quantity(rule.response, rule.half_width)
    words = [
        saving(decisions, rule).words,
        f"A scenario got rounds until the mean of {rule.response} was known to within {width}, but at least "
        f"{rule.fewest} and at most {rule.most}. Each check used a stricter confidence than {rule.confidence:.0%}, so "
        "that the interval at the stop still covers as often as it says, for independent rounds that are about normal.",
        *(f"Warning: {warning}" for warning in stopping_warnings.warnings(values, rule)),
    ]
    return Section("stopping", "Rounds that stopped by themselves", words, [Table("Rounds of each scenario", rows)])


def _rules(report: RunReport, rule: StoppingRule) -> Mapping[str, StoppingRule]:
    """Return the rule as each scenario was looked at for the last time.

    Runs of before don't say when: after a block of each lane.
    """
    blocks = {str(name): 1 + int(last) for name, last in report.rounds.groupby("scenario")["block"].max().items()}
    usual = replace(rule, step=max(1, len(report.lanes)))
    return {name: _as_looked([look for look in report.looks if look.blocks <= n], usual) for name, n in blocks.items()}


def _as_looked(looks: Sequence[PlannedLook], usual: StoppingRule) -> StoppingRule:
    return replace(usual, step=looks[-1].step, looks=tuple((one.blocks, one.step) for one in looks)) if looks else usual


def _per_scenario(report: RunReport, response: str) -> dict[str, list[float]]:
    done = report.done
    if response not in done.columns:
        return {}
    return {str(name): list(part[response].astype(float)) for name, part in done.groupby("scenario", sort=False)}


def _decision_row(report: RunReport, scenario: str, response: str, decision: Decision) -> dict[str, object]:
    levels: Mapping[str, object] = next((planned.levels for planned in report.scenarios if planned.id == scenario), {})
    ended = {"narrow_enough": "narrow enough", "at_most": "at the maximum"}.get(decision.reason, "not at its end")
    return {
        "scenario": label({name: level for name, level in levels.items() if level is not None}),
        "rounds": str(decision.rounds),
        "mean": "" if decision.mean is None else quantity(response, decision.mean),
        "known to within": "" if decision.half_width is None else quantity(response, decision.half_width),
        "ended": ended,
    }


# --- models


def _models(report: RunReport, study: Study) -> Iterator[Section]:
    for nth, formula in enumerate(study.models, start=1):
        anchor = f"model-{nth}"
        yield from _or_why_not(anchor, f"Model: {formula}", lambda f=formula, a=anchor: _model(report, study, f, a))  # type: ignore[misc]


def _model(report: RunReport, study: Study, formula: str, anchor: str) -> list[Section]:
    from patternbench.analyze.models.fit import Settings, fit_formulas  # noqa: PLC0415 - slow to import
    from patternbench.report.pages import models as pages  # noqa: PLC0415 - slow to import

    settings = Settings(factors=known_of(report.factors, study.watch))
    analysis = fit_formulas(report.done.reset_index(drop=True), [formula], settings)
    singles = [
        pages.model_section(one, anchor_of, f"Model {anchor_of.removeprefix('model-')}: {one.fit.response}")
        for anchor_of, one in zip(_anchors(anchor, len(analysis.models)), analysis.models, strict=True)
    ]
    return [*singles, *(pages.multivariate_section(one, f"{anchor}-together") for one in analysis.multivariate)]


def _anchors(anchor: str, models: int) -> list[str]:
    return [anchor] if models == 1 else [f"{anchor}-{i}" for i in range(1, models + 1)]


# --- what to choose


def _recommendation(report: RunReport, study: Study) -> tuple[Sequence[Section], FirstScreen | None]:
    """Return the section on the choice, and the first screen that shows it; none where there is nothing to choose."""
    if study.boundary is not None and study.recommend is None:
        return [], None
    try:
        found = recommended(report, study)
    except DataError as error:
        return [_why_not("recommendation", "What to choose", error)], None
    if found is None:
        return [], None
    section = _chosen(found, study)
    return [predicted.marked(section) if report.simulated else section], first_screen(found)


def _chosen(found: RunRecommendation, study: Study) -> Section:
    recommendation = found.recommendation
    rows = pd.DataFrame([_choice_row(choice, recommendation) for choice in recommendation.choices])
    words = [*_aim_words(recommendation, study), *_summary(recommendation), *flips_in_words(recommendation.flips)]
    words += [*(note.text for note in recommendation.notes), *found.constructed]
    tables, figures = [Table("The choice", rows)], _choice_figures(recommendation)
    clear = all(choice.verdict.is_clear for choice in recommendation.choices) and not found.constructed
    return Section(
        *("recommendation", "What to choose", words, tables, figures),
        choice=found.words,
        choice_is_clear=clear,
        stands=stands(recommendation, found.rounds, found.criteria),
    )


def _aim_words(recommendation: Recommendation, study: Study) -> list[str]:
    limits = f", subject to {' and '.join(one.text for one in recommendation.limits)}" if recommendation.limits else ""
    text = f"Chosen to {recommendation.objectives[0].words}{limits}."
    if study.recommend is None:
        text += f" {ASSUMED}"
    return [text]


def _summary(recommendation: Recommendation) -> list[str]:
    """How often each configuration is chosen over the given conditions, and how often that is clear."""
    names = [
        configuration(c.chosen.scenario, recommendation.conditions) if c.chosen else "nothing"
        for c in recommendation.choices
    ]
    total = len(names)
    if total == 1:
        return [recommendation.choices[0].text]
    clear = Counter(name for name, choice in zip(names, recommendation.choices, strict=True) if choice.verdict.is_clear)
    return [counted(name, count, clear[name], total) for name, count in Counter(names).most_common()]


def counted(name: str, count: int, clear: int, total: int) -> str:
    """Say under how many conditions a configuration is the choice, and under how many of them clearly."""
    where = f"under {count} of {total} conditions"
    if name == "nothing":
        return f"No configuration keeps the limits {where}."
    sure = f"clearly under {clear}, not clear under the others" if clear else "not clear under any of them"
    return f"{name} is the choice {where}: {'clearly under each' if clear == count else sure}."


def _choice_row(choice: Choice, recommendation: Recommendation) -> dict[str, str]:
    where = {"condition": label(choice.conditions)} if choice.conditions else {}
    if choice.chosen is None:
        return {**where, "choose": "nothing keeps the limits"}
    cells = {name: recommendation.quantity(name, value) for name, value in choice.chosen.means.items()}
    against = {f"{one.response} against the baseline": _change(one) for one in choice.against_baseline}
    name = configuration(choice.chosen.scenario, recommendation.conditions)
    return {**where, "choose": name, "verdict": how_surely(choice), **cells, **against}


def _change(one: Against) -> str:
    return one.words.removeprefix(f"{one.response} ")


def _choice_figures(recommendation: Recommendation) -> list[Figure]:
    first = wins(recommendation)
    last = next((choice for choice in reversed(recommendation.choices) if choice.chosen), recommendation.choices[-1])
    spec = trade_off_figure(last, recommendation.conditions, recommendation.units)
    caption = (
        "Each point is a configuration. The line joins those that no other one beats in both. The choice has a ring."
    )
    return [first, Figure(f"Trade-off at {label(last.conditions)}", spec, caption)] if spec else [first]
