"""What studies/rule-of-thumb.yaml says of a back-off of a third of the unloaded response time.

The rule is held to five claims, each a set of changes within blocks. All intervals of all of them hold together with
95 % (Bonferroni). It is *confirmed* when every interval is for it, and *contradicted* when one is against it; otherwise
it is *inconclusive*. So *contradicted* is wrong at most 5 times in 100. *Confirmed* is wrong more seldom, since all
intervals would have to be on the wrong side at once where the rule is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd

from patternbench.analyze.statements.claims.judged import LEVEL
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.terms.units import Duration
from reproductions.contrasts import (
    HIGHER,
    LOWER,
    PERCENT,
    SAME,
    Claim,
    Contrast,
    Floats,
    Says,
    by_block,
    contrast,
    heads,
    held,
    is_against,
    is_for,
)
from reproductions.markdown import table, warned
from reproductions.pages import Page, rounds_as
from reproductions.rule_of_thumb import back_off_figure

BACKOFF, FAULT = "retry.backoff.exponential.initial", "abort.percentage"
SUCCESS, TOTAL = "AverageSuccessTime", "TotalExecutionTime"
COLUMNS = ("block", "scenario", "service_time", "users", FAULT, "strategy", BACKOFF, SUCCESS, TOTAL, "warnings")
#: Of the unloaded response time: no back-off, the least, that of the rule, the greatest.
NONE, LEAST, THIRD, MOST = Fraction(0), Fraction(1, 12), Fraction(1, 3), Fraction(8, 3)
#: The share of faults up to which the paper found that patterns do not delay their callers.
MODERATE = 40
FIGURE = "figure.svg"
CAPTION = "Change against no pattern, with its interval. The dashed line is the back-off that the rule suggests."
_MS_PER_S = 1000


class Logs:
    """The logs of a response by block, under service, users, share of faults and back-off."""

    def __init__(self, rounds: pd.DataFrame, response: str) -> None:
        keyed = rounds.assign(share=pd.Series(shares(rounds), index=rounds.index, dtype=object))
        factors = ("service_time", "users", FAULT, "share")
        self._values = by_block(keyed, factors, np.log(keyed[response]))
        self._unknown = np.full(rounds["block"].nunique(), np.nan)
        self.services = sorted({str(key[0]) for key in self._values}, key=unloaded)
        self.users = int(max(key[1] for key in self._values))
        self.faults = sorted(int(fault) for fault in rounds[FAULT].unique() if fault > 0)

    def at(self, service: str, fault: int, share: Fraction) -> Floats:
        """Return the values of a back-off by block under the greater load, unknown without rounds.

        ``NONE`` is the baseline.
        """
        return self._values.get((service, self.users, fault, share), self._unknown)

    def pair(self, service: str, fault: int, share: Fraction) -> tuple[Floats, Floats]:
        """Return the baseline and a back-off."""
        return self.at(service, fault, NONE), self.at(service, fault, share)

    def pairs(self, faults: Sequence[int], share: Fraction) -> list[tuple[Floats, Floats]]:
        """Return the baseline and a back-off, on each service under each share of faults."""
        return [self.pair(service, fault, share) for service in self.services for fault in faults]

    def all_shares(self, service: str) -> list[Fraction]:
        """Return the back-offs of a service, as parts of its unloaded response time."""
        return sorted({Fraction(key[3]) for key in self._values if key[0] == service and key[3] != NONE})


def shares(rounds: pd.DataFrame) -> list[Fraction]:
    """Give the back-off of each round as a part of its service's unloaded response time, ``NONE`` for the baseline."""
    return [
        NONE if pd.isna(delay) else Fraction(round(delay * _MS_PER_S), unloaded(service))
        for service, delay in zip(rounds["service_time"], rounds[BACKOFF], strict=True)
    ]


def unloaded(service_time: str) -> int:
    """Return the mean service time of the target in ms, such as 12 of ``exponential:12ms``."""
    return round(Duration.parse(service_time.partition(":")[2]).seconds * _MS_PER_S)


def claims_of(rounds: pd.DataFrame) -> list[Claim]:
    """Return what the rule says, claim by claim."""
    success, total = Logs(rounds, SUCCESS), Logs(rounds, TOTAL)
    moderate = [fault for fault in success.faults if fault <= MODERATE]
    return [
        Claim(
            "A third relieves: good answers come sooner than without a pattern", LOWER, success.pairs(moderate, THIRD)
        ),
        Claim(f"A third does not delay, up to {MODERATE} % faults", SAME, total.pairs(moderate, THIRD)),
        Claim("A twelfth is too little: answers come as without a pattern", SAME, success.pairs(moderate, LEAST)),
        Claim("Eight thirds are too much: callers take longer", HIGHER, total.pairs(moderate, MOST)),
        Claim("It is the ratio that counts: a third relieves both services alike", SAME, _alike(success, moderate)),
    ]


def _alike(logs: Logs, faults: Sequence[int]) -> list[tuple[Floats, Floats]]:
    """Return what a third relieves on the first service and on the last."""
    sides = [
        [logs.pair(service, fault, THIRD) for fault in faults] for service in (logs.services[0], logs.services[-1])
    ]
    return [(b - a, d - c) for (a, b), (c, d) in zip(*sides, strict=True)]


def contrasts_of(claims: Sequence[Claim]) -> list[list[Contrast]]:
    """Return the changes of each claim; all intervals of all claims hold together."""
    level = 1 - (1 - LEVEL) / sum(len(claim.pairs) for claim in claims)
    return [[contrast(a, b, claim.scale, level) for a, b in claim.pairs] for claim in claims]


def verdict_of_rule(claims: Sequence[Claim]) -> Conclusion:
    """Return the word for the whole rule."""
    return _word(_changes(claims))


def condition_of_rule(claims: Sequence[Claim]) -> str:
    """Return the condition of that word, after a comma: none where it holds however rounds scatter."""
    changes = _changes(claims)
    firmly = _word([(says, change.firmly) for says, change in changes])
    return (Shown.FIRMLY if firmly == _word(changes) else Shown.IF_EVEN).condition


def _changes(claims: Sequence[Claim]) -> list[tuple[Says, Contrast]]:
    return [
        (claim.says, change)
        for claim, reported in zip(claims, contrasts_of(claims), strict=True)
        for change in reported
    ]


def _word(changes: Sequence[tuple[Says, Contrast]]) -> Conclusion:
    if any(is_against(says, change) for says, change in changes):
        return Conclusion.CONTRADICTED
    return Conclusion.CONFIRMED if all(is_for(says, change) for says, change in changes) else Conclusion.INCONCLUSIVE


def rule(rounds: pd.DataFrame) -> str:
    """Return what the verdict on the rule rests on, claim by claim."""
    claims = claims_of(rounds)
    rows = (held(one.text, one.says, changes) for one, changes in zip(claims, contrasts_of(claims), strict=True))
    return f"{table(heads('claim'), rows)}\n\n{warned(rounds)}"


def in_short(rounds: pd.DataFrame) -> str:
    """Return the verdict on the rule in a sentence, and the figure of every back-off."""
    claims = claims_of(rounds)
    word, condition = verdict_of_rule(claims), condition_of_rule(claims)
    picture = f"![{CAPTION}](rule-of-thumb/{FIGURE})"
    return f"Measured: the rule is **{word}**{condition}.\n\n{picture}\n\n*{CAPTION}*"


def back_offs(rounds: pd.DataFrame) -> Iterator[str]:
    """Yield a table for each service: what every back-off does to good answers and to callers, against none."""
    success, total = Logs(rounds, SUCCESS), Logs(rounds, TOTAL)
    for service in success.services:
        every = success.all_shares(service)
        level = joint_level(success, service)
        heads = [f"{what}, {fault} % faults" for fault in success.faults for what in ("good answers", "callers")]
        rows = ([str(share), *_cells((success, total), service, share, level)] for share in every)
        yield f"**{unloaded(service)} ms unloaded**\n\n{table(['back-off', *heads], rows)}"


def _cells(logs: tuple[Logs, Logs], service: str, share: Fraction, level: float) -> list[str]:
    faults = logs[0].faults
    return [contrast(*one.pair(service, fault, share), PERCENT, level).text() for fault in faults for one in logs]


def measured_unloaded(rounds: pd.DataFrame) -> str:
    """Return the unloaded response time that the run measured of each service: medians over rounds."""
    calm = rounds[(rounds[FAULT] == 0) & (rounds["users"] == rounds["users"].min())]
    medians = calm.groupby("service_time")[SUCCESS].median() * _MS_PER_S
    reported = (f"{medians[name]:.1f} ms of {unloaded(name)} ms" for name in sorted(medians.index, key=unloaded))
    return f"Measured unloaded, of what the service was set to: {', '.join(reported)}."


def printed(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page, by the names of their marks."""
    every = "\n\n".join([measured_unloaded(rounds), *back_offs(rounds)])
    return {"short": in_short(rounds), "rule": rule(rounds), "back-offs": every}


def drawn(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the figure of the page."""
    return {FIGURE: back_off_figure.drawn(pd.DataFrame(points(rounds)), str(THIRD))}


def points(rounds: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield what every back-off changes on each service: the changes of the tables, with their intervals."""
    reported = {"good answers": Logs(rounds, SUCCESS), "callers": Logs(rounds, TOTAL)}
    for what, logs in reported.items():
        for service in logs.services:
            for share, fault in product(logs.all_shares(service), logs.faults):
                change = contrast(*logs.pair(service, fault, share), PERCENT, joint_level(logs, service))
                names = {"what": what, "fault": fault, "service": f"{unloaded(service)} ms", "share": str(share)}
                yield {**names, "change": change.value, "low": change.low, "high": change.high}


def joint_level(logs: Logs, service: str) -> float:
    """Return the confidence of each interval at which all changes of a service's back-offs hold together."""
    return 1 - (1 - LEVEL) / (2 * len(logs.all_shares(service)) * len(logs.faults))


PAGE = Page(
    "rule-of-thumb.md",
    {"rule-of-thumb": rounds_as("rounds", COLUMNS)},
    lambda kept: {"rule-of-thumb.md": printed(kept["rounds"])},
    lambda kept: drawn(kept["rounds"]),
)
