"""What gateways and bundlers did is told of each scenario: means over the rounds that count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from tests.support.recorded_run import pinned

from patternbench.bundlers.report import section as bundlers
from patternbench.gateways.report import section as gateways
from patternbench.plan.order import Round
from patternbench.records.folder import RunFolder

BUNDLED: Mapping[str, tuple[float, float]] = {
    "bundler_requests": (1000, 3000),
    "bundler_saved": (50, 70),
    "bundler_size": (3, 5),
    "bundler_full": (20, 30),
    "bundler_wait": (0.004, 0.008),
}
"""What bundlers came to in two rounds of one scenario."""


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    levels = {"client": "native", "strategy": "baseline"}
    scenarios = [
        {"id": name, "levels": {**levels, "auto_bundle": name}, "config": {}} for name in ("none", "customers")
    ]
    return pinned(RunFolder(tmp_path / "run"), scenarios, [Round(0, 0, "none"), Round(1, 0, "customers")])


def rounds(**columns: tuple[float, float]) -> pd.DataFrame:
    """Two rounds with these responses, one in which no one saw anything, and one that does not count."""
    scenario = ["customers", "none", "customers", "customers"]
    status = ["done", "done", "done", "failed"]
    seen = {name: [first, None, second, 1e9] for name, (first, second) in columns.items()}
    return pd.DataFrame({"round": range(4), "scenario": scenario, "status": status, "valid": True, **seen})


def test_a_scenario_is_told_how_full_bundles_were_how_long_requests_waited_and_what_was_saved(run: RunFolder) -> None:
    (made,) = bundlers.sections(run.path, rounds(**BUNDLED))
    (table,) = made.tables
    assert table.frame.to_dict("records") == [
        {
            "scenario": "native baseline, auto bundle customers",
            "Requests to bundlers": "2,000",
            "Calls saved": "60 %",
            "Requests per bundle": "4",
            "Full bundles": "25 %",
            "Wait in bundlers": "6 ms",
        }
    ]


def test_a_scenario_is_told_what_its_gateways_did(run: RunFolder) -> None:
    (made,) = gateways.sections(run.path, rounds(gateway_requests=(10, 20), gateway_limited=(0, 1)))
    (row,) = made.tables[0].frame.to_dict("records")
    assert (row["Requests to gateways"], row["Limited by gateways"]) == ("15", "0.5")


def test_where_no_one_saw_anything_there_is_no_section(run: RunFolder) -> None:
    assert list(bundlers.sections(run.path, rounds())) == []
    untouched = rounds(**BUNDLED).query("scenario == 'none'")
    assert list(bundlers.sections(run.path, untouched)) == []
