"""Whether a study's rule, formulas, objectives and claims make sense for its factors: asked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from patternbench.analyze import derived
from patternbench.analyze.models.formula_text import parse_formula
from patternbench.analyze.recommend.objectives import parse_limit, parse_objective
from patternbench.analyze.stopping.rule import StoppingRule, parse_rule
from patternbench.observe.registry import responses_of
from patternbench.plan.expand import Plan
from patternbench.report.choice_rule import choice_rule_of
from patternbench.run.before import boundary_problems, capacity_problems, claimed
from patternbench.study.evidence import Rounds, Until
from patternbench.study.models import Study
from patternbench.terms import data_problems as analysis
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.terms.responses import RECORDED, ROUND_COSTS
from patternbench.terms.roles import Role

RESPONSES = tuple(response.name for response in RECORDED)
KNOWN = "response or factor of this study"
BESIDES = ("block", "round")
"""Columns that a formula may name in addition to factors and responses: the order of rounds may explain something."""


def rule_of(study: Study) -> StoppingRule | None:
    """Return the rule by which rounds stop once a mean is known, or None where the study asks for something else."""
    rounds = study.rounds
    if not isinstance(rounds, Rounds) or not isinstance(rounds.until, Until):
        return None
    return parse_rule(rounds.until.model_dump(), rounds.min, rounds.max)


def check(study: Study, plan: Plan) -> None:
    """Raise InputError listing all that is wrong with the study's rule, models, criteria and claims."""
    factors = list(plan.factors)
    problems = [
        *_rule_problems(study, plan),
        *_derived_problems(study, factors),
        *_model_problems(study, factors),
        *_wish_problems(study),
        *boundary_problems.problems(study, plan, _measured(study)),
        *capacity_problems.problems(study, plan),
        *claimed.problems(study, plan, [*_responses(study), *ROUND_COSTS]),
    ]
    if problems:
        raise InputError(problems)


def _rule_problems(study: Study, plan: Plan) -> Iterator[Problem]:
    if isinstance(study.rounds, Rounds):
        yield from _problems_of("", lambda: (rule_of(study), choice_rule_of(study)))
        if isinstance(study.rounds.until, Until):
            yield from _unknown([study.rounds.until.response], RESPONSES, "rounds.until.response", "response")
        elif not any(factor.role is Role.PATTERN and factor.varies for factor in plan.factors.values()):
            hint = "vary a strategy or a setting whose role is `pattern`, or write {response: p95, half_width: 5%}"
            yield Problem("there is nothing to choose from", "rounds.until.choice", hint=hint)


def _derived_problems(study: Study, factors: list[str]) -> Iterator[Problem]:
    for name, text in study.derived.items():
        path = f"derived.{name}"
        wrong = list(_problems_of(path, partial(derived.parse, text)))
        known = [*_measured(study), *ROUND_COSTS, *factors]
        yield from wrong or _unknown(derived.names(derived.parse(text)), known, path, KNOWN)


def _measured(study: Study) -> list[str]:
    """Return the responses of every round: of its attempts, and of its observers."""
    return [*RESPONSES, *(response.name for response in responses_of(study.watch))]


def _covariates(study: Study) -> list[str]:
    """Explanations of a response other than factors: responses of observers, such as counted calls, or derived ones."""
    observed = [response.name for response in responses_of(study.watch)]
    return [*observed, *(derived.PREFIX + name for name in study.derived)]


def _responses(study: Study) -> list[str]:
    return [*_measured(study), *(derived.PREFIX + name for name in study.derived)]


def _model_problems(study: Study, factors: list[str]) -> Iterator[Problem]:
    for index, text in enumerate(study.models):
        path = f"models[{index}]"
        wrong = list(_problems_of(path, partial(parse_formula, text)))
        yield from wrong
        if not wrong:
            parsed = parse_formula(text)
            yield from _unknown(parsed.left, _responses(study), path, "response")
            allowed = [*factors, *BESIDES, *_covariates(study)]
            yield from _unknown(parsed.right, allowed, path, "factor or covariate of this study")


def _wish_problems(study: Study) -> Iterator[Problem]:
    if study.recommend is None:
        return
    for key, texts, parse in (
        ("objectives", study.recommend.objectives, parse_objective),
        ("subject_to", study.recommend.subject_to, parse_limit),
    ):
        for index, text in enumerate(texts):
            path = f"recommend.{key}[{index}]"
            wrong = list(_problems_of(path, partial(parse, text)))
            yield from wrong or _unknown([parse(text).response], _responses(study), path, "response")


def _problems_of(path: str, attempt: Callable[[], object]) -> Iterator[Problem]:
    """Yield the problems that an analysis has with a text of the study, at the text's place in the study."""
    try:
        attempt()
    except analysis.DataError as error:
        for problem in error.problems:
            yield Problem(problem.what.rstrip("."), path=path or problem.where, hint=problem.remedy)


def _unknown(names: Iterable[str], allowed: Collection[str], path: str, kind: str) -> Iterator[Problem]:
    for name in names:
        if name not in allowed:
            hint = did_you_mean(name, allowed)
            yield Problem(f"`{name}` isn't a {kind}", path=path, allowed=", ".join(allowed), hint=hint)
