"""What studies/libraries.yaml measured: how libraries that are told the same differ, and what a call costs each.

The study claims of every client that it does what ``native`` does. All intervals of one table hold together with 95 %
(Bonferroni).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
from benchmarks.clients.tables import BASELINE, PART
from benchmarks.evidence import Result, by_round, stored

from patternbench.analyze.statements.claims.claim import Claim
from patternbench.analyze.statements.claims.judged import ClaimedChange, concluded
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.report import svg
from reproductions import claimed, drawing
from reproductions.claimed import Key
from reproductions.libraries import conformance
from reproductions.markdown import spread, table, warned
from reproductions.pages import Page, rounds_as

REFERENCE = "native"
PATTERNS = {"retry": "Retry", "circuit_breaker": "Circuit breaker"}
WORDS = (Conclusion.AGREES, Conclusion.CONTRADICTED, Conclusion.INCONCLUSIVE)
"""What becomes of the claim that a library does as the reference does."""
NONE = "without a pattern"
FIGURE = "figure.svg"
CAPTION = "CPU time per call where nothing fails: bars are medians over rounds, dots are rounds."
FAULT = "abort.percentage"
KEYS = ("client", "strategy", FAULT)
TITLES = {
    "amplification": "attempts per call",
    "failure_rate": "failed calls",
    "rejected_rate": "rejected calls",
    "call_success_p50": "median time of good calls",
    "call_success_p95": "95th percentile of it",
}
"""The responses that are claimed to be the same, and what they are called here."""
COLUMNS = ("block", "scenario", *KEYS, "TotalCalls", "generator_cpu_s", "warnings", *TITLES)
PROCESSOR, TIME = "cpu_us", "median_us"
"""What a call costs, in microseconds: CPU time of the client, and the median time of good calls."""
_US_PER_S, _BAR = 1e6, 11


def printed(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page, by the names of their marks."""
    compared = list(comparisons(rounds))
    reported = "\n\n".join([*map(differences, compared), warned(rounds)])
    return {"short": in_short(compared), "alike": reported, "cost": costs(rounds, stored(PART))}


def drawn(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the figure of the page: what a call costs each client where nothing fails, the cheapest first."""
    titles, costs = {BASELINE: NONE, **PATTERNS}, costing(rounds)[["client", "strategy", PROCESSOR]]
    points = costs.assign(strategy=costs["strategy"].map(titles)).round(1)
    medians = points.groupby(["client", "strategy"], as_index=False)[[PROCESSOR]].median().round(1)
    names = medians.groupby("client")[PROCESSOR].min().sort_values().index.tolist()
    words = {"names": names, "strategies": list(titles.values()), "height": _BAR * len(titles) * len(names)}
    return {FIGURE: svg.draw(drawing.panel("costs", {"points": points, "medians": medians}, **words))}


@dataclass(frozen=True)
class Compared:
    """How clients differ from the reference with a pattern under a share of faults: changes by response and client."""

    pattern: str
    fault: float
    claims: Sequence[Claim]
    changes: Mapping[Key, ClaimedChange]

    @property
    def clients(self) -> list[str]:
        """The clients with rounds next to the reference."""
        return sorted({client for _, client in self.changes})

    def of(self, client: str) -> list[tuple[Claim, ClaimedChange]]:
        """Return the claims on a client with its changes."""
        return [(claim, self.changes[claim.response, client]) for claim in self.claims]


def comparisons(rounds: pd.DataFrame) -> Iterator[Compared]:
    """Every pattern under each share of faults, as far as there is anybody to compare with the reference."""
    # Shares are compared by rounds: where all calls together have equal shares, their exact test leaves no interval.
    measured = claimed.levelled(rounds.drop(columns="TotalCalls"), KEYS)
    for pattern in PATTERNS:
        of_it = [one for one in claimed.claims("libraries") if one.where["strategy"] == (pattern,)]
        for fault in sorted(share for share in rounds[FAULT].unique() if share > 0):
            claims = [replace(one, where={**one.where, FAULT: (float(fault),)}) for one in of_it]
            changes = measured.together(("client",), {claim.response: claim for claim in claims})
            if changes:
                yield Compared(pattern, fault, claims, changes)


def in_short(compared: Sequence[Compared]) -> str:
    """How many comparisons got which word, which libraries differ in what, and the figure of costs."""
    rows = (
        [PATTERNS[one.pattern], f"{one.fault:g} %", len(one.clients), *_counts(one), _differing(one)]
        for one in compared
    )
    heads = ["pattern", "faults", "libraries", *(f"comparisons: {word}" for word in WORDS), "which differ, in what"]
    return "\n\n".join([table(heads, rows), f"![{CAPTION}](libraries/{FIGURE})", f"*{CAPTION}*"])


def _counts(one: Compared) -> list[int]:
    every = (pair for client in one.clients for pair in one.of(client))
    reported = Counter(concluded(claim.expected, [change])[0] for claim, change in every)
    return [reported[word] for word in WORDS]


def _differing(one: Compared) -> str:
    """Return the clients that differ, each with what it differs in."""
    reported = (
        (client, [TITLES[claim.response] for claim, change in one.of(client) if claim.expected.fails(change)])
        for client in one.clients
    )
    return "; ".join(f"{client}: {', '.join(titles)}" for client, titles in reported if titles) or "none shown"


def differences(compared: Compared) -> str:
    """Return a table of how every library differs from the reference, response by response."""
    rows = (
        [client, *(f"{change.text}: {_word(claim, change)}" for claim, change in compared.of(client))]
        for client in compared.clients
    )
    heads = ["client", *(TITLES[claim.response] for claim in compared.claims)]
    return f"**{PATTERNS[compared.pattern]}, {compared.fault:g} % faults**\n\n{table(heads, rows)}"


def _word(claim: Claim, change: ClaimedChange) -> str:
    """Return the verdict; with an asterisk where it has the condition that rounds scatter evenly."""
    word, shown = concluded(claim.expected, [change])
    return f"{word}{'*' if shown is Shown.IF_EVEN else ''}"


def costing(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds in which nothing fails, with what a call cost in each."""
    calm = rounds[rounds[FAULT] == 0]
    per_call = {PROCESSOR: calm["generator_cpu_s"] / calm["TotalCalls"], TIME: calm["call_success_p50"]}
    return calm.assign(**{name: seconds * _US_PER_S for name, seconds in per_call.items()})


COSTS = (
    *("client", "harness alone: CPU us per attempt", "CPU us per call without a pattern", "CPU more with a retry"),
    *("CPU more with a circuit breaker", "median time of a call more than of native"),
)
"""The heads of the table of costs."""


def costs(rounds: pd.DataFrame, harness: Result | None) -> str:
    """Return what a call costs each client where nothing fails, next to what its harness costs by itself."""
    calm = costing(rounds)
    plain = calm[calm["strategy"] == BASELINE].groupby("client")[PROCESSOR]
    asked = cost_claims(sorted(set(calm["client"]) - {REFERENCE}))
    found = claimed.levelled(calm, KEYS[:2]).together(("client",), asked)
    rows = (
        [name, harness_of(harness, str(name)), spread(own), *(_more(found.get((one, name))) for one in asked)]
        for name, own in plain
    )
    return table(COSTS, rows)


def cost_claims(others: Sequence[str]) -> dict[str, Claim]:
    """Return the changes of costs, in microseconds: with each pattern, and of other clients from the reference."""
    patterns = {name: claimed.change(PROCESSOR, {"strategy": BASELINE}, {"strategy": name}) for name in PATTERNS}
    to_others = claimed.change(TIME, {"client": REFERENCE}, {"client": others}, {"strategy": BASELINE})
    return {name: replace(one, relative=False, unit="us") for name, one in {**patterns, TIME: to_others}.items()}


def _more(change: ClaimedChange | None) -> str:
    """Return a difference with its interval, and that it is inconclusive where that holds zero; nothing without one."""
    if change is None:
        return ""
    return change.text if change.low > 0 or change.high < 0 else f"{change.text}: {Conclusion.INCONCLUSIVE}"


def harness_of(result: Result | None, client: str) -> str:
    """Return what the harness of a client costs by benchmarks/clients: median, least and greatest of its rounds."""
    if not result:
        return "not measured"
    return spread(pd.Series(by_round(result["rounds"], "cpu_us", client=client, strategy=BASELINE), dtype=float))


PAGE = Page(
    "libraries.md",
    {"libraries": rounds_as("rounds", COLUMNS)},
    lambda kept: {"libraries.md": {"measured": conformance.tables(conformance.measured()), **printed(kept["rounds"])}},
    lambda kept: drawn(kept["rounds"]),
)
