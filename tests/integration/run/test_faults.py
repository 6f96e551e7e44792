"""Every kind of fault under every driver, with real processes: all of them one after another in one round."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.integration.run.conftest import command, entries, left_behind, patternbench

from patternbench.lab.faults.links import ONLY_CACHES, ONLY_IN_CONTAINERS
from patternbench.records import attempts
from patternbench.study.faults import KINDS

LENGTH, GAP = 1.5, 3.0
"""How long each fault acts, and from one fault's beginning to the next one's, in seconds."""
TIMEOUT_S = 0.5
"""How long a request waits for its answer."""
MARGIN = 0.25
"""What belongs to no fault: around each beginning and end, in seconds."""

STUDY = """\
patternbench: 1
name: faulty
system: {{name: target, settings: {{service_time: "fixed:1ms", workers: 8}}}}
rounds: 1
warm_up: {warm_up}
time_limit: 60s
workload:
  {load}
  request: {{path: /bytes/2000, timeout: 500ms}}
strategies:
  - {{client: native, baseline: {{}}}}
faults:
"""
LOADS = {
    "engine": {"warm_up": "500ms", "load": "open: {{rate: 60, duration: {seconds}s, in_flight: 5000}}"},
    "library": {"warm_up": "0ms", "load": "closed: {{users: 3, duration: {seconds}s, think_time: 20ms}}"},
}


def mostly(frame: pd.DataFrame, outcome: str, status: int | None = None) -> bool:
    """Whether nearly all attempts ended so: a few may have been under way when the fault began or ended."""
    alike = frame["outcome"] == outcome
    if status is not None:
        alike &= frame["status"] == status
    return len(frame) > 0 and alike.mean() > 0.9


def unanswered(frame: pd.DataFrame) -> bool:
    """Whether no attempt was answered before the fault ended: those begun near its end may be answered after it."""
    soon = frame["start_us"].max() - frame["start_us"].min() - TIMEOUT_S * 1e6
    early = frame[frame["start_us"] - frame["start_us"].min() < soon]
    return len(early) > 0 and not (early["outcome"] == "answered").any()


def took_ms(frame: pd.DataFrame) -> pd.Series[float]:
    return (frame["end_us"] - frame["start_us"]) / 1000


@dataclass(frozen=True)
class Case:
    """A fault, and what the attempts that began under it look like."""

    fault: dict[str, Any]
    looks: Callable[[pd.DataFrame], bool]
    where: str = "edge"
    lasts: float = LENGTH
    """How long it acts at least, in seconds: a restart is over when the component is up."""


FAULTS = {
    "abort": Case({"percentage": 100, "status": 429}, lambda frame: mostly(frame, "answered", 429)),
    "delay": Case(
        {"percentage": 100, "duration": "30250us", "spread": "250us"},
        lambda frame: mostly(frame, "answered", 200) and took_ms(frame).min() >= 30,
    ),
    "reset": Case({"percentage": 100}, lambda frame: mostly(frame, "connection_error")),
    "refuse": Case({}, lambda frame: mostly(frame, "connection_error")),
    "stall": Case({"percentage": 100}, lambda frame: (frame["outcome"] != "answered").all()),
    "slow": Case({"bandwidth": "60kB/s"}, lambda frame: took_ms(frame).median() > 25),
    "partition": Case({}, unanswered, "envoy -> target"),
    "freeze": Case({}, unanswered, "target"),
    "cpu": Case({"percentage": 80, "period": "100ms"}, lambda frame: took_ms(frame).quantile(0.75) > 15, "target"),
    "crash": Case({}, lambda frame: mostly(frame, "answered", 503), "target"),
    "restart": Case({}, lambda frame: frame.empty or mostly(frame, "answered", 503), "target", lasts=0.0),
}


def study_of(driver: str) -> str:
    seconds = GAP * len(FAULTS) + 4
    load = {name: text.format(seconds=round(seconds, 3)) for name, text in LOADS[driver].items()}
    lines = [
        json.dumps(
            {
                kind: case.fault,
                "where": case.where,
                "when": {"from": f"{begins(kind) * 1000:.0f}ms", "for": f"{LENGTH}s"},
            }
        )
        for kind, case in FAULTS.items()
    ]
    return STUDY.format(**load) + "".join(f"  - {line}\n" for line in lines)


def begins(kind: str) -> float:
    """When a fault begins, in seconds from the end of the warm-up."""
    return 0.5 + GAP * list(FAULTS).index(kind)


@dataclass(frozen=True)
class Round:
    """What came of the round: its journal's entry, its attempts, and where in them measuring begins, in seconds."""

    folder: Path
    entry: dict[str, Any]
    attempts: pd.DataFrame
    measured_from: float

    def acted(self, kind: str) -> dict[str, Any]:
        (found,) = [fault for fault in self.entry["faults"] if fault["kind"] == kind]
        return dict(found)

    def between(self, low: float, high: float) -> pd.DataFrame:
        """The attempts that began in a span of seconds from the round's start."""
        start = self.attempts["start_us"] / 1e6
        return self.attempts[(start >= low) & (start < high)]


@pytest.fixture(scope="module", params=list(LOADS))
def round_(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Round]:
    folder = tmp_path_factory.mktemp(request.param)
    file, out = folder / "faulty.yaml", folder / "run"
    file.write_text(study_of(request.param))
    done = patternbench("run", str(file), "--out", str(out))
    # On a busy machine the generator may be late and the round not valid: its faults act all the same.
    (entry,) = entries(out)
    assert entry["status"] == "done", done.stdout + done.stderr
    measured_from = 0.5 if request.param == "engine" else 0.0
    yield Round(out, entry, attempts.read(out / "attempts" / f"{entry['file']}.parquet"), measured_from)
    assert not left_behind(str(folder))


def test_every_kind_has_its_turn() -> None:
    elsewhere = {*ONLY_IN_CONTAINERS, *ONLY_CACHES}
    assert set(FAULTS) == set(KINDS) - elsewhere, "what acts on containers and on caches has tests of its own"


def test_each_fault_acted_once_and_no_warning_of_it_is_left(round_: Round) -> None:
    assert sorted(fault["kind"] for fault in round_.entry["faults"]) == sorted(FAULTS)
    kinds = {warning["kind"] for warning in round_.entry["doubts"]}
    assert not kinds & {"fault_never_began", "answered_by_proxy"}, round_.entry["doubts"]


@pytest.mark.parametrize("kind", list(FAULTS))
def test_attempts_under_a_fault_look_as_it_says(round_: Round, kind: str) -> None:
    acted = round_.acted(kind)
    under = round_.between(acted["began_us"] / 1e6 + MARGIN, acted["ended_us"] / 1e6 - MARGIN)
    assert FAULTS[kind].looks(under), under[["start_us", "end_us", "outcome", "status"]].describe(include="all")


@pytest.mark.parametrize("kind", list(FAULTS))
def test_a_fault_is_undone_and_the_system_works_again(round_: Round, kind: str) -> None:
    ended = round_.acted(kind)["ended_us"] / 1e6
    others = (fault["began_us"] / 1e6 for fault in round_.entry["faults"])
    after = round_.between(ended + MARGIN, min((began for began in others if began > ended), default=ended + 4) - 0.05)
    # How soon all is well again depends on the machine: it answers, and not as under the fault.
    again = (after["status"] == 200).any() and not FAULTS[kind].looks(after)
    assert again, after[["start_us", "end_us", "outcome", "status"]].describe(include="all")


@pytest.mark.parametrize("kind", list(FAULTS))
def test_a_fault_begins_when_the_study_says_and_the_record_says_when_it_did(round_: Round, kind: str) -> None:
    acted, planned = round_.acted(kind), round_.measured_from + begins(kind)
    late = acted["began_us"] / 1e6 - planned
    warned = any(warning["message"].startswith(f"fault {kind} began") for warning in round_.entry["doubts"])
    assert acted["where"] == FAULTS[kind].where
    assert late >= -0.02
    assert (late > 0.05) == warned, "on a busy machine a fault may be late, and then that is told"
    assert planned + FAULTS[kind].lasts - 0.02 <= acted["ended_us"] / 1e6


def test_the_report_shows_the_faults_as_bands_over_time(round_: Round) -> None:
    assert "Faults over time" in (round_.folder / "report.html").read_text()
    drawn = (round_.folder / "figures" / "faults-1.svg").read_text()
    assert all(kind in drawn for kind in FAULTS)


def test_a_frozen_component_is_gone_when_patternbench_is_killed(tmp_path: Path) -> None:
    file, out = tmp_path / "frozen.yaml", tmp_path / "run"
    load = {name: text.format(seconds=30) for name, text in LOADS["engine"].items()}
    file.write_text(STUDY.format(**load) + "  - {freeze: {}, where: target, when: {from: 500ms}}\n")
    with subprocess.Popen(command("run", str(file), "--out", str(out)), stderr=-1, stdout=-1) as run:
        frozen = _awaited(lambda: [pid for pid in _named("target", tmp_path) if _state(pid) == "T"])
        run.send_signal(signal.SIGKILL)
    _awaited(lambda: not any(Path(f"/proc/{pid}").exists() for pid in frozen))
    _awaited(lambda: not left_behind(str(tmp_path)))


def _awaited(what: Callable[[], Any], seconds: float = 30) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.05)
    return found


def _named(verb: str, folder: Path) -> list[int]:
    """The processes of the engine that carry out a verb for a run below a folder."""
    found = []
    for place in Path("/proc").iterdir():
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            ours = str(folder) in str((place / "cwd").readlink()) if place.name.isdigit() else False
        except OSError:
            continue
        if ours and words[1:2] == [verb.encode()]:
            found.append(int(place.name))
    return found


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
