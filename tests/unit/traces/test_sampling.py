"""What a study says of traces: a share, a pass that counts, and a factor where the share varies."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.studies import EXAMPLE, changed, problems, study

from patternbench.cli.main import cli
from patternbench.lab.announced import RECEIVER
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import Port
from patternbench.lab.software import jvm_calls, otel_agent
from patternbench.lab.topology import Topology
from patternbench.lab.tracing import Tracing, traced
from patternbench.lab.tracing import problems as tracing_problems
from patternbench.plan.expand import expand, size
from patternbench.plan.order import Round, counting_passes, rounds_of
from patternbench.plan.scenarios import Scenario
from patternbench.run.before import evidence
from patternbench.run.round.orders import Orders
from patternbench.terms.problems import InputError
from patternbench.terms.roles import Role

SAMPLES = "{sample: [0%, 1%], counting_pass: true}"


def test_a_share_that_varies_is_a_circumstance_and_nothing_that_one_chooses() -> None:
    plan = expand(study(traces=SAMPLES))
    factor = plan.factors["traces.sample"]
    assert (factor.role, factor.none, factor.levels) == (Role.WORLD, None, ("0%", "1%"))
    assert len(plan.scenarios) == size(study(traces=SAMPLES)) == 2 * len(expand(study()).scenarios)
    back = [Scenario.from_json(scenario.as_json()) for scenario in plan.scenarios]
    assert [scenario.id for scenario in back] == [scenario.id for scenario in plan.scenarios]


@pytest.mark.parametrize("traces", ["{sample: 5%}", "{counting_pass: true}", "{sample: 100%, port: 4318}"])
def test_a_share_that_does_not_vary_is_no_part_of_a_scenario(traces: str) -> None:
    assert [one.id for one in expand(study(traces=traces)).scenarios] == [one.id for one in expand(study()).scenarios]


def tracing(round_: Round, scenario: Scenario, traces: str) -> Tracing | None:
    return Orders(study(traces=traces), {}, Path()).of(round_, scenario, "00000", "warm-up-000").tracing


@pytest.mark.slow
def test_each_round_is_traced_as_its_level_says_and_a_counting_pass_wholly() -> None:
    scenarios = expand(study(traces=SAMPLES)).scenarios
    shares = {scenario.sample: tracing(Round(0, 0, scenario.id), scenario, SAMPLES) for scenario in scenarios}
    assert shares == {"0%": None, "1%": Tracing(0.01)}
    passes = counting_passes(scenarios)
    assert sorted(one.scenario for one in passes) == sorted(scenario.id for scenario in scenarios)
    assert all(one.counting for one in passes)
    assert tracing(passes[0], scenarios[0], SAMPLES) == Tracing(1.0, counting=True)


def test_scenarios_of_one_system_and_share_stay_together_as_another_share_restarts_it() -> None:
    scenarios = expand(study(traces=SAMPLES)).scenarios
    shares = {scenario.id: scenario.sample for scenario in scenarios}
    ordered = [shares[one.scenario] for one in rounds_of(scenarios, 1, 7, "shuffled")]
    assert sum(one != other for one, other in pairwise(ordered)) == 1


def test_a_system_that_already_runs_has_to_know_where_to_send_its_spans() -> None:
    text = changed(EXAMPLE, system="{url: 'http://localhost:9'}", traces="{}")
    (problem,) = problems(text)
    assert "traces does not go with a system that already runs (url)" in str(problem)
    assert "traces.port" in str(problem)
    assert study(text, traces="{port: 4318}").traces


SHOP = Launch("process", "shop", ("shop",), Port("http"), ports={"http": 0}, url="http://127.0.0.1:1")


def environment(launch: Launch, share: float) -> dict[str, str]:
    return dict(traced(Topology((launch,), ("shop",)), Tracing(share)).launches[0].env)


def test_a_component_that_can_be_traced_is_reported_by_the_standard_variables() -> None:
    can = Launch(**{**vars(SHOP), "traced": True, "env": {"MODE": "x"}})
    reported = environment(can, 0.01)
    assert reported["OTEL_EXPORTER_OTLP_ENDPOINT"] == f"${{{RECEIVER}.url}}"
    assert (reported["OTEL_TRACES_SAMPLER"], reported["OTEL_TRACES_SAMPLER_ARG"]) == (
        "parentbased_traceidratio",
        "0.01",
    )
    assert (reported["OTEL_SERVICE_NAME"], reported["MODE"]) == ("shop", "x")
    assert environment(can, 1)["OTEL_TRACES_SAMPLER"] == "parentbased_always_on"
    assert environment(SHOP, 1) == {}


GENERAL, OF_TRACES = "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"


@pytest.mark.parametrize(
    ("own", "of_study", "protocol"),
    [
        ({}, "http/protobuf", "http/protobuf"),
        ({}, "grpc", "grpc"),
        ({GENERAL: "grpc"}, "http/protobuf", "grpc"),
        ({GENERAL: "http/json"}, "grpc", "http/json"),
        ({GENERAL: "http/protobuf", OF_TRACES: "grpc"}, "http/protobuf", "grpc"),
        ({GENERAL: ""}, "grpc", "grpc"),
    ],
)
def test_a_service_that_exports_over_grpc_is_given_the_receivers_port_for_grpc(
    own: dict[str, str], of_study: str, protocol: str
) -> None:
    can = Launch(**{**vars(SHOP), "traced": True, "env": own})
    reported = traced(Topology((can,), ("shop",)), Tracing(1, protocol=of_study)).launches[0].env
    assert reported[GENERAL] == reported[OF_TRACES] == protocol
    by_grpc = f"${{{RECEIVER}.grpc}}", f"${{{RECEIVER}.grpc}}"
    by_http = f"${{{RECEIVER}.url}}", f"${{{RECEIVER}.url}}/v1/traces"
    addresses = reported["OTEL_EXPORTER_OTLP_ENDPOINT"], reported["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
    assert addresses == (by_grpc if protocol == "grpc" else by_http)


def test_a_protocol_that_the_receiver_does_not_speak_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    shop = {"process": {"name": "shop", "command": ["true"], "env": {GENERAL: "thrift"}}}
    system = {"patternbench-system": 1, "name": "shop", "about": "x", "components": [shop], "endpoint": "shop"}
    (tmp_path / "systems" / "shop.yaml").write_text(json.dumps(system))
    (tmp_path / "study.yaml").write_text(changed(EXAMPLE, system="shop", traces="{}"))
    reported = CliRunner().invoke(cli, ["plan", str(tmp_path / "study.yaml")])
    message = f"shop.env.{GENERAL}: the receiver of traces does not speak this protocol"
    assert f"{message} (got 'thrift'); allowed: http/protobuf, http/json, grpc" in str(reported.exception)


def test_the_receiver_has_one_port_for_each_protocol() -> None:
    (problem,) = problems(changed(EXAMPLE, system="target", traces="{port: 4317, grpc_port: 4317}"))
    assert "`port` and `grpc_port` are the same" in str(problem)
    assert study(changed(EXAMPLE, system="{url: 'http://localhost:9'}", traces="{grpc_port: 4317}")).traces


def test_commands_that_receive_no_spans_do_not_import_grpc() -> None:
    """It takes longer to import than everything else of the command line's own."""
    code = "import sys, patternbench.cli.main, patternbench.traces.observer, patternbench.lab.tracing as _; "
    done = subprocess.run(
        [sys.executable, "-c", code + "print('grpc' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_a_component_may_name_its_service_and_nothing_else_of_tracing() -> None:
    own = {"OTEL_SERVICE_NAME": "orders", "OTEL_TRACES_SAMPLER": "always_off"}
    reported = environment(Launch(**{**vars(SHOP), "traced": True, "env": own}), 1)
    assert (reported["OTEL_SERVICE_NAME"], reported["OTEL_TRACES_SAMPLER"]) == ("orders", "parentbased_always_on")


def test_a_jvm_gets_the_agent_next_to_the_options_that_it_has() -> None:
    jvm = Launch(**{**vars(SHOP), "kind": "jvm_app", "traced": True, "env": {"JAVA_TOOL_OPTIONS": "-Xmx1g"}})
    (launch, _) = traced(Topology((jvm,), ("shop",)), Tracing(1)).launches
    assert launch.env["JAVA_TOOL_OPTIONS"].startswith("-Xmx1g -javaagent:/")
    assert [need.name for need in launch.needs] == ["opentelemetry-javaagent"]


def test_a_jvm_without_the_agents_is_reported_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    traces = study(traces="{sample: 0%, counting_pass: true}").traces
    monkeypatch.setattr(jvm_calls, "jar", lambda: tmp_path / "none.jar")
    (agent, extension) = tracing_problems(["process", "jvm_app"], traces)
    assert "a `jvm_app` cannot be traced: opentelemetry-javaagent is missing" in str(agent)
    assert "a `jvm_app` cannot be traced: patternbench-jvm-calls is missing" in str(extension)
    assert tracing_problems(["process"], traces) == []
    assert tracing_problems(["jvm_app"], None) == []
    assert tracing_problems(["jvm_app"], study(traces="{sample: 0%}").traces) == []


def test_an_agent_that_is_not_the_one_that_we_know_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    otel_agent.jar().parent.mkdir(parents=True)
    otel_agent.jar().write_bytes(b"another jar")
    assert not otel_agent.need().met


def test_counted_calls_may_explain_a_response_where_traces_are_asked_for() -> None:
    models = '["AverageSuccessTime ~ database_calls + derived.total"]'
    derived = "{total: database_calls * users}"
    requested = study(models=models, derived=derived, traces="{counting_pass: true}")
    evidence.check(requested, expand(requested))
    without = study(models='["AverageSuccessTime ~ database_calls"]')
    with pytest.raises(InputError, match="`database_calls` isn't a factor or covariate of this study"):
        evidence.check(without, expand(without))


def test_a_plan_says_that_each_scenario_is_executed_once_more(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(changed(EXAMPLE, system="target", traces="{counting_pass: true}"))
    reported = CliRunner().invoke(cli, ["plan", str(tmp_path / "study.yaml")])
    assert reported.exit_code == 0, reported.output
    count = len(expand(study()).scenarios)
    assert f"to count its calls: {count} counting passes" in " ".join(reported.output.split())


COUNTED = {"PATTERNBENCH_CALLS_PACKAGES": "org.example"}


@pytest.mark.parametrize(
    ("tracing", "env", "extensions"),
    [
        (Tracing(1, counting=True), COUNTED, [str(jvm_calls.jar())]),
        (
            Tracing(1, counting=True),
            COUNTED | {"OTEL_JAVAAGENT_EXTENSIONS": "/own.jar"},
            ["/own.jar", str(jvm_calls.jar())],
        ),
        (Tracing(1, counting=True), {}, []),
        (Tracing(1), COUNTED, []),
    ],
)
def test_a_jvm_counts_its_own_calls_in_counting_passes_alone_where_it_names_its_packages(
    tracing: Tracing, env: dict[str, str], extensions: list[str]
) -> None:
    jvm = Launch(**{**vars(SHOP), "kind": "jvm_app", "traced": True, "env": env})
    (launch, _) = traced(Topology((jvm,), ("shop",)), tracing).launches
    assert launch.env.get("OTEL_JAVAAGENT_EXTENSIONS", "").split(",") == (extensions or [""])
    assert ("patternbench-jvm-calls" in [need.name for need in launch.needs]) == bool(extensions)


def test_a_system_that_is_not_traced_is_as_it_was() -> None:
    topology = Topology((SHOP,), ("shop",))
    assert traced(topology, None) == topology
