"""What to choose, in words: the answer under each condition, how configurations are named, how sure an answer is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from patternbench.analyze.recommend.objectives import Constraint
from patternbench.analyze.recommend.recommendation import Candidate, Choice, Recommendation, listed
from patternbench.analyze.statements.shown import IF_EVEN, Shown
from patternbench.analyze.statements.verdict import ChoiceVerdict
from patternbench.observe.registry import aim_of
from patternbench.plan.factors import Factor, Factors, Level
from patternbench.report.acting_faults import FAULT
from patternbench.report.labels import RESPONSES, factor_title, level_with_unit
from patternbench.report.layout import detail, line, pattern_text
from patternbench.report.roles import main_patterns
from patternbench.report.sections.construction import requested_of
from patternbench.study.models import Study
from patternbench.terms.quantities import level_text

FEW = 6
"""Conditions that are named one by one; more are counted."""
ASSUMED = "The study does not say what to optimise, so this is assumed. Its field recommend sets other objectives."


def at_a_glance(recommendation: Recommendation, study: Study, factors: Factors) -> list[str]:
    """Return the choice for the first screen, then the aim. Few conditions are named; many are counted."""
    reported = where_chosen if len(recommendation.choices) <= FEW else how_often_chosen
    return ["\n".join(reported(recommendation, factors)), _aim(recommendation, study)]


def where_chosen(recommendation: Recommendation, factors: Factors) -> list[str]:
    """Return a line per answer, with the conditions under which it holds; ties with the same first are one answer."""
    names, alike = names_of(recommendation, factors), dict[str, list[Choice]]()
    for choice in recommendation.choices:
        tied = choice.chosen if choice.verdict is ChoiceVerdict.TIE and choice.chosen is choice.ties[0] else None
        alike.setdefault(names.of(tied) if tied else _answer(choice, names), []).append(choice)
    lines = [_line(choices, names) for choices in alike.values()]
    return [text[:1].upper() + text[1:] for text in lines]


def _line(choices: Sequence[Choice], names: ChoiceNames) -> str:
    answers = {_answer(choice, names) for choice in choices}
    answer = answers.pop() if len(answers) == 1 else _several_ties(choices, names)
    where = conditions_in_words([choice.conditions for choice in choices], names.factors)
    return f"{where}: {answer}." if where else f"{answer}."


def _several_ties(choices: Sequence[Choice], names: ChoiceNames) -> str:
    """Ties with the same first and different others, which are counted."""
    counts = sorted({len(choice.ties) - 1 for choice in choices})
    others = f"{counts[0]} to {counts[-1]} others" if len(counts) > 1 else f"{counts[0]} of the others"
    return f"{names.of(choices[0].chosen)}, but these rounds can't tell it apart from {others}{_near(choices)}"


def _near(choices: Sequence[Choice]) -> str:
    """How much worse than the best these ties are at most, where the same is shown of each."""
    reported = {choice.near_the_best for choice in choices}
    return f"; it is {reported.pop()}" if len(reported) == 1 and all(reported) else ""


@dataclass(frozen=True)
class ChoiceNames:
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


def names_of(recommendation: Recommendation, factors: Factors) -> ChoiceNames:
    """Return how the configurations of a recommendation are named."""
    every = [_chosen_levels(one, recommendation) for choice in recommendation.choices for one in choice.candidates]
    chosen = dict.fromkeys(name for own in every for name in own)
    main = next((name for name in main_patterns(factors) if name in chosen), None)
    kinds: dict[str | None, list[dict[str, str]]] = {}
    for own in every:
        kinds.setdefault(own.get(main) if main else None, []).append(own)
    reported = {
        kind: [name for name in chosen if name != main and _varies(name, alike)] for kind, alike in kinds.items()
    }
    return ChoiceNames(recommendation, factors, main, reported)


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
    names = names_of(recommendation, factors)
    kinds: dict[str, list[str]] = {"clear": [], "kept": [], "nothing": [], "unclear": [], "only": []}
    for choice in recommendation.choices:
        kinds[_kind(choice)].append(names.of(choice.chosen))
    total = len(recommendation.choices)
    lines = [f"Clearly {name} under {count} of {total} conditions." for name, count in _most_often(kinds["clear"])]
    kept = f"of those that kept {limits_in_words(recommendation)} in all rounds"
    lines += [f"Clearly {name}, {kept}, under {n} of {total} conditions." for name, n in _most_often(kinds["kept"])]
    if kinds["nothing"]:
        kept = "keeps" if all(choice.sure for choice in recommendation.choices if choice.chosen is None) else "kept"
        lines += [
            f"Nothing {kept} {limits_in_words(recommendation)} under {len(kinds['nothing'])} of {total} conditions."
        ]
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
    if is_alone(choice):
        return "only"
    return choice.verdict if choice.verdict.is_clear else "unclear"


def is_alone(choice: Choice) -> bool:
    """Whether nothing else was measured under its condition, so that there was nothing to choose from."""
    return len(choice.candidates) == 1


def _most_often(names: Sequence[str]) -> list[tuple[str, int]]:
    return Counter(names).most_common()


def _answer(choice: Choice, names: ChoiceNames) -> str:
    """Return what to choose under one condition, and how sure that is."""
    limits = limits_in_words(names.recommendation)
    if choice.chosen is None:
        return f"nothing {'keeps' if choice.sure else 'kept'} {limits}{choice.shown.condition}{_nearest(choice, names)}"
    name = names.of(choice.chosen)
    if choice.verdict is ChoiceVerdict.UNSURE:
        return f"{name} came first, but which ones keep {limits} is inconclusive"
    if is_alone(choice):
        return f"only {name} was measured"
    if choice.verdict.is_clear:
        kept = f", of those that kept {limits} in all {choice.rounds} rounds"
        return f"clearly {name}{kept if choice.verdict is ChoiceVerdict.KEPT else ''}{choice.shown.condition}"
    if choice.chosen is not choice.ties[0] and not choice.gains:
        return f"{name}, because these rounds show no gain over it{_near([choice])}"
    others = [names.of(one) for one in choice.ties if one is not choice.chosen]
    gain = choice.gains.condition if choice.gains else ""
    shown = f", which shows a gain{gain}" if gain else ""
    return f"{name}{shown}, but these rounds can't tell it apart from {listed(others)}{_near([choice])}"


def _nearest(choice: Choice, names: ChoiceNames) -> str:
    """Return the configuration that came closest to the limit, if there is one limit."""
    if len(names.recommendation.limits) != 1:
        return ""
    limit = names.recommendation.limits[0]
    sign = 1 if limit.at_most else -1
    nearest = min(choice.candidates, key=lambda one: sign * one.means[limit.response])
    value = names.recommendation.quantity(limit.response, nearest.means[limit.response])
    return f"; closest: {names.of(nearest)} with {value}"


def limits_in_words(recommendation: Recommendation) -> str:
    """Return the limits of a recommendation, within a sentence: ``failed calls at most 1 %``."""
    return " and ".join(_limit(one, recommendation) for one in recommendation.limits)


def _limit(limit: Constraint, recommendation: Recommendation) -> str:
    bound = recommendation.quantity(limit.response, limit.bound)
    return f"{in_a_sentence(limit.response)} {'at most' if limit.at_most else 'at least'} {bound}"


def in_a_sentence(response: str) -> str:
    """Return a response as findings call it, within a sentence."""
    title = RESPONSES[response].title if response in RESPONSES else response
    return title if title[1:2].isdigit() else title[:1].lower() + title[1:]


def _aim(recommendation: Recommendation, study: Study) -> str:
    first = recommendation.objectives[0]
    limits = f" with {limits_in_words(recommendation)}" if recommendation.limits else ""
    text = f"Aim: the {'lowest' if first.minimise else 'highest'} {in_a_sentence(first.response)}{limits}."
    assumed = "" if study.recommend else ASSUMED
    return " ".join(filter(None, [text, assumed, *_notes_of_observers(recommendation)]))


def _notes_of_observers(recommendation: Recommendation) -> list[str]:
    """Return what to consider when responses of an observer decide the choice."""
    aim = aim_of(set(requested_of(recommendation)))
    return [aim.note] if aim else []


def conditions_in_words(conditions: Sequence[Mapping[str, object]], factors: Factors) -> str:
    """Return conditions in words; a whole grid by its factors' levels: ``abort percentage 30 %, users 20 or 60``."""
    grid = {name: _levels(name, conditions, factors) for name in conditions[0]}
    if math.prod(map(len, grid.values())) != len(conditions):
        return "; ".join(conditions_in_words([one], factors) for one in conditions)
    return ", ".join(
        _either(levels) if name == FAULT else f"{factor_title(name)} {_either(levels)}" for name, levels in grid.items()
    )


def _either(levels: Sequence[str]) -> str:
    *first, last = levels
    return f"{', '.join(first)} or {last}" if first else last


def _levels(name: str, conditions: Sequence[Mapping[str, object]], factors: Factors) -> list[str]:
    return list(dict.fromkeys(level_with_unit(factors[name], level_text(one[name])) for one in conditions))


def how_surely(choice: Choice) -> str:
    """Say how sure a choice is, in the table of all choices."""
    kept = f"clearly, of those that kept the limits in all {choice.rounds} rounds"
    even = choice.shown.condition
    return {
        ChoiceVerdict.CLEAR: f"clearly{even}",
        ChoiceVerdict.KEPT: f"{kept}{even}",
        ChoiceVerdict.TIE: f"a tie of {len(choice.ties)}",
    }.get(choice.verdict, "not clear")
