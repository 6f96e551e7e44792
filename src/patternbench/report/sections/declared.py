"""The sections of a run's report that its study asks for: claims, what stopping early saved, models, what to choose.

Plain words first, then tables, then figures. What cannot be analyzed is a section that says why.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from patternbench.analyze.models.fit import Analysis, Settings, fit_formulas
from patternbench.analyze.recommend.objectives import Constraint, parse_limit
from patternbench.analyze.recommend.recommendation import (
    Against,
    Candidate,
    Choice,
    Recommendation,
    configuration,
    flips_in_words,
    listed,
    recommend,
)
from patternbench.analyze.rounds import label
from patternbench.analyze.statements.shown import IF_EVEN, Shown
from patternbench.analyze.stopping import doubts as stopping_doubts
from patternbench.analyze.stopping.rule import Decision, StoppingRule, decide, parse_rule, saving
from patternbench.observe.registry import aim_of
from patternbench.observe.section import Figure, Section, Table
from patternbench.plan.expand import size
from patternbench.plan.factors import Factor, Factors, Level
from patternbench.plan.fraction import aliasing
from patternbench.records.stored import PlannedLook
from patternbench.report.acting_faults import FAULT, ActingFaults, acting_faults
from patternbench.report.labels import RESPONSES, factor_title, level_with_unit
from patternbench.report.layout import detail, line, pattern_text
from patternbench.report.model import RunReport
from patternbench.report.pages import comparison
from patternbench.report.pages import comparison_figures as comparison_section_figures
from patternbench.report.pages import models as pages
from patternbench.report.roles import main_patterns
from patternbench.report.sections import claims
from patternbench.report.sections.construction import as_constructed, by_construction, requested_of
from patternbench.report.sections.criteria import DEFAULT, criteria_of, known_of
from patternbench.report.sections.stands import stands
from patternbench.study.evidence import Rounds
from patternbench.study.models import Study
from patternbench.terms.data_problems import DataError
from patternbench.terms.quantities import level_text, quantity
from patternbench.terms.roles import Role

ALL = 100.0
_FEW = 6
_ASSUMED = "The study does not say what to optimise, so this is assumed. Its field recommend sets other objectives."


def with_sections(report: RunReport, study: Study) -> RunReport:
    """Return the report with the sections on its evidence after those that it has."""
    made = [
        *_claims(report, study),
        *_part(report, study),
        *_stopping(report, study),
        *_models(report, study),
        *_recommendation(report, study),
    ]
    sections = (*report.sections, *made)
    return replace(report, sections=sections, failure_limit=_failure_limit(study), question=study.description)


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
        return [Section(anchor, title, ["This couldn't be computed from this run:", *map(str, error.problems)])]


# --- what it expects


def _claims(report: RunReport, study: Study) -> Sequence[Section]:
    if not study.claims:
        return []
    return _or_why_not(claims.ANCHOR, claims.TITLE, lambda: [claims.section(claims.judged(report, study))])


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
        *(f"Warning: {doubt}" for doubt in stopping_doubts.doubts(values, rule)),
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
    settings = Settings(factors=known_of(report.factors, study.watch))
    analysis: Analysis = fit_formulas(report.done.reset_index(drop=True), [formula], settings)
    singles = [
        pages.model_section(one, anchor_of, f"Model {anchor_of.removeprefix('model-')}: {one.fit.response}")
        for anchor_of, one in zip(_anchors(anchor, len(analysis.models)), analysis.models, strict=True)
    ]
    return [*singles, *(pages.multivariate_section(one, f"{anchor}-together") for one in analysis.multivariate)]


def _anchors(anchor: str, models: int) -> list[str]:
    return [anchor] if models == 1 else [f"{anchor}-{i}" for i in range(1, models + 1)]


# --- what to choose


def _recommendation(report: RunReport, study: Study) -> Sequence[Section]:
    rounds = report.done.reset_index(drop=True)
    choosable = [name for name, factor in report.factors.items() if factor.role is Role.PATTERN]
    if len(rounds) == 0 or rounds[choosable].drop_duplicates().shape[0] < 2:  # noqa: PLR2004 - a choice has two sides
        return []
    criteria = criteria_of(study, report.factors, rounds.columns)
    faults = acting_faults(report.factors, report.scenarios)

    def chosen() -> list[Section]:
        found = recommend(rounds, criteria)
        section = _chosen(found, study, faults)
        reported = by_construction(rounds, requested_of(found))
        if reported:
            lead, *more = section.choice
            words, choice = [*section.words, *reported], [as_constructed(lead, found), *reported, *more]
            section = replace(section, words=words, choice=choice, choice_is_clear=False)
        return [replace(section, stands=stands(found, rounds, criteria))]

    return _or_why_not("recommendation", "What to choose", chosen)


def _chosen(recommendation: Recommendation, study: Study, faults: ActingFaults) -> Section:
    reported = replace(
        recommendation,
        choices=tuple(replace(one, conditions=faults.reported(one.conditions)) for one in recommendation.choices),
    )
    rows = pd.DataFrame([_choice_row(choice, recommendation) for choice in recommendation.choices])
    words = [*_wish_words(recommendation, study), *_summary(recommendation), *flips_in_words(recommendation.flips)]
    words += [note.text for note in recommendation.notes]
    tables, figures = [Table("The choice", rows)], _choice_figures(recommendation)
    glance = _at_a_glance(reported, study, faults.factors)
    clear = all(choice.verdict in ("clear", "kept") for choice in recommendation.choices)
    return Section("recommendation", "What to choose", words, tables, figures, choice=glance, choice_is_clear=clear)


def _at_a_glance(recommendation: Recommendation, study: Study, factors: Factors) -> list[str]:
    """Return the choice for the first screen, then the aim. Few conditions are named; many are counted."""
    reported = where_chosen if len(recommendation.choices) <= _FEW else how_often_chosen
    return ["\n".join(reported(recommendation, factors)), _aim(recommendation, study)]


def where_chosen(recommendation: Recommendation, factors: Factors) -> list[str]:
    """Return a line per answer, with the conditions under which it holds; ties with the same first are one answer."""
    names, alike = _names(recommendation, factors), dict[str, list[Choice]]()
    for choice in recommendation.choices:
        tied = choice.chosen if choice.verdict == "tie" and choice.chosen is choice.ties[0] else None
        alike.setdefault(names.of(tied) if tied else _answer(choice, names), []).append(choice)
    lines = [_line(choices, names) for choices in alike.values()]
    return [text[:1].upper() + text[1:] for text in lines]


def _line(choices: Sequence[Choice], names: _Names) -> str:
    answers = {_answer(choice, names) for choice in choices}
    answer = answers.pop() if len(answers) == 1 else _several_ties(choices, names)
    where = _conditions([choice.conditions for choice in choices], names.factors)
    return f"{where}: {answer}." if where else f"{answer}."


def _several_ties(choices: Sequence[Choice], names: _Names) -> str:
    """Ties with the same first and different others, which are counted."""
    counts = sorted({len(choice.ties) - 1 for choice in choices})
    others = f"{counts[0]} to {counts[-1]} others" if len(counts) > 1 else f"{counts[0]} of the others"
    return f"{names.of(choices[0].chosen)}, but these rounds can't tell it apart from {others}{_near(choices)}"


def _near(choices: Sequence[Choice]) -> str:
    """How much worse than the best these ties are at most, where the same is shown of each."""
    reported = {choice.near_the_best for choice in choices}
    return f"; it is {reported.pop()}" if len(reported) == 1 and all(reported) else ""


@dataclass(frozen=True)
class _Names:
    """How configurations are named; ``reported`` has, for each level of the main pattern, what varies with it."""

    recommendation: Recommendation
    factors: Factors
    main: str | None
    reported: Mapping[str | None, Sequence[str]]

    def of(self, candidate: Candidate | None) -> str:
        """Return a configuration as tables and figures name it: ``retry · 5 ms``; ``nothing`` for none."""
        if candidate is None:
            return "nothing"
        own = _chosen_levels(candidate, self.recommendation)
        kind = own.get(self.main) if self.main else None
        chosen = [(self.factors[name], own[name]) for name in self.reported.get(kind, ()) if name in own]
        rest = detail([(factor, _level(factor, text)) for factor, text in chosen])
        return line(pattern_text(self.factors[self.main], kind), rest) if self.main and kind else rest


def _names(recommendation: Recommendation, factors: Factors) -> _Names:
    every = [_chosen_levels(one, recommendation) for choice in recommendation.choices for one in choice.candidates]
    chosen = dict.fromkeys(name for own in every for name in own)
    main = next((name for name in main_patterns(factors) if name in chosen), None)
    kinds: dict[str | None, list[dict[str, str]]] = {}
    for own in every:
        kinds.setdefault(own.get(main) if main else None, []).append(own)
    reported = {
        kind: [name for name in chosen if name != main and _varies(name, alike)] for kind, alike in kinds.items()
    }
    return _Names(recommendation, factors, main, reported)


def _varies(name: str, levels: Sequence[Mapping[str, str]]) -> bool:
    return len({own.get(name) for own in levels}) > 1


def _chosen_levels(candidate: Candidate, recommendation: Recommendation) -> dict[str, str]:
    """Return the levels that a configuration chooses: those that aren't of the condition."""
    levels = candidate.scenario.levels.items()
    return {name: level_text(level) for name, level in levels if name not in recommendation.conditions}


def _level(factor: Factor, text: str) -> Level:
    """Return the level of a factor that is written so."""
    return next((level for level in factor.levels if level_text(level) == text), text)


def how_often_chosen(recommendation: Recommendation, factors: Factors) -> list[str]:
    """Return how many conditions have which clear choice, how many none, and what came first there."""
    names = _names(recommendation, factors)
    kinds: dict[str, list[str]] = {"clear": [], "kept": [], "nothing": [], "unclear": [], "only": []}
    for choice in recommendation.choices:
        kinds[_kind(choice)].append(names.of(choice.chosen))
    total = len(recommendation.choices)
    lines = [f"Clearly {name} under {count} of {total} conditions." for name, count in _most_often(kinds["clear"])]
    kept = f"of those that kept {_limits(recommendation)} in all rounds"
    lines += [f"Clearly {name}, {kept}, under {n} of {total} conditions." for name, n in _most_often(kinds["kept"])]
    if kinds["nothing"]:
        kept = "keeps" if all(choice.sure for choice in recommendation.choices if choice.chosen is None) else "kept"
        lines += [f"Nothing {kept} {_limits(recommendation)} under {len(kinds['nothing'])} of {total} conditions."]
    if kinds["unclear"]:
        first = listed([f"{name} ({count})" for name, count in _most_often(kinds["unclear"])])
        lines += [
            f"No choice is clear under {len(kinds['unclear'])} of {total} conditions. Which came first there, and how "
            f"often: {first}."
        ]
    if kinds["only"]:
        lines += [f"Only one configuration was measured under {len(kinds['only'])} of {total} conditions."]
    loose = sum(choice.shown is Shown.IF_EVEN for choice in recommendation.choices)
    return [*lines, f"Of these answers, {loose} hold{'s' if loose == 1 else ''} {IF_EVEN}."] if loose else lines


def _kind(choice: Choice) -> str:
    if choice.chosen is None:
        return "nothing"
    if _is_alone(choice):
        return "only"
    return choice.verdict if choice.verdict in ("clear", "kept") else "unclear"


def _is_alone(choice: Choice) -> bool:
    """Whether nothing else was measured under its condition, so that there was nothing to choose from."""
    return len(choice.candidates) == 1


def _most_often(names: Sequence[str]) -> list[tuple[str, int]]:
    return Counter(names).most_common()


def _answer(choice: Choice, names: _Names) -> str:
    """Return what to choose under one condition, and how sure that is."""
    limits = _limits(names.recommendation)
    if choice.chosen is None:
        return f"nothing {'keeps' if choice.sure else 'kept'} {limits}{choice.shown.condition}{_nearest(choice, names)}"
    name = names.of(choice.chosen)
    if choice.verdict == "unsure":
        return f"{name} came first, but which ones keep {limits} is inconclusive"
    if _is_alone(choice):
        return f"only {name} was measured"
    if choice.verdict in ("clear", "kept"):
        kept = f", of those that kept {limits} in all {choice.rounds} rounds"
        return f"clearly {name}{kept if choice.verdict == 'kept' else ''}{choice.shown.condition}"
    if choice.chosen is not choice.ties[0] and not choice.gains:
        return f"{name}, because these rounds show no gain over it{_near([choice])}"
    others = [names.of(one) for one in choice.ties if one is not choice.chosen]
    gain = choice.gains.condition if choice.gains else ""
    shown = f", which shows a gain{gain}" if gain else ""
    return f"{name}{shown}, but these rounds can't tell it apart from {listed(others)}{_near([choice])}"


def _nearest(choice: Choice, names: _Names) -> str:
    """Return the configuration that came closest to the limit, if there is one limit."""
    if len(names.recommendation.limits) != 1:
        return ""
    limit = names.recommendation.limits[0]
    sign = 1 if limit.at_most else -1
    nearest = min(choice.candidates, key=lambda one: sign * one.means[limit.response])
    value = names.recommendation.quantity(limit.response, nearest.means[limit.response])
    return f"; closest: {names.of(nearest)} with {value}"


def _limits(recommendation: Recommendation) -> str:
    return " and ".join(_limit(one, recommendation) for one in recommendation.limits)


def _limit(limit: Constraint, recommendation: Recommendation) -> str:
    bound = recommendation.quantity(limit.response, limit.bound)
    return f"{_title(limit.response)} {'at most' if limit.at_most else 'at least'} {bound}"


def _title(response: str) -> str:
    """Return a response as findings call it, within a sentence."""
    title = RESPONSES[response].title if response in RESPONSES else response
    return title if title[1:2].isdigit() else title[:1].lower() + title[1:]


def _aim(recommendation: Recommendation, study: Study) -> str:
    first = recommendation.objectives[0]
    limits = f" with {_limits(recommendation)}" if recommendation.limits else ""
    text = f"Aim: the {'lowest' if first.minimise else 'highest'} {_title(first.response)}{limits}."
    assumed = "" if study.recommend else _ASSUMED
    return " ".join(filter(None, [text, assumed, *_notes_of_observers(recommendation)]))


def _notes_of_observers(recommendation: Recommendation) -> list[str]:
    """Return what to consider when responses of an observer decide the choice."""
    aim = aim_of(set(requested_of(recommendation)))
    return [aim.note] if aim else []


def _conditions(conditions: Sequence[Mapping[str, object]], factors: Factors) -> str:
    """Conditions in words; a complete grid as the levels of its factors: ``abort percentage 30 %, users 20 or 60``."""
    grid = {name: _levels(name, conditions, factors) for name in conditions[0]}
    if math.prod(map(len, grid.values())) != len(conditions):
        return "; ".join(_conditions([one], factors) for one in conditions)
    return ", ".join(
        _either(levels) if name == FAULT else f"{factor_title(name)} {_either(levels)}" for name, levels in grid.items()
    )


def _either(levels: Sequence[str]) -> str:
    *first, last = levels
    return f"{', '.join(first)} or {last}" if first else last


def _levels(name: str, conditions: Sequence[Mapping[str, object]], factors: Factors) -> list[str]:
    return list(dict.fromkeys(level_with_unit(factors[name], level_text(one[name])) for one in conditions))


def _how_surely(choice: Choice) -> str:
    kept = f"clearly, of those that kept the limits in all {choice.rounds} rounds"
    even = choice.shown.condition
    return {"clear": f"clearly{even}", "kept": f"{kept}{even}", "tie": f"a tie of {len(choice.ties)}"}.get(
        choice.verdict, "not clear"
    )


def _wish_words(recommendation: Recommendation, study: Study) -> list[str]:
    limits = f", subject to {' and '.join(one.text for one in recommendation.limits)}" if recommendation.limits else ""
    text = f"Chosen to {recommendation.objectives[0].words}{limits}."
    if study.recommend is None:
        text += f" {_ASSUMED}"
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
    clear = Counter(
        name for name, choice in zip(names, recommendation.choices, strict=True) if choice.verdict in ("clear", "kept")
    )
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
    return {**where, "choose": name, "verdict": _how_surely(choice), **cells, **against}


def _change(one: Against) -> str:
    return one.words.removeprefix(f"{one.response} ")


def _choice_figures(recommendation: Recommendation) -> list[Figure]:
    wins = comparison.wins(recommendation)
    last = next((choice for choice in reversed(recommendation.choices) if choice.chosen), recommendation.choices[-1])
    spec = comparison_section_figures.trade_off_figure(last, recommendation.conditions, recommendation.units)
    caption = (
        "Each point is a configuration. The line joins those that no other one beats in both. The choice has a ring."
    )
    return [wins, Figure(f"Trade-off at {label(last.conditions)}", spec, caption)] if spec else [wins]
