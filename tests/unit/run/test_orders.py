"""Orders and results are plain data: what travels as JSON arrives as what it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.shipped_studies import shipped
from tests.support.studies import study

from patternbench.observe.warning import RoundWarning
from patternbench.plan.expand import expand
from patternbench.plan.order import Round
from patternbench.records.journal import Entry
from patternbench.run.round.orders import Orders, RoundOrder, RoundResult
from patternbench.study.load import load
from patternbench.study.models import Study

STUDIES = shipped()
MOST = 60


def travelled(order: RoundOrder) -> RoundOrder:
    return RoundOrder.from_json(json.loads(json.dumps(order.as_json())))


def orders(of: Study, study_folder: Path) -> list[RoundOrder]:
    """Orders of scenarios from all over a study."""
    scenarios = expand(of).scenarios
    made = Orders(of, {"users.csv": "0" * 64}, study_folder)
    chosen = scenarios[:: -(-len(scenarios) // MOST)]
    return [made.of(Round(n, 0, each.id), each, f"{n:05d}", "warm-up-000") for n, each in enumerate(chosen)]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_an_order_of_any_study_of_ours_arrives_as_it_was_given(path: Path) -> None:
    for order in orders(load(path), path.parent):
        arrived = travelled(order)
        assert arrived == order
        assert arrived.treatment.id == order.scenario["id"] == arrived.treatment.as_json()["id"]


def test_a_client_of_the_studys_own_travels_with_its_orders(tmp_path: Path) -> None:
    own = study(clients="{resilience4j: {command: [./mine, --port, '0']}}", lateness="{percentage: 20}")
    order = travelled(orders(own, tmp_path)[0])
    assert order.client_at is not None
    assert order.client_at.command == ["./mine", "--port", "0"]
    assert order.lateness is not None
    assert (order.lateness.percentage, order.study_folder) == (20, str(tmp_path))


def test_the_file_of_a_system_travels_with_its_orders(tmp_path: Path) -> None:
    order = travelled(orders(study(), tmp_path)[0])
    assert order.system_file is not None
    assert order.system_file.name == "httpbin"
    assert order.system_file.kinds() == ["python_app", "envoy"]


def test_no_secret_travels_with_an_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "xyzzy")
    with_token = study(system='{url: "http://127.0.0.1:1", headers: {Authorization: "${env:TOKEN}"}}')
    text = json.dumps(orders(with_token, tmp_path)[0].as_json())
    assert "${env:TOKEN}" in text
    assert "xyzzy" not in text


def test_a_result_arrives_as_it_was_sent() -> None:
    warning = RoundWarning("few_calls", "only 3", "make rounds longer")
    entry = Entry(1, 0, "abc", "done", "00001", 1.5, 2.5, 3, cpu_seconds=0.5, doubts=[warning], sha256="0" * 64)
    warm = Entry(-1, -1, "abc", "warm_up", "warm-up-000", 1.0, 0.5)
    facts = {"machines": {"x": {"cores": 2}}, "accounts": {"redis": "redis"}}
    result = RoundResult(entry, [warm], ["attempts/00001.parquet"], facts)
    assert RoundResult.from_json(json.loads(json.dumps(result.as_json()))) == result


def test_the_seed_of_a_round_is_the_same_in_every_version_and_in_no_other_round(tmp_path: Path) -> None:
    """A round that is measured again, years later, sends the same: how seeds are made is part of what is recorded."""
    made = {seed: orders(study(seed=seed), tmp_path) for seed in (1, 2, 2**53)}
    scenario = expand(study()).scenarios[0]
    asked = [Orders(study(seed=7), {}, tmp_path).of(Round(n, 0, scenario.id), scenario, "a", "b") for n in (0, 1, 50)]
    assert [one.seed for one in asked] == [7_000_022, 7_000_119, 7_004_872]
    assert {one.warm_up_seed for one in asked} == {7}
    assert all(0 <= one.seed < 2**53 for every in made.values() for one in every)
