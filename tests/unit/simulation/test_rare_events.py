"""Rare events in simulated time: which there are, how probable they are, and that nothing passes for measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.linalg import expm
from tests.support.answers_of_commands import fits
from tests.support.simulated import MODEL, checked, model, verdicts

from patternbench.analyze.statements.predicted import Nearness
from patternbench.cli.main import cli
from patternbench.drivers.rare import LevelOfEvent, RareFound
from patternbench.plan.expand import expand
from patternbench.records.held_out import covering
from patternbench.simulation import rare_events
from patternbench.simulation.model_file import ModelFile
from patternbench.simulation.rare_events import RareEventAsked, chance, parsed
from patternbench.study.load import loads
from patternbench.terms.problems import InputError

ONE_WORKER = MODEL.replace("workers: 4", "workers: 1").replace("5ms", "10ms").replace("network: 100us\n", "")
TWO = """\
patternbench-model: 1
name: two
entry: shop
services:
  shop: {workers: 50, times: {fixed: 1ms}, calls: [{together: [{to: stock}]}]}
  stock: {workers: 1, times: {exponential: 10ms}}
"""
QUEUED = """\
patternbench: 1
name: queued
system: {url: "http://127.0.0.1:1"}
rounds: 2
warm_up: 1s
workload: {open: {rate: 50, spacing: poisson, duration: 2s}, request: {path: /, timeout: 30s}}
strategies: [{client: native, baseline: {}}]
"""
ARRIVALS, SERVED = 50.0, 100.0


def asked(folder: Path, model_of: ModelFile, *options: object, study: str = QUEUED) -> Result:
    file, named = folder / "study.yaml", folder / "asked.yaml"
    file.write_text(study)
    named.write_text(model_of.text)
    words = ["simulate", file, "--with", named, *options]
    return CliRunner().invoke(cli, [str(word) for word in words])


def free_of_system(text: str) -> str:
    return text.replace("system: target\n", "")


def within_round(top: int) -> float:
    """How probable it is that an M/M/1 has so many requests at once in two seconds after a first one."""
    rates = np.zeros((400, 400))
    for number in range(399):
        rates[number, number + 1] = ARRIVALS
        rates[number + 1, number] = SERVED
    absorbing = rates.copy()
    absorbing[top:] = 0.0
    before, during = (each - np.diag(each.sum(axis=1)) for each in (rates, absorbing))
    return float((expm(before)[0] @ expm(2.0 * during))[top:].sum())


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("waiting at stock >= 40", ("waiting", "stock", 40)),
        ("in_flight>=7", ("in_flight", "shop", 7)),
        (" no_success >= 1.5s ", ("no_success", "", 1_500_000)),
    ],
)
def test_an_event_is_a_limit_that_something_reaches(text: str, event: tuple[str, str, int], tmp_path: Path) -> None:
    found = parsed(text, model(tmp_path, TWO).model)
    assert (found.kind, found.service, found.reaches) == event


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("waiting", "isn't an event"),
        ("waitng >= 4", "did you mean `waiting`"),
        ("waiting at stok >= 4", "did you mean `stock`"),
        ("waiting <= 4", "isn't an event"),
        ("waiting >= 0", "a whole number from 1"),
        ("waiting >= 4.5", "a whole number from 1"),
        ("waiting >= 99999999999999999999", "a whole number from 1"),
        ("no_success at shop >= 4s", "is of no single service"),
        ("no_success >= 4", "isn't a length of time"),
        ("no_success >= 0s", "is reached at once"),
    ],
)
def test_what_is_no_event_is_refused_with_what_to_type(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=why) as refused:
        parsed(text, model(tmp_path, TWO).model)
    assert all(problem.path == "--rare" for problem in refused.value.problems)


def test_a_queue_is_as_rarely_long_as_its_chain_says_and_the_answer_fits_its_schema(tmp_path: Path) -> None:
    exact = within_round(18)
    assert exact < 2e-4
    done = asked(tmp_path, model(tmp_path, free_of_system(ONE_WORKER)), "--rare", "in_flight >= 18", "--json")
    assert done.exit_code == 0, done.output
    fits("simulate", done.stdout)
    found = json.loads(done.stdout)
    (one,) = found["scenarios"]
    assert one["low"] <= exact <= one["high"]
    assert one["high"] / one["low"] < 6
    assert (found["simulated"], found["at"], one["steps"][-1]["at"]) == (True, "target", 18)
    assert one["probability"] == one["steps"][-1]["probability"]


def test_people_read_that_it_was_simulated_and_how_often_it_comes(tmp_path: Path) -> None:
    options = ("--rare", "waiting >= 6", "--paths", "200", "--cores", "1")
    one = asked(tmp_path, model(tmp_path, free_of_system(ONE_WORKER)), *options)
    assert one.exit_code == 0, one.output
    assert one.stdout.startswith("Simulated, not measured. The model was never held against measured rounds")
    assert "waiting at target >= 6" in one.stdout
    two = asked(tmp_path, model(tmp_path, free_of_system(ONE_WORKER)), *options[:-1], "2")
    assert one.stdout == two.stdout, "the number of cores changes nothing"


def test_a_service_inside_a_graph_and_silence_are_watched_too(tmp_path: Path) -> None:
    graph = model(tmp_path, TWO)
    found = []
    for event in ("waiting at stock >= 4", "no_success >= 200ms"):
        done = asked(tmp_path, graph, "--rare", event, "--paths", "200", "--json")
        assert done.exit_code == 0, done.output
        (one,) = json.loads(done.stdout)["scenarios"]
        found.append(one["probability"])
    waiting, silence = found
    assert waiting > 0.05
    assert 0 < silence < 0.1


def test_a_model_that_was_wrong_where_it_was_checked_is_not_asked(tmp_path: Path) -> None:
    study = QUEUED.replace('system: {url: "http://127.0.0.1:1"}', "system: target")
    of_target = model(tmp_path, ONE_WORKER)
    scenarios = [one.configuration for one in expand(loads(study, "study.yaml")).scenarios]
    near = verdicts(Nearness.NEAR, "goodput", "p99")
    whole = near.model_copy(update={"covers": covering([*scenarios])})
    good = asked(tmp_path, checked(of_target, whole), "--rare", "waiting >= 3", "--paths", "20", study=study)
    assert good.exit_code == 0, good.output
    wrong = whole.model_copy(update={"verdicts": {"goodput": "within 10 %", "p99": "not usable"}})
    refused = asked(tmp_path, checked(of_target, wrong), "--rare", "waiting >= 3", study=study)
    assert "predictions of p99 were not usable" in str(refused.exception)
    outside = asked(tmp_path, checked(of_target, near), "--rare", "waiting >= 3", study=study)
    assert "outside what was checked" in str(outside.exception)


def test_silence_that_no_round_can_hold_and_a_folder_are_refused(tmp_path: Path) -> None:
    graph = model(tmp_path, TWO)
    longer = asked(tmp_path, graph, "--rare", "no_success >= 3s")
    assert "is longer than a round" in str(longer.exception)
    folder = asked(tmp_path, graph, "--rare", "no_success >= 1s", "--out", tmp_path / "run")
    assert "--rare makes no run" in str(folder.exception)
    assert not (tmp_path / "run").exists()


def test_what_no_path_reached_has_an_upper_end_and_no_probability() -> None:
    scenario = expand(loads(QUEUED, "study.yaml")).scenarios[0]
    event = RareEventAsked("waiting at shop >= 40", "waiting", "shop", 40)
    reached = LevelOfEvent(level=10, probability=0.02, low=0.01, high=0.04)
    not_reached = LevelOfEvent(level=40, probability=0.0, low=0.0, high=None)
    for levels in ([reached], [reached, not_reached]):
        found = RareFound(threshold=40, levels=levels, paths=100, repetitions=20)
        one = chance(scenario, found, event)
        assert (one.probability, one.low, one.high) == (None, None, 0.04)
        assert one.words == "not reached; at most 0.04"
    never = chance(scenario, RareFound(threshold=40, levels=[not_reached], paths=1, repetitions=20), event)
    assert (never.words, never.high) == ("not reached", None)


def test_a_probability_is_said_with_its_interval_and_in_rounds() -> None:
    scenario = expand(loads(QUEUED, "study.yaml")).scenarios[0]
    event = RareEventAsked("no_success >= 5s", "no_success", "", 5_000_000)
    level = LevelOfEvent(level=5_000_000_000, probability=2e-6, low=1e-6, high=4e-6)
    one = chance(scenario, RareFound(threshold=5_000_000_000, levels=[level], paths=1, repetitions=20), event)
    assert one.words == "2.00e-06 [1.00e-06, 4.00e-06], once in 500,000 rounds"
    assert one.steps[0].at == 5.0
    assert event.shown(2.5) == "no_success >= 2.5s"


def test_as_many_repetitions_are_expected_as_the_engine_makes(tmp_path: Path) -> None:
    done = asked(tmp_path, model(tmp_path, TWO), "--rare", "in_flight >= 2", "--paths", "20", "--json")
    (one,) = json.loads(done.stdout)["scenarios"]
    assert one["repetitions"] == rare_events.REPETITIONS


def test_a_rate_may_be_a_share_of_the_capacity(tmp_path: Path) -> None:
    capacity = "capacity: {rate: 100/s}\n"
    half = QUEUED.replace("rate: 50,", "rate: 50 %,").replace("warm_up: 1s\n", f"warm_up: 1s\n{capacity}")
    options = ("--rare", "waiting >= 3", "--paths", "200", "--json")
    done = asked(tmp_path, model(tmp_path, free_of_system(ONE_WORKER)), *options, study=half)
    assert done.exit_code == 0, done.output
    (one,) = json.loads(done.stdout)["scenarios"]
    assert one["probability"] > 0.5
