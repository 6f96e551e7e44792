"""What a study expected and what became of it: a section of the report, and the same as plain data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

import pandas as pd

from patternbench.analyze.rounds import label
from patternbench.analyze.statements.claims.claim import LevelSets
from patternbench.analyze.statements.claims.judged import (
    LEVEL,
    ClaimedChange,
    JudgedClaim,
    JudgedClaims,
    count_of_intervals,
    extremes,
    judge_claims,
)
from patternbench.analyze.statements.claims.rounds_needed import rounds_to_decide
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.sentences import listed
from patternbench.analyze.statements.shown import IF_EVEN, Shown
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.observe.section import Section, Table
from patternbench.report.declared_claims import claims_of
from patternbench.report.labels import RESPONSES, units_of_observers
from patternbench.report.model import RunReport
from patternbench.study.models import Study
from patternbench.terms.data_problems import plural
from patternbench.terms.quantities import TIMES

ANCHOR, TITLE = "claims", "What the study expected"
_ERRORS = round(100 * (1 - LEVEL))


def judged(report: RunReport, study: Study) -> JudgedClaims:
    """Return the claims of a run's study, held against the rounds that count.

    Where rounds stopped once the choice was known, the intervals hold together for all looks at it.
    """
    planned, claims = {scenario.id: scenario.levels for scenario in report.scenarios}, claims_of(study)
    each = together(LEVEL, count_of_intervals(claims, list(planned.values())) * report.looked)
    return judge_claims(claims, planned, report.done, units_of_observers(study.watch), each)


def section(judgement: JudgedClaims) -> Section:
    """Return the claims in words, as a table, and each of their comparisons where there are several."""
    several = any(len(one.changes) > 1 for one in judgement.claims)
    tables = [Table("Claims", _overview(judgement))]
    tables += [Table("Every comparison", _comparisons(judgement))] if several else []
    return Section(ANCHOR, TITLE, list(_words(judgement)), tables)


def as_json(judgement: JudgedClaims) -> dict[str, object]:
    """Return the claims as plain data, for ``--format json``."""
    return {
        "level": LEVEL,
        "intervals": judgement.intervals,
        "level_of_each": judgement.each,
        "contradicted": judgement.is_contradicted,
        "shown": judgement.is_shown,
        "claims": [_claim_json(one) for one in judgement.claims],
    }


def _words(judgement: JudgedClaims) -> Iterator[str]:
    counts = Counter(one.conclusion for one in judgement.claims)
    reported = listed([f"{counts[word]} {word}" for word in Conclusion if counts[word]])
    yield f"{plural(len(judgement.claims), 'claim')} of the study: {reported}."
    each = "" if judgement.intervals == 1 else f", each with {100 * judgement.each:.4g} %"
    hold = "holds" if judgement.intervals == 1 else "hold together"
    yield (
        f"{plural(judgement.intervals, 'interval')} {hold} with {100 * LEVEL:g} %{each}. So a claim that isn't "
        f"true is confirmed in at most {_ERRORS} of 100 runs of the study, and one that is true is contradicted as "
        "seldom. Inconclusive means that the rounds show neither."
    )
    loose = sum(one.shown is Shown.IF_EVEN for one in judgement.claims)
    if loose:
        yield (
            f"{plural(loose, 'conclusion')} hold{'s' if loose == 1 else ''} {IF_EVEN}: where only one side has bad "
            "rounds far off, that is wrong in up to 15 of 100."
        )
    yield from filter(None, map(_remedy, judgement.claims))


def _remedy(one: JudgedClaim) -> str:
    """Return what would decide a claim that is open; empty for any other, and where nothing is known of it."""
    rounds = rounds_to_decide(one)
    return f"About {rounds:,} rounds would decide “{one.claim.says}”, if the changes are as measured." if rounds else ""


def _overview(judgement: JudgedClaims) -> pd.DataFrame:
    rows = [
        {
            "claim": one.claim.says,
            "response": _title(one.claim.response),
            "expected": one.claim.expected.words,
            "change (interval)": extremes(one.changes),
            "published": one.claim.published or "–",
            "verdict": one.verdict,
        }
        for one in judgement.claims
    ]
    frame = pd.DataFrame(rows)
    return frame if any(one.claim.published for one in judgement.claims) else frame.drop(columns="published")


def _comparisons(judgement: JudgedClaims) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "claim": one.claim.says,
                "where": _where(one, change),
                "change (interval)": change.text,
                "rounds": change.rounds,
                "says": _says(one, change),
            }
            for one in judgement.claims
            for change in one.changes
        ]
    )


def _where(one: JudgedClaim, change: ClaimedChange) -> str:
    if one.claim.of_mean:
        return "mean over all"
    where = label(change.where) if change.where else "everywhere"
    return f"{where}, mean over {listed(one.claim.over)}" if one.claim.over else where


def _says(one: JudgedClaim, change: ClaimedChange) -> str:
    expected = one.claim.expected
    return "for" if expected.holds(change) else "against" if expected.fails(change) else "neither"


def _title(response: str) -> str:
    return RESPONSES[response].title if response in RESPONSES else response


def _claim_json(one: JudgedClaim) -> dict[str, object]:
    claim = one.claim
    return {
        "says": claim.says,
        "response": claim.response,
        "expected": claim.expected.words,
        "from": _levels_json(claim.start),
        "to": _levels_json(claim.end),
        "where": {name: list(levels) for name, levels in claim.where.items()},
        "over": "mean" if claim.of_mean else list(claim.over) or None,
        "than": _levels_json(claim.than) or None,
        "published": claim.published or None,
        "verdict": str(one.conclusion),
        "firm": one.shown is not Shown.IF_EVEN,
        "unit": "%" if one.relative else one.unit or _own_unit(claim.response),
        "rounds_to_decide": rounds_to_decide(one),
        "changes": [_change_json(one, change) for change in one.changes],
    }


def _levels_json(levels: LevelSets) -> dict[str, object]:
    """Return the level of each factor, or a list of several."""
    return {name: of_it[0] if len(of_it) == 1 else list(of_it) for name, of_it in levels.items()}


def _own_unit(response: str) -> str:
    kind = RESPONSES[response].kind if response in RESPONSES else "time" if response in TIMES else ""
    return {"percent": "points", "time": "s", "rate": "/s"}.get(kind, "")


def _change_json(one: JudgedClaim, change: ClaimedChange) -> Mapping[str, object]:
    return {
        "where": dict(change.where),
        "scenarios": list(change.sides) if change.sides else None,
        "change": _or_none(change.value),
        "low": _or_none(change.low),
        "high": _or_none(change.high),
        "rounds": change.rounds,
        "says": _says(one, change),
    }


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
