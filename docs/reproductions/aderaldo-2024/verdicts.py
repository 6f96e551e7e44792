"""Prints the table of verdicts of docs/reproductions/aderaldo-2024.md from the rounds beside it.

    .venv/bin/python docs/reproductions/aderaldo-2024/verdicts.py [RUN/rounds.parquet] [--write]

What a verdict rests on is said in `claims.py` of the folder above. With `--write` the table is put into the page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from tables import KEYS, WORLD, rewritten, rounds_of, with_delay

sys.path.append(str(Path(__file__).parents[1]))

from claims import HIGHER, LOWER, SAME, Claim, Floats, verdicts

from patternbench.analyze.noise import floor_of

CLIENTS, PATTERNS, DELAYS = ("native", "resilience4j"), ("retry", "circuit_breaker"), (20, 40, 60)
FAULTY = (20, 40, 60, 80)
SUCCESS, TOTAL = "AverageSuccessTime", "TotalExecutionTime"
CONFIGURATIONS = tuple(product(CLIENTS, PATTERNS, DELAYS))


class Logs:
    """The logs of a response by block: one array with an entry for each block per scenario."""

    def __init__(self, rounds: pd.DataFrame, response: str) -> None:
        table = np.log(with_delay(rounds).set_index(["block", *KEYS, *WORLD])[response]).unstack("block")
        self._by_scenario = {scenario: row.to_numpy() for scenario, row in table.iterrows()}

    def at(self, configuration: tuple[str, str, int], fault: int, users: Sequence[int] = (50, 100, 150)) -> Floats:
        """The mean over numbers of users, by block."""
        return np.mean([self._by_scenario[(*configuration, number, fault)] for number in users], axis=0)

    def base(self, client: str, fault: int) -> Floats:
        """The client's baseline."""
        return self.at((client, "baseline", 0), fault)

    def gaps(self, faults: Sequence[int], patterns: Sequence[str] = PATTERNS) -> list[tuple[Floats, Floats]]:
        """Every configuration against its client's baseline under the same fault."""
        chosen = product(CLIENTS, patterns, DELAYS)
        return [(self.base(c[0], fault), self.at(c, fault)) for c, fault in product(chosen, faults)]

    def of_retry(self, client: str, delay: int, fault: int, users: Sequence[int] = (50, 100, 150)) -> Floats:
        """Retry relative to the breaker at the same delay."""
        retry, breaker = (self.at((client, pattern, delay), fault, users) for pattern in PATTERNS)
        return retry - breaker


def claims(rounds: pd.DataFrame) -> list[Claim]:
    """Every claim of the paper that these rounds can speak to."""
    success, total = Logs(rounds, SUCCESS), Logs(rounds, TOTAL)
    return [*_of_success_time(success), *_of_execution_time(total), *_of_libraries(success, total)]


def _of_success_time(logs: Logs) -> list[Claim]:
    pairs_of = [(c[:2], fault) for c, fault in product(CONFIGURATIONS, FAULTY) if c[2] == DELAYS[0]]
    longer = [(logs.at((*c, 20), fault), logs.at((*c, 60), fault)) for c, fault in pairs_of]
    more = [(logs.at(c, 20) - logs.base(c[0], 20), logs.at(c, 80) - logs.base(c[0], 80)) for c in CONFIGURATIONS]
    retry = [(np.zeros_like(g), g) for g in (logs.of_retry(*at) for at in product(CLIENTS, DELAYS, FAULTY))]
    rises = [(logs.base(client, 0), logs.base(client, 80)) for client in CLIENTS]
    return [
        *(_against_baseline(logs, fault) for fault in FAULTY),
        Claim("the longer the back-off, the more so (60 against 20 ms)", LOWER, longer),
        Claim("the higher the fault percentage, the more so (80 against 20 %)", LOWER, more),
        Claim("Retry reduces the average success time more than the breaker does, 20 to 80 % faults", LOWER, retry),
        Claim("The baseline's average success time rises with the fault percentage (80 against 0 %)", HIGHER, rises),
    ]


def _against_baseline(logs: Logs, fault: int) -> Claim:
    text = f"Both patterns reduce the average success time against the baseline, {fault} % faults"
    return Claim(text, LOWER, logs.gaps([fault]))


def _of_execution_time(logs: Logs) -> list[Claim]:
    costs = [(np.zeros_like(g), g) for g in (logs.of_retry(*at, 80) for at in product(CLIENTS, DELAYS))]
    near = [(logs.of_retry(*at, 80, [50]), logs.of_retry(*at, 80, [150])) for at in product(CLIENTS, DELAYS)]
    outgrow = [(logs.of_retry("resilience4j", delay, 80, [150]), delay) for delay in DELAYS]
    return [
        Claim("Neither has much effect on the total execution time, 0 to 40 % faults", SAME, logs.gaps([0, 20, 40])),
        Claim(
            "The breaker is slightly faster than the baseline, 40 and 60 % faults",
            LOWER,
            logs.gaps([40, 60], PATTERNS[1:]),
        ),
        Claim("Above that both cost more execution time than the baseline, 80 % faults", HIGHER, logs.gaps([80])),
        Claim("Retry costs more execution time than the breaker at the same back-off, 80 % faults", HIGHER, costs),
        Claim("Retry and breaker come closer from 50 to 150 users, 80 % faults", LOWER, near),
        Claim(
            "In Java the breaker outgrows Retry, 80 % faults, 150 users",
            LOWER,
            [(np.zeros_like(gap), gap) for gap, _ in outgrow],
        ),
    ]


def _of_libraries(success: Logs, total: Logs) -> list[Claim]:
    every = [*product(("baseline",), (0,)), *product(PATTERNS, DELAYS)]

    def pairs(logs: Logs) -> list[tuple[Floats, Floats]]:
        ours, theirs = CLIENTS
        return [(logs.at((ours, *c), f), logs.at((theirs, *c), f)) for c, f in product(every, (0, *FAULTY))]

    return [
        Claim("(not the paper's) Both clients of this run have the same average success time", SAME, pairs(success)),
        Claim("(not the paper's) Both clients of this run have the same total execution time", SAME, pairs(total)),
    ]


def printed(rounds: pd.DataFrame) -> str:
    """The table of verdicts and how noisy the run was, as Markdown."""
    return "\n".join([verdicts(claims(rounds)), "", trust(rounds)])


def trust(rounds: pd.DataFrame) -> str:
    """How many rounds carry a warning of a busy machine, and the noise floors."""
    busy = int(rounds["warnings"].fillna("").str.contains("machine_saturated").sum())
    by_scenario = [group for _, group in rounds.groupby("scenario")]
    floors = [floor_of(name, [group[name].to_numpy() for group in by_scenario]) for name in (SUCCESS, TOTAL)]
    shares = " and ".join(
        f"{floor.typical:.0f} % ({name})" for floor, name in zip(floors, (SUCCESS, TOTAL), strict=True)
    )
    return (
        f"{busy:,} of {len(rounds):,} rounds carry the warning that the machine was saturated. The noise floor of the "
        f"middle scenario, which is compared with itself, is {shares}."
    )


def main() -> None:
    """Print the verdicts, or write them into the page."""
    text = printed(rounds_of(sys.argv[1:]))
    rewritten("verdicts", text) if "--write" in sys.argv else print(text)


if __name__ == "__main__":
    main()
