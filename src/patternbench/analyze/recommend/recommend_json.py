"""The documented JSON of a recommendation (keys: docs/analysis.md)."""

from __future__ import annotations

from patternbench.analyze.plain_json import notes_json, plain
from patternbench.analyze.recommend.recommendation import (
    Against,
    Candidate,
    Choice,
    Flip,
    Recommendation,
    configuration,
)

FORMAT = "patternbench/recommendation/1"


def recommendation_json(recommendation: Recommendation) -> dict[str, object]:
    """Lay out a recommendation as plain JSON values."""
    return plain(
        {
            "format": FORMAT,
            "objectives": [o.words for o in recommendation.objectives],
            "subject_to": [limit.text for limit in recommendation.limits],
            "given": list(recommendation.conditions),
            "choices": [_choice_json(choice, recommendation.conditions) for choice in recommendation.choices],
            "flips": [_flip_json(flip) for flip in recommendation.flips],
            "notes": notes_json(recommendation.notes),
        }
    )


def _choice_json(choice: Choice, conditions: tuple[str, ...]) -> dict[str, object]:
    chosen = choice.chosen
    return {
        "given": dict(choice.conditions),
        "in_words": choice.text,
        "verdict": choice.verdict,
        "p": choice.p,
        "firm": choice.firm,
        "ties": [configuration(c.scenario, conditions) for c in choice.ties],
        "chosen": None if chosen is None else configuration(chosen.scenario, conditions),
        "wins": None if chosen is None else chosen.wins,
        "against_baseline": [_against_json(one) for one in choice.against_baseline],
        "candidates": [_candidate_json(c, conditions) for c in choice.candidates],
    }


def _candidate_json(c: Candidate, conditions: tuple[str, ...]) -> dict[str, object]:
    return {
        "configuration": configuration(c.scenario, conditions),
        "levels": dict(c.scenario.levels),
        "means": dict(c.means),
        "feasible": c.feasible,
        "feasible_share": c.feasible_share,
        "wins": c.wins,
        "on_front": c.on_front,
        "p": c.p,
    }


def _against_json(one: Against) -> dict[str, object]:
    return {
        "response": one.response,
        "baseline": one.baseline,
        "means": list(one.means),
        "relative_percent": one.relative,
        "relative_ci_low": one.relative_interval.low,
        "relative_ci_high": one.relative_interval.high,
        "ci_low": one.interval.low,
        "ci_high": one.interval.high,
    }


def _flip_json(flip: Flip) -> dict[str, object]:
    return {
        "factor": flip.factor,
        "between": list(flip.between),
        "others": dict(flip.others),
        "choices": list(flip.choices),
        "sure": flip.sure,
    }
