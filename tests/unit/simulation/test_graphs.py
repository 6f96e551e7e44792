"""The graphs that are shipped: what their distributions promise, and that they are the same each time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.support.simulated import MODEL, simulate

from patternbench.records.journal import DONE
from patternbench.report.build import measures
from patternbench.simulation import model_file
from patternbench.simulation.graphs import ENTRY, FORMS, find, graph
from patternbench.simulation.model_file import SimulationModel, calls_of
from patternbench.terms.problems import InputError

STUDY = """\
patternbench: 1
name: graph
system: {url: "http://127.0.0.1:1"}
rounds: 1
workload: {open: {rate: [100, 200], spacing: poisson, duration: 5s}, request: {path: /, timeout: 2s}}
strategies: [{client: native, baseline: {}}]
"""


@pytest.fixture(scope="module", params=sorted(FORMS))
def drawn(request: pytest.FixtureRequest) -> SimulationModel:
    return graph(request.param)


def shares(model: SimulationModel) -> dict[str, dict[str, float]]:
    """For each service whom it calls, for which part of its requests."""
    made: dict[str, dict[str, float]] = {}
    for name, service in model.services.items():
        made[name] = {call.to: call.share / 100 for _, call in calls_of(service)}
    return made


def reached(model: SimulationModel) -> dict[str, float]:
    """How often a request reaches each service on average, by walking from callers to whom they call."""
    calls, found = shares(model), Counter({ENTRY: 1.0})
    waiting = Counter(callee for made in calls.values() for callee in made)
    free = [ENTRY]
    while free:
        name = free.pop()
        for callee, share in calls[name].items():
            found[callee] += found[name] * share
            waiting[callee] -= 1
            if not waiting[callee]:
                free.append(callee)
    return dict(found)


def test_a_graph_is_a_model_without_a_problem(drawn: SimulationModel) -> None:
    assert list(model_file.problems(drawn)) == []
    assert graph(drawn.name) == drawn


def test_a_request_comes_to_the_stated_number_of_calls_and_every_service_may_be_reached(drawn: SimulationModel) -> None:
    form = FORMS[drawn.name]
    found = reached(drawn)
    assert len(found) == form.services == len(drawn.services)
    assert sum(found.values()) - 1 == pytest.approx(form.calls, rel=0.01)


def test_nearly_half_of_the_services_call_nobody_and_few_are_called_by_many(drawn: SimulationModel) -> None:
    calls = shares(drawn)
    leaves = sum(not made for made in calls.values()) / len(calls)
    assert leaves == pytest.approx(0.45, abs=3 * (0.45 * 0.55 / len(calls)) ** 0.5), "by chance"
    callers = Counter(callee for made in calls.values() for callee in made)
    assert max(callers.values()) >= 5 * sorted(callers.values())[len(callers) // 2]


def test_a_study_is_simulated_with_a_graph_by_its_name(tmp_path: Path) -> None:
    run, entries = simulate(STUDY, find(Path("graph-50")), tmp_path / "run")
    assert {entry.status for entry in entries} == {DONE}
    assert (measures(run).rounds["failure_rate"] < 1).all()


def test_a_file_comes_before_a_graph_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("graph-50").write_text(MODEL)
    assert find(Path("graph-50")).model.name == "target"


def test_a_name_that_is_neither_a_file_nor_a_graph_is_refused_with_the_graphs() -> None:
    with pytest.raises(InputError, match=r"allowed: a file, graph-50, graph-200, graph-1000; did you mean `graph-50`"):
        find(Path("graph-51"))
