"""The published pair of libraries on the page aderaldo-2024.md, with our native client as the one without a library."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from patternbench.analyze.covariates import moved_by_scenarios
from patternbench.analyze.statements.claims.claim import Level
from patternbench.analyze.statements.claims.judged import LEVEL
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.verdict import Expected
from patternbench.records.folder import RunFolder
from patternbench.report.model import counting
from patternbench.speed.responses import PROBE_TIME
from patternbench.study.evidence import fewest
from patternbench.study.load import load
from patternbench.terms.quantities import number
from reproductions.aderaldo_2024 import changes_figure, figures, tables, verdicts
from reproductions.aderaldo_2024.changes_figure import FAULT, PATTERNS, REFERENCE
from reproductions.claimed import HeldClaim, Named, change, changes_by
from reproductions.contrasts import Contrast, Key, ends, verdict
from reproductions.markdown import table, warned
from reproductions.pages import STUDIES

STUDY = "published-pair"
KEPT, STUDY_FILE = "pair", "pair.yaml"
CLIENTS = {"resilience4j": "Java (Resilience4j)", "polly": "C# (Polly)", REFERENCE: "none (native)"}
"""The clients in the order of the page, each by its platform and library."""
TOTAL = "TotalExecutionTime"
MOST_FAULTS = 80
_DOUBT = 0.05
BEHAVIOUR = {
    "amplification": "attempts per call",
    "rejected_rate": "rejected calls",
    "call_success_p50": "median time of good calls",
}
"""How libraries with the same breaker may differ."""


def kept_of(run: RunFolder) -> dict[str, pd.DataFrame | str]:
    """All rounds of a run, and its study."""
    return {KEPT: pd.read_parquet(run.rounds), STUDY_FILE: run.study.read_text(encoding="utf-8")}


def parts(every: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page, by the names of their marks; ``every`` has the rounds that do not count too."""
    measured = counting(every)
    adjusted = at_one_speed(measured)
    return {
        "short": verdicts.in_short(measured),
        "pair-run": f"{tables.facts(every)} The study asks for {blocks()} blocks.\n\n{warned(measured)}",
        "pair-outgrows": outgrows(measured),
        "pair-verdicts": "\n\n".join([beside(measured, adjusted), trust(measured, adjusted)]),
        "pair-changes": "\n\n".join(against_baseline(measured)),
        "pair-alike": "\n\n".join([alike(measured), *tables.harnesses(measured)]),
    }


def drawn(every: pd.DataFrame, folder: Path) -> dict[str, str]:
    """Return the paper's Figures 4 and 5 and every pattern's changes, by the names of files."""
    found = figures.drawn(counting(every), folder / STUDY_FILE)
    return {f"{KEPT}-{name}": text for name, text in found.items()}


def at_one_speed(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds as if the machine had been equally fast in all of them; the probe ran on an idle machine."""
    return tables.at_one_speed(measured, measured[PROBE_TIME])


def blocks() -> int:
    """Return how many blocks the study asks for."""
    return fewest(load(STUDIES / f"{STUDY}.yaml").rounds)


def trust(measured: pd.DataFrame, adjusted: pd.DataFrame) -> str:
    """Return the noise floors as measured and at one speed, and whether the probe depends on the scenario."""
    before, after = (verdicts.floors(rounds) for rounds in (measured, adjusted))
    p = moved_by_scenarios(measured, PROBE_TIME)
    speaks = "speaks" if p < _DOUBT else "does not speak"
    text = (
        f"The noise floor of the middle scenario, which is compared with itself, is {before} as measured, and {after} "
        "at one speed. The probe, by which rounds are brought to one speed, ran before and after each load, never "
        f"during it. A test that it is the same for all scenarios {speaks} against that (p {number(p)}, F test within "
        "blocks)."
    )
    return textwrap.fill(text, width=120)


def beside(measured: pd.DataFrame, adjusted: pd.DataFrame) -> str:
    """Return a row per claim: the change and the verdict as measured, then at one speed of the machine."""
    heads = ["claim of the paper", "says the change is", "as measured", "verdict", "at one speed", "verdict"]
    both = zip(verdicts.claims(measured), verdicts.claims(adjusted), strict=True)
    return table(heads, ([a.says, _words(a.expected), *_found(a), *_found(b)] for a, b in both))


def _words(expected: Expected) -> str:
    return expected.words


def _found(claim: HeldClaim) -> tuple[str, str]:
    return ends(claim.changes), verdict(claim.expected, claim.changes)


def outgrows(measured: pd.DataFrame) -> str:
    """Return how much longer a run with the breaker takes than one with Retry at most faults: by client, users, delay.

    All intervals of the table hold together.
    """
    levels = pd.DataFrame(list(verdicts.plan_of(measured).values()))
    delays, users = _delays(levels), sorted(set(levels["users"]))
    each = together(LEVEL, len(CLIENTS) * len(users) * len(delays))
    found = {delay: _breaker_after_retry(measured, delay, each) for delay in delays}
    rows = (
        [CLIENTS[client], delay, *(found[delay][client, count].text() for count in users)]
        for client in CLIENTS
        for delay in delays
    )
    return table(["library", "delay", *(f"{count} users" for count in users)], rows)


def _breaker_after_retry(measured: pd.DataFrame, delay: Level, each: float) -> dict[Key, Contrast]:
    start, end = ({"strategy": pattern, name: delay} for pattern, name in PATTERNS.items())
    where: Named = {FAULT: MOST_FAULTS, "client": list(CLIENTS)}
    return _changes(("client", "users"), (TOTAL, start, end, where), measured, each)


def against_baseline(measured: pd.DataFrame) -> Iterator[str]:
    """Yield, for each time, the changes by client, pattern and delay under each share of faults.

    They are means over the numbers of users, and all intervals of a table hold together.
    """
    levels = pd.DataFrame(list(verdicts.plan_of(measured).values()))
    delays, faults = _delays(levels), sorted(set(levels[FAULT]) - {0})
    each = together(LEVEL, len(CLIENTS) * len(PATTERNS) * len(delays) * len(faults))
    for response, what in changes_figure.TITLES.items():
        rows = (
            [CLIENTS[client], pattern.replace("_", " "), delay, *(found[client, fault].text() for fault in faults)]
            for pattern, name in PATTERNS.items()
            for delay in delays
            for found in [_from_baseline(measured, response, {"strategy": pattern, name: delay}, each)]
            for client in CLIENTS
        )
        heads = ["library", "pattern", "delay", *(f"{fault} % faults" for fault in faults)]
        yield f"**{what.capitalize()} against the same client's baseline, mean over users**\n\n{table(heads, rows)}"


def _from_baseline(measured: pd.DataFrame, response: str, end: Named, each: float) -> dict[Key, Contrast]:
    question = response, {"strategy": "baseline"}, end, {"client": list(CLIENTS)}
    return _changes(("client", FAULT), question, measured, each, ["users"])


def alike(measured: pd.DataFrame) -> str:
    """Return how each library's breaker behaves against the native client's, by share of faults.

    These are means over users and open times, and all intervals of the table hold together.
    """
    others = [client for client in CLIENTS if client != REFERENCE]
    where = {"strategy": "circuit_breaker"}
    over = ["users", PATTERNS["circuit_breaker"]]
    levels = pd.DataFrame(list(verdicts.plan_of(measured).values()))
    faults = sorted(set(levels[FAULT]) - {0})
    each = together(LEVEL, len(others) * len(faults) * len(BEHAVIOUR))
    ends_at = {"client": others}
    found = {
        column: _changes(("client", FAULT), (column, {"client": REFERENCE}, ends_at, where), measured, each, over)
        for column in BEHAVIOUR
    }
    rows = (
        [CLIENTS[client], f"{fault} %", *(of_it[client, fault].text() for of_it in found.values())]
        for client in others
        for fault in faults
    )
    return table(["library", "faults", *BEHAVIOUR.values()], rows)


def _delays(levels: pd.DataFrame) -> list[Level]:
    return list(dict.fromkeys(levels[PATTERNS["retry"]].dropna()))


def _changes(
    names: Sequence[str],
    question: tuple[str, Named, Named, Named],
    measured: pd.DataFrame,
    each: float,
    over: Sequence[str] = (),
) -> dict[Key, Contrast]:
    """Return the changes of a response between levels, by levels that distinguish them."""
    return changes_by(names, change(*question, over=over), verdicts.plan_of(measured), measured, each)
