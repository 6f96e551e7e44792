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
from benchmarks.evidence import Result, by_round, spread, stored

from patternbench.analyze.statements.claims.claim import Claim
from patternbench.analyze.statements.claims.judged import LEVEL, count_of_intervals
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import Conclusion
from reproductions import claimed
from reproductions.contrasts import Contrast, Key, Scale, conclusion
from reproductions.libraries import conformance, cost_figure
from reproductions.markdown import table, warned
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
#: Of differences of times; none of them counts as the same.
MICROSECONDS = Scale("us", (0.0, 0.0), lambda times: times)
_US_PER_S = 1e6


def printed(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page, by the names of their marks."""
    compared = list(comparisons(rounds))
    reported = "\n\n".join([*map(differences, compared), warned(rounds)])
    return {"short": in_short(compared), "alike": reported, "cost": costs(rounds, stored(PART))}


def drawn(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the figure of the page: what a call costs each client with every pattern, where nothing fails."""
    titles = {BASELINE: NONE, **PATTERNS}
    return {FIGURE: cost_figure.drawn(costing(rounds)[["client", "strategy", PROCESSOR]], titles)}


@dataclass(frozen=True)
class Compared:
    """How clients differ from the reference with a pattern under a share of faults: each claim's change by client."""

    pattern: str
    fault: float
    claims: Sequence[Claim]
    changes: Sequence[Mapping[Key, Contrast]]

    @property
    def clients(self) -> list[str]:
        """The clients with rounds next to the reference."""
        return sorted(client for (client,) in self.changes[0])

    def of(self, client: str) -> list[tuple[Claim, Contrast]]:
        """Return the claims on a client with its changes."""
        return [(claim, changes[client,]) for claim, changes in zip(self.claims, self.changes, strict=True)]


def comparisons(rounds: pd.DataFrame) -> Iterator[Compared]:
    """Every pattern under each share of faults, as far as there is anybody to compare with the reference."""
    # Shares are compared by rounds: where all calls together have equal shares, their exact test leaves no interval.
    by_rounds = rounds.drop(columns="TotalCalls")
    for pattern in PATTERNS:
        of_it = [one for one in claimed.claims("libraries") if one.where["strategy"] == (pattern,)]
        for fault in sorted(share for share in rounds[FAULT].unique() if share > 0):
            claims = [replace(one, where={**one.where, FAULT: (float(fault),)}) for one in of_it]
            changes = held(claims, by_rounds, KEYS)
            if changes[0]:
                yield Compared(pattern, fault, claims, changes)


def held(claims: Sequence[Claim], rounds: pd.DataFrame, factors: Sequence[str]) -> list[dict[Key, Contrast]]:
    """Return the changes of each claim by client; all intervals of all of them hold together."""
    plan, named = claimed.levelled(rounds, factors)
    level = together(LEVEL, count_of_intervals(claims, list(plan.values())))
    return [claimed.changes_by(("client",), one, plan, named, level) for one in claims]


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
    reported = Counter(conclusion(claim.expected, [change])[0] for claim, change in every)
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
        [client, *(f"{change.text()}: {_word(claim, change)}" for claim, change in compared.of(client))]
        for client in compared.clients
    )
    heads = ["client", *(TITLES[claim.response] for claim in compared.claims)]
    return f"**{PATTERNS[compared.pattern]}, {compared.fault:g} % faults**\n\n{table(heads, rows)}"


def _word(claim: Claim, change: Contrast) -> str:
    """Return the verdict; with an asterisk where it has the condition that rounds scatter evenly."""
    word, shown = conclusion(claim.expected, [change])
    return f"{word}{'*' if shown is Shown.IF_EVEN else ''}"


def costing(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds in which nothing fails, with what a call cost in each."""
    calm = rounds[rounds[FAULT] == 0]
    per_call = {PROCESSOR: calm["generator_cpu_s"] / calm["TotalCalls"], TIME: calm["call_success_p50"]}
    return calm.assign(**{name: seconds * _US_PER_S for name, seconds in per_call.items()})


def costs(rounds: pd.DataFrame, harness: Result | None) -> str:
    """Return what a call costs each client where nothing fails, next to what its harness costs by itself."""
    calm = costing(rounds)
    plain = calm[calm["strategy"] == BASELINE].groupby("client")[PROCESSOR]
    changes = held(cost_claims(sorted(set(calm["client"]) - {REFERENCE})), calm, KEYS[:2])
    heads = [
        "client",
        "harness alone: CPU us per attempt",
        "CPU us per call without a pattern",
        "CPU more with a retry",
        "CPU more with a circuit breaker",
        "median time of a call more than of native",
    ]
    rows = (
        [
            name,
            harness_of(harness, str(name)),
            spread(own.dropna().tolist(), 1),
            *(_more(one.get((name,))) for one in changes),
        ]
        for name, own in plain
    )
    return table(heads, rows)


def cost_claims(others: Sequence[str]) -> list[Claim]:
    """Return the changes of costs, in microseconds: with each pattern, and of other clients from the reference."""
    patterns = [claimed.change(PROCESSOR, {"strategy": BASELINE}, {"strategy": name}) for name in PATTERNS]
    to_others = claimed.change(TIME, {"client": REFERENCE}, {"client": others}, {"strategy": BASELINE})
    return [replace(one, relative=False) for one in (*patterns, to_others)]


def _more(change: Contrast | None) -> str:
    """Return a difference with its interval, and that it is inconclusive where that holds zero; nothing without one."""
    if change is None:
        return ""
    reported = replace(change, scale=MICROSECONDS)
    return reported.text() if change.low > 0 or change.high < 0 else f"{reported.text()}: {Conclusion.INCONCLUSIVE}"


def harness_of(result: Result | None, client: str) -> str:
    """Return what the harness of a client costs by benchmarks/clients: median, least and greatest of its rounds."""
    return spread(by_round(result["rounds"], "cpu_us", client=client, strategy=BASELINE) if result else [], 1)


PAGE = Page(
    "libraries.md",
    {"libraries": rounds_as("rounds", COLUMNS)},
    lambda kept: {"libraries.md": {"measured": conformance.tables(conformance.measured()), **printed(kept["rounds"])}},
    lambda kept: drawn(kept["rounds"]),
)
