"""How many choices rounds show that stop once the choice is known, against equal rounds, on rounds that were measured.

    .venv/bin/python -m benchmarks.replay.run [--draws 100]

Whole blocks of the kept rounds of published pages are drawn with replacement, so that each draw is a further run of the
same machine. What a choice should have been is what all kept rounds together have as the best. Nothing is measured and
no clock is read: the numbers follow from the kept rounds and the seed.

``.venv/bin/python -m benchmarks.replay.tables`` prints the table of the committed result.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.evidence import Result, store
from benchmarks.replay.replaying import replayed
from benchmarks.replay.tables import PART, printed

from patternbench.analyze.recommend.judging import Judge, Judgement
from patternbench.analyze.recommend.recommendation import Criteria, Place, arranged
from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.statements.estimate import is_relative, middle
from patternbench.analyze.stopping.choice import ChoiceRule
from patternbench.records.inputs import Inputs
from patternbench.report.model import counting
from patternbench.report.sections.criteria import criteria_of
from patternbench.run.before import preflight
from patternbench.study.load import load

ROOT = Path(__file__).resolve().parents[2]
REPRODUCTIONS = "docs/reproductions"
MARGIN = 5.0
TIME = "minimise AverageSuccessTime"


@dataclass(frozen=True)
class KeptStudy:
    """The kept rounds of a study, and how many rounds a form of it has, the quick one or the whole.

    Without an ``objective`` the choice is that of the study's report. ``really`` are the rounds of a run that was
    measured, not drawn, with rounds that stop once the choice is known: from 3 of each to as many as the form has.
    """

    name: str
    study: str
    rounds: str
    quick: int
    objective: str = ""
    really: str = ""

    def criteria(self, columns: Collection[str]) -> Criteria:
        """Return what is chosen, by which objective and under which conditions, as the study's report has it."""
        file = ROOT / self.study
        study = load(file)
        plan = preflight.expanded(study, Inputs(file.parent))
        found = criteria_of(study, plan.factors, columns)
        found = replace(found, by=tuple(name for name in found.by if name in columns))
        return replace(found, objectives=(self.objective,), limits=()) if self.objective else found


QUICKSTART = "benchmarks/replay/rounds"
"""Columns of the rounds of two runs of the quickstart: with ``rounds: 40``, and with ``rounds: {until: {choice: within
5%}, min: 3, max: 6}``."""
ADERALDO = (f"{REPRODUCTIONS}/aderaldo-2024/remade.yaml", f"{REPRODUCTIONS}/aderaldo-2024/remade.parquet")
KEPT = (
    KeptStudy("libraries-quick", "studies/libraries.yaml", "docs/libraries/rounds.parquet", 8),
    KeptStudy("resilience-patterns-all", *ADERALDO, 8),
    KeptStudy("resilience-patterns-all", *ADERALDO, 8, TIME),
    KeptStudy("resilience-patterns-all", *ADERALDO, 8, "minimise TotalExecutionTime"),
    KeptStudy(
        "quickstart", "studies/quickstart.yaml", f"{QUICKSTART}/equal.parquet", 6, "", f"{QUICKSTART}/stopped.parquet"
    ),
    KeptStudy("rule-of-thumb", "studies/rule-of-thumb.yaml", "docs/rule-of-thumb/rounds.parquet", 10, TIME),
)
"""Those of insurance-combined are of two forms together."""


@dataclass(frozen=True)
class DrawOutcome:
    """What one draw showed: how many choices were known and right, known and wrong, and how many rounds that took."""

    right: int
    wrong: int
    rounds: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--only", default="", help="studies whose names contain this")
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    rows = [row for one in KEPT if arguments.only in one.name for row in of_study(one, arguments.draws)]
    print(printed(store(PART, {"draws": arguments.draws}, arguments.out, rows=rows)))


def of_study(kept: KeptStudy, draws: int) -> Iterator[Result]:
    """Yield what each way of spending rounds showed over all draws."""
    rounds = counting(pd.read_parquet(ROOT / kept.rounds)).reset_index(drop=True)
    criteria = kept.criteria(rounds.columns)
    found = arranged(rounds, criteria)
    judge, best = replace(found.judge, margin=MARGIN), [_good(group, found.judge) for _, group in found.places]
    for name, fewest, most in ways(kept.quick):
        rng = np.random.default_rng(kept.quick)
        drawn = (_drawn(found.places, most, rng) for _ in range(draws))
        shown = [_shown(places, judge, (fewest, most), best) for places in drawn]
        yield _row(kept, criteria, found.places, name, shown)
    if kept.really:
        own = arranged(counting(pd.read_parquet(ROOT / kept.really)).reset_index(drop=True), criteria).places
        least = _least(kept.quick)
        shown = [_shown(own, judge, (least, kept.quick), best)]
        yield _row(kept, criteria, own, f"until within 5 %, {least} to {kept.quick}, a run of its own", shown)


def _row(
    kept: KeptStudy, criteria: Criteria, places: Sequence[Place], way: str, shown: Sequence[DrawOutcome]
) -> Result:
    """Return what a way of spending rounds showed, on average over draws."""
    configurations, draws = sum(len(group) for _, group in places), len(shown)
    return {
        "study": kept.name,
        "objective": criteria.objectives[0],
        "draws": draws,
        "choices": len(places),
        "configurations": configurations,
        "quick": kept.quick,
        "way": way,
        "right": sum(one.right for one in shown) / draws / len(places),
        "wrong": sum(one.wrong for one in shown) / draws / len(places),
        "rounds": sum(one.rounds for one in shown) / draws / configurations,
    }


def _least(quick: int) -> int:
    """Return half of the rounds of a form, three at least."""
    return max(3, quick // 2)


def ways(quick: int) -> list[tuple[str, int, int]]:
    """Return the ways of spending rounds: their names, the fewest and the most rounds (alike where they are equal)."""
    half = _least(quick)
    return [
        (f"{quick} equal rounds, as its study has", quick, quick),
        (f"{half} equal rounds", half, half),
        (f"until within 5 %, 3 to {quick}", 3, quick),
        ("until within 5 %, 4 to 40", 4, 40),
        ("40 equal rounds", 40, 40),
    ]


def _good(group: Sequence[ScenarioRounds], judge: Judge) -> set[str]:
    """Return the configurations that all kept rounds have within the margin of the best that keeps the limits."""
    (judged,) = judge.judgements([group])
    response = judge.objectives[0].response
    in_percent = is_relative(response, *(one.values[response] for one in group))
    centres = [middle(one.values[response], in_percent) for one in group]
    kept = [i for i in range(len(group)) if judged.ranking.feasible[i]]
    sign = 1 if judge.objectives[0].minimise else -1
    least = min((sign * np.log(centres[i]) for i in kept), default=np.nan)
    return {group[i].name for i in kept if sign * np.log(centres[i]) <= least + np.log1p(MARGIN / 100)} or {""}


def _drawn(places: Sequence[Place], count: int, rng: np.random.Generator) -> list[Place]:
    """Return a further run of ``count`` blocks: each is one of the kept blocks."""
    kept = np.unique(np.concatenate([b for _, group in places for one in group for b in one.blocks.values()]))
    sources = rng.choice(kept, count)
    return [(where, [_of_sources(one, sources) for one in group]) for where, group in places]


def _of_sources(one: ScenarioRounds, sources: np.ndarray) -> ScenarioRounds:
    values, blocks, counts = {}, {}, {}
    for name, own in one.blocks.items():
        at = {block: place for place, block in enumerate(own)}
        pairs = [(new, at[source]) for new, source in enumerate(sources) if source in at]
        rows = [row for _, row in pairs]
        values[name], blocks[name] = one.values[name][rows], np.array([new for new, _ in pairs], dtype=float)
        if name in one.counts:
            counts[name] = one.counts[name][rows]
    return replace(one, values=values, blocks=blocks, counts=counts)


def _shown(places: Sequence[Place], judge: Judge, bounds: tuple[int, int], best: Sequence[set[str]]) -> DrawOutcome:
    fewest, most = bounds
    if fewest == most:
        judged = judge.judgements([group for _, group in places])
        rounds = sum(len(one.values[judge.objectives[0].response]) for _, group in places for one in group)
        known = [_choice(one) if one.is_decided else None for one in judged]
    else:
        found = replayed(replace(judge, rule=ChoiceRule(MARGIN, fewest, most)), places)
        rounds = found.rounds
        known = [(one.choice.name if one.choice else "") if one.decided else None for one in found.standings]
    pairs = [(one, good) for one, good in zip(known, best, strict=True) if one is not None]
    return DrawOutcome(sum(one in good for one, good in pairs), sum(one not in good for one, good in pairs), rounds)


def _choice(judged: Judgement) -> str:
    return "" if judged.picked is None else judged.group[judged.picked].name


if __name__ == "__main__":
    main()
