"""The simulation next to a run reads its records and never makes a run fail."""

from __future__ import annotations

import json
import shutil

import pytest

from patternbench.ratelimit import derive
from patternbench.ratelimit.records import simulated
from patternbench.ratelimit.records.simulated import JudgeSummary
from patternbench.ratelimit.simulate import simulator
from patternbench.records.folder import RunFolder
from patternbench.terms.problems import InputError


@pytest.mark.skipif(shutil.which("luajit") is None, reason="needs luajit2 and lua-cjson")
def test_every_round_is_decided_again_and_a_map_is_made_of_the_first(run: RunFolder) -> None:
    derive.derive(run.path)
    found = simulated.read(run)
    assert found is not None
    (summary,) = found.rounds.values()
    assert (summary.requests, summary.model_dump()["allowed"], summary.deviation) == (3, 2, 0)
    assert [one.round for one in found.maps] == [0]
    assert {"recorded", "bursty"} == {scenario.arrivals for scenario in found.maps[0].scenarios}


@pytest.mark.skipif(shutil.which("luajit") is None, reason="needs luajit2 and lua-cjson")
def test_the_same_records_give_the_same_simulation(run: RunFolder) -> None:
    def made() -> list[JudgeSummary]:
        derive.derive(run.path)
        found = simulated.read(run)
        assert found is not None
        return [scenario.measured for scenario in found.maps[0].scenarios]

    assert made() == made()


def test_without_luajit_the_reason_is_kept_and_nothing_fails(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator.shutil, "which", lambda _name: None)
    derive.derive(run.path)
    found = simulated.read(run)
    assert found is not None
    assert found.missing == "luajit is not on PATH: install it: apt-get install luajit2 lua-cjson"


def test_a_run_without_decisions_is_left_as_it_is(run: RunFolder) -> None:
    shutil.rmtree(run.component_logs)
    derive.derive(run.path)
    assert simulated.read(run) is None


def test_a_kept_simulation_whose_scenario_lacks_a_number_is_damaged_and_says_how_it_is_made_again(
    run: RunFolder,
) -> None:
    summary = {"requests": 3, "deviation": 0.0}
    (run.path / "simulated.json").write_text(json.dumps({"rounds": {"0": summary}}), encoding="utf-8")
    with pytest.raises(InputError, match=r"simulated\.json: is damaged; delete it: `patternbench report"):
        simulated.read(run)
