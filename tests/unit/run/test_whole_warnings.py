"""Every word of every warning about a round is as agreed, and each begins where it says that it does.

A warning is what a user reads of a number that may mislead. ``tests/golden/run/warnings.txt`` holds all of them, each
next to what is just within its bound and says nothing; UPDATE_GOLDEN=1 rewrites it, for a person to read.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pandas as pd
import psutil
import pytest
from tests.support.golden import is_golden
from tests.support.spans import span, table
from tests.unit.run.test_warnings import CRASH, DELAY, driven, faulted
from tests.unit.series.test_summaries import CPU, requested, seen, target

from patternbench.analyze.warmth import Drift
from patternbench.bundlers.observer import OBSERVER as BUNDLERS
from patternbench.bundlers.observer import BundlerCounts, SeenBundlers
from patternbench.lab import machine
from patternbench.lab.host.launch import ResourceLimits
from patternbench.lab.machine import MachineUse
from patternbench.observe.warning import RoundWarning
from patternbench.ratelimit.observer import store_warnings
from patternbench.recovery.analyze import answers
from patternbench.run.round import warnings
from patternbench.series.gaps import warnings_of
from patternbench.study.model.system import UrlSystem
from patternbench.terms.units import Duration
from patternbench.traces.records.collected import SpanCounts, SpanRecords, TracedRound
from patternbench.traces.responses import warnings as of_traces

IDLE = MachineUse(0.1, 0.1, 0.0)


def of_rounds() -> Iterator[tuple[str, Sequence[RoundWarning]]]:
    """What the runner says of a round."""
    yield "a generator at its bound", warnings.of_generator(1.6, 2)
    yield "a generator above it", warnings.of_generator(1.61, 2)
    yield "100 calls", warnings.of_calls(100, 1)
    yield "99 calls, none good", warnings.of_calls(99, 0)
    yield "1,234 calls, none good", warnings.of_calls(1234, 0)
    yield "no call", warnings.of_calls(0, 0)
    yield "a driver that judges, without a call", warnings.of_load(driven(warnings=[]), IDLE, 2.0)
    yield "no answer of the proxy", warnings.of_proxy(0, 10)
    yield "answers of the proxy", warnings.of_proxy(1234, 56_789)
    yield "a fault in time", faulted(CRASH, (3_050_000, None), (6_050_000, None))
    yield "a fault that is late", faulted(CRASH, (3_050_001, None), (6_000_000, None))
    yield "a window that is missing", faulted(CRASH, (3_000_000, None))
    yield "a delay as exact as it may be", faulted(DELAY, (0, 200.0))
    yield "a delay that is not", faulted(DELAY, (0, 200.1))
    yield "a warm round", warnings.of_warmth(None, Duration.parse("2s"))
    yield "a cold round", warnings.of_warmth(Drift(ratio=1.256, seconds=3.2, attempts=640), Duration.parse("2s"))
    yield "a cold round, by requests", warnings.of_warmth(Drift(1.2, 3.2, 640), Duration.parse("2s"), 1000)
    yield "a start that failed", warnings.of_failed_start()
    yield "a system that is there", warnings.of_absence(None)
    yield "a system that is gone", warnings.of_absence("connection refused")
    yield "certificates", warnings.of_trust(UrlSystem.model_validate({"url": "https://x", "verify": False}))
    yield "limits", warnings.of_limits({"shop": "no control group here", "db": "no such file"})
    yield "logs", warnings.of_cut_logs(["shop", "db"])
    yield "notes", warnings.of_notes({"shop": ["web ended with code 0"]})
    yield "stores", warnings.of_carried_over({"db": ("truncate", "restart")})
    yield "work of before", warnings.of_still_busy("it kept 1.0 CPUs busy")
    yield "nothing of before", warnings.of_still_busy("")
    yield "a machine at its bounds", warnings.of_machine(MachineUse(0.97, 0.5, 0.02))
    yield "a machine that this run keeps busy", warnings.of_machine(MachineUse(0.98, 0.88, 0.0))
    yield "a machine that others keep busy", warnings.of_machine(MachineUse(0.98, 0.87, 0.0))
    yield "stolen time", warnings.of_machine(MachineUse(0.5, 0.5, 0.021))


def of_observers() -> Iterator[tuple[str, Sequence[RoundWarning]]]:
    """What observers say of a round."""
    yield "a store that answered", store_warnings(200, 0)
    yield "a store that did not, once of a hundred", store_warnings(200, 2)
    yield "a store that did not, more often", store_warnings(200, 3)
    counts = {"requests": 9, "calls": 3, "bundles": 2, "bundled": 6, "overflows": 0}
    two = {name: BundlerCounts(**counts, faults=faults) for name, faults in (("one", 2), ("other", 3))}
    yield "bundlers that failed", BUNDLERS.warnings(SeenBundlers(two))
    yield "bundlers that did not", BUNDLERS.warnings(SeenBundlers({"one": BundlerCounts(**counts, faults=0)}))
    yield "series that are whole", list(warnings_of(seen(CPU, target(scrapes=3))))
    yield "a target scraped twice", list(warnings_of(seen(CPU, target(scrapes=2))))
    yield "a target scraped once", list(warnings_of(seen(CPU, target(scrapes=1, failed=1))))
    both = {"cpu": requested(3000, 2900), "gone": requested(0)}
    yield "series that lack values and label sets", list(warnings_of(seen(CPU, **both)))
    yield "traces that are whole", traced(100, 100)
    yield "traces of fewer requests", traced(100, 99)
    yield "traces of a tenth, as few as chance gives", traced(1000, 53, share=0.1)
    yield "traces of a tenth, fewer than chance gives", traced(1000, 52, share=0.1)
    yield "no trace at all", traced(100, 0)
    yield "too few requests to miss any", traced(9, 5, share=0.9)
    yield (
        "traces that were refused and left out",
        traced(2, 2, refused={"bad_body": 1, "other_signal": 7, "new": 2}, left_out={"too_many": 1234, "duplicate": 5}),
    )
    yield "clocks that differ by a millisecond", traced(5, 5, ahead_ms=1)
    yield "clocks that differ by more", traced(5, 5, ahead_ms=250)
    yield "traces that are torn", traced(5, 5, torn=2)


def traced(
    succeeded: int,
    came: int,
    *,
    share: float = 1.0,
    refused: dict[str, int] | None = None,
    left_out: dict[str, int] | None = None,
    ahead_ms: float = 0,
    torn: int = 0,
) -> list[RoundWarning]:
    """The warnings about a round of which so many requests were traced, by a service whose clock is ahead."""
    spans = [row for number in range(came) for row in _request(f"t{number}", ahead_ms)]
    spans += [span(f"lost{number}", "client", "shop", (0, 5), "gone", trace_id=f"x{number}") for number in range(torn)]
    counts = SpanCounts(
        share=share, requests=1, spans=len(spans), kept=len(spans), refused=refused or {}, left_out=left_out or {}
    )
    frame = table(*spans) if spans else table().astype({"start_ns": "int64", "end_ns": "int64"})
    return list(of_traces(TracedRound(SpanRecords(frame, counts), None, 0.1, succeeded)))


def _request(trace: str, ahead_ms: float) -> list[dict[str, Any]]:
    """A request that the shop hands on to the stock; of its call, it spends a millisecond on each way."""
    own = {"trace_id": trace}
    there = (6 + ahead_ms, 14 + ahead_ms)
    return [
        span(f"{trace}-root", "server", "shop", (0, 20), **own),
        span(f"{trace}-ask", "client", "shop", (5, 15), f"{trace}-root", **own),
        span(f"{trace}-take", "server", "stock", there, f"{trace}-ask", **own),
    ]


def words(found: Sequence[RoundWarning]) -> str:
    lines = [f"  {one.kind}{' (not valid)' * one.invalidates}: {one.message}\n    {one.remedy}\n" for one in found]
    return "".join(lines) or "  nothing\n"


def test_every_word_of_every_warning_is_as_agreed() -> None:
    told = [f"{name}\n{words(found)}" for name, found in (*of_rounds(), *of_observers())]
    is_golden("run/warnings.txt", "".join(told))


def test_what_is_just_within_its_bound_says_nothing() -> None:
    """The neighbours of warnings, apart from the golden file: no one may make them warnings by rewriting it."""
    quiet = {name for name, found in (*of_rounds(), *of_observers()) if not found}
    assert quiet == {
        "a generator at its bound",
        "100 calls",
        "no answer of the proxy",
        "a fault in time",
        "a delay as exact as it may be",
        "a warm round",
        "a system that is there",
        "nothing of before",
        "a machine at its bounds",
        "a store that answered",
        "bundlers that did not",
        "series that are whole",
        "traces that are whole",
        "traces of a tenth, as few as chance gives",
        "too few requests to miss any",
        "clocks that differ by a millisecond",
    }


# --- the machine


class Usual:
    """A machine on which nothing disturbs: what it is asked, at the bound of each disturbance."""

    cores, load, governor, files, swapped = 4, 2.0, "performance", 4096, 10.0


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({}, None),
        ({"load": 2.01}, "other work keeps the machine busy (load 0.5 per core)"),
        ({"cores": 3, "load": 1.5}, "generator, proxy and target share 3 cores"),
        ({"governor": "powersave"}, "the CPU frequency governor is powersave"),
        ({"governor": None}, None),
        ({"files": 4095}, "a process may open only 4095 files"),
        ({"swapped": 10.1}, "memory is being swapped"),
    ],
)
def test_a_machine_disturbs_from_beyond_each_bound_on(
    changed: dict[str, Any], what: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_it = SimpleNamespace(**{**{name: value for name, value in vars(Usual).items() if name[0] != "_"}, **changed})
    monkeypatch.setattr(os, "cpu_count", lambda: of_it.cores)
    monkeypatch.setattr(os, "getloadavg", lambda: (of_it.load, 9.0, 9.0))
    monkeypatch.setattr(machine, "governor", lambda: of_it.governor)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (of_it.files, 99_999))
    monkeypatch.setattr(psutil, "swap_memory", lambda: SimpleNamespace(percent=of_it.swapped))
    found = machine.disturbances()
    assert [one.what for one in found] == ([what] if what else [])
    assert all(one.remedy for one in found)


def test_limits_are_told_with_their_units() -> None:
    assert (
        str(ResourceLimits((0, 3), 64_000_000, 1.5))
        == "on CPU 0, 3; 64,000,000 bytes of memory; 1.5 CPU seconds per second"
    )
    assert str(ResourceLimits(memory=5)) == "5 bytes of memory"
    assert str(ResourceLimits()) == ""


# --- a target that stood still


def log_of(pauses_ms: Sequence[float]) -> pd.DataFrame:
    """What a target worked on, with these pauses between two ends in a row."""
    ends = pd.Series([0.0, *pauses_ms]).cumsum() * 1000
    return pd.DataFrame({"started_us": ends - 1, "finished_us": ends, "status": 200, "written_us": ends})


@pytest.mark.parametrize(
    ("longest_ms", "usual_ms", "stood"),
    [
        (2250, 10, None),  # a quarter of a second longer than the fault is within the bound
        (2251, 10, 2.251),
        (2600, 300, None),  # twice the next longest pause is
        (2601, 300, 2.601),
    ],
)
def test_a_target_stood_still_longer_than_its_fault_beyond_what_its_other_pauses_explain(
    longest_ms: float, usual_ms: float, stood: float | None
) -> None:
    done = log_of([*[5.0] * 18, usual_ms, longest_ms])
    found = answers.stood_still(done, fault_s=2.0)
    assert found == (None if stood is None else pytest.approx(stood))
    assert answers.stood_still(done.iloc[1:], fault_s=0.0) is None, "nineteen pauses say nothing of what is usual"
