"""The page libraries.md: how libraries that are told the same differ, what a call costs each, what each refuses.

The study (libraries.yaml) claims of every client that it does what ``native`` does. All intervals of one table hold
together with 95 % (Bonferroni).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pandas as pd
from benchmarks.clients.findings import FINDINGS, SHOWN
from benchmarks.clients.tables import BASELINE, PART
from benchmarks.evidence import Result, by_round, stored

from patternbench.analyze.statements.claims.claim import Claim
from patternbench.analyze.statements.claims.judged import ClaimedChange, concluded
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.conformance.trial import RULES
from patternbench.drivers import registry
from patternbench.report import svg
from patternbench.report.labels import RESPONSES
from reproductions import claimed, drawing
from reproductions.claimed import FAULT, faults_of
from reproductions.markdown import spread, table, warned
from reproductions.pages import US_PER_S, Page, rounds_as

REFERENCE = "native"
PATTERNS = {"retry": "Retry", "circuit_breaker": "Circuit breaker"}
WORDS = (Conclusion.AGREES, Conclusion.CONTRADICTED, Conclusion.INCONCLUSIVE)
"""What becomes of the claim that a library does as the reference does."""
NONE, YES = "without a pattern", "yes"
FIGURE = "figure.svg"
CAPTION = "CPU time per call where nothing fails: bars are medians over rounds, dots are rounds."
KEYS = ("client", "strategy", FAULT)
TITLES = {one.response: RESPONSES[one.response].title.lower() for one in claimed.claims("libraries")}
"""The responses that are claimed to be the same, and what they are called."""
COLUMNS = ("block", "scenario", *KEYS, "TotalCalls", "generator_cpu_s", "warnings", *TITLES)
PROCESSOR, TIME = "cpu_us", "median_us"
"""What a call costs, in microseconds: CPU time of the client, and the median time of good calls."""
_BAR = 11


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
    """How clients differ from the reference with a pattern under a share of faults: each claim with its change."""

    pattern: str
    fault: float
    claims: Sequence[Claim]
    by_client: Mapping[str, Sequence[tuple[Claim, ClaimedChange]]]


def comparisons(rounds: pd.DataFrame) -> Iterator[Compared]:
    """Every pattern under each share of faults, as far as there is anybody to compare with the reference."""
    # Shares are compared by rounds: where all calls together have equal shares, their exact test leaves no interval.
    measured = claimed.levelled(rounds.drop(columns="TotalCalls"), KEYS)
    for pattern in PATTERNS:
        of_it = [one for one in claimed.claims("libraries") if one.where["strategy"] == (pattern,)]
        for fault in faults_of(rounds):
            claims = [replace(one, where={**one.where, FAULT: (float(fault),)}) for one in of_it]
            changes = measured.together(("client",), {claim.response: claim for claim in claims})
            clients = sorted({client for _, client in changes})
            by_client = {client: [(one, changes[one.response, client]) for one in claims] for client in clients}
            if clients:
                yield Compared(pattern, fault, claims, by_client)


def in_short(compared: Sequence[Compared]) -> str:
    """How many comparisons got which word, which libraries differ in what, and the figure of costs."""
    rows = []
    for one in compared:
        pairs = [pair for own in one.by_client.values() for pair in own]
        words = Counter(concluded(claim.expected, [change])[0] for claim, change in pairs)
        differing = {
            client: ", ".join(TITLES[claim.response] for claim, change in own if claim.expected.fails(change))
            for client, own in one.by_client.items()
        }
        reported = "; ".join(f"{client}: {titles}" for client, titles in differing.items() if titles)
        counts = [len(one.by_client), *(words[word] for word in WORDS)]
        rows.append([PATTERNS[one.pattern], f"{one.fault:g} %", *counts, reported or "none shown"])
    heads = ["pattern", "faults", "libraries", *(f"comparisons: {word}" for word in WORDS), "which differ, in what"]
    return "\n\n".join([table(heads, rows), f"![{CAPTION}](libraries/{FIGURE})", f"*{CAPTION}*"])


def differences(compared: Compared) -> str:
    """Return a table of how every library differs from the reference, response by response."""
    rows = (
        [client, *(f"{change.text}: {_word(claim, change)}" for claim, change in own)]
        for client, own in compared.by_client.items()
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
    return calm.assign(**{name: seconds * US_PER_S for name, seconds in per_call.items()})


def costs(rounds: pd.DataFrame, harness: Result | None) -> str:
    """Return what a call costs each client where nothing fails, next to what its harness costs by itself.

    The latter is by benchmarks/clients: median, least and greatest of its rounds.
    """
    calm, rows = costing(rounds), []
    asked = cost_claims(sorted(set(calm["client"]) - {REFERENCE}))
    found = claimed.levelled(calm, KEYS[:2]).together(("client",), asked)
    for name, own in calm[calm["strategy"] == BASELINE].groupby("client")[PROCESSOR]:
        alone = "not measured"
        if harness:
            each = by_round(harness["rounds"], "cpu_us", client=str(name), strategy=BASELINE)
            alone = spread(pd.Series(each, dtype=float))
        rows.append([name, alone, spread(own), *(_more(found.get((one, name))) for one in asked)])
    heads = ["client", "harness alone: CPU us per attempt", "CPU us per call without a pattern"]
    heads += ["CPU more with a retry", "CPU more with a circuit breaker", "median time of a call more than of native"]
    return table(heads, rows)


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


# --- what check-client found of every client


class Measured(NamedTuple):
    """What was found of a client: its library and its runtime with their versions, and a verdict for each rule."""

    client: str
    library: str
    language: str
    verdicts: dict[str, tuple[str, str]]


def measured() -> list[Measured]:
    """Return what the committed findings say, client by client."""
    found = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FINDINGS.glob("*.json"))}
    verdicts = {client: {rule: (word, seen) for rule, word, seen in one["findings"]} for client, one in found.items()}
    return [Measured(name, one["library"], one["language"], verdicts[name]) for name, one in found.items()]


def tables(clients: list[Measured]) -> str:
    """Return the table of clients and rules, who is not measured yet, and why one refuses."""
    heads = ["rule", *(_linked(one.client) for one in clients)]
    versions = ["", *(f"{one.library}<br>{one.language}" for one in clients)]
    reasons: list[str] = []
    rules = [rule.name for rule in RULES if rule.needs != "baseline"]
    kept = [[rule, *(cell(one, rule, reasons) for one in clients)] for rule in rules]
    numbered = "\n".join(f"{number}. {reason}" for number, reason in enumerate(reasons, start=1))
    seen = table(heads, ([rule, *(sight(one, rule) for one in clients)] for rule in SHOWN))
    unknown = [name for name in registry.names() if name not in {one.client for one in clients}]
    unmeasured = [f"Not measured yet: {', '.join(map(_linked, unknown))}."] if unknown else []
    why = ["Why a library refuses:", numbered, "What the rules saw:", seen]
    return "\n\n".join([table(heads, [versions, *kept]), *unmeasured, *why])


def _linked(client: str) -> str:
    return f"[{client}](../clients/{client}/client.yaml)"


def cell(client: Measured, rule: str, reasons: list[str]) -> str:
    """Whether the library keeps a rule; else the numbers of why it refuses."""
    status, seen = client.verdicts[rule]
    if status == "passed":
        return YES
    reported = dict.fromkeys(problem.split(": ", 1)[-1] for problem in re.split(r"; (?=strategy)", seen))
    reasons += [reason for reason in reported if reason not in reasons]
    return f"refused ({', '.join(str(reasons.index(reason) + 1) for reason in reported)})"


def sight(client: Measured, rule: str) -> str:
    """Return what a rule saw of a library that keeps it."""
    status, seen = client.verdicts[rule]
    return (seen or YES) if status == "passed" else "refused"


PAGE = Page(
    "libraries.md",
    {"libraries": rounds_as("rounds", COLUMNS)},
    lambda kept: {"libraries.md": {"measured": tables(measured()), **printed(kept["rounds"])}},
    lambda kept: drawn(kept["rounds"]),
)
