"""Whether and when a round recovered from a fault, by its attempts and by when the fault acted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.studies import ROOT

from patternbench.observe.seam import FaultSpan, ObservationError, RoundFiles
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
    assert list(found) == [one.name for one in RESPONSES]
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
