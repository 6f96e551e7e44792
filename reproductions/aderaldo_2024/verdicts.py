"""What the paper claims, held against the rounds of the page aderaldo-2024.md.

The claims are about whatever clients, numbers of users, shares of faults and delays the rounds have; a client that
lacks a pattern has no part in the claims on it.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from patternbench.analyze.noise import Floor
from patternbench.analyze.noise import floors as floors_of
from patternbench.analyze.statements.shown import IF_EVEN, Shown
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.speed.responses import PROBE_TIME
from reproductions.aderaldo_2024.tables import (
    KEYS,
    RESPONSES,
    WORLD,
    with_delay,
)
from reproductions.contrasts import HIGHER, LOWER, SAME, Claim, Floats, conclusion, contrasts, verdicts

PATTERNS = ("retry", "circuit_breaker")
BASELINE = ("baseline", 0)
SUCCESS, TOTAL = RESPONSES
#: The client that others are held against, and the one that the paper speaks of as Java's.
REFERENCE, JAVA = "native", "resilience4j"
#: The shares of faults up to which the paper saw no effect, and at which the breaker was slightly faster, in percent.
NO_EFFECT, FASTER = 40, (40, 60)
#: The noise floor that the page asks for, in percent.
QUIET = 10.0
#: What the text of a claim begins with that is not the paper's.
OURS = "(not the paper's)"
#: The verdicts, from the one that bears the paper out to the one that does not.
IN_ORDER = (
    *(Conclusion.CONFIRMED, Conclusion.CONFIRMED_IN_PART, Conclusion.AGREES, Conclusion.AGREES_IN_PART),
    *(Conclusion.MIXED, Conclusion.INCONCLUSIVE, Conclusion.CONTRADICTED_IN_PART, Conclusion.CONTRADICTED),
)
Configuration = tuple[str, str, int]


class Logs:
    """The logs of a response by block: one array with an entry for each block per scenario."""

    def __init__(self, rounds: pd.DataFrame, response: str) -> None:
        table = np.log(with_delay(rounds).set_index(["block", *KEYS, *WORLD])[response]).unstack("block")
        self._by_scenario = {scenario: row.to_numpy() for scenario, row in table.iterrows()}
        self._unknown = np.full(table.shape[1], np.nan)
        self.there = {scenario[:3] for scenario in self._by_scenario}
        self.clients = sorted({client for client, _, _ in self.there}, key=lambda name: (name != REFERENCE, name))
        self.delays = sorted({delay for _, _, delay in self.there} - {0})
        self.users = sorted({int(scenario[3]) for scenario in self._by_scenario})
        self.faults = sorted({int(scenario[4]) for scenario in self._by_scenario} - {0})

    @property
    def configurations(self) -> list[Configuration]:
        """Every client with every pattern that it has, at every delay."""
        every = product(self.clients, PATTERNS, self.delays)
        return [configuration for configuration in every if configuration in self.there]

    @property
    def with_both(self) -> list[str]:
        """The clients that have both patterns."""
        return [
            client for client in self.clients if all((client, name, self.delays[0]) in self.there for name in PATTERNS)
        ]

    def users_of(self, *clients: str) -> list[int]:
        """The numbers of users that each of these clients had."""
        had = {(str(scenario[0]), int(scenario[3])) for scenario in self._by_scenario}
        return [number for number in self.users if all((client, number) in had for client in clients)]

    def at(self, configuration: Configuration, fault: int, users: Sequence[int] = ()) -> Floats:
        """The mean over numbers of users, by block; over all that the client had where none are named.

        Unknown where one lacks.
        """
        scenarios = ((*configuration, number, fault) for number in users or self.users_of(configuration[0]))
        mean: Floats = np.mean([self._by_scenario.get(scenario, self._unknown) for scenario in scenarios], axis=0)
        return mean

    def base(self, client: str, fault: int) -> Floats:
        """The client's baseline."""
        return self.at((client, *BASELINE), fault)

    def faults_of(self, pattern: str) -> list[int]:
        """The shares of faults under which anyone ran a pattern; a study may run none of it where nothing fails."""
        return sorted({int(scenario[4]) for scenario in self._by_scenario if scenario[1] == pattern})

    def gaps(self, faults: Iterable[int], patterns: Sequence[str] = PATTERNS) -> list[tuple[Floats, Floats]]:
        """Every configuration against its client's baseline under the same fault."""
        chosen = [one for one in self.configurations if one[1] in patterns]
        return [(self.base(c[0], fault), self.at(c, fault)) for c, fault in product(chosen, faults)]

    def of_retry(self, client: str, delay: int, fault: int, users: Sequence[int] = ()) -> Floats:
        """Retry relative to the breaker at the same delay."""
        retry, breaker = (self.at((client, pattern, delay), fault, users) for pattern in PATTERNS)
        return retry - breaker


def claims(rounds: pd.DataFrame) -> list[Claim]:
    """Every claim of the paper that these rounds can speak to."""
    success, total = Logs(rounds, SUCCESS), Logs(rounds, TOTAL)
    return [*_of_success_time(success), *_of_execution_time(total), *_of_libraries(success, total)]


def _of_success_time(logs: Logs) -> list[Claim]:
    short, long = logs.delays[0], logs.delays[-1]
    few, many = logs.faults[0], logs.faults[-1]
    pairs_of = [(c[:2], fault) for c, fault in product(logs.configurations, logs.faults) if c[2] == short]
    longer = [(logs.at((*c, short), fault), logs.at((*c, long), fault)) for c, fault in pairs_of]
    more = [
        (logs.at(c, few) - logs.base(c[0], few), logs.at(c, many) - logs.base(c[0], many)) for c in logs.configurations
    ]
    retry = _from_zero(logs.of_retry(*at) for at in product(logs.with_both, logs.delays, logs.faults))
    rises = [(logs.base(client, 0), logs.base(client, many)) for client in logs.clients]
    reduces = f"Retry reduces the average success time more than the breaker does, {few} to {many} % faults"
    return [
        *(_against_baseline(logs, fault) for fault in logs.faults),
        Claim(f"the longer the back-off, the more so ({long} against {short} ms)", LOWER, longer),
        Claim(f"the higher the fault percentage, the more so ({many} against {few} %)", LOWER, more),
        Claim(reduces, LOWER, retry),
        Claim(
            f"The baseline's average success time rises with the fault percentage ({many} against 0 %)", HIGHER, rises
        ),
    ]


def _from_zero(gaps: Iterable[Floats]) -> list[tuple[Floats, Floats]]:
    """Differences that were taken already, as pairs."""
    return [(np.zeros_like(gap), gap) for gap in gaps]


def _against_baseline(logs: Logs, fault: int) -> Claim:
    text = f"Both patterns reduce the average success time against the baseline, {fault} % faults"
    return Claim(text, LOWER, logs.gaps([fault]))


def _of_execution_time(logs: Logs) -> list[Claim]:
    most, few, many = logs.faults[-1], logs.users[0], logs.users[-1]
    none = [fault for fault in logs.faults_of(PATTERNS[0]) if fault <= NO_EFFECT]
    faster = [fault for fault in logs.faults if fault in FASTER]
    pairs = list(product(logs.with_both, logs.delays))
    crowded = [at for at in pairs if few < many in logs.users_of(at[0])]
    near = [(logs.of_retry(*at, most, [few]), logs.of_retry(*at, most, [many])) for at in crowded]
    outgrow = _from_zero(logs.of_retry(*at, most, [many]) for at in crowded if at[0] == JAVA)
    return [
        Claim(f"Neither has much effect on the total execution time, {_span(none)} % faults", SAME, logs.gaps(none)),
        Claim(
            f"The breaker is slightly faster than the baseline, {' and '.join(map(str, faster))} % faults",
            LOWER,
            logs.gaps(faster, PATTERNS[1:]),
        ),
        Claim(
            f"Above that both cost more execution time than the baseline, {most} % faults", HIGHER, logs.gaps([most])
        ),
        Claim(
            f"Retry costs more execution time than the breaker at the same back-off, {most} % faults",
            HIGHER,
            _from_zero(logs.of_retry(*at, most) for at in pairs),
        ),
        Claim(f"Retry and breaker come closer from {few} to {many} users, {most} % faults", LOWER, near),
        Claim(f"In Java the breaker outgrows Retry, {most} % faults, {many} users", LOWER, outgrow),
    ]


def _of_libraries(success: Logs, total: Logs) -> list[Claim]:
    ours, *others = success.clients
    text = "{other} has the same {response} as {ours}"
    if len(others) == 1:
        text = "Both clients of this run have the same {response}"
    responses = {"average success time": success, "total execution time": total}
    return [
        Claim(f"{OURS} {text.format(response=name, other=other, ours=ours)}", SAME, _pairs(logs, other))
        for name, logs in responses.items()
        for other in others
    ]


def _pairs(logs: Logs, other: str) -> list[tuple[Floats, Floats]]:
    """The reference and another client, with every configuration that both have, under the faults that it ran under."""
    every = [BASELINE, *product(PATTERNS, logs.delays)]
    shared = [one for one in every if (other, *one) in logs.there and (logs.clients[0], *one) in logs.there]
    cells = [(one, fault) for one in shared for fault in logs.faults_of(one[0])]
    ours, users = logs.clients[0], logs.users_of(logs.clients[0], other)
    return [(logs.at((ours, *one), fault, users), logs.at((other, *one), fault, users)) for one, fault in cells]


def _span(faults: Sequence[int]) -> str:
    """Shares of faults as a text: the one that there is, or the first and the last."""
    return str(faults[0]) if len(faults) == 1 else f"{faults[0]} to {faults[-1]}"


def in_short(rounds: pd.DataFrame) -> str:
    """How many claims of the paper got which verdict."""
    found = [conclusion(one.says, contrasts(one)) for one in claims(rounds) if not one.text.startswith(OURS)]
    told = Counter(word for word, _ in found)
    counts = ", ".join(f"{told[word]} {word}" for word in IN_ORDER if told[word])
    loose = sum(shown is Shown.IF_EVEN for _, shown in found)
    which = "One of these verdicts holds" if loose == 1 else f"{loose} of these verdicts hold"
    condition = f" {which} {IF_EVEN}." if loose else ""
    return textwrap.fill(
        f"Of {told.total()} claims of the paper, on the rounds that are shown here: {counts}.{condition}", width=120
    )


def printed(rounds: pd.DataFrame, measured: pd.DataFrame) -> str:
    """The table of verdicts and how noisy the run was, as Markdown; `measured` as in `trust`."""
    return "\n".join([verdicts(claims(rounds)), "", trust(rounds, measured)])


def trust(rounds: pd.DataFrame, measured: pd.DataFrame) -> str:
    """How many rounds carry a warning of a busy machine, the noise floors, and whether these are low enough.

    `measured` are the same rounds as they were measured, at whatever speed the machine had.
    """
    busy = int(rounds["warnings"].fillna("").str.contains("machine_saturated").sum())
    floors = floors_of(rounds, RESPONSES)
    reached = all(floor.typical < QUIET for floor in floors.values())
    told = (
        f"{busy:,} of {len(rounds):,} rounds carry the warning that the machine was saturated. The noise floor of the "
        f"middle scenario, which is compared with itself, is {_shares(floors)}: {'' if reached else 'not '}below the "
        f"{QUIET:.0f} % that this page asks for."
    )
    if PROBE_TIME in rounds:
        slower = rounds["slowness"].quantile(0.9) / rounds["slowness"].quantile(0.1)
        told += (
            " These rounds are told as if the machine had been equally fast in all of them. In one round of ten it "
            f"took at least {slower:.2f} times as long for the same work as in the fastest tenth. As measured, "
            f"the floor is {_shares(floors_of(measured, RESPONSES))}."
        )
    return textwrap.fill(told, width=120)


def _shares(floors: Mapping[str, Floor]) -> str:
    return " and ".join(f"{floor.typical:.1f} % ({name})" for name, floor in floors.items())
