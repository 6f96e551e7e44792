"""What is started between rounds is known before anything runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from patternbench.plan.expand import Plan, expand
from patternbench.plan.order import by_system
from patternbench.records.inputs import Inputs
from patternbench.run.before.reconfigurations import Reconfigurations, counted
from patternbench.study.load import loads

SYSTEM = """\
patternbench-system: 1
name: own
about: a service with a setting that it takes while it runs and one that it does not, and a caller
settings:
  limit: {{default: 1, about: taken while it runs}}
  heap: {{default: 1, about: taken at the start}}
components:
  - process:
      name: shop
      command: [{python}, shop.py, "--heap", "${{heap}}"]
      live: {{limit: {{call: {{method: PUT, url: "${{self.url}}/limit", body: "${{limit}}"}}}}}}
      {reset}
  - delay_proxy: {{name: way, to: shop, delay: 1ms}}
  - target: {{}}
endpoint: way
"""
STUDY = """\
patternbench: 1
name: x
system: {name: own, settings: {heap: [1, 2], limit: [1, 2]}}
workload: {closed: {users: 1, successes: 1}}
"""


def reconfigurations(folder: Path, reset: str = "") -> tuple[Reconfigurations, Plan]:
    (folder / "systems").mkdir()
    (folder / "systems" / "own.yaml").write_text(SYSTEM.format(python=sys.executable, reset=reset))
    study = loads(STUDY, "x.yaml")
    return Reconfigurations(study, Inputs(folder)), expand(study)


def test_scenarios_that_differ_in_live_settings_alone_are_one_group(tmp_path: Path) -> None:
    between, plan = reconfigurations(tmp_path)
    groups = [between.group(scenario) for scenario in plan.scenarios]
    levels = [(scenario.levels["heap"], scenario.levels["limit"]) for scenario in plan.scenarios]
    assert levels == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert groups[0] == groups[1] != groups[2] == groups[3]


def test_a_system_of_which_nothing_is_live_is_grouped_by_its_settings_as_they_are_written() -> None:
    text = STUDY.replace("name: own, settings: {heap: [1, 2], limit: [1, 2]}", "name: target, settings: {seed: [1, 2]}")
    study = loads(text, "x.yaml")
    for scenario in expand(study).scenarios:
        assert Reconfigurations(study, Inputs(Path())).group(scenario) == by_system(scenario)


@pytest.mark.parametrize(
    ("reset", "often"),
    [("", {"shop": 2, "way": 2, "target": 1}), ("reset: restart", {"shop": 4, "way": 4, "target": 1})],
)
def test_starts_are_counted_along_the_order_with_those_that_refer_to_them(
    tmp_path: Path, reset: str, often: dict[str, int]
) -> None:
    between, plan = reconfigurations(tmp_path, reset)
    starts = between.starts(plan.scenarios)
    assert starts[0].keys() == {"shop", "way", "target"}
    assert counted(starts) == often
    assert starts[2] == {
        "shop": "its reset is a restart" if reset else "its command changed",
        "way": "shop, which it refers to, was started",
    }


CONTAINED = """\
patternbench-system: 1
name: own
about: a project with a setting that its services read
settings: {heap: {default: 1, about: read by services}, limit: {default: 1, about: read by nobody}}
components:
  - compose: {name: shop, file: ../compose.yaml, services: {web: 80}, env: {HEAP: "${heap}"}}
  - nginx: {name: front, upstream: shop}
endpoint: front
"""


def test_settings_of_a_compose_project_are_grouped_and_counted_as_starts_of_what_reads_them(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    (tmp_path / "systems" / "own.yaml").write_text(CONTAINED)
    study = loads(STUDY, "x.yaml")
    between, plan = Reconfigurations(study, Inputs(tmp_path)), expand(study)
    groups = [between.group(scenario) for scenario in plan.scenarios]
    assert groups[0] == groups[1] != groups[2] == groups[3]
    starts = between.starts(plan.scenarios)
    assert counted(starts) == {"shop": 2, "front": 1}
    assert starts[2] == {"shop": "its settings changed"}
