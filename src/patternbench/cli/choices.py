"""What ``plan`` says of a study whose rounds end once the choice is known: how many they are likely to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patternbench.analyze.recommend.outlook import Outlook
from patternbench.analyze.recommend.standing import standings
from patternbench.analyze.rounds import label
from patternbench.analyze.stopping.choice import ChoiceRule
from patternbench.cli import output
from patternbench.cli.shared import read
from patternbench.plan.expand import Plan
from patternbench.records.folder import RunFolder
from patternbench.report.choice_rule import choice_rule_of
from patternbench.report.sections.criteria import criteria_of
from patternbench.study.models import Study
from patternbench.terms.data_problems import plural

_NAMED = 6
__all__ = ["as_json", "choice_rule_of", "expected", "sentences"]


@dataclass(frozen=True)
class ExpectedChoice:
    """What is expected of one condition, if differences and noise are those of another run."""

    where: str
    outlook: Outlook


@dataclass(frozen=True)
class ExpectedRounds:
    """What is expected of a study: its conditions, and how long one of its rounds took in the other run."""

    conditions: Sequence[ExpectedChoice]
    seconds: float

    @property
    def rounds(self) -> int:
        """How many rounds it will likely be in all."""
        return sum(one.outlook.rounds if one.outlook.pays else one.outlook.equal for one in self.conditions)

    @property
    def equal(self) -> int:
        """How many rounds equal ones are to the most."""
        return sum(one.outlook.equal for one in self.conditions)


def expected(study: Study, plan: Plan, run: Path) -> ExpectedRounds:
    """Return what to expect if differences and noise are those of a run.

    Raises ``DataError`` where it lacks a factor.
    """
    RunFolder(run).check()
    table = read(run)
    criteria = criteria_of(study, plan.factors, table.columns)
    found = standings(table, criteria)
    conditions = [ExpectedChoice(label(one.conditions), one.outlook) for one in found if one.outlook]
    return ExpectedRounds(conditions, float(table.seconds.mean()))


def sentences(rule: ChoiceRule, found: ExpectedRounds | None) -> Iterator[str]:
    """Say when is looked, and what is expected."""
    looks = ", ".join(map(str, rule.looks))
    yield (
        f"rounds end once the choice is at most {rule.margin:g} % worse than the best; looks after {looks} blocks, "
        "each with its part of the error probability"
    )
    if found is None:
        yield "  how many that will likely be: --from RUN (if differences and noise are as in that run)"
        return
    yield _in_all(found)
    for one in found.conditions[:_NAMED]:
        yield f"  - {one.where or 'all configurations'}: {_of(one.outlook, rule)}"
    if len(found.conditions) > _NAMED:
        yield f"  - and {len(found.conditions) - _NAMED} more conditions (--json has them)"


def as_json(rule: ChoiceRule, found: ExpectedRounds | None) -> dict[str, object]:
    """Return the same as plain data."""
    if found is None:
        return {"looks": list(rule.looks)}
    conditions = [{"given": one.where, **_data(one.outlook)} for one in found.conditions]
    return {"looks": list(rule.looks), "rounds": found.rounds, "equal_rounds": found.equal, "conditions": conditions}


def _data(one: Outlook) -> dict[str, object]:
    known = {"decided_after": one.decided, "equal_rounds_to_decide": one.at_once, "looks_pay": one.pays}
    return {"rounds": one.rounds, "equal_rounds": one.equal, **known}


def _in_all(found: ExpectedRounds) -> str:
    paying = sum(one.outlook.pays for one in found.conditions)
    return (
        f"  by that run: about {plural(found.rounds, 'round')} ({output.seconds(found.rounds * found.seconds)}), where "
        f"equal rounds to the most are {found.equal}; looks before the end pay under {paying} of "
        f"{plural(len(found.conditions), 'condition')}"
    )


def _of(one: Outlook, rule: ChoiceRule) -> str:
    if one.decided is not None:
        return f"known after about {plural(one.decided, 'block')}, {plural(one.rounds, 'round')}"
    if one.pays:
        return f"open after {rule.most} blocks; what leaves before spares {one.equal - one.rounds} rounds"
    return f"open until the last look, after {rule.most} blocks: nothing is expected to leave before"
