"""What components would refuse is known before any is started, at the setting that it comes from."""

from __future__ import annotations

from typing import Any

import pytest

from patternbench.lab import bench, systems

SHOP = systems.load("shop-behind-two-balancers")


@pytest.mark.parametrize(
    ("given", "path", "words"),
    [
        ({"window": "0s"}, "system.settings.window", "must be longer than nothing"),
        ({"window": 6}, "system.settings.window", "a duration needs a unit"),
        ({"limit": 0}, "system.settings.limit", "greater than or equal to 1"),
        ({"sub_windows": 99}, "system.settings.sub_windows", "less than or equal to 60"),
        (
            {"algorithm": "gcra", "synchronisation": "lazy"},
            "system.settings.synchronisation",
            "no lease goes with gcra",
        ),
        ({"lease_expires": "2m"}, "system.settings.lease_expires", "no lease lives so long"),
        ({"store_delay": "far"}, "system.settings.store_delay", "duration"),
    ],
)
def test_a_setting_that_a_component_would_refuse_is_told_once_by_its_name(
    given: dict[str, Any], path: str, words: str
) -> None:
    (problem,) = bench.settings_problems(SHOP, given)
    assert problem.path == path
    assert words in problem.message


def test_everything_refused_is_told_at_once() -> None:
    found = bench.settings_problems(SHOP, {"limit": 0, "window": "0s", "workers": 0})
    assert {each.path for each in found} == {f"system.settings.{name}" for name in ("limit", "window", "workers")}


def test_settings_that_every_component_takes_are_no_problem() -> None:
    assert bench.settings_problems(SHOP, {"algorithm": "token_bucket", "limit": 5, "window": "1s"}) == []
