"""The published pair of libraries on the page aderaldo-2024.md, with our native client as the one without a library."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import product

import pandas as pd

from patternbench.analyze.covariates import is_moved, moved_by_scenarios
from patternbench.analyze.statements.claims.claim import Level
from patternbench.analyze.statements.claims.judged import extremes
from patternbench.report.labels import RESPONSES
from patternbench.report.model import counting
from patternbench.speed.responses import PROBE_TIME
from patternbench.study.evidence import fewest
from patternbench.study.load import load
from patternbench.terms.quantities import number
from reproductions.aderaldo_2024 import tables, verdicts
from reproductions.aderaldo_2024.verdicts import BASELINE, PATTERNS, REFERENCE, TITLES, measured_of
from reproductions.claimed import FAULT, Measured, Named, change, faults_of
from reproductions.markdown import table, warned
from reproductions.pages import STUDIES

STUDY = "published-pair"
CLIENTS = {"resilience4j": "Java (Resilience4j)", "polly": "C# (Polly)", REFERENCE: "none (native)"}
"""The clients in the order of the page, each by its platform and library."""
BEHAVIOUR = ("amplification", "rejected_rate", "call_success_p50")
"""How libraries with the same breaker may differ."""


def parts(every: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page, by the names of their marks; ``every`` has the rounds that do not count too."""
    measured = counting(every)
    adjusted = tables.at_one_speed(measured, measured[PROBE_TIME])  # the probe ran on an idle machine
    blocks = fewest(load(STUDIES / f"{STUDY}.yaml").rounds)
    return {
        "short": verdicts.in_short(measured),
        "pair-run": f"{tables.facts(every)} The study asks for {blocks} blocks.\n\n{warned(measured)}",
        "pair-outgrows": outgrows(measured),
        "pair-verdicts": "\n\n".join([beside(measured, adjusted), trust(measured, adjusted)]),
        "pair-changes": "\n\n".join(against_baseline(measured)),
        "pair-alike": "\n\n".join([alike(measured), *tables.harnesses(measured)]),
    }


def trust(measured: pd.DataFrame, adjusted: pd.DataFrame) -> str:
    """Return the noise floors as measured and at one speed, and whether the probe depends on the scenario."""
    before, after = (verdicts.floors(rounds) for rounds in (measured, adjusted))
    p = moved_by_scenarios(measured, PROBE_TIME)
    speaks = "speaks" if is_moved(p) else "does not speak"
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
    rows = (
        [one.says, one.expected.words, extremes(one.changes), one.verdict, extremes(other.changes), other.verdict]
        for one, other in both
    )
    return table(heads, rows)


def outgrows(rounds: pd.DataFrame) -> str:
    """Return how much longer a run with the breaker takes than one with Retry at most faults: by client, users, delay.

    All intervals of the table hold together.
    """
    measured = measured_of(rounds)
    where: Named = {FAULT: faults_of(rounds)[-1], "client": list(CLIENTS)}
    asked = {}
    for delay in _delays(measured):
        retry, breaker = ({"strategy": pattern, name: delay} for pattern, name in PATTERNS.items())
        asked[delay] = change("TotalExecutionTime", retry, breaker, where)
    found = measured.together(("client", "users"), asked)
    users = sorted({count for _, _, count in found})
    rows = (
        [CLIENTS[client], delay, *(found[delay, client, count].text for count in users)]
        for client, delay in product(CLIENTS, asked)
    )
    return table(["library", "delay", *(f"{count} users" for count in users)], rows)


def against_baseline(rounds: pd.DataFrame) -> Iterator[str]:
    """Yield, for each time, the changes by client, pattern and delay under each share of faults.

    They are means over the numbers of users, and all intervals of a table hold together.
    """
    measured, faults = measured_of(rounds), faults_of(rounds)
    where: Named = {FAULT: faults, "client": list(CLIENTS)}
    ways = list(product(PATTERNS, _delays(measured)))
    heads = ["library", "pattern", "delay", *(f"{fault} % faults" for fault in faults)]
    for response, what in TITLES.items():
        asked = {
            (name, delay): change(response, BASELINE, {"strategy": name, PATTERNS[name]: delay}, where, ["users"])
            for name, delay in ways
        }
        found = measured.together(("client", FAULT), asked)
        rows = (
            [CLIENTS[client], way[0].replace("_", " "), way[1], *(found[way, client, fault].text for fault in faults)]
            for way, client in product(ways, CLIENTS)
        )
        yield f"**{what.capitalize()} against the same client's baseline, mean over users**\n\n{table(heads, rows)}"


def alike(rounds: pd.DataFrame) -> str:
    """Return how each library's breaker behaves against the native client's, by share of faults.

    These are means over users and open times, and all intervals of the table hold together.
    """
    others, faults = [client for client in CLIENTS if client != REFERENCE], faults_of(rounds)
    where: Named = {"strategy": "circuit_breaker", FAULT: faults}
    over = ["users", PATTERNS["circuit_breaker"]]
    asked = {name: change(name, {"client": REFERENCE}, {"client": others}, where, over) for name in BEHAVIOUR}
    found = measured_of(rounds).together(("client", FAULT), asked)
    rows = (
        [CLIENTS[client], f"{fault} %", *(found[name, client, fault].text for name in BEHAVIOUR)]
        for client, fault in product(others, faults)
    )
    return table(["library", "faults", *(RESPONSES[name].title.lower() for name in BEHAVIOUR)], rows)


def _delays(measured: Measured) -> list[Level]:
    levels = (at.get(PATTERNS["retry"]) for at in measured.plan.values())
    return [level for level in dict.fromkeys(levels) if level is not None]
