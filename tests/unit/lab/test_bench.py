"""What components would refuse is known before any is started, at the setting that it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from patternbench.lab import startable, systems, topologies
from patternbench.lab.systems import SystemFile

SHOP = systems.load("shop-behind-two-balancers")


@pytest.mark.parametrize(
    ("given", "path", "words"),
    [
        ({"window": "0s"}, "system.settings.window", "must be longer than 0"),
        ({"window": 6}, "system.settings.window", "a duration needs a unit"),
        ({"limit": 0}, "system.settings.limit", "allowed: at least 1"),
        ({"sub_windows": 99}, "system.settings.sub_windows", "allowed: at most 60"),
        (
            {"algorithm": "gcra", "synchronisation": "lazy"},
            "system.settings.synchronisation",
            "gcra computes times, so it can't use leases",
        ),
        ({"lease_expires": "2m"}, "system.settings.lease_expires", "a lease can't last that long"),
        ({"store_delay": "far"}, "system.settings.store_delay", "duration"),
    ],
)
def test_a_setting_that_a_component_would_refuse_is_reported_once_by_its_name(
    given: dict[str, Any], path: str, words: str
) -> None:
    (problem,) = startable.settings_problems(SHOP, given)
    assert problem.path == path
    assert words in str(problem)


def test_everything_refused_is_reported_at_once() -> None:
    found = startable.settings_problems(SHOP, {"limit": 0, "window": "0s", "workers": 0})
    assert {each.path for each in found} == {f"system.settings.{name}" for name in ("limit", "window", "workers")}


def test_settings_that_every_component_takes_are_no_problem() -> None:
    assert startable.settings_problems(SHOP, {"algorithm": "token_bucket", "limit": 5, "window": "1s"}) == []


BROKEN = """\
patternbench-system: 1
name: broken
about: a file whose author has mistyped
settings:
  behind: {default: shop, about: what the proxy stands in front of}
components:
  - delay_proxy: {name: far, to: "${behind}", delay: 1ms}
  - target: {name: shop}
  - tarpit: {name: slow}
endpoint: fra
"""


def broken(folder: Path, text: str) -> SystemFile:
    (folder / "systems").mkdir()
    (folder / "systems" / "broken.yaml").write_text(text)
    return systems.load("broken", folder)


def test_what_a_component_refers_to_is_a_problem_of_the_setting_that_names_it(tmp_path: Path) -> None:
    system = broken(tmp_path, BROKEN.replace("  - tarpit: {name: slow}\n", ""))
    (problem,) = startable.settings_problems(system, {"behind": "shpo"})
    assert problem.path == "system.settings.behind"
    assert "is not among the components in use" in problem.message
    assert problem.hint == "did you mean `shop`?"


def test_an_unknown_kind_of_component_is_one_problem_and_no_stack_trace(tmp_path: Path) -> None:
    system = broken(tmp_path, BROKEN)
    (problem,) = startable.settings_problems(system, {})
    assert problem.message == "unknown kind of component `tarpit`"
    assert "target" in problem.allowed
    assert startable.needs_problems(system, {}) == []


def test_an_endpoint_that_no_component_has_is_a_problem(tmp_path: Path) -> None:
    system = broken(tmp_path, BROKEN.replace("  - tarpit: {name: slow}\n", ""))
    (problem,) = startable.settings_problems(system, {})
    assert "load goes to `fra`" in problem.message
    assert problem.hint == "did you mean `far`?"


def test_what_is_to_be_launched_says_what_its_kind_needs() -> None:
    (launch,) = topologies.of_entries([("store", "redis", {})], ["store"]).launches
    assert [need.name for need in launch.needs] == ["redis"]
