"""What the paper claims, held against the rounds of the page aderaldo-2024.md.

The claims are those of the run's study. They are about the clients, users, shares of faults and delays that the rounds
have; a client that lacks a pattern has no part in the claims on it.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from patternbench.analyze.noise import floors as floors_of
from patternbench.analyze.statements.claims.claim import Claim
from patternbench.analyze.statements.claims.judged import concluded
from patternbench.analyze.statements.shown import IF_EVEN, Shown
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.speed.responses import PROBE_TIME
from reproductions import claimed
from reproductions.claimed import HeldClaim, Measured, Named

STUDIES = ("resilience-patterns", "resilience-patterns-all", "published-pair")
REFERENCE = "native"
BASELINE: Named = {"strategy": "baseline"}
PATTERNS = {"retry": "retry.backoff.exponential.initial", "circuit_breaker": "circuit_breaker.open_for"}
"""Each pattern with the factor that is its delay."""
TITLES = {"AverageSuccessTime": "average success time", "TotalExecutionTime": "total execution time"}
RESPONSES = list(TITLES)
QUIET = 10.0
"""The noise floor that the page asks for, in percent."""
OURS, EVERY = "(not the paper's)", "Every client"
"""How a claim begins that is not the paper's, and whom it is about until clients are distinguished."""


def measured_of(rounds: pd.DataFrame) -> Measured:
    """Return the rounds with the levels of their scenarios; raises InputError for scenarios that no study has."""
    return claimed.of_scenarios(claimed.study_of(rounds, STUDIES), rounds)


def claims(rounds: pd.DataFrame) -> list[HeldClaim]:
    """Every claim that these rounds can speak to; one that is made of every client is made of each."""
    stated = claimed.claims(claimed.study_of(rounds, STUDIES))
    return measured_of(rounds).hold(part for one in stated for part in _by_client(one))


def _by_client(claim: Claim) -> Iterator[Claim]:
    if EVERY not in claim.says:
        yield claim
        return
    for client in sorted(map(str, claim.end["client"])):
        yield replace(claim, says=claim.says.replace(EVERY, client), end={"client": (client,)})


def in_short(rounds: pd.DataFrame) -> str:
    """How many claims of the paper got which verdict, in the order in which reports have them."""
    found = [concluded(one.expected, one.changes) for one in claims(rounds) if not one.says.startswith(OURS)]
    reported = Counter(word for word, _ in found)
    counts = ", ".join(f"{reported[word]} {word}" for word in Conclusion if reported[word])
    loose = sum(shown is Shown.IF_EVEN for _, shown in found)
    which = "One of these verdicts holds" if loose == 1 else f"{loose} of these verdicts hold"
    condition = f" {which} {IF_EVEN}." if loose else ""
    return textwrap.fill(
        f"Of {reported.total()} claims of the paper, on the rounds that are shown here: {counts}.{condition}", width=120
    )


def trust(rounds: pd.DataFrame, measured: pd.DataFrame) -> str:
    """How many rounds carry a warning of a busy machine, the noise floors, and whether these are low enough.

    ``measured`` are the same rounds as they were measured, at whatever speed the machine had.
    """
    busy = int(rounds["warnings"].fillna("").str.contains("machine_saturated").sum())
    reached = all(floor.typical < QUIET for floor in floors_of(rounds, RESPONSES).values())
    reported = (
        f"{busy:,} of {len(rounds):,} rounds carry the warning that the machine was saturated. The noise floor of the "
        f"middle scenario, which is compared with itself, is {floors(rounds)}: {'' if reached else 'not '}below the "
        f"{QUIET:.0f} % that this page asks for."
    )
    if PROBE_TIME in rounds:
        slower = rounds["slowness"].quantile(0.9) / rounds["slowness"].quantile(0.1)
        reported += (
            " These rounds are reported as if the machine had been equally fast in all of them. In one round of ten it "
            f"took at least {slower:.2f} times as long for the same work as in the fastest tenth. As measured, "
            f"the floor is {floors(measured)}."
        )
    return textwrap.fill(reported, width=120)


def floors(rounds: pd.DataFrame) -> str:
    """Return the noise floors of both times in words."""
    found = floors_of(rounds, RESPONSES)
    return " and ".join(f"{floor.typical:.1f} % ({name})" for name, floor in found.items())
