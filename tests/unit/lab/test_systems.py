"""What a system file says: which components a scenario calls for, and where load goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from patternbench.lab import systems
from patternbench.lab.components import KINDS
from patternbench.lab.systems import SystemFile
from patternbench.study.problems import InputError

FILE = """\
patternbench-system: 1
name: pair
about: two fronts and a store that only some scenarios use
settings:
  store: {default: memory, about: where the state is}
  distance: {default: 0ms, about: to the store}
components:
  - target: {name: shop}
  - redis: {when: {store: redis}}
  - delay_proxy:
      {name: far, when: {store: [redis, mariadb]}, unless: {distance: 0ms}, to: "${store}", delay: "${distance}"}
  - nginx: &front {name: one, upstream: shop}
  - nginx: {<<: *front, name: two}
endpoint: [one, two]
"""


def system(folder: Path, text: str = FILE) -> SystemFile:
    (folder / "systems").mkdir()
    (folder / "systems" / "pair.yaml").write_text(text)
    return systems.load("pair", folder)


def started(of: SystemFile, **settings: Any) -> list[str]:
    return [name for name, _, _ in of.with_settings(settings)]


def test_a_component_that_a_scenario_does_not_use_is_not_started(tmp_path: Path) -> None:
    pair = system(tmp_path)
    assert started(pair) == ["shop", "one", "two"]
    assert started(pair, store="redis") == ["shop", "redis", "one", "two"]
    assert started(pair, store="redis", distance="25ms") == ["shop", "redis", "far", "one", "two"]
    assert started(pair, store="mariadb", distance="25ms") == ["shop", "far", "one", "two"]


def test_what_the_file_says_about_a_component_is_no_setting_of_it(tmp_path: Path) -> None:
    components = {
        name: fields for name, _, fields in system(tmp_path).with_settings({"store": "redis", "distance": "5ms"})
    }
    assert components["far"] == {"to": "redis", "delay": "5ms"}
    assert components["two"] == {"upstream": "shop"}


def test_the_kinds_are_those_that_some_level_of_a_study_calls_for(tmp_path: Path) -> None:
    pair = system(tmp_path)
    assert pair.kinds({}) == ["target", "nginx", "nginx"]
    assert "redis" in pair.kinds({"store": ["memory", "redis"]})
    assert "delay_proxy" not in pair.kinds({"store": ["redis"], "distance": ["0ms"]})
    assert "delay_proxy" in pair.kinds({"store": ["redis"], "distance": ["0ms", "25ms"]})
    assert pair.kinds() == ["target", "redis", "delay_proxy", "nginx", "nginx"]


def test_load_goes_to_every_endpoint_in_turn(tmp_path: Path) -> None:
    assert system(tmp_path).endpoints == ["one", "two"]


def test_a_condition_on_something_that_is_no_setting_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="redis depends on `shelf`, which is no setting"):
        system(tmp_path, FILE.replace("when: {store: redis}", "when: {shelf: redis}"))


def test_every_system_of_ours_names_kinds_that_the_lab_knows() -> None:
    assert {kind for name in systems.names() for kind in systems.load(name).kinds()} <= KINDS.keys()


def test_the_docs_name_every_kind_of_component_with_every_setting() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs/write-a-system.md").read_text()
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    assert rows.keys() == KINDS.keys()
    for kind, model in KINDS.items():
        assert [name for name in model.model_fields if f"`{name}`" not in rows[kind]] == [], kind
