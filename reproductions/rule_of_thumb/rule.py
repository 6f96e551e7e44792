"""What studies/rule-of-thumb.yaml says of a back-off of a third of the unloaded response time.

The rule is held to the claims of rule.yaml. All intervals of all of them hold together with 95 %. It is *confirmed*
when every interval is for it, and *contradicted* when one is against it; otherwise it is *inconclusive*. So
*contradicted* is wrong at most 5 times in 100. *Confirmed* is wrong more seldom, since all intervals would have to be
on the wrong side at once where the rule is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pandas as pd

from patternbench.analyze.statements.claims.judged import ClaimedChange
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.report import svg
from patternbench.terms.units import Duration
from reproductions import claimed, drawing
from reproductions.claimed import FAULT, Key, faults_of
from reproductions.markdown import table, warned
from reproductions.pages import MS_PER_S, Page, rounds_as

BACKOFF = "retry.backoff.exponential.initial"
SUCCESS, TOTAL = "AverageSuccessTime", "TotalExecutionTime"
SHOWN = {"good answers": SUCCESS, "callers": TOTAL}
"""The responses of the tables and the figure, by what they are called there."""
COLUMNS = ("block", "scenario", "service_time", "users", FAULT, "strategy", BACKOFF, SUCCESS, TOTAL, "warnings")
FACTORS = ("service_time", "users", FAULT, "share")
NONE, THIRD = "none", "1/3"
"""No back-off, and that of the rule."""
FIGURE = "figure.svg"
CLAIMS = claimed.read("rule_of_thumb/rule.yaml")["rule"]
"""What the rule claims."""
CAPTION = "Change against no pattern, with its interval. The dashed line is the back-off that the rule suggests."


def shares(rounds: pd.DataFrame) -> list[str]:
    """Give the back-off of each round as a part of its service's unloaded response time, ``none`` for the baseline."""
    return [
        NONE if pd.isna(delay) else str(Fraction(round(delay * MS_PER_S), unloaded(service)))
        for service, delay in zip(rounds["service_time"], rounds[BACKOFF], strict=True)
    ]


def unloaded(service_time: str) -> int:
    """Return the mean service time of the target in ms, such as 12 of ``exponential:12ms``."""
    return round(Duration.parse(service_time.partition(":")[2]).seconds * MS_PER_S)


def by_share(rounds: pd.DataFrame) -> claimed.Measured:
    """Return the rounds with their levels, of which one is the back-off as a share of the unloaded response time."""
    return claimed.levelled(rounds.assign(share=shares(rounds)), FACTORS)


# --- the verdict on the rule


def verdict_of_rule(rounds: pd.DataFrame) -> tuple[Conclusion, Shown]:
    """Return the word for the whole rule, and whether it needs rounds that scatter evenly."""
    claims = by_share(rounds).judge(CLAIMS)
    against = [one.shown for one in claims if one.conclusion.is_contradicted]
    if against:
        return Conclusion.CONTRADICTED, max(against)
    if all(one.conclusion.is_shown for one in claims):
        return Conclusion.CONFIRMED, min(one.shown for one in claims)
    return Conclusion.INCONCLUSIVE, Shown.FIRMLY


def printed(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page, by the names of their marks."""
    held = by_share(rounds).hold(CLAIMS, among=CLAIMS)
    return {
        "short": in_short(rounds),
        "rule": f"{claimed.verdict_table(held, 'claim')}\n\n{warned(rounds)}",
        "back-offs": "\n\n".join([measured_unloaded(rounds), *back_offs(rounds)]),
    }


def in_short(rounds: pd.DataFrame) -> str:
    """Return the verdict on the rule in a sentence, and the figure of every back-off."""
    word, shown = verdict_of_rule(rounds)
    figure = f"![{CAPTION}](rule-of-thumb/{FIGURE})"
    return f"Measured: the rule is **{word}**{shown.condition}.\n\n{figure}\n\n*{CAPTION}*"


# --- every back-off


def changes(rounds: pd.DataFrame, service: str) -> dict[Key, ClaimedChange]:
    """Return what every back-off does on a service under the greater load, by response, share and faults.

    All intervals of a service hold together.
    """
    there = rounds[rounds["service_time"] == service]
    measured = by_share(there)
    every = [one for one in dict.fromkeys(levels["share"] for levels in measured.plan.values()) if one != NONE]
    within: claimed.Named = {"users": int(there["users"].max()), FAULT: faults_of(there)}
    asked = {name: claimed.change(name, {"share": NONE}, {"share": every}, within) for name in SHOWN.values()}
    return measured.together(("share", FAULT), asked)


def _services(rounds: pd.DataFrame) -> list[str]:
    return sorted(rounds["service_time"].unique(), key=unloaded)


def back_offs(rounds: pd.DataFrame) -> Iterator[str]:
    """Yield a table for each service: what every back-off does to good answers and to callers, against none."""
    columns = list(product(faults_of(rounds), SHOWN.items()))
    heads = ["back-off", *(f"{title}, {fault} % faults" for fault, (title, _) in columns)]
    for service in _services(rounds):
        of_it = changes(rounds, service)
        every = sorted({share for _, share, _ in of_it}, key=Fraction)
        rows = ([share, *(of_it[name, share, fault].text for fault, (_, name) in columns)] for share in every)
        yield f"**{unloaded(service)} ms unloaded**\n\n{table(heads, rows)}"


def measured_unloaded(rounds: pd.DataFrame) -> str:
    """Return the unloaded response time that the run measured of each service: medians over rounds."""
    calm = rounds[(rounds[FAULT] == 0) & (rounds["users"] == rounds["users"].min())]
    medians = calm.groupby("service_time")[SUCCESS].median() * MS_PER_S
    reported = (f"{medians[name]:.1f} ms of {unloaded(name)} ms" for name in _services(calm))
    return f"Measured unloaded, of what the service was set to: {', '.join(reported)}."


def drawn(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the figure of the page: a row of panels for good answers and one for callers, by share of faults."""
    every = pd.DataFrame(points(rounds)).round(2)
    words = {"shares": list(every["share"].unique()), "suggested": THIRD}
    rows = []
    for what, of_it in every.groupby("what", sort=False):
        shown = ((fault, part.drop(columns=["what", "fault"])) for fault, part in of_it.groupby("fault"))
        panels = [
            drawing.panel("back-offs", {"points": part}, title=f"{what}, {fault} % faults", **words)
            for fault, part in shown
        ]
        rows.append({"hconcat": panels})
    return {FIGURE: svg.draw({"vconcat": rows})}


def points(rounds: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield what every back-off changes on each service: the changes of the tables, with their intervals."""
    found = {service: changes(rounds, service) for service in _services(rounds)}
    for (what, name), (service, of_it) in product(SHOWN.items(), found.items()):
        own = ((share, fault, change) for (response, share, fault), change in of_it.items() if response == name)
        for share, fault, change in sorted(own, key=lambda one: (Fraction(one[0]), one[1])):
            names = {"what": what, "fault": fault, "service": f"{unloaded(service)} ms", "share": share}
            yield {**names, **drawing.interval(change)}


PAGE = Page(
    "rule-of-thumb.md",
    {"rule-of-thumb": rounds_as("rounds", COLUMNS)},
    lambda kept: {"rule-of-thumb.md": printed(kept["rounds"])},
    lambda kept: drawn(kept["rounds"]),
)
