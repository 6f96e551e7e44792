"""``patternbench capacity`` finds the rate of a target whose capacity is known, at a URL and by a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.integration.run.conftest import patternbench
from tests.support.answers_of_commands import fits
from tests.support.targets import target_up

SERVED_PER_S = 100
"""One worker that takes 10 ms for each call: whoever offers more waits without end."""
FEW = ("--start", "25", "--most", "400", "--duration", "2s", "--rounds", "2", "--objective", "p95 <= 100ms", "--json")
STUDY = """\
patternbench: 1
name: open
system: {name: target, settings: {workers: 1, service_time: "fixed:10ms"}}
warm_up: 500ms
workload: {open: {rate: 10, duration: 1s}, request: {path: /bytes/10}}
strategies: [{client: native, baseline: {}}]
"""


@pytest.mark.parametrize("requested", ["a URL", "a study"])
def test_the_search_ends_around_what_the_target_can_serve(requested: str, tmp_path: Path) -> None:
    picture = tmp_path / "capacity.svg"
    found = of_url(tmp_path, picture) if requested == "a URL" else of_study(tmp_path, picture)
    rates = {one["rate"]: one["missed"] / one["calls"] for one in found["rounds"]}
    assert max(rates) > SERVED_PER_S, "the search never went beyond what is served"
    assert rates[max(rates)] > 0.05
    assert min(rates) == 25
    # On a busy machine rounds differ too much for an answer; where the search ended is known all the same.
    ended_at = found["rate"] or max(rate for rate, missed in rates.items() if missed <= 0.05)
    assert 0.5 * SERVED_PER_S <= ended_at < 1.5 * SERVED_PER_S
    assert "<svg" in picture.read_text()
    assert "p95" in picture.read_text()


def of_url(folder: Path, picture: Path) -> dict[str, Any]:
    with target_up(folder, "--workers", "1", "--service-time", "fixed:10ms") as url:
        return answer(patternbench("capacity", f"{url}/bytes/10", *FEW, "--svg", str(picture)))


def of_study(folder: Path, picture: Path) -> dict[str, Any]:
    file = folder / "open.yaml"
    file.write_text(STUDY)
    return answer(patternbench("capacity", str(file), *FEW, "--svg", str(picture)))


def answer(done: Any) -> dict[str, Any]:
    assert done.returncode in (0, 1), done.stderr
    fits("capacity", done.stdout)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_study_of_several_scenarios_or_without_a_rate_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "open.yaml"
    file.write_text(STUDY.replace("rate: 10", "rate: [10, 20]"))
    several = patternbench("capacity", str(file), *FEW)
    file.write_text(STUDY.replace("open: {rate: 10, duration: 1s}", "closed: {users: 2, successes: 3}"))
    closed = patternbench("capacity", str(file), *FEW)
    assert (several.returncode, closed.returncode) == (2, 2)
    assert "the study has 2 scenarios" in several.stderr
    assert "has no rate to search" in closed.stderr
