"""The section on rounds that stopped once the choice was known: how many there were, and how many equal ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from patternbench.analyze.recommend.recommendation import configuration
from patternbench.analyze.recommend.standing import ChoiceStanding, standings
from patternbench.analyze.rounds import label
from patternbench.analyze.stopping.choice import ChoiceRule
from patternbench.observe.section import Section, Table
from patternbench.report.model import RunReport
from patternbench.report.sections.criteria import criteria_of
from patternbench.study.models import Study
from patternbench.terms.data_problems import plural

ANCHOR, TITLE = "stopping", "Rounds that stopped once the choice was known"


def section(report: RunReport, study: Study, rule: ChoiceRule) -> Section:
    """Say what stopping saved, under which conditions the choice is known, and what equal rounds would have needed."""
    rounds = report.done.reset_index(drop=True)
    found = standings(rounds, criteria_of(study, report.factors, rounds.columns))
    words = list(_words(found, rule, len(report.rounds), len(report.scenarios)))
    return Section(ANCHOR, TITLE, words, [Table("Rounds of each condition", _rows(found, rule))])


def _words(found: Sequence[ChoiceStanding], rule: ChoiceRule, used: int, scenarios: int) -> Iterator[str]:
    known, most = sum(one.decided for one in found), rule.most * scenarios
    yield (
        f"{known} of {plural(len(found), 'choice')} known after {used} of {most} rounds: {1 - used / most:.0%} saved."
    )
    yield _equal(found, scenarios)
    yield _rule(rule)
    waited = sum(not one.between for one in found)
    if waited:
        yield (
            f"Under {waited} of {plural(len(found), 'condition')} no look came between the first and the last one. By "
            "the noise and the differences of their first blocks nothing would have been known earlier, and looking "
            "makes the last look less sure."
        )


def _equal(found: Sequence[ChoiceStanding], scenarios: int) -> str:
    """Return what equal rounds for every scenario would have needed for the choices that are known, looked at once."""
    needed = [one.outlook.at_once for one in found if one.decided and one.outlook]
    rounds = [count for count in needed if count is not None]
    if not rounds or len(rounds) < len(needed):
        return "Equal rounds for every scenario would not have shown the same choices at the most rounds."
    return (
        f"Equal rounds for every scenario would have needed about {max(rounds)} each for the same choices, "
        f"{max(rounds) * scenarios} in all, looked at once and had that number been known before."
    )


def _rule(rule: ChoiceRule) -> str:
    looks = ", ".join(map(str, rule.looks))
    return (
        f"The rounds of a condition ended once its choice was shown to be the best, or at most {rule.margin:g} % worse "
        f"than the best. Configurations left the blocks before once they were shown not to be the choice. Looks came "
        f"after {looks} blocks at the earliest. Each is judged with its part of the error probability, so that all "
        f"looks together are wrong in at most {round(100 * (1 - rule.level))} of 100 choices that are called known."
    )


def _rows(found: Sequence[ChoiceStanding], rule: ChoiceRule) -> pd.DataFrame:
    return pd.DataFrame([_row(one, rule) for one in found])


def _row(one: ChoiceStanding, rule: ChoiceRule) -> dict[str, str]:
    where = {"condition": label(one.conditions)} if one.conditions else {}
    chosen = configuration(one.choice, one.given) if one.choice else "nothing keeps the limits"
    equal = None if one.outlook is None else one.outlook.at_once
    return {
        **where,
        "choice": chosen,
        "known": "yes" if one.decided else f"no: {plural(len(one.contenders), 'configuration')} left",
        "blocks": str(one.blocks),
        "rounds": str(one.rounds),
        "of equal rounds": str(one.blocks * len(one.group)),
        "equal rounds that would show it": f"more than {rule.most}" if equal is None else str(equal),
        "looks": "all" if one.between else "first and last",
    }
