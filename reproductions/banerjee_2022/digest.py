"""Reads runs of the cinema's studies into the tables from which the page is written.

A run's folder has every request; the page needs a row per round. Of a run of ``cinema-traces`` the drawings are kept
instead, and their titles in a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from patternbench.analyze.load.loadtest import PUBLISHED_WINDOW, smooth
from patternbench.analyze.metrics import ended_journeys
from patternbench.analyze.recovery import Recovery, recovery
from patternbench.records import observed, tables
from patternbench.records.folder import RunFolder
from patternbench.records.journal import ActedFault, Entry
from patternbench.report import load_tests
from patternbench.series.observer import OBSERVER
from patternbench.traces.report import section as traces_section
from reproductions.claimed import planned
from reproductions.comparisons import read
from reproductions.pages import US_PER_S, Reader, rounds_as, told_by_attempts

LOAD, SMOOTHED, WAITING, QUEUES, WAYS = "load", "smoothed", "waiting", "queues", "ways"
OPEN, BURST, FAULTS, DRAWINGS, CALLS = "open", "burst", "faults", "drawings", "calls"
LOAD_TESTS, AGAIN = "cinema-load-tests", "parameters.again"
COMPARED = read("banerjee_2022/compared.yaml")
"""The studies of which rounds are compared as they are."""
DRAWN_USERS = (10, 100)
"""The loads whose times are drawn request by request, as in the thesis; with them waiting is varied."""
AS_PUBLISHED = {"fetch": "at_once", "parameters.first_fetch_after": "0ms", AGAIN: "never"}
"""The levels of the published way to fetch, where a study has others."""
MOST_POINTS = 1000
BURST_FROM_S, BURST_TO_S = 20.0, 30.0
ASKS = ("ask for",)
"""How the names of steps begin that are the first of two requests of an operation."""
CONFIRMING, MAKING = ("make", "fetch reservation"), ("make", "ask for reservation")
LATE_S = 1.0
COUNTED_WITHIN_S = 3.0
"""After how long a stored reservation is in the series: it is counted each second, and scraped each second; a second is
for a busy machine."""
KEPT = ["architecture", "block", "warnings"]
"""What is kept of every round."""
OF_FAULT, RECOVERED = ("failed", "late", "incomplete", "failure_ms"), ("affected", "seen_after", "recovered_after")
"""What a fault did to operations, and when they were as before."""


def of_load_tests(run: RunFolder) -> dict[str, pd.DataFrame]:
    """Return a row per round of first requests and of operations, both in the published way to fetch.

    In addition the times of some loads, as they are and smoothed, and the rounds in which waiting is varied.
    """
    requests, journeys = _published(run, "request"), _published(run, "journey")
    rows = [row for key in requests for row in _load_rows(key, requests[key], journeys[key])]
    drawn = [points for key in requests for points in _points(key, _first(requests[key]))]
    return {LOAD: pd.DataFrame(rows), SMOOTHED: pd.concat(drawn, ignore_index=True)} | of_waiting(run)


def of_waiting(run: RunFolder) -> dict[str, pd.DataFrame]:
    """Return the rounds in which the way to fetch is varied; none of a study that doesn't vary it."""
    one, rounds = COMPARED[LOAD_TESTS], tables.read_table(run.path)
    if not {*one.factors} <= {*rounds.columns}:
        return {}
    varied = rounds.loc[rounds["users"].isin(DRAWN_USERS), [name for name in one.columns if name in rounds]]
    return {WAITING: varied.assign(**{AGAIN: in_order(varied[AGAIN])})}


def in_order(pauses: pd.Series) -> pd.Categorical:
    """Return the pauses before a fetch is repeated in the order of the study, with none first."""
    return pd.Categorical(pauses, list(dict.fromkeys(at[AGAIN] for at in planned(LOAD_TESTS).values())))


def _published(run: RunFolder, unit: load_tests.Unit) -> dict[tuple[str, str], pd.DataFrame]:
    """Return what each architecture was sent in each test, in the published way to fetch."""
    return {
        (str(part.levels["architecture"]), str(part.levels["parameters.test"])): part.requests
        for part in load_tests.requests_of(run, "users", unit)
        if all(str(part.levels.get(name, level)) == level for name, level in AS_PUBLISHED.items())
    }


def _first(requests: pd.DataFrame) -> pd.DataFrame:
    """Return the requests that the thesis sent: of each step the first, and none that asks again."""
    return requests[requests["attempt"] == 1]


def _load_rows(key: tuple[str, str], requests: pd.DataFrame, journeys: pd.DataFrame) -> Iterator[dict[str, object]]:
    operations = dict(list(journeys.groupby(["load", "block"])))
    for (users, block), sent in _first(requests).groupby(["load", "block"]):
        ended = operations[users, block]
        incomplete = sent["status"].str.startswith(f"{load_tests.NOT_AS_EXPECTED} (2")
        failed = ~incomplete & ~sent["status"].str.startswith("2")
        answering = ~sent["step"].str.startswith(ASKS)
        yield {
            "architecture": key[0],
            "test": key[1],
            "users": users,
            "block": block,
            "requests": len(sent),
            "mean_ms": sent["response"].mean(),
            "failed": 100 * failed.mean(),
            "incomplete": 100 * incomplete.mean(),
            "operations": len(ended),
            "operation_ms": ended["response"].mean(),
            "operation_p95_ms": ended["response"].quantile(0.95),
            "operation_failed": 100 * (ended["status"] == "failed").mean(),
            "asked_again": 100 * (failed | incomplete)[answering].mean(),
        }


def _points(key: tuple[str, str], requests: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """First requests in the order of sending, some of them as they are, and all of them smoothed."""
    for users in DRAWN_USERS:
        rows = requests[requests["load"] == users].sort_values("time", kind="stable")
        if rows.empty:
            continue
        numbered = rows.assign(time=np.arange(len(rows), dtype=float))
        thinned = numbered.iloc[np.unique(np.linspace(0, len(rows) - 1, min(MOST_POINTS, len(rows))).astype(int))]
        curve = smooth(float(users), numbered, PUBLISHED_WINDOW)
        drawn = {
            "raw": (thinned["time"].to_numpy(), thinned["response"].to_numpy()),
            "smoothed": (curve.times, curve.values),
        }
        names = {"architecture": key[0], "test": key[1], "users": users}
        for kind, (number, ms) in drawn.items():
            yield pd.DataFrame({**names, "kind": kind, "request": number, "ms": ms})


def of_open(run: RunFolder) -> dict[str, pd.DataFrame]:
    """Return a row per round: times of operations, what was lost, and the depth of the queues."""
    rounds = tables.read_table(run.path)
    arrivals = rounds["journeys"] + rounds["unfinished_journeys"] + rounds["TotalCalls"] * rounds["dropped_rate"] / 100
    lost = arrivals - rounds["journeys"] * (1 - rounds["journey_failure_rate"] / 100)
    columns = {
        "rate": rounds["rate"].astype(float),
        "p50_ms": rounds["journey_p50"] * 1e3,
        "p95_ms": rounds["journey_p95"] * 1e3,
        "done_per_s": rounds["journeys_per_s"],
        "lost": 100 * lost / arrivals,
        "queued": rounds["series.queued.max"],
    }
    return {OPEN: rounds[KEPT].assign(**columns)}


def of_bursts(run: RunFolder) -> dict[str, pd.DataFrame]:
    """Return a row per round: what the burst did to operations, and when they were as before."""
    rounds = told_by_attempts(run, lambda _, rows: _recovered(rows, BURST_FROM_S, BURST_TO_S))
    peak = next(name for name in rounds.columns if str(name).endswith("spike.peak"))
    own = rounds[KEPT].assign(peak=rounds[peak].astype(float), queued=rounds["series.queued.max"])
    return {BURST: own.join(rounds[list(RECOVERED)])}


def of_faults(run: RunFolder) -> dict[str, pd.DataFrame]:
    """Return a row per round: what the fault did to operations, when they recovered, what became of reservations."""

    def told(entry: Entry, rows: pd.DataFrame) -> dict[str, object]:
        acted = entry.faults[0] if entry.faults else None
        fault = f"{acted.kind} {acted.where}" if acted else "none"
        return {"fault": fault, **_of_fault(rows, acted), **_kept(rows, _stored(run, entry.file))}

    rounds = told_by_attempts(run, told)
    return {FAULTS: rounds[[*KEPT, "breaker", "fault", *OF_FAULT, *RECOVERED, "lost", "doubled"]]}


def _stored(run: RunFolder, file: str) -> pd.DataFrame:
    """Return the samples of the number of stored reservations in a round: ``second`` and ``value``."""
    seen = observed.read(run, file, OBSERVER)
    samples = seen.samples if seen else pd.DataFrame(columns=["series", "second", "value"])
    return samples[samples["series"] == "stored"].dropna().sort_values("second")


def _kept(rows: pd.DataFrame, stored: pd.DataFrame) -> dict[str, object]:
    """How many confirmed reservations the last sample lacks, and how many it has that no one had asked for by then.

    A reservation counts as confirmed when it was so for long enough to be in that sample; NaN without a sample.
    """
    if stored.empty:
        return {"lost": np.nan, "doubled": np.nan}
    at_us, value = stored["second"].iloc[-1] * US_PER_S, stored["value"].iloc[-1]
    good, step = rows["success"].astype(bool), rows["step"].astype(str)
    settled = rows["end_us"] <= at_us - COUNTED_WITHIN_S * US_PER_S
    confirmed = int((good & step.isin(CONFIRMING) & settled).sum())
    requested = int((step.isin(MAKING) & (rows["attempt"] == 1) & (rows["start_us"] <= at_us)).sum())
    return {"lost": max(confirmed - value, 0), "doubled": max(value - requested, 0)}


def _of_fault(rows: pd.DataFrame, acted: ActedFault | None) -> dict[str, object]:
    ended = ended_journeys(rows)
    failed = 100 * float(np.mean(~ended.good))
    late = 100 * float(np.mean(ended.good & (ended.seconds > LATE_S)))
    incomplete = int(((rows["outcome"] == "expectation_failed") & rows["status"].between(200, 299)).sum())
    span = (acted.began_us / US_PER_S, acted.ended_us / US_PER_S) if acted else (np.inf, np.inf)
    reported = dict(zip(OF_FAULT, (failed, late, incomplete, _failure_ms(rows, acted)), strict=True))
    return {**reported, **_recovered(rows, *span)}


def _failure_ms(rows: pd.DataFrame, acted: ActedFault | None) -> float:
    """Return the middle time in ms of requests that failed and were sent while a fault acted; NaN without any."""
    if acted is None:
        return np.nan
    sent = rows[rows["start_us"].between(acted.began_us, acted.ended_us) & (rows["attempt"] > 0)]
    failed = sent[(sent["status"] >= 500) | sent["outcome"].isin(["timeout", "connection_error"])]
    return float((failed["end_us"] - failed["start_us"]).median() / 1e3)


def _recovered(rows: pd.DataFrame, start: float, end: float) -> dict[str, object]:
    ended = ended_journeys(rows)
    judged = recovery(ended.began_us / US_PER_S, ended.seconds, ended.good, start, end) if np.isfinite(end) else None
    return {name: getattr(judged or Recovery(np.nan, None, None), name) for name in RECOVERED}


def of_calls(run: RunFolder) -> dict[str, pd.DataFrame]:
    """Return a row per round, in which each call has its own column: its median time in ms."""
    steps = pd.read_parquet(run.steps).assign(ms=lambda rows: 1e3 * rows["p50"])
    times = steps.pivot(index="round", columns="step", values="ms").reset_index()
    return {CALLS: tables.read(run.path).rows[["round", *KEPT]].merge(times, on="round").drop(columns="round")}


def of_traces(run: RunFolder) -> dict[str, pd.DataFrame]:
    """Return the titles of the drawings of the report's section on calls, each with its SVG."""
    (section,) = traces_section.sections(run.path, tables.read_table(run.path))
    return {DRAWINGS: pd.DataFrame([{"title": one.title, "svg": one.svg} for one in section.drawings])}


READERS: Mapping[str, Reader] = {
    LOAD_TESTS: of_load_tests,
    "cinema-load-tests-full": of_load_tests,
    "cinema-queues": rounds_as(QUEUES, COMPARED["cinema-queues"].columns),
    "cinema-ways": rounds_as(WAYS, [*KEPT, "calls", "via", "connections", "fetch", "journey_p50", "journey_p95"]),
    "cinema-open": of_open,
    "cinema-burst": of_bursts,
    "cinema-faults": of_faults,
    "cinema-traces": of_traces,
    "cinema-calls": of_calls,
}
