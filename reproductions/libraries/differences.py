"""What studies/libraries.yaml measured: how libraries that are told the same differ, and what a call costs each.

Every client is held against ``native``, round by round within blocks. All intervals of one table hold together with 95
% (Bonferroni).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from benchmarks.clients.tables import BASELINE, PART
from benchmarks.evidence import Result, by_round, spread, stored

from patternbench.analyze.statements.claims.judged import LEVEL
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import Conclusion
from reproductions.contrasts import (
    PERCENT,
    POINTS,
    SAME,
    Contrast,
    Floats,
    Key,
    Scale,
    by_block,
    conclusion,
    contrast,
    is_against,
)
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
KEYS = ("client", "strategy", "abort.percentage")
#: Of differences of times; none of them counts as the same.
MICROSECONDS = Scale("us", (0.0, 0.0), lambda times: times)
_US_PER_S = 1e6


@dataclass(frozen=True)
class Behaviour:
    """A response by which libraries are compared: its column, what it is called, and how differences are reported."""

    column: str
    title: str
    scale: Scale


BEHAVIOURS = (
    Behaviour("amplification", "attempts per call", PERCENT),
    Behaviour("failure_rate", "failed calls", POINTS),
    Behaviour("rejected_rate", "rejected calls", POINTS),
    Behaviour("call_success_p50", "median time of good calls", PERCENT),
    Behaviour("call_success_p95", "95th percentile of it", PERCENT),
)
COLUMNS = (
    *("block", "scenario", *KEYS, "TotalCalls", "generator_cpu_s", "warnings"),
    *(behaviour.column for behaviour in BEHAVIOURS),
)


def printed(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page, by the names of their marks."""
    compared = list(comparisons(rounds))
    reported = "\n\n".join([*map(differences, compared), warned(rounds)])
    return {"short": in_short(compared), "alike": reported, "cost": costs(rounds, stored(PART))}


def drawn(rounds: pd.DataFrame) -> dict[str, str]:
    """Return the figure of the page: what a call costs each client with every pattern, where nothing fails."""
    calm = rounds[rounds["abort.percentage"] == 0]
    costs_us = calm["generator_cpu_s"] / calm["TotalCalls"] * _US_PER_S
    return {
        FIGURE: cost_figure.drawn(calm[["client", "strategy"]].assign(cpu_us=costs_us), {BASELINE: NONE, **PATTERNS})
    }


@dataclass(frozen=True)
class Compared:
    """How clients differ from the reference with a pattern under a share of faults: a change per behaviour."""

    pattern: str
    fault: float
    shown: Sequence[Behaviour]
    changes: Mapping[str, Sequence[Contrast]]


def comparisons(rounds: pd.DataFrame) -> Iterator[Compared]:
    """Every pattern under each share of faults, as far as there is anybody to compare with the reference."""
    responses = {one.column: by_block(rounds, KEYS, logged(rounds[one.column], one.scale)) for one in BEHAVIOURS}
    for pattern in PATTERNS:
        for fault in sorted(share for share in rounds["abort.percentage"].unique() if share > 0):
            others = clients(responses["failure_rate"], pattern, fault)
            if others:
                yield compared_with(responses, others, pattern, fault)


def compared_with(
    responses: Mapping[str, Mapping[Key, Floats]], others: Sequence[str], pattern: str, fault: float
) -> Compared:
    """How each of the clients differs from the reference; all intervals hold together."""
    shown = [one for one in BEHAVIOURS if pattern == "circuit_breaker" or one.column != "rejected_rate"]
    level = 1 - (1 - LEVEL) / (len(shown) * len(others))

    def change(client: str, behaviour: Behaviour) -> Contrast:
        values = responses[behaviour.column]
        return contrast(values[REFERENCE, pattern, fault], values[client, pattern, fault], behaviour.scale, level)

    return Compared(pattern, fault, shown, {client: [change(client, one) for one in shown] for client in others})


def in_short(compared: Sequence[Compared]) -> str:
    """How many comparisons got which word, which libraries differ in what, and the figure of costs."""
    rows = (
        [PATTERNS[one.pattern], f"{one.fault:g} %", len(one.changes), *_counts(one), _differing(one)]
        for one in compared
    )
    heads = ["pattern", "faults", "libraries", *(f"comparisons: {word}" for word in WORDS), "which differ, in what"]
    return "\n\n".join([table(heads, rows), f"![{CAPTION}](libraries/{FIGURE})", f"*{CAPTION}*"])


def _counts(one: Compared) -> list[int]:
    reported = Counter(conclusion(SAME, [change])[0] for changes in one.changes.values() for change in changes)
    return [reported[word] for word in WORDS]


def _differing(one: Compared) -> str:
    """Return the clients that differ, each with what it differs in."""
    reported = (
        (
            client,
            [behaviour.title for behaviour, change in zip(one.shown, changes, strict=True) if is_against(SAME, change)],
        )
        for client, changes in one.changes.items()
    )
    return "; ".join(f"{client}: {', '.join(titles)}" for client, titles in reported if titles) or "none shown"


def logged(values: pd.Series[float], scale: Scale) -> pd.Series[float]:
    """Return the values on the scale on which their differences are taken; what has no log is unknown."""
    return values.where(values > 0).transform("log") if scale is PERCENT else values


def clients(values: Mapping[Key, Floats], pattern: str, fault: float) -> list[str]:
    """Return the clients with rounds of a pattern under a share of faults next to the reference; none without that."""
    if (REFERENCE, pattern, fault) not in values:
        return []
    return sorted(str(key[0]) for key in values if key[1:] == (pattern, fault) and key[0] != REFERENCE)


def _word(change: Contrast) -> str:
    """Return the verdict; with an asterisk where it has the condition that rounds scatter evenly."""
    word, shown = conclusion(SAME, [change])
    return f"{word}{'*' if shown is Shown.IF_EVEN else ''}"


def differences(compared: Compared) -> str:
    """Return a table of how every library differs from the reference, response by response."""
    rows = (
        [client, *(f"{change.text()}: {_word(change)}" for change in changes)]
        for client, changes in compared.changes.items()
    )
    title = f"**{PATTERNS[compared.pattern]}, {compared.fault:g} % faults**"
    return f"{title}\n\n{table(['client', *(behaviour.title for behaviour in compared.shown)], rows)}"


def costs(rounds: pd.DataFrame, harness: Result | None) -> str:
    """Return what a call costs each client where nothing fails, next to what its harness costs by itself."""
    calm = rounds[rounds["abort.percentage"] == 0]
    processor = by_block(calm, KEYS[:2], calm["generator_cpu_s"] / calm["TotalCalls"] * _US_PER_S)
    times = by_block(calm, KEYS[:2], calm["call_success_p50"] * _US_PER_S)
    names = sorted(str(client) for client, strategy in processor if strategy == BASELINE)
    among = sum(len(compared(processor, times, name)) for name in names)
    heads = [
        "client",
        "harness alone: CPU us per attempt",
        "CPU us per call without a pattern",
        "CPU more with a retry",
        "CPU more with a circuit breaker",
        "median time of a call more than of native",
    ]
    level = 1 - (1 - LEVEL) / max(among, 1)
    return table(heads, (_cost_row(processor, times, name, level, harness) for name in names))


def compared(
    processor: Mapping[Key, Floats], times: Mapping[Key, Floats], client: str
) -> dict[str, tuple[Floats, Floats]]:
    """Return what is compared of a client, by the pattern.

    ``baseline`` are times of calls, of it and of the reference.
    """
    patterns = {name: (client, name) for name in PATTERNS if (client, name) in processor}
    sides = {name: (processor[client, BASELINE], processor[key]) for name, key in patterns.items()}
    if client == REFERENCE or (REFERENCE, BASELINE) not in times:
        return sides
    return {**sides, BASELINE: (times[REFERENCE, BASELINE], times[client, BASELINE])}


def _cost_row(
    processor: Mapping[Key, Floats],
    times: Mapping[Key, Floats],
    client: str,
    level: float,
    harness: Result | None,
) -> list[str]:
    sides = compared(processor, times, client)
    plain = processor[client, BASELINE]
    cells = [reported(sides[name], level) if name in sides else "" for name in (*PATTERNS, BASELINE)]
    return [client, harness_of(harness, client), spread(plain[np.isfinite(plain)].tolist(), 1), *cells]


def reported(sides: tuple[Floats, Floats], level: float) -> str:
    """Return a difference in microseconds with its interval, and that it is inconclusive where that holds zero."""
    change = contrast(*sides, MICROSECONDS, level)
    return change.text() if change.low > 0 or change.high < 0 else f"{change.text()}: {Conclusion.INCONCLUSIVE}"


def harness_of(result: Result | None, client: str) -> str:
    """Return what the harness of a client costs by benchmarks/clients: median, least and greatest of its rounds."""
    return spread(by_round(result["rounds"], "cpu_us", client=client, strategy=BASELINE) if result else [], 1)


PAGE = Page(
    "libraries.md",
    {"libraries": rounds_as("rounds", COLUMNS)},
    lambda kept: {"libraries.md": {"measured": conformance.tables(conformance.measured()), **printed(kept["rounds"])}},
    lambda kept: drawn(kept["rounds"]),
)
