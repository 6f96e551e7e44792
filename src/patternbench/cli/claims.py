"""What ``plan`` says of a study's claims: how many comparisons decide each, and how many rounds that takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from patternbench.analyze.statements.claims.rounds_needed import (
    RoundsAim,
    RoundsNeeded,
    Scatter,
    assumed,
    rounds_needed,
    scatters_of,
)
from patternbench.plan.expand import Plan
from patternbench.records.folder import RunFolder
from patternbench.report.declared_claims import claims_of
from patternbench.study.evidence import fewest
from patternbench.study.models import Study
from patternbench.terms.data_problems import plural
from patternbench.terms.quantities import SHARES, number, quantity

if TYPE_CHECKING:
    import pandas as pd

TO_SHOW = 10.0
"""The change in percent that is to be shown where a claim names neither a margin nor a published change."""


def needed(study: Study, plan: Plan, run: Path | None, spread: float | None) -> list[RoundsNeeded]:
    """Return what each claim takes, with the scatter of a run, or with one in percent that is assumed."""
    claims = claims_of(study)
    scatters: Mapping[str, Scatter] = assumed(claims, spread) if spread is not None else {}
    if run is not None:
        scatters = {**scatters, **scatters_of(claims, _rounds_of(run))}
    return rounds_needed(
        claims, [one.levels for one in plan.scenarios], RoundsAim(fewest(study.rounds), scatters, TO_SHOW)
    )


def _rounds_of(run: Path) -> pd.DataFrame:
    from patternbench.cli.shared import read  # noqa: PLC0415 - slow to import

    RunFolder(run).check()
    return read(run)


def sentences(study: Study, claims: Sequence[RoundsNeeded], scatter_given: bool) -> Iterator[str]:
    """Yield the claims in sentences, one for each."""
    if not claims:
        return
    yield f"{plural(len(claims), 'claim')}, decided by {plural(sum(one.intervals for one in claims), 'interval')}:"
    for one in claims:
        yield f"  - {one.claim.says}: {_words(one, fewest(study.rounds), scatter_given)}"
    if not scatter_given:
        yield "  how many rounds they take: --spread 10% (of a round from another), or --from RUN (as in that run)"


def as_json(one: RoundsNeeded) -> dict[str, object]:
    """Return the same as plain data."""
    reported = {"smallest": one.smallest, "to_show": one.size, "rounds": one.rounds}
    return {"says": one.claim.says, "comparisons": one.pairs, "in_percent": one.relative, **reported}


def _words(one: RoundsNeeded, rounds: int, scatter_given: bool) -> str:
    pairs = _pairs(one)
    if one.smallest is None:
        return f"{pairs}; the scatter of {one.claim.response} isn't known" if scatter_given else pairs
    least = "the least margin that" if one.claim.expected.is_margin else "the smallest change that"
    return f"{pairs}; {least} {plural(rounds, 'round')} show is {_size(one, one.smallest)}{_rounds(one)}"


def _pairs(one: RoundsNeeded) -> str:
    pairs = plural(one.pairs, "comparison")
    if one.claim.of_mean:
        return f"the mean over {pairs}"
    changes = f"{plural(one.intervals, 'mean')} over {pairs}" if one.claim.over else pairs
    return f"{changes}, against others" if one.claim.than else changes


def _rounds(one: RoundsNeeded) -> str:
    if one.size is None:
        return ""
    count = f"{one.rounds:,} rounds" if one.rounds else "more than 10,000 rounds"
    kind = "a margin of" if one.claim.expected.is_margin else "a change of"
    return f"; {kind} {_size(one, one.size)} takes {count}"


def _size(one: RoundsNeeded, size: float) -> str:
    if one.relative:
        return f"{number(size)} %"
    return f"{number(size)} points" if one.claim.response in SHARES else quantity(one.claim.response, size)
