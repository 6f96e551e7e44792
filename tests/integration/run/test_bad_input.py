"""Bad input: each mistake a short list with its place, exit code 2, nothing started, nothing lost."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from tests.integration.run.conftest import TINY, patternbench
from tests.support.studies import ROOT


def refused(*arguments: str, **env: str) -> str:
    """What the command says of a mistake; asserts that it is refused well."""
    done = patternbench(*arguments, **env)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stderr.strip()
    return done.stderr


@pytest.mark.parametrize("arguments", [["plan"], ["run", "a", "b"], ["nonsense"], ["plan", "x.yaml", "--jsn"]])
def test_a_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    refused(*arguments)


def test_a_missing_study_is_named() -> None:
    assert "there is no such file" in refused("run", "/nowhere/x.yaml")


def test_problems_come_as_json_too(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(TINY.replace("users: [2, 4]", "users: -1"))
    done = patternbench("plan", str(tmp_path / "x.yaml"), "--json")
    assert done.returncode == 2
    (problem,) = json.loads(done.stdout)["problems"]
    assert (problem["line"], problem["path"], problem["value"]) == (9, "workload.closed.users", "-1")


def test_a_client_that_is_not_there_is_an_error_before_anything_starts(tmp_path: Path, tiny: Path) -> None:
    tiny.write_text(tiny.read_text() + "  - {client: hystrix, baseline: {}}\n")
    message = refused("run", str(tiny), "--out", str(tmp_path / "run"))
    assert "there is no client `hystrix`" in message
    assert "--skip-unavailable" in message
    assert not (tmp_path / "run").exists()


def test_a_misspelt_client_is_put_right(tmp_path: Path, tiny: Path) -> None:
    tiny.write_text(tiny.read_text().replace("client: native", "client: nativ"))
    assert "did you mean `native`?" in refused("run", str(tiny), "--out", str(tmp_path / "run"))


def test_skipping_what_is_unavailable_runs_the_rest_and_the_report_says_so(tmp_path: Path, tiny: Path) -> None:
    tiny.write_text(tiny.read_text().replace("rounds: 3", "rounds: 1") + "  - {client: hystrix, baseline: {}}\n")
    done = patternbench("run", str(tiny), "--out", str(tmp_path / "run"), "--skip-unavailable", "--json")
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    assert reported["scenarios"] == 8
    assert "hystrix" in reported["left_out"]
    assert "client hystrix" in (tmp_path / "run" / "report.html").read_text()


def test_a_breaker_that_contradicts_itself_is_refused_at_its_line_before_any_client_is_asked(
    tmp_path: Path, tiny: Path
) -> None:
    text = TINY.split("strategies:")[0] + (
        "strategies:\n  - {client: native, circuit_breaker: {failure_rate: 50, window: {calls: 2}, minimum_calls: 5, "
        "open_for: 1ms, half_open_calls: 1}}\n"
    )
    tiny.write_text(text)
    message = refused("run", str(tiny), "--out", str(tmp_path / "run"))
    assert "strategies[0].circuit_breaker.minimum_calls: a window of 2 calls never holds 5" in message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("verb", [["plan"], ["run", "--out", "never"]])
def test_what_no_part_can_act_is_refused_at_its_line(tmp_path: Path, tiny: Path, verb: list[str]) -> None:
    faults = "faults:\n  - stall: {percentage: [0, 50]}\n    where: envoy -> targt\n"
    full = "  - {client: resilience4j, retry: {max_attempts: 2, jitter: full, backoff: {fixed: {delay: 2ms}}}}\n"
    tiny.write_text(TINY.replace("faults:\n  - abort: {percentage: [0, 50], status: 503}\n", faults) + full)
    message = refused(verb[0], str(tiny), *verb[1:], "--skip-unavailable" if verb[0] == "run" else "--all")
    assert "tiny.yaml:13: faults[0].where: there is no such link in the system (got 'envoy -> targt')" in message
    assert "did you mean `envoy -> target`?" in message
    assert "tiny.yaml:17: strategies[2].retry.jitter: client resilience4j" in message


def test_an_unknown_system_and_an_unknown_setting_are_named(tiny: Path) -> None:
    text = tiny.read_text()
    tiny.write_text(text.replace("name: target,", "name: targt,"))
    assert "did you mean `target`?" in refused("plan", str(tiny))
    tiny.write_text(text.replace("service_time:", "servce_time:"))
    assert "did you mean `service_time`?" in refused("plan", str(tiny))


def test_a_url_that_does_not_answer_is_named(tmp_path: Path, tiny: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        text = tiny.read_text().replace('{name: target, settings: {service_time: "fixed:1ms"}}', f'{{url: "{url}"}}')
        tiny.write_text(text)
        message = refused("run", str(tiny), "--out", str(tmp_path / "run"))
    assert "does not answer" in message
    assert url in message


def test_an_environment_variable_that_is_not_set_is_named(tmp_path: Path, tiny: Path) -> None:
    url = '{url: "http://127.0.0.1:9", headers: {Authorization: "Bearer ${env:NO_SUCH_TOKEN}"}}'
    tiny.write_text(tiny.read_text().replace('{name: target, settings: {service_time: "fixed:1ms"}}', url))
    assert "export NO_SUCH_TOKEN" in refused("run", str(tiny), "--out", str(tmp_path / "run"))


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert str(port) in refused("up", "target", "--set", f"port={port}")


@pytest.mark.parametrize("setting", ["workers", "=3", "wrkers=2"])
def test_up_refuses_a_setting_that_is_none(setting: str) -> None:
    refused("up", "target", "--set", setting)


def test_up_refuses_a_value_that_a_component_does_not_take() -> None:
    assert "system.settings.workers" in refused("up", "target", "--set", "workers=many")
    assert "service" in refused("up", "target", "--set", "service_time=fast")


def test_what_components_refuse_together_is_reported_at_its_line_before_anything_starts(tmp_path: Path) -> None:
    study = (
        (ROOT / "studies/rate-limiting.yaml").read_text().partition("\nquick:")[0].replace("window: 60s", "window: 0s")
    )
    leased = study.replace("burst: 5", "lease_expires: 2m")
    (tmp_path / "leased.yaml").write_text(leased)
    reported = refused("run", str(tmp_path / "leased.yaml"), "--out", str(tmp_path / "run"))
    line = leased[: leased.index("window: 0s")].count("\n") + 1
    assert f"leased.yaml:{line}: system.settings.window: must be longer than 0" in reported
    assert f"leased.yaml:{line + 1}: system.settings.lease_expires: a lease can't last that long" in reported
    assert not (tmp_path / "run").exists()


def test_what_a_system_does_not_combine_is_left_out_and_said_and_a_study_of_nothing_else_is_refused(
    tmp_path: Path,
) -> None:
    study = tmp_path / "leased.yaml"
    shop = "{name: shop-behind-two-balancers, settings: {algorithm: [token_bucket, gcra], synchronisation: lazy}}"
    study.write_text(f"patternbench: 1\nname: x\nsystem: {shop}\nworkload: {{open: {{rate: 5, duration: 1s}}}}\n")
    shown = patternbench("plan", str(study))
    assert "left out: 1 combination with algorithm: leaky_bucket or gcra with synchronisation: lazy" in " ".join(
        shown.stdout.split()
    )
    study.write_text(study.read_text().replace("[token_bucket, gcra]", "gcra"))
    assert "leased.yaml:3: system.settings: the system does not combine algorithm: " in refused("plan", str(study))


MANY_WRONG = """\
patternbench: 1
name: many-wrong
system: {url: "http://127.0.0.1:1"}
strategies: [{client: nativ, baseline: {}}, {client: native, baseline: {}}]
workload:
  duration: 1s
  feeder: nowhere.csv
  groups:
    - {name: a, open: {schedule: {trace: backwards.csv}}, request: {path: /}}
models: ["p59 ~ users"]
"""


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_all_that_is_wrong_is_said_at_once_whoever_finds_it(verb: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(MANY_WRONG)
    (tmp_path / "backwards.csv").write_text("at_us\n5\n3\n")
    out = ["--out", str(tmp_path / "run")] if verb == "run" else []
    done = patternbench(verb, str(tmp_path / "x.yaml"), "--json", *out)
    assert done.returncode == 2, done.stderr
    reported = {problem["path"]: problem["line"] for problem in json.loads(done.stdout)["problems"]}
    files = {"workload.feeder.file": 7, "workload.groups[0].open.schedule.trace.line 3": 9}
    assert files.items() <= reported.items(), "of the study's own look, and of the engine's"
    assert reported["models[0]"] == 10
    assert [path for path in reported if path.startswith("workload.feeder")] == ["workload.feeder.file"], "each once"
    if verb == "run":
        assert reported["system.url"] == 3
        assert any(path.startswith("strategies") or path == "" for path in reported), "the client that is not there"
    assert not (tmp_path / "run").exists()


def test_resume_and_report_refuse_what_is_no_run(tmp_path: Path) -> None:
    for verb in ("resume", "report"):
        assert "isn't a run's folder" in refused(verb, str(tmp_path))


def test_export_writes_over_nothing(tmp_path: Path, tiny: Path) -> None:
    tiny.write_text(tiny.read_text().replace("rounds: 3", "rounds: 1"))
    assert patternbench("run", str(tiny), "--out", str(tmp_path / "run"), "--json").returncode == 0
    out = tmp_path / "mine.csv"
    out.write_text("precious")
    refused("export", str(tmp_path / "run"), "--format", "csv", "--out", str(out))
    assert out.read_text() == "precious"


def test_a_folder_that_cannot_be_written_is_named(tiny: Path) -> None:
    assert "cannot be made" in refused("run", str(tiny), "--out", "/proc/run")


def test_an_engine_that_is_not_built_says_how_to_build_it(tmp_path: Path, tiny: Path) -> None:
    message = refused("run", str(tiny), "--out", str(tmp_path / "run"), PATTERNBENCH_ENGINE="/nowhere/engine")
    assert "make setup" in message


def test_doctor_and_schema_answer_in_json() -> None:
    assert {"needs", "disturbances"} == json.loads(patternbench("doctor", "--json").stdout).keys()
    schema = json.loads(patternbench("schema").stdout)
    assert schema == json.loads((ROOT / "contracts/study/study.schema.json").read_text()), "type `make contracts`"


def test_plan_starts_nothing(tmp_path: Path, tiny: Path) -> None:
    done = patternbench("plan", str(tiny), "--json", PATTERNBENCH_ENGINE="/nowhere/engine")
    assert done.returncode == 0
    reported = json.loads(done.stdout)
    assert {one["name"]: one["levels"] for one in reported["factors"]}["users"] == [2, 4]
    assert len(reported["scenarios"]) == 8
    assert {"id", "levels"} <= reported["scenarios"][0].keys()
    assert [entry.name for entry in tmp_path.iterdir()] == ["tiny.yaml"]
