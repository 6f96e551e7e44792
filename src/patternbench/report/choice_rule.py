"""The rule by which a study's rounds stop once the choice is known: apart from what draws it, as plan reads it, too."""

from __future__ import annotations

from patternbench.analyze.stopping.choice import ChoiceRule, parse_choice
from patternbench.study.evidence import Rounds, UntilChosen
from patternbench.study.models import Study


def choice_rule_of(study: Study) -> ChoiceRule | None:
    """Return the rule by which rounds stop once the choice is known, or None where the study asks for something else.

    Raises ``DataError`` for one that can't be read.
    """
    rounds = study.rounds
    if not isinstance(rounds, Rounds) or not isinstance(rounds.until, UntilChosen):
        return None
    return parse_choice(rounds.until.choice, rounds.min, rounds.max)
