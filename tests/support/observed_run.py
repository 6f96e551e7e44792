"""The folder of a run whose every observer saw something, and what it saw: all of it is made up, so all of it is known.

Eight scenarios in three blocks: two rates, with and without a service that stands still for two seconds, with and
without retries. After the standstill some rounds recover, some never do.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from tests.support.spans import keep, span, table

from patternbench.bundlers.observer import BundlerCounts, SeenBundlers
from patternbench.gateways.observer import SeenGateways
from patternbench.gateways.statistics import GatewayCounts
from patternbench.lab import systems
from patternbench.observe import samples
from patternbench.observe.warning import RoundWarning
from patternbench.plan.expand import expand
from patternbench.plan.order import rounds_of
from patternbench.records import attempts, damage, folder, seals, stored
from patternbench.records.attempts import SCHEMA
from patternbench.records.folder import RunFolder, digest
from patternbench.records.journal import DONE, VOIDED, ActedFault, Entry, Journal, RecordedStart, WarmUpRecord
from patternbench.records.stored import Manifest, PlannedScenario
from patternbench.run.prepared_run import planned
from patternbench.series.records import kept
from patternbench.series.records.kept import RequestedSeries, RoundQueries, ScrapedTarget, SeenSeries
from patternbench.speed import samples as speed_samples
from patternbench.study.load import loads
from patternbench.usage.observer import schema as usage_schema

STUDY = """\
patternbench: 1
name: watched
system: target
rounds: 3
seed: 3
warm_up: 1s
objective: {response_time: 50ms}
workload: {open: {rate: [20, 40], duration: 12s, in_flight: 500}, request: {path: /}}
faults:
  - {freeze: {}, where: target, when: {from: 4s, for: [0ms, 2s]}}
strategies:
  - {client: native, baseline: {}}
  - client: native
    name: again
    stack: [{timeout: 300ms}, {retry: {max_attempts: 3, backoff: {fixed: {delay: 10ms}}}}]
series:
  cpu: {query: rate(cpu), unit: cores, title: CPU in use, better: lower}
  modes: rate(modes)
usage: {service: target, store: [shop.db, shop.cache]}
"""
WARM_S, LENGTH_S = 1.0, 12.0
BEGAN_S, ENDED_S = 4.0, 6.0
NEVER = 99.0
TRIES = 3
TOOK_US, LATE_US, FAILED_US, PAUSE_US = 5_000, 60_000, 40_000, 10_000
"""What a good call takes, a good one that misses the objective, a failed attempt; the pause before the next one."""
LATE_EVERY = 25
"""Every so many calls one is good and late."""
INVALID, FAILED = 5, 11
"""The round with a warning that takes its result away, and the one that came to no end."""
TOO_LATE = RoundWarning("late", "too late", "use fewer users", invalidates=True)
SERIES = {
    "cpu": RequestedSeries(
        query="rate(cpu)", unit="cores", title="CPU in use", better="lower", step_s=1.0, label_sets=1, left_out=0
    ),
    "modes": RequestedSeries(
        query="rate(modes)", unit="", title="", better="neither", step_s=1.0, label_sets=3, left_out=1
    ),
}
SQL = {"database": "mariadb", "schema": "core", "statement": "SELECT a FROM line WHERE id = ?"}
MACHINES = {
    "north": {"cpu": "Example CPU", "cores": 8, "kernel": "6.1.0", "boot": "b1"},
    "south": {"cpu": "Example CPU", "cores": 4, "kernel": "6.1.0", "boot": "b2"},
}


@dataclass(frozen=True)
class Call:
    """A call that was made up: when it began (us), its step, how many attempts it took, whether the last was good."""

    number: int
    begun_us: int
    step: str
    tries: int
    good: bool
    late: bool

    @property
    def warm_up(self) -> bool:
        return self.begun_us < WARM_S * 1e6

    @property
    def took_us(self) -> int:
        if self.good:
            return LATE_US if self.late else TOOK_US
        return self.tries * FAILED_US + (self.tries - 1) * PAUSE_US

    @property
    def sent_us(self) -> list[int]:
        """When each of its attempts was sent."""
        return [self.begun_us + attempt * (FAILED_US + PAUSE_US) for attempt in range(self.tries)]


@dataclass(frozen=True)
class SeenRound:
    """A round as it was made up: its place, its levels, its calls, until when calls failed (None: they never did)."""

    index: int
    block: int
    scenario: str
    rate: int
    stands_still: bool
    again: bool
    bad_until: float | None
    calls: Sequence[Call]

    @property
    def measured(self) -> list[Call]:
        return [call for call in self.calls if not call.warm_up]

    @property
    def attempts(self) -> int:
        return sum(call.tries for call in self.measured)


def made_up(index: int, block: int, scenario: PlannedScenario) -> SeenRound:
    """Make a round's calls up. Of those with a standstill the busy ones never recover, but without retries in block 0.

    The others recover half a second later in each block.
    """
    levels = scenario.levels
    rate, again = int(str(levels["rate"])), levels["strategy"] == "again"
    stands_still = levels["freeze.when.for"] == "2s"
    lost = rate == 40 and (again or block > 0)
    bad_until = (NEVER if lost else ENDED_S + 1 + block / 2) if stands_still else None
    calls = [
        _call(number, round(number * 1e6 / rate), again, bad_until)
        for number in range(round(rate * (WARM_S + LENGTH_S)))
    ]
    return SeenRound(index, block, scenario.id, rate, stands_still, again, bad_until, calls)


def _call(number: int, begun_us: int, again: bool, bad_until: float | None) -> Call:
    good = bad_until is None or not BEGAN_S <= begun_us / 1e6 < bad_until
    tries = 1 if good or not again else TRIES
    return Call(number, begun_us, "list" if number % 4 else "buy", tries, good, number % LATE_EVERY == 7)


def observed_run(path: Path, *, shuffled: bool = False) -> tuple[RunFolder, list[SeenRound]]:
    """Write the run, and return it with what was made up of each of its rounds, in their order.

    With ``shuffled`` the rows of all that is kept of a round are in another order.
    """
    put = _shuffled if shuffled else list
    study = loads(STUDY, "study.yaml")
    system = systems.file_of(study.system, None)
    plan = expand(study, system) if system else expand(study)
    rounds = rounds_of(plan.scenarios, 3, study.seed, study.order)
    run = RunFolder(path)
    run.create()
    folder.write_text(run.path / "study.yaml", STUDY)
    noted = Manifest.model_validate(
        {
            "manifest": 1,
            "study": "watched",
            "study_file": "study.yaml",
            "started": "2026-01-01T00:00:00Z",
            "objective_s": 0.05,
            "left_out": {},
            "lanes": MACHINES,
            "refused_lanes": {"west": "has no disk left"},
            "capacity": {
                "before": {"rate": 100.0, "low": 95.0, "high": 105.0, "objective": "p95 <= 200ms", "rounds": 9},
                "after": {"rate": 80.0, "low": 76.0, "high": 84.0, "objective": "p95 <= 200ms", "rounds": 9},
            },
        }
    )
    stored.write_manifest(run, noted)
    stored.write_plan(run, planned(plan, rounds, study))
    scenarios = {one.id: one for one in stored.plan(run).scenarios}
    made = [made_up(one.index, one.block, scenarios[one.scenario]) for one in rounds]
    journal = Journal(run.journal, seals.of_run(run))
    for one in made:
        _write(run, one, put)
        if one.index == _first_of_last_block(made):
            journal.append(_line(run, one, lane="north"))
            journal.append(_voided(one.block))
        journal.append(_line(run, one))
    run.unlock()
    return run, made


def _first_of_last_block(made: Sequence[SeenRound]) -> int:
    return min(one.index for one in made if one.block == 2)


def _voided(block: int) -> Entry:
    return Entry(-1, block, "", VOIDED, f"block-{block:05d}", 1e9, 0.0, cause="it did not answer", lane="north")


Order = Callable[[Iterable[Any]], list[Any]]
"""Puts rows in an order."""


def _shuffled(rows: Iterable[Any]) -> list[Any]:
    mixed = list(rows)
    random.Random(len(mixed)).shuffle(mixed)
    return mixed


def _write(run: RunFolder, one: SeenRound, put: Order) -> None:
    name = f"{one.index:05d}"
    attempts.write(run.attempts_of(name), _attempts(one, put))
    _observe(run, one, name, put)


def _line(run: RunFolder, one: SeenRound, lane: str = "") -> Entry:
    """The line of a round whose records are written."""
    name = f"{one.index:05d}"
    failed = one.index == FAILED
    entry = {
        "round": one.index,
        "block": one.block,
        "scenario": one.scenario,
        "status": "failed" if failed else DONE,
        "file": name,
        "started": 1e9 + 20 * one.index,
        "seconds": 13.5,
        "rows": sum(call.tries for call in one.calls),
        "cause": "the client ended" if failed else None,
        "cpu_seconds": 0.25,
        "system_cpu_seconds": 1.5 + one.block,
        "doubts": [RoundWarning("late", "too late", "use fewer users", invalidates=True)]
        if one.index == INVALID
        else [],
        "sha256": digest(run.attempts_of(name)),
        "faults": _faults(one),
        "starts": [RecordedStart("target", "the study says so", 0.5)] if one.index % 5 == 0 else [],
        "warmed": WarmUpRecord("within", ["target"] if one.index % 5 == 0 else [], one.rate, WARM_S),
        "stored_bytes": {"db": 1_000_000 + 400_000 * one.block},
        "lane": lane or ("south" if one.block else "north"),
        "records": damage.hashes(run, name),
    }
    return Entry(**entry)  # type: ignore[arg-type]


def _faults(one: SeenRound) -> list[ActedFault]:
    """The standstill, and one that lasted for the whole round, which says nothing of when calls recover."""
    whole = ActedFault("delay", "delay", "edge", -1000, 14_000_000, {"requests": 3.0})
    acted = ActedFault(
        "freeze", "freeze", "target", int(BEGAN_S * 1e6), int(ENDED_S * 1e6), {"requests": 1000.0 + one.index}
    )
    return [whole, acted] if one.stands_still else []


def _attempts(one: SeenRound, put: Order) -> pa.Table:
    made = [
        {
            "user": call.number % 50,
            "group": "all",
            "step": call.step,
            "call": call.number,
            "attempt": attempt + 1,
            "intended_us": call.begun_us if not attempt else sent,
            "start_us": sent,
            "first_byte_us": None,
            "end_us": sent + (call.took_us if call.good else FAILED_US),
            "outcome": "answered",
            "status": 200 if call.good else 503,
            "success": call.good,
            "bytes": None,
            "warm_up": call.warm_up,
        }
        for call in one.calls
        for attempt, sent in enumerate(call.sent_us)
    ]
    rows = put(made)
    columns = {name: pa.array([row[name] for row in rows]) for name in SCHEMA.names}
    return pa.Table.from_arrays([columns[name].cast(SCHEMA.field(name).type) for name in SCHEMA.names], schema=SCHEMA)


# --- what observers saw


def _observe(run: RunFolder, one: SeenRound, name: str, put: Order) -> None:
    own = run.observed_of(name)
    _keep_json(own / "gateways", SeenGateways({f"gateway-{n}": GatewayCounts(**gateway(one, n)) for n in (1, 2)}))
    _keep_json(own / "bundlers", SeenBundlers({"bundler": BundlerCounts(**bundler(one))}))
    speed_samples.write(own / "speed", pd.DataFrame(put(probed(one)), columns=["second", "cpu", "cpu_time"]))
    samples.write(own / "usage", pd.DataFrame(put(used(one)), columns=usage_schema().names), usage_schema())
    values = pd.DataFrame(put(series(one)), columns=["series", "labels", "second", "value"])
    kept.write(own / "series", SeenSeries(_queries(), values))
    keep(own / "traces", table(*put(spans(one))))
    log = run.component_logs_of(name) / "target" / "answers.csv.gz"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(gzip.compress(answers(one, put).encode(), mtime=0))
    (run.load / name).mkdir(parents=True, exist_ok=True)
    summary = {"policies": [{"policy": what, "acted": count} for what, count in policies(one).items()]}
    (run.load / name / "summary.json").write_text(json.dumps(summary))


def _keep_json(own: Path, seen: Any) -> None:
    own.mkdir(parents=True)
    (own / f"{own.name}.json").write_text(seen.model_dump_json(indent=1))


def gateway(one: SeenRound, number: int) -> dict[str, Any]:
    """What a gateway counted in a round."""
    hosts = {"shop": 10 * number, "stock": 3 * number}
    counts = {"requests": len(one.calls) * number, "limited": number, "overflows": 2 * number, "shed": 3 * number}
    more = {"timeouts": 4 * number, "connect_failures": 5 * number, "retries": 6 * number, "ejections": 7 * number}
    return {**counts, **more, "hosts": hosts}


def bundler(one: SeenRound) -> dict[str, int]:
    """What a bundler counted in a round."""
    counts = {"requests": 100 + one.index, "calls": 40, "bundles": 20, "bundled": 80, "overflows": 3, "faults": 1}
    return {**counts, "full": 5, "waited_us": 1000 * (100 + one.index)}


def probed(one: SeenRound) -> list[tuple[float, int, float]]:
    """The samples of the speed probe: their geometric mean is that of the two."""
    return [(-0.1, 0, 0.001 * (1 + one.block)), (13.5, 1, 0.004 * (1 + one.block))]


def used(one: SeenRound) -> list[tuple[str, str, float, float, float]]:
    """CPU seconds, MiB and throttled seconds of components."""
    busy = one.rate / 10
    return [
        ("service", "target", busy, 50.0 + one.block, float("nan")),
        ("store", "shop.db", 0.5, 20.0, 0.1 * one.block),
        ("store", "shop.cache", 0.25, 30.0, 0.2),
    ]


def _queries() -> RoundQueries:
    targets = [ScrapedTarget(job="shop", instance="shop-1", scrapes=12, failed=0)]
    return RoundQueries(
        prometheus="http://localhost", measured_from_s=WARM_S, length_s=LENGTH_S, series=SERIES, targets=targets
    )


def series(one: SeenRound) -> list[tuple[str, str, float, float]]:
    """A series with one label set, whose first value is of the warm-up, and one with two that were kept."""
    above = (9.0, 0.5, 2.0, 1.5, 1.0)
    own = [("cpu", "{}", float(second), one.rate / 10 + more) for second, more in enumerate(above)]
    modes = [
        ("modes", json.dumps({"mode": mode}), 2.0, value)
        for mode, value in (("user", 5.0), ("system", 1.0 + one.block))
    ]
    return own + modes


def spans(one: SeenRound) -> list[dict[str, object]]:
    """Requests of two operations: one asks a database for each line, the other a service, and sends a message."""
    lines = 6 if one.again else 3
    return [row for number in range(3) for row in (*_reading(one, number, lines), *_buying(one, number))]


def _reading(one: SeenRound, number: int, lines: int) -> list[dict[str, object]]:
    trace: dict[str, object] = {"trace_id": f"r{one.index}-{number}"}
    root = f"root{number}"
    rows = [
        span(
            root, "server", "shop", (0, 10 * lines + 5), method="GET", route="/lines/{id}", in_memory_calls=4.0, **trace
        )
    ]
    return rows + [
        span(f"query{number}-{line}", "client", "shop", (10 * line + 1, 10 * line + 4), root, **SQL, **trace)
        for line in range(lines)
    ]


def _buying(one: SeenRound, number: int) -> list[dict[str, object]]:
    trace: dict[str, object] = {"trace_id": f"b{one.index}-{number}"}
    fails, get = number == 0 and one.stands_still, {"method": "GET", **trace}
    queue = {"messaging": "rabbitmq", "destination": "orders"}
    return [
        span("root", "server", "shop", (0, 60), method="POST", route="/orders", in_memory_calls=2.0, **trace),
        span("ask", "client", "shop", (5, 35), "root", error=fails, **get),
        span(
            "take", "server", "stock", (10, 30), "ask", route="/stock/{id}", method="GET", in_memory_calls=1.0, **trace
        ),
        span("send", "producer", "shop", (40, 50), "root", **queue, **trace),
        span("get", "consumer", "mail", (70, 95), "send", in_memory_calls=3.0, **trace),
    ]


def answers(one: SeenRound, put: Order = list) -> str:
    """The target's log of 50 answers; of the last ones, as many as the block and one more found their callers gone."""
    head = ["# epoch_us=1", "id,method,path,received_us,started_us,finished_us,status,written_us"]
    lines = ['900,GET,"/",5,,6,503,7', '901,GET,"/",5,6,7,0,']
    for number in range(50):
        at = 1_000_000 + 10_000 * number
        written = "" if number >= 50 - 1 - one.block else str(at + 10)
        lines.append(f'{number},GET,"/",{at - 900},{at - 800},{at},200,{written}')
    return "\n".join([*head, *put(lines)]) + "\n"


def policies(one: SeenRound) -> Mapping[str, int]:
    """How often each policy acted, the outermost first."""
    retried = sum(call.tries - 1 for call in one.calls)
    return {"timeout": 3 + one.block, "retry": retried} if one.again else {}
