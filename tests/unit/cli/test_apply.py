"""``patternbench apply``: what a run recommends, as configuration of a product, with its evidence."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ruamel.yaml import YAML
from tests.support.measured_run import STUDY, measured_run

from patternbench.cli.main import cli
from patternbench.lab import systems
from patternbench.plan.scenarios import Scenario
from patternbench.terms.problems import InputError


def baseline_is_slow(scenario: Scenario) -> float:
    return 1.0 if scenario.levels["strategy"] == "retry" else 1.6


def retry_is_quick_for_few(scenario: Scenario) -> float:
    quick = (scenario.levels["users"] == 2) == (scenario.levels["strategy"] == "retry")
    return 1.0 if quick else 1.6


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that recommends its retry."""
    return measured_run(tmp_path_factory.mktemp("run") / "run", blocks=8, slowness=baseline_is_slow).path


def apply(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["apply", *map(str, arguments)])


def applied(*arguments: str | Path) -> str:
    done = apply(*arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def refused(*arguments: str | Path) -> str:
    """All problems for which a command ends with exit code 2."""
    done = apply(*arguments)
    assert isinstance(done.exception, InputError), (done.output, done.exception)
    return str(done.exception)


def comment(text: str) -> str:
    """The comment at the top, as one line."""
    lines = [line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")]
    return " ".join(lines)


def test_the_recommended_retry_is_written_with_its_evidence_at_the_top(run: Path) -> None:
    text = applied(run, "--as", "spring", "--name", "orders")
    retry = YAML(typ="safe").load(text)["resilience4j"]["retry"]["instances"]["orders"]
    assert (retry["maxAttempts"], retry["waitDuration"], retry["enableExponentialBackoff"]) == (3, "2ms", False)
    top = comment(text)
    digest = hashlib.sha256((run / "study.yaml").read_bytes()).hexdigest()[:12]
    for words in (
        "verdict: kept, to minimise p95, subject to failure_rate <= 1%; intervals of 95%",
        "At users=2: clearly strategy=retry",
        "At users=4: clearly strategy=retry",
        "against users=2, strategy=baseline: p95",
        "load: closed, users=2",
        "request: GET /, given up after",
        "faults: none",
        f"study: made-up, sha256 {digest}",
        "retry.max_attempts 3: exact, maxAttempts: 3",
        "retry.jitter none: exact",
    ):
        assert words in top, words


def test_the_interval_of_the_recommendation_is_in_the_evidence(run: Path) -> None:
    top = comment(applied(run, "--as", "resilience4j"))
    interval = r"strategy=baseline: p95\s.\d\d\.\d\s%\s\(.[\d.]+\sto\s.[\d.]+\s%\)"
    assert re.search(interval, top), top


def test_what_a_form_can_only_say_nearly_is_refused_with_every_field_and_what_to_type(run: Path) -> None:
    message = refused(run, "--as", "envoy")
    assert "add --approximate" in message
    assert "retry.backoff.fixed.delay: approximated" in message
    assert "retry.jitter: approximated" in message


def test_approximations_are_written_once_they_are_asked_for_and_named_as_such(run: Path) -> None:
    text = applied(run, "--as", "envoy", "--approximate", "--host", "127.0.0.1", "--port", "9000")
    assert "retry.backoff.fixed.delay 2ms: approximated" in comment(text)
    route = YAML(typ="safe").load(text)["static_resources"]["listeners"][0]
    assert "num_retries: 2" in text
    assert route["address"]["socket_address"]["address"] == "127.0.0.1"


def test_a_form_that_can_not_hold_the_policies_says_what_is_in_the_way(tmp_path: Path) -> None:
    breaker = STUDY.replace(
        "retry: {max_attempts: 3, backoff: {fixed: {delay: 2ms}}}",
        "circuit_breaker: {failure_rate: 50, window: {calls: 4}, minimum_calls: 4, open_for: 1s, half_open_calls: 1}",
    ).split("claims:")[0]
    path = measured_run(tmp_path / "run", blocks=8, slowness=lambda one: 2.0 - one.declared, text=breaker).path
    message = refused(path, "--as", "nginx", "--approximate")
    assert "nginx can't be told this configuration; choose another form with --as" in message
    assert "it leaves out one of several servers, and never an only one" in message


def test_where_nothing_is_recommended_the_recommendation_says_why(tmp_path: Path) -> None:
    path = measured_run(tmp_path / "run").path
    message = refused(path, "--as", "spring")
    assert "no pattern is recommended" in message
    assert "strategy=baseline" in message
    assert "--scenario" in message


def test_a_configuration_that_is_not_recommended_is_written_if_it_is_named(tmp_path: Path) -> None:
    path = measured_run(tmp_path / "run").path
    text = applied(path, "--as", "spring", "--scenario", "strategy=retry,users=4")
    assert "maxAttempts: 3" in text
    top = comment(text)
    assert "verdict: not asked for; --scenario strategy=retry,users=4 names this configuration" in top
    assert "the recommendation there: At users=4: clearly strategy=baseline" in top
    assert "against users=4, strategy=baseline: p95 +" in top
    scenario = next(
        one["id"] for one in json.loads((path / "plan.json").read_text())["scenarios"] if "retry" in str(one)
    )
    assert "maxAttempts: 3" in applied(path, "--as", "spring", "--scenario", scenario)


def test_conditions_with_different_recommendations_are_told_apart_by_their_levels(tmp_path: Path) -> None:
    path = measured_run(tmp_path / "run", blocks=8, slowness=retry_is_quick_for_few).path
    message = refused(path, "--as", "spring")
    assert "2 different configurations are meant" in message
    assert "--at FACTOR=LEVEL" in message
    assert "maxAttempts: 3" in applied(path, "--as", "spring", "--at", "users=2")
    assert "no pattern is recommended" in refused(path, "--as", "spring", "--at", "users=4")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--at", "user=2", "did you mean `users`?"),
        ("--at", "users=3", "users has no such level"),
        ("--at", "strategy=retry", "is not a condition of the recommendation"),
        ("--scenario", "ffffffffffff", "the run has no such scenario"),
        ("--scenario", "", "the run has no such scenario"),
        ("--scenario", "users=2", "2 different configurations are meant"),
        ("--scenario", "strategy=baseline", "has no pattern, so there is nothing to configure"),
    ],
)
def test_what_the_run_does_not_have_is_refused_with_what_it_has(
    run: Path, option: str, value: str, message: str
) -> None:
    assert message in refused(run, "--as", "spring", option, value)


def test_a_file_is_written_once_and_over_only_by_force(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "application.yml"
    assert applied(run, "--as", "spring", "--out", out) == ""
    assert out.read_text() == applied(run, "--as", "spring")
    assert str(out) in refused(run, "--as", "spring", "--out", out)
    applied(run, "--as", "spring", "--out", out, "--force")


def test_as_json_the_configuration_has_its_fields_and_evidence_next_to_it(run: Path) -> None:
    found = json.loads(applied(run, "--as", "failsafe-go", "--json"))
    assert (found["format"], found["as"], found["file"]) == ("patternbench/applied/1", "failsafe-go", "resilience.go")
    assert found["configuration"].startswith("// failsafe-go")
    assert {
        "field": "retry.max_attempts",
        "value": "3",
        "fidelity": "exact",
        "as": "WithMaxAttempts(3)",
        "why": "",
    } in found["fields"]
    assert any(line.startswith("study: made-up") for line in found["evidence"])


def test_a_table_that_is_not_a_run_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "rounds.csv"
    table.write_text("strategy,p95\nretry,1\n")
    assert "isn't a run's folder" in refused(table, "--as", "spring")


@pytest.mark.parametrize(
    ("option", "value"), [("--name", "a b"), ("--name", "a\nb"), ("--host", "x;y"), ("--host", "")]
)
def test_a_name_that_a_file_could_not_hold_as_it_is_is_refused(run: Path, option: str, value: str) -> None:
    done = apply(run, "--as", "nginx", option, value)
    assert done.exit_code == 2
    assert "is not allowed; allowed:" in done.output


SEARCHING = """\
patternbench: 1
name: made-up
system: target
workload: {open: {rate: 40, duration: 2s}, request: {path: /}}
strategies:
  - {client: native, baseline: {}}
  - {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 2ms}}}}
boundary: {of: call_success_p95 <= 3ms, over: open.rate, between: [10, 90], step: 20, until: {half_width: 10}, max: 16}
"""


def slow_beyond_fifty(scenario: Scenario) -> float:
    return 3.0 if float(str(scenario.levels["rate"])) > 50 else 0.5


def test_the_margin_that_a_study_has_searched_is_in_the_evidence(tmp_path: Path) -> None:
    path = measured_run(tmp_path / "run", blocks=4, slowness=slow_beyond_fifty, text=SEARCHING).path
    top = comment(applied(path, "--as", "spring", "--scenario", "strategy=retry"))
    assert "margin: retry: " in top
    assert "half of the rounds" in top
    assert "margin: baseline" not in top


# --- the settings of a system

MESH = """\
patternbench: 1
name: made-up
system: {name: mesh, settings: {hosts: 2, retries: [0, 2], timeout: 1s}}
workload: {closed: {users: 2, successes: 1}, request: {path: /}}
strategies: [{client: native, baseline: {}}]
recommend: {objectives: [minimise p95]}
"""


def retries_are_quick(scenario: Scenario) -> float:
    return 1.0 if scenario.levels["retries"] == 2 else 1.6


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that recommends retries of its sidecar."""
    place = tmp_path_factory.mktemp("mesh") / "run"
    return measured_run(place, blocks=8, slowness=retries_are_quick, text=MESH).path


def test_the_recommended_setting_of_a_sidecar_is_written_in_the_words_of_another_proxy(mesh: Path) -> None:
    text = applied(mesh, "--as", "istio", "--host", "orders")
    service, rule = YAML(typ="safe").load_all(text)
    (route,) = service["spec"]["http"]
    assert (route["retries"]["attempts"], route["retries"]["retryOn"], route["timeout"]) == (2, "5xx", "1s")
    assert rule["spec"]["host"] == "orders"
    top = comment(text)
    for words in (
        "retries 2: exact, attempts: 2",
        "retry_wait 25ms: exact, backoff: 25ms",
        "timeout 1s: exact, timeout: 1s",
        "measured on: mesh (hosts=2, retries=2, timeout=1s), with the client native",
    ):
        assert words in top, words


def test_a_setting_of_a_system_is_not_expressible_by_a_library_of_its_callers(mesh: Path) -> None:
    message = refused(mesh, "--as", "spring", "--approximate")
    assert "spring can't be told this configuration" in message
    assert "retries: not expressible: it is a setting of mesh, and not of who calls it" in message


def test_the_settings_of_a_users_own_system_are_read_from_the_copy_that_the_run_has_kept(tmp_path: Path) -> None:
    own = tmp_path / "systems" / "own.yaml"
    own.parent.mkdir()
    own.write_text(
        (systems.FOLDER / "mesh.yaml").read_text().replace("name: mesh", "name: own").replace("25ms", "75ms", 1)
    )
    text = MESH.replace("mesh", "own")
    run = measured_run(tmp_path / "run", blocks=8, slowness=retries_are_quick, text=text, study_folder=tmp_path)
    own.unlink()
    assert "retry_wait 75ms: exact" in comment(applied(run.path, "--as", "istio"))


def test_settings_of_a_system_whose_file_is_gone_are_said_to_be_not_written(
    mesh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systems, "FOLDER", tmp_path)
    done = apply(mesh, "--as", "istio", "--approximate")
    assert isinstance(done.exception, InputError)
    assert "the settings of the system are not written" in done.stderr
    assert "retries: not expressible" in str(done.exception)


def test_the_commit_of_the_study_is_in_the_evidence(tmp_path: Path) -> None:
    run = measured_run(tmp_path / "run", blocks=8, slowness=baseline_is_slow, commit="0123456789abcdef")
    assert ", commit 0123456789abcdef, patternbench" in comment(applied(run.path, "--as", "spring"))
