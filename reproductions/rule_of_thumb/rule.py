"""What studies/rule-of-thumb.yaml says of a back-off of a third of the unloaded response time.

The rule is held to the claims of rule.yaml. All intervals of all of them hold together with 95 %. It is *confirmed*
when every interval is for it, and *contradicted* when one is against it; otherwise it is *inconclusive*. So
*contradicted* is wrong at most 5 times in 100. *Confirmed* is wrong more seldom, since all intervals would have to be
on the wrong side at once where the rule is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim
from patternbench.analyze.statements.claims.judged import LEVEL, JudgedClaim, judge_claims
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.terms.units import Duration
from reproductions import claimed
from reproductions.contrasts import Contrast, Key, heads, held
from reproductions.markdown import table, warned
from reproductions.pages import Page, rounds_as
from reproductions.rule_of_thumb import back_off_figure

BACKOFF, FAULT = "retry.backoff.exponential.initial", "abort.percentage"
SUCCESS, TOTAL = "AverageSuccessTime", "TotalExecutionTime"
SHOWN = {"good answers": SUCCESS, "callers": TOTAL}
"""The responses of the tables and the figure, by what they are called there."""
COLUMNS = ("block", "scenario", "service_time", "users", FAULT, "strategy", BACKOFF, SUCCESS, TOTAL, "warnings")
FACTORS = ("service_time", "users", FAULT, "share")
NONE, THIRD = "none", "1/3"
"""No back-off, and that of the rule."""
FIGURE = "figure.svg"
CAPTION = "Change against no pattern, with its interval. The dashed line is the back-off that the rule suggests."
_MS_PER_S = 1000


def shares(rounds: pd.DataFrame) -> list[str]:
    """Give the back-off of each round as a part of its service's unloaded response time, ``none`` for the baseline."""
    return [
        NONE if pd.isna(delay) else str(Fraction(round(delay * _MS_PER_S), unloaded(service)))
        for service, delay in zip(rounds["service_time"], rounds[BACKOFF], strict=True)
    ]


def unloaded(service_time: str) -> int:
    """Return the mean service time of the target in ms, such as 12 of ``exponential:12ms``."""
    return round(Duration.parse(service_time.partition(":")[2]).seconds * _MS_PER_S)


def stated() -> list[Claim]:
    """Return the claims of the rule."""
    return claimed.read("rule_of_thumb/rule.yaml")["rule"]


def judged(rounds: pd.DataFrame) -> Sequence[JudgedClaim]:
    """Return the claims of the rule with their changes; all intervals of all claims hold together."""
    return judge_claims(stated(), *claimed.levelled(rounds.assign(share=shares(rounds)), FACTORS), {}).claims


def verdict_of_rule(claims: Sequence[JudgedClaim]) -> tuple[Conclusion, Shown]:
    """Return the word for the whole rule, and whether it needs rounds that scatter evenly."""
    word = _word(claims, firmly=False)
    return word, Shown.FIRMLY if _word(claims, firmly=True) is word else Shown.IF_EVEN


def _word(claims: Sequence[JudgedClaim], firmly: bool) -> Conclusion:
    ends = [(one.claim.expected, (firmly and change.firm) or change) for one in claims for change in one.changes]
    if any(expected.fails(change) for expected, change in ends):
        return Conclusion.CONTRADICTED
    shown = all(one.changes for one in claims) and all(expected.holds(change) for expected, change in ends)
    return Conclusion.CONFIRMED if shown else Conclusion.INCONCLUSIVE


def rule(rounds: pd.DataFrame) -> str:
    """Return what the verdict on the rule rests on, claim by claim."""
    rows = (held(one.claim.says, one.claim.expected, claimed.contrasts_of(one)) for one in judged(rounds))
    return f"{table(heads('claim'), rows)}\n\n{warned(rounds)}"


def in_short(rounds: pd.DataFrame) -> str:
    """Return the verdict on the rule in a sentence, and the figure of every back-off."""
    word, shown = verdict_of_rule(judged(rounds))
    figure = f"![{CAPTION}](rule-of-thumb/{FIGURE})"
    return f"Measured: the rule is **{word}**{shown.condition}.\n\n{figure}\n\n*{CAPTION}*"


def changes(rounds: pd.DataFrame, service: str) -> dict[str, Mapping[Key, Contrast]]:
    """Return what every back-off does on a service under the greater load, by response, share and faults.

    All intervals of a service hold together.
    """
    there = rounds.assign(share=shares(rounds)).query("service_time == @service")
    plan, named = claimed.levelled(there, FACTORS)
    every = [one for one in dict.fromkeys(levels["share"] for levels in plan.values()) if one != NONE]
    faults = _faults(there)
    level = together(LEVEL, len(SHOWN) * len(every) * len(faults))
    within: claimed.Named = {"users": int(there["users"].max()), FAULT: faults}
    asked = {name: claimed.change(name, {"share": NONE}, {"share": every}, within) for name in SHOWN.values()}
    return {name: claimed.changes_by(("share", FAULT), one, plan, named, level) for name, one in asked.items()}


def _services(rounds: pd.DataFrame) -> list[str]:
    return sorted(rounds["service_time"].unique(), key=unloaded)


def _faults(rounds: pd.DataFrame) -> list[int]:
    return sorted(int(fault) for fault in rounds[FAULT].unique() if fault > 0)


def back_offs(rounds: pd.DataFrame) -> Iterator[str]:
    """Yield a table for each service: what every back-off does to good answers and to callers, against none."""
    for service in _services(rounds):
        of_it, columns = changes(rounds, service), list(product(_faults(rounds), SHOWN.items()))
        heads = [f"{title}, {fault} % faults" for fault, (title, _) in columns]
        every = sorted({share for share, _ in of_it[SUCCESS]}, key=Fraction)
        rows = ([share, *(of_it[name][share, fault].text() for fault, (_, name) in columns)] for share in every)
        yield f"**{unloaded(service)} ms unloaded**\n\n{table(['back-off', *heads], rows)}"


def measured_unloaded(rounds: pd.DataFrame) -> str:
    """Return the unloaded response time that the run measured of each service: medians over rounds."""
    calm = rounds[(rounds[FAULT] == 0) & (rounds["users"] == rounds["users"].min())]
    medians = calm.groupby("service_time")[SUCCESS].median() * _MS_PER_S
    reported = (f"{medians[name]:.1f} ms of {unloaded(name)} ms" for name in _services(calm))
    return f"Measured unloaded, of what the service was set to: {', '.join(reported)}."


def printed(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page, by the names of their marks."""
    every = "\n\n".join([measured_unloaded(rounds), *back_offs(rounds)])
    return {"short": in_short(rounds), "rule": rule(rounds), "back-offs": every}


def drawn(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the figure of the page."""
    return {FIGURE: back_off_figure.drawn(pd.DataFrame(points(rounds)), THIRD)}


def points(rounds: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield what every back-off changes on each service: the changes of the tables, with their intervals."""
    found = {service: changes(rounds, service) for service in _services(rounds)}
    for (what, name), (service, of_it) in product(SHOWN.items(), found.items()):
        for (share, fault), change in sorted(of_it[name].items(), key=lambda one: (Fraction(one[0][0]), one[0][1])):
            names = {"what": what, "fault": fault, "service": f"{unloaded(service)} ms", "share": share}
            yield {**names, "change": change.value, "low": change.low, "high": change.high}


PAGE = Page(
    "rule-of-thumb.md",
    {"rule-of-thumb": rounds_as("rounds", COLUMNS)},
    lambda kept: {"rule-of-thumb.md": printed(kept["rounds"])},
    lambda kept: drawn(kept["rounds"]),
)
