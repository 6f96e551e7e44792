"""What a study says of traces: a share, a pass that counts, and a factor where the share varies."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.studies import EXAMPLE, changed, problems, study

from patternbench.cli.main import cli
from patternbench.lab import jvm_calls, otel_agent
from patternbench.lab.launch import Launch
from patternbench.lab.ready import Port
from patternbench.lab.topology import Topology
from patternbench.lab.tracing import RECEIVER, Tracing, traced
from patternbench.lab.tracing import problems as tracing_problems
from patternbench.plan.expand import expand, size
from patternbench.plan.order import Round, counting_passes, rounds_of
from patternbench.plan.scenarios import Scenario
from patternbench.run import evidence
from patternbench.run.orders import Orders
from patternbench.study.problems import InputError
from patternbench.study.roles import Role

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


def test_a_component_that_can_be_traced_is_told_by_the_standard_variables() -> None:
    can = Launch(**{**vars(SHOP), "traced": True, "env": {"MODE": "x"}})
    told = environment(can, 0.01)
    assert told["OTEL_EXPORTER_OTLP_ENDPOINT"] == f"${{{RECEIVER}.url}}"
    assert (told["OTEL_TRACES_SAMPLER"], told["OTEL_TRACES_SAMPLER_ARG"]) == ("parentbased_traceidratio", "0.01")
    assert (told["OTEL_SERVICE_NAME"], told["MODE"]) == ("shop", "x")
    assert environment(can, 1)["OTEL_TRACES_SAMPLER"] == "parentbased_always_on"
    assert environment(SHOP, 1) == {}


def test_a_component_may_name_its_service_and_nothing_else_of_tracing() -> None:
    own = {"OTEL_SERVICE_NAME": "orders", "OTEL_TRACES_SAMPLER": "always_off"}
    told = environment(Launch(**{**vars(SHOP), "traced": True, "env": own}), 1)
    assert (told["OTEL_SERVICE_NAME"], told["OTEL_TRACES_SAMPLER"]) == ("orders", "parentbased_always_on")


def test_a_jvm_gets_the_agent_beside_the_options_that_it_has() -> None:
    jvm = Launch(**{**vars(SHOP), "kind": "jvm_app", "traced": True, "env": {"JAVA_TOOL_OPTIONS": "-Xmx1g"}})
    (launch, _) = traced(Topology((jvm,), ("shop",)), Tracing(1)).launches
    assert launch.env["JAVA_TOOL_OPTIONS"].startswith("-Xmx1g -javaagent:/")
    assert [need.name for need in launch.needs] == ["opentelemetry-javaagent"]


def test_a_jvm_without_the_agents_is_told_before_anything_starts(
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
    asked = study(models=models, derived=derived, traces="{counting_pass: true}")
    evidence.check(asked, expand(asked))
    without = study(models='["AverageSuccessTime ~ database_calls"]')
    with pytest.raises(InputError, match="`database_calls` isn't a factor or covariate of this study"):
        evidence.check(without, expand(without))


def test_a_plan_says_that_each_scenario_is_executed_once_more(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(changed(EXAMPLE, system="target", traces="{counting_pass: true}"))
    told = CliRunner().invoke(cli, ["plan", str(tmp_path / "study.yaml")])
    assert told.exit_code == 0, told.output
    count = len(expand(study()).scenarios)
    assert f"to count its calls: {count} counting passes" in " ".join(told.output.split())


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
