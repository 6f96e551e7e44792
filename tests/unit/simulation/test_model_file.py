"""The file of a model: what is read, what is refused with its line, and that it is written as it is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.simulated import MODEL, checked, model, verdicts
from tests.support.studies import ROOT

from patternbench.simulation import model_file
from patternbench.study.text.files import read_text
from patternbench.terms.nearness import Nearness
from patternbench.terms.problems import InputError, Problem

GRAPH = """\
patternbench-model: 1
name: shop
settings: {workers: 4}
network: 100us
connection: 300us
entry: shop
services:
  shop:
    workers: "${workers}"
    times:
      quantiles:
        - {share: 0, time: 1ms}
        - {share: 0.5, time: 2ms}
        - {share: 1, time: 9ms}
    slowdown: [{at: 1, factor: 1}, {at: 4, factor: 1.2}]
    line: {limit: 100, order: lifo, deadline: 1s}
    limit: {rate: 50.5, burst: 3}
    operations:
      buy: {times: {fixed: 3ms}}
    calls:
      - together:
          - {to: stock, timeout: 50ms, policies: [{retry: {max_attempts: 2, backoff: {fixed: {delay: 5ms}}}}]}
          - {to: stock, share: 50, times: 2, on_failure: ignore}
  stock: {workers: 2, times: {exponential: 3ms}, replicas: 2, balance: least_busy}
"""


def refused(tmp_path: Path, text: str, old: str, new: str) -> Problem:
    assert old in text
    with pytest.raises(InputError) as error:
        model(tmp_path, text.replace(old, new, 1))
    return error.value.problems[0]


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), start=1) if part in line)


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        ("time: 9ms", "time: 1500us", "services.shop.times.quantiles[2].time", "falls from 2ms to 1500us"),
        ("share: 0.5", "share: 0.0", "services.shop.times.quantiles[1].share", "does not rise"),
        ("{share: 1, time: 9ms}", "{share: 0.9, time: 9ms}", "services.shop.times.quantiles[2].share", "ends with 1"),
        ("rate: 50.5", "rate: -1", "services.shop.limit.rate", "is not allowed here"),
        ("workers: 2, times", "workers: 0, times", "services.stock.workers", "is not allowed here"),
        ("{to: stock, timeout", "{to: stocks, timeout", "services.shop.calls[0].together[0].to", "no such service"),
        ("replicas: 2, balance: least_busy", "balance: random", "services.stock.balance", "without `replicas`"),
        ("at: 4", "at: 1", "services.shop.slowdown[1].at", "does not rise"),
        ("entry: shop", "entry: shap", "entry", "no such service"),
        ("order: lifo", "order: random", "services.shop.line.order", "is not allowed here"),
        ("name: shop", "name: shop\ncolour: red", "colour", "unknown key"),
        ("network: 100us", "network: -100us", "network", "is not a duration"),
        ("timeout: 50ms", "timeout: 0ms", "services.shop.calls[0].together[0].timeout", "must be longer than 0"),
        ("replicas: 2", "replicas: 0", "services.stock.replicas", "is not allowed here"),
        ("workers: 2, times", "workers: 1.5, times", "services.stock.workers", "is not allowed here"),
        ("workers: 2, times", "workers: .nan, times", "services.stock.workers", "is not allowed here"),
        ("rate: 50.5", "rate: .nan", "services.shop.limit.rate", "is not allowed here"),
        ("factor: 1.2", "factor: .inf", "services.shop.slowdown[1].factor", "is not allowed here"),
        (
            "share: 50, times: 2",
            "share: 50, times: 0",
            "services.shop.calls[0].together[1].times",
            "is not allowed here",
        ),
        ("      buy: {times", "      '': {times", "services.shop.operations.", "at least 1 character"),
    ],
)
def test_what_is_wrong_with_a_model_is_said_with_its_line(
    tmp_path: Path, old: str, new: str, path: str, message: str
) -> None:
    problem = refused(tmp_path, GRAPH, old, new)
    assert (problem.path, message in problem.message) == (path, True), problem
    assert problem.line == line_of(GRAPH.replace(old, new, 1), new.splitlines()[-1].strip("{} "))


def test_a_number_that_no_setting_gives_is_refused_where_it_is_named(tmp_path: Path) -> None:
    problem = refused(tmp_path, GRAPH, "settings: {workers: 4}", "settings: {}")
    assert "no whole number for the setting workers" in problem.message
    assert (problem.path, problem.line) == ("services.shop.workers", line_of(GRAPH, 'workers: "${workers}"'))


def test_calls_in_a_circle_are_refused_with_the_circle(tmp_path: Path) -> None:
    back = "replicas: 2, balance: least_busy, calls: [{together: [{to: shop}]}]"
    problem = refused(tmp_path, GRAPH, "replicas: 2, balance: least_busy", back)
    assert "shop -> stock -> shop" in problem.message
    assert problem.path == "services.shop.calls[0].together[0].to"


def chain(length: int, call: str) -> str:
    """A chain of services that call the next one each."""
    calls = [f"calls: [{{together: [{{to: s{k + 1}, {call}}}]}}]" for k in range(length)]
    entries = [f"  s{k}: {{workers: 1, times: {{fixed: 1ms}}, {one}}}" for k, one in enumerate(calls)]
    last = f"  s{length}: {{workers: 1, times: {{fixed: 1ms}}}}"
    return "patternbench-model: 1\nname: chain\nentry: s0\nservices:\n" + "\n".join([*entries, last]) + "\n"


RETRIED = "policies: [{retry: {max_attempts: 100, backoff: {fixed: {delay: 0ms}}}}]"


@pytest.mark.parametrize("call", ["times: 100", RETRIED, f"times: 10, share: 50, {RETRIED}"])
def test_calls_that_multiply_beyond_what_anybody_can_wait_for_are_refused(tmp_path: Path, call: str) -> None:
    problem = refused(tmp_path, chain(6, call), "name: chain", "name: long")
    assert "calls, retries included" in problem.message
    assert problem.line is not None
    assert problem.path.startswith("services.s")
    assert problem.path.endswith(".calls[0].together[0]")


def test_calls_that_are_many_but_end_are_read(tmp_path: Path) -> None:
    assert len(model(tmp_path, chain(3, "times: 100")).model.services) == 4
    assert len(model(tmp_path, chain(60, "times: 10, share: 10")).model.services) == 61, "one on average"


def test_operations_make_their_calls_for_different_requests(tmp_path: Path) -> None:
    one = "{times: {fixed: 1ms}, calls: [{together: [{to: s1, times: 200}]}]}"
    first = f"  s0: {{workers: 1, operations: {{a: {one}, b: {one}}},"
    text = chain(3, "times: 200").replace("  s0: {workers: 1,", first)
    assert model(tmp_path, text).model.services.keys() == {"s0", "s1", "s2", "s3"}


@pytest.mark.parametrize(("what", "count"), [("replicas: 10000", "1,010,001 replicas"), ("calls", "1,010,000 calls")])
def test_a_model_that_is_too_large_as_a_whole_is_refused(tmp_path: Path, what: str, count: str) -> None:
    if what == "calls":
        what = "calls: [{together: [{to: last, times: 10000}]}]"
    services = "".join(f"  s{k}: {{workers: 1, times: {{fixed: 1ms}}, {what}}}\n" for k in range(101))
    text = f"patternbench-model: 1\nname: large\nentry: last\nservices:\n{services}"
    last = "  last: {workers: 1, times: {fixed: 1ms}}\n"
    problem = refused(tmp_path, text + last, "name: large", "name: larger")
    assert count in problem.message


def test_a_chain_of_many_services_has_an_end(tmp_path: Path) -> None:
    assert len(model(tmp_path, chain(400, "share: 100")).model.services) == 401


@pytest.mark.parametrize("text", [MODEL, GRAPH])
def test_a_model_is_written_as_it_is_read(tmp_path: Path, text: str) -> None:
    read = model(tmp_path, text).model
    model_file.write(read, tmp_path / "again.yaml")
    assert model_file.read(tmp_path / "again.yaml").model == read


def test_a_model_is_written_with_its_check(tmp_path: Path) -> None:
    with_check = checked(model(tmp_path), verdicts(Nearness.FAR, "p99"))
    file = tmp_path / "again.yaml"
    file.write_text(with_check.text)
    assert model_file.read(file).model.held_out == with_check.model.held_out


def test_an_entry_of_a_list_is_written_on_one_line(tmp_path: Path) -> None:
    assert "{share: 0.5, time: 2ms}" in model_file.as_text(model(tmp_path, GRAPH).model)


def test_the_example_of_the_contract_is_a_model(tmp_path: Path) -> None:
    page = read_text(ROOT / "contracts/simulation/README.md")
    (example,) = (part.partition("```")[0] for part in page.split("```yaml\n")[1:])
    assert model(tmp_path, example).model.services.keys() == {"shop", "stock"}


def test_the_schema_in_contracts_is_that_of_the_code() -> None:
    kept = json.loads((ROOT / "contracts/simulation/model.schema.json").read_text())
    assert kept == json.loads(json.dumps(model_file.model_schema()))


def test_a_model_that_is_written_leaves_a_file_of_a_similar_name_alone(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml.tmp").write_text("somebody's own")
    model_file.write(model(tmp_path).model, tmp_path / "shop.yaml")
    assert (tmp_path / "shop.yaml.tmp").read_text() == "somebody's own"
    assert model_file.read(tmp_path / "shop.yaml").model == model(tmp_path).model
