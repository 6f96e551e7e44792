"""What the paper claims, held against the rounds of the page aderaldo-2024.md.

The claims are those of the run's study. They are about the clients, users, shares of faults and delays that the rounds
have; a client that lacks a pattern has no part in the claims on it.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from patternbench.analyze.noise import Floor
from patternbench.analyze.noise import floors as floors_of
from patternbench.analyze.statements.claims.claim import Claim
from patternbench.analyze.statements.shown import IF_EVEN, Shown
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.speed.responses import PROBE_TIME
from patternbench.terms.problems import InputError, Problem
from reproductions import claimed
from reproductions.aderaldo_2024.tables import RESPONSES
from reproductions.claimed import HeldClaim, Plan
from reproductions.contrasts import conclusion

STUDIES = ("resilience-patterns", "resilience-patterns-all", "published-pair")
#: How many unknown scenarios a message names.
MOST_NAMED = 5
#: The noise floor that the page asks for, in percent.
QUIET = 10.0
#: What the text of a claim begins with that is not the paper's, and whom it is about until clients are distinguished.
OURS, EVERY = "(not the paper's)", "Every client"
#: The verdicts, from the one that bears the paper out to the one that does not.
IN_ORDER = (
    *(Conclusion.CONFIRMED, Conclusion.CONFIRMED_IN_PART, Conclusion.AGREES, Conclusion.AGREES_IN_PART),
    *(Conclusion.MIXED, Conclusion.INCONCLUSIVE, Conclusion.CONTRADICTED_IN_PART, Conclusion.CONTRADICTED),
)


def study_of(rounds: pd.DataFrame) -> str:
    """Return the study that has all scenarios of these rounds. Raises InputError for scenarios that none has."""
    unknown = {study: set(rounds["scenario"]) - {*claimed.planned(study)} for study in STUDIES}
    fitting = min(STUDIES, key=lambda study: len(unknown[study]))
    if unknown[fitting]:
        raise InputError(_unknown(fitting, sorted(unknown[fitting])))
    return fitting


def _unknown(study: str, scenarios: Sequence[str]) -> Problem:
    more = f" and {len(scenarios) - MOST_NAMED} more" if len(scenarios) > MOST_NAMED else ""
    named = ", ".join(scenarios[:MOST_NAMED])
    allowed = f"scenarios of one study: {' or '.join(STUDIES)}"
    return Problem(f"{study} has no scenario {named}{more}", path="scenario", allowed=allowed)


def plan_of(rounds: pd.DataFrame) -> Plan:
    """Return the levels of every scenario that has rounds."""
    return claimed.measured(claimed.planned(study_of(rounds)), rounds)


def claims(rounds: pd.DataFrame) -> list[HeldClaim]:
    """Every claim that these rounds can speak to; one that is made of every client is made of each."""
    every = [part for one in claimed.claims(study_of(rounds)) for part in _by_client(one)]
    return claimed.hold(every, plan_of(rounds), rounds)


def _by_client(claim: Claim) -> Iterator[Claim]:
    if EVERY not in claim.says:
        yield claim
        return
    for client in sorted(map(str, claim.end["client"])):
        yield replace(claim, says=claim.says.replace(EVERY, client), end={"client": (client,)})


def in_short(rounds: pd.DataFrame) -> str:
    """How many claims of the paper got which verdict."""
    found = [conclusion(one.expected, one.changes) for one in claims(rounds) if not one.says.startswith(OURS)]
    reported = Counter(word for word, _ in found)
    counts = ", ".join(f"{reported[word]} {word}" for word in IN_ORDER if reported[word])
    loose = sum(shown is Shown.IF_EVEN for _, shown in found)
    which = "One of these verdicts holds" if loose == 1 else f"{loose} of these verdicts hold"
    condition = f" {which} {IF_EVEN}." if loose else ""
    return textwrap.fill(
        f"Of {reported.total()} claims of the paper, on the rounds that are shown here: {counts}.{condition}", width=120
    )


def printed(rounds: pd.DataFrame, measured: pd.DataFrame) -> str:
    """Return the table of verdicts and how noisy the run was, as Markdown; ``measured`` as in ``trust``."""
    return "\n".join([claimed.verdict_table(claims(rounds)), "", trust(rounds, measured)])


def trust(rounds: pd.DataFrame, measured: pd.DataFrame) -> str:
    """How many rounds carry a warning of a busy machine, the noise floors, and whether these are low enough.

    ``measured`` are the same rounds as they were measured, at whatever speed the machine had.
    """
    busy = int(rounds["warnings"].fillna("").str.contains("machine_saturated").sum())
    found = floors_of(rounds, RESPONSES)
    reached = all(floor.typical < QUIET for floor in found.values())
    reported = (
        f"{busy:,} of {len(rounds):,} rounds carry the warning that the machine was saturated. The noise floor of the "
        f"middle scenario, which is compared with itself, is {_shares(found)}: {'' if reached else 'not '}below the "
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
    return _shares(floors_of(rounds, RESPONSES))


def _shares(floors: Mapping[str, Floor]) -> str:
    return " and ".join(f"{floor.typical:.1f} % ({name})" for name, floor in floors.items())
