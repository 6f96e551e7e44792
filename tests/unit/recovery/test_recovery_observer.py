"""Whether and when a round recovered from a fault, by its attempts and by when the fault acted."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.studies import ROOT

from patternbench.observe.seam import FaultSpan, ObservationError, RoundFiles
from patternbench.records.stored import PlannedScenario
from patternbench.recovery.across import across
from patternbench.recovery.observer import OBSERVER
from patternbench.recovery.responses import RESPONSES

RATE, LASTS, START, END = 50, 30.0, 10.0, 15.0
FAULT = FaultSpan(START, END)


def round_of(folder: Path, bad_until: float = 17.0, tries: int = 3, bad: bool = True) -> Path:
    """A round of a call every 20 ms, each 5 ms long. Those from 10 s on fail in each of their tries, until a second."""
    began = np.arange(int(RATE * LASTS)) / RATE
    failing = bad & (began >= START) & (began < bad_until)
    rows = [
        {
            "user": number,
            "group": "all",
            "call": 1,
            "attempt": attempt,
            "intended_us": int(began[number] * 1e6) + 1000 * attempt - 1000,
            "start_us": int(began[number] * 1e6) + 1000 * attempt - 1000,
            "end_us": int(began[number] * 1e6) + 1000 * attempt + 4000,
            "success": not failing[number],
        }
        for number in range(len(began))
        for attempt in range(1, (tries if failing[number] else 1) + 1)
    ]
    path = folder / "00000.parquet"
    pd.DataFrame(rows).sample(frac=1, random_state=1).to_parquet(path)
    return path


def judged(attempts: Path, *faults: FaultSpan) -> dict[str, float]:
    seen = OBSERVER.read(RoundFiles({}, attempts.parent / "recovery", attempts, faults=faults))
    assert seen is not None
    return dict(OBSERVER.measured(seen, {}))


def test_a_round_that_recovers_says_when_and_what_it_cost(tmp_path: Path) -> None:
    found = judged(round_of(tmp_path), FAULT)
    assert found["recovered"] == 100
    assert found["recovery_time"] == pytest.approx(2.0)
    assert found["affected_rate"] == 100
    assert found["amplification_peak"] == 3
    assert found["amplification_after"] == 1


def test_a_round_that_stays_disturbed_counts_with_all_the_time_that_was_left(tmp_path: Path) -> None:
    found = judged(round_of(tmp_path, bad_until=99.0), FAULT)
    assert found["recovered"] == 0
    assert found["recovery_time"] == pytest.approx(LASTS - END, abs=0.1)
    assert found["amplification_after"] == 3


def test_a_round_without_an_effect_has_recovered_at_once(tmp_path: Path) -> None:
    found = judged(round_of(tmp_path, bad=False), FAULT)
    assert (found["recovered"], found["recovery_time"], found["affected_rate"]) == (100, 0, 0)


def test_several_faults_count_from_the_first_begin_to_the_last_end(tmp_path: Path) -> None:
    found = judged(round_of(tmp_path, bad_until=17.0), FaultSpan(11, 12), FaultSpan(10, 16), FaultSpan(-1, 31))
    assert found["recovery_time"] == pytest.approx(1.0)


def test_a_fault_of_the_whole_round_leaves_nothing_to_recover_to(tmp_path: Path) -> None:
    assert OBSERVER.read(RoundFiles({}, tmp_path, round_of(tmp_path), faults=[FaultSpan(-0.1, 30.2)])) is None
    assert OBSERVER.read(RoundFiles({}, tmp_path, round_of(tmp_path))) is None


@pytest.mark.parametrize("fault", [FaultSpan(0.2, 5), FaultSpan(20, 31)])
def test_without_calls_before_or_after_the_fault_nothing_is_said(tmp_path: Path, fault: FaultSpan) -> None:
    found = judged(round_of(tmp_path), fault)
    elsewhere = {"goodput_lost", "wasted_work"}  # from another round, and from a target's log
    assert list(found) == [one.name for one in RESPONSES if one.name not in elsewhere]
    assert all(np.isnan(value) for value in found.values())


def test_attempts_that_cannot_be_read_are_an_error_that_names_them(tmp_path: Path) -> None:
    broken = tmp_path / "00001.parquet"
    broken.write_bytes(b"no")
    seen = OBSERVER.read(RoundFiles({}, tmp_path, broken, faults=[FAULT]))
    assert seen is not None
    with pytest.raises(ObservationError, match=r"00001\.parquet cannot be read"):
        OBSERVER.measured(seen, {})


def test_the_contract_of_records_has_every_response() -> None:
    text = (ROOT / "contracts/records/README.md").read_text(encoding="utf-8")
    assert all(f"`{one.name}`" in text for one in RESPONSES)


def log_of(folder: Path, gone: int, stood_s: float = 0.0) -> Path:
    """A target's log of 100 requests a second, the last of which found their callers gone; it stands after the 50th."""
    done = [1_000_000 + 10_000 * number + (int(stood_s * 1e6) if number >= 50 else 0) for number in range(200)]
    lines = ["# epoch_us=1", "id,method,path,received_us,started_us,finished_us,status,written_us"]
    for number, at in enumerate(done):
        written = "" if number >= 200 - gone else str(at + 10)
        lines.append(f'{number},GET,"/",{at - 900},{at - 800},{at},200,{written}')
    lines += ['900,GET,"/",5,,6,503,7', '901,GET,"/",5,6,7,0,']
    path = folder / "answers.csv.gz"
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    return path


def test_work_for_callers_who_had_left_is_counted_from_the_targets_log(tmp_path: Path) -> None:
    logs = {"target": [log_of(tmp_path, gone=30), tmp_path / "README.txt.gz"]}
    seen = OBSERVER.read(RoundFiles(logs, tmp_path, round_of(tmp_path), faults=[FAULT]))
    assert seen is not None
    assert OBSERVER.measured(seen, {})["wasted_work"] == pytest.approx(15)
    assert OBSERVER.warnings(seen) == []
    assert "wasted_work" not in judged(round_of(tmp_path), FAULT), "there is no log, so nothing is known"


def test_a_target_that_stood_longer_than_its_fault_is_a_warning(tmp_path: Path) -> None:
    logs = {"target": [log_of(tmp_path, gone=0, stood_s=2.8)]}
    for lasted, warned in ((2.0, 1), (2.7, 0)):
        fault = FaultSpan(START, START + lasted)
        seen = OBSERVER.read(RoundFiles(logs, tmp_path, round_of(tmp_path), faults=[fault]))
        assert seen is not None
        assert [one.kind for one in OBSERVER.warnings(seen)] == ["trigger_lasted"] * warned


def test_a_log_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "answers.csv.gz").write_bytes(b"no gzip")
    logs = {"target": [tmp_path / "answers.csv.gz"]}
    seen = OBSERVER.read(RoundFiles(logs, tmp_path, round_of(tmp_path), faults=[FAULT]))
    assert seen is not None
    with pytest.raises(ObservationError, match="the log of answers of 00000 cannot be read"):
        OBSERVER.measured(seen, {})


def test_good_calls_since_the_fault_are_counted_per_second(tmp_path: Path) -> None:
    good = RATE * (LASTS - 17.0)
    assert judged(round_of(tmp_path, bad_until=17.0), FAULT)["goodput_since"] == pytest.approx(good / 20, rel=0.01)


def test_the_goodput_lost_is_that_of_the_undisturbed_round_of_the_block() -> None:
    scenarios = [planned("calm", "0ms"), planned("hit", "2s"), planned("other", "0ms", rate=99)]
    rounds = pd.DataFrame(
        {
            "block": [0, 0, 0, 1, 1],
            "scenario": ["calm", "hit", "other", "hit", "calm"],
            "status": ["done", "done", "done", "done", "failed"],
            "valid": [True] * 5,
            "SuccessfulCalls": [1000.0, 700.0, 9000.0, 700.0, 1000.0],
            "goodput_since": [np.nan, 30.0, np.nan, 30.0, np.nan],
        }
    )
    lost = across(rounds, scenarios)["goodput_lost"]
    assert lost[1] == pytest.approx(40), "50 good calls a second without the fault, 30 with it"
    assert lost.drop(1).isna().all(), "without an undisturbed round in the block nothing is known"
    plain = rounds.drop(columns="goodput_since")
    assert across(plain, scenarios) is plain


def planned(name: str, lasts: str, rate: int = 50) -> PlannedScenario:
    config = {
        "system": {"name": "target"},
        "faults": {"freeze": {"where": "target", "when": {"from": "8s", "for": lasts}}},
        "workload": {"open": {"rate": rate, "duration": "20s"}, "request": {}},
        "client": "native",
        "strategy": {"baseline": {}},
    }
    levels = {"freeze.when.for": lasts, "rate": rate}
    return PlannedScenario.model_validate({"id": name, "levels": levels, "config": config, "length_s": 20.0})


def test_early_signs_are_those_of_the_first_second_after_the_end(tmp_path: Path) -> None:
    calm = judged(round_of(tmp_path, bad_until=15.0), FAULT)
    assert (calm["early_amplification"], calm["early_under_way"]) == (1, 0)
    assert calm["early_p99"] == pytest.approx(0.005, abs=0.0001)
    lost = judged(round_of(tmp_path, bad_until=99.0), FAULT)
    assert lost["early_amplification"] == 3
    assert lost["early_p99"] == pytest.approx(0.007, abs=0.0001), "three tries, a millisecond apart"


def test_the_load_at_recovery_is_that_of_the_second_after_the_last_disturbed_one(tmp_path: Path) -> None:
    assert judged(round_of(tmp_path, bad_until=17.0), FAULT)["recovery_load"] == RATE
    assert np.isnan(judged(round_of(tmp_path, bad_until=99.0), FAULT)["recovery_load"])
