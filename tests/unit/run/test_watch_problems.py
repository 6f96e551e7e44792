"""Series that no one could answer, and what names them, are reported before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.studies import study

from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.run.before import evidence, watch_problems
from patternbench.terms.problems import InputError

SYSTEM = """\
patternbench-system: 1
name: watched
about: a target, and a Prometheus that only some scenarios have
settings:
  watch: {default: true, about: whether it is watched}
components:
  - target: {name: shop}
  - node_exporter: {}
  - prometheus: {name: monitor, when: {watch: true}, scrape: {node_exporter: /metrics}}
endpoint: shop
"""


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "watched.yaml").write_text(SYSTEM)
    return Inputs(tmp_path)


def reported(inputs: Inputs, **changes: str) -> list[str]:
    requested = study(**{"series": "{cpu: up}", **changes})
    return [str(problem) for problem in watch_problems.described(requested, expand(requested), inputs)]


def test_series_of_a_system_without_prometheus_are_refused_with_what_to_do(inputs: Inputs) -> None:
    (one,) = reported(inputs, system="target")
    assert one.startswith("series: the system has no component `prometheus` to query for the series")
    assert "`prometheus: URL`" in one
    (url,) = reported(inputs, system="{url: 'http://localhost:1'}")
    assert "allowed: envoy" in url


def test_a_component_that_only_some_scenarios_have_is_missed_in_the_others(inputs: Inputs) -> None:
    assert reported(inputs, system="watched", prometheus="monitor") == []
    varied = "{name: watched, settings: {watch: [true, false]}}"
    (missed,) = reported(inputs, system=varied, prometheus="monitor")
    assert missed.startswith("prometheus: the system has no component `monitor` to query for the series")
    (misspelt,) = reported(inputs, system="watched", prometheus="montior")
    assert "did you mean `monitor`?" in misspelt


def test_a_prometheus_that_already_runs_needs_no_component(inputs: Inputs) -> None:
    assert reported(inputs, system="target", prometheus="http://localhost:9090") == []


def test_models_and_wishes_may_name_the_summaries_of_the_studys_own_series_alone() -> None:
    names = {
        "models": "['series.cpu.mean ~ users']",
        "derived": "{per_call: series.cpu.max / goodput}",
        "recommend": "{objectives: [min series.cpu.last]}",
    }
    requested = study(series="{cpu: up}", **names)
    evidence.check(requested, expand(requested))
    other = study(series="{memory: up}", **names)
    with pytest.raises(InputError) as raised:
        evidence.check(other, expand(other))
    problems = [str(problem) for problem in raised.value.problems]
    assert len(problems) == 3
    assert all("`series.cpu." in problem and "series.memory." in problem for problem in problems)
