"""Coordinates the rounds of a run: gives orders to an executor, and keeps what comes of them.

Journal, progress and the decision to continue are here; where a round runs is the executor's affair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from patternbench import interrupts
from patternbench.plan.order import Round
from patternbench.plan.scenarios import Scenario
from patternbench.records import damage, seals
from patternbench.records.folder import RunFolder
from patternbench.records.journal import VOIDED, WARM_UP, Entry, Journal
from patternbench.records.load_summaries import LoadProgress
from patternbench.records.stored import ComponentStarts
from patternbench.run.round.executor import Executor
from patternbench.run.round.orders import Orders, RoundOrder, RoundResult
from patternbench.run.stopping_early import out_of_reach, stops

Note = Callable[[str, dict[str, object]], None]
"""Adds facts to a part of the manifest."""


class Listener(Protocol):
    """Receives a run's progress."""

    def round_started(self, scenario: Scenario) -> None:
        """Take note that a round begins."""

    def round_progressed(self, progress: LoadProgress) -> None:
        """Take note of how far a round is that the load engine drives."""

    def round_ended(self, entry: Entry) -> None:
        """Take note that a round has ended, well or not."""

    def place_noticed(self, sentence: str) -> None:
        """Something is odd about the place where rounds run."""

    def looked(self, sentence: str) -> None:
        """Take note of what a look at the rounds so far found, after which rounds may stop."""


class Runner:
    """Has the rounds of a plan run, into a run's folder."""

    def __init__(
        self, scenarios: Iterable[Scenario], orders: Orders, folder: RunFolder, listener: Listener, note: Note
    ) -> None:
        self._scenarios = {scenario.id: scenario for scenario in scenarios}
        self._orders = orders
        self._folder = folder
        self._listener = listener
        self._note = note
        self._journal = Journal(folder.journal, seals.of_run(folder))
        self._tries = Counter(
            (entry.round, entry.scenario) for entry in self._journal.entries() if entry.status != WARM_UP
        )
        self._lost_lines = bool(damage.lost_lines(folder))
        self._warm_ups = len(list(folder.attempts.glob("warm-up-*")))
        self._facts: dict[str, dict[str, object]] = {}
        self._starts: dict[str, ComponentStarts] = {}
        for entry in self._journal.entries():
            self._count_starts(entry)

    def run(self, todo: Iterable[Iterable[Round]], executor: Executor) -> None:
        """Have batches of rounds run in their order, up to where going on is useless.

        Raises OSError only when not even the journal can be written.
        """
        made: list[Entry] = []
        for result in executor.map(self._ordered(batch, made) for batch in todo):
            self._keep(result)
            made.append(result.entry)
            self._listener.round_ended(result.entry)

    def _ordered(self, batch: Iterable[Round], made: list[Entry]) -> Iterator[RoundOrder]:
        """Yield the orders of rounds, as long as what was made gives hope for the next."""
        for round_ in batch:
            interrupts.check()
            standing = [entry for entry in made if entry.status != VOIDED]
            if stops(standing, round_):
                return
            scenario = self._scenarios[round_.scenario]
            if out_of_reach(scenario, self._scenarios.values(), standing):
                continue
            self._folder.check_held()
            self._listener.round_started(scenario)
            tries = self._tries_of(round_)
            warm_up = f"warm-up-{self._warm_ups:03d}"
            yield self._orders.of(round_, scenario, _named(round_, tries), warm_up, tries + 1)

    def _keep(self, result: RoundResult) -> None:
        """Write down what came of an order: the round is over once the journal has it."""
        self._folder.check_held()
        for part, facts in result.facts.items():
            if facts != self._facts.get(part):
                self._note(part, facts)
        self._facts = result.facts
        if result.entry.starts:
            self._count_starts(result.entry)
            self._note("starts", {**self._starts})
        for warm_up in result.warm_ups:
            self._journal.append(warm_up)
            self._warm_ups += 1
        records = damage.hashes(self._folder, result.entry.file)
        self._journal.append(replace(result.entry, records=records))

    def _count_starts(self, entry: Entry) -> None:
        for start in entry.starts:
            self._starts[start.component] = self._starts.get(start.component, ComponentStarts()).and_another(start)

    def _tries_of(self, round_: Round) -> int:
        """How many tries of a round there were before, whose records are kept."""
        tries = self._tries[round_.index, round_.scenario]
        while self._lost_lines and self._folder.attempts_of(_named(round_, tries)).exists():
            tries += 1  # they may have been on a damaged line of the journal
        return tries


def _named(round_: Round, tries: int) -> str:
    """Return the name of a round's records after this many earlier tries."""
    name = f"counting-{round_.scenario}" if round_.counting else f"{round_.index:05d}"
    return f"{name}-{tries + 1}" if tries else name
