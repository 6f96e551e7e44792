"""What is known of a library's limits before its client is started."""

from __future__ import annotations

import itertools
import shutil
import sys
import textwrap
from pathlib import Path

import pytest
from tests.support.studies import study

from patternbench.drivers import registry
from patternbench.drivers.limits import problems
from patternbench.lab import shipped
from patternbench.plan.expand import expand
from patternbench.run.before.preflight import declared_problems
from patternbench.terms.problems import Problem

STUDY = """\
patternbench: 1
name: two-clients
system: target
workload: {closed: {users: 1, successes: 1}}
strategies:
"""


def found(strategies: str) -> list[Problem]:
    declared = study(STUDY + textwrap.indent(textwrap.dedent(strategies), "  "))
    return declared_problems(declared, expand(declared))


def test_jitter_that_resilience4j_lacks_is_refused_at_the_entry_of_that_client() -> None:
    (problem,) = found("""\
        - {client: native, retry: {max_attempts: 2, jitter: full, backoff: {fixed: {delay: 1ms}}}}
        - {client: resilience4j, retry: {max_attempts: 2, jitter: [none, full, 0.5], backoff: {fixed: {delay: 1ms}}}}
    """)
    assert problem.path == "strategies[1].retry.jitter"
    assert problem.value == "full"
    assert problem.allowed == "none, or a share above 0, at most 1"


def test_a_time_finer_than_the_library_counts_is_refused_with_one_that_it_counts() -> None:
    (delay, window) = found("""\
        - {client: resilience4j, retry: {max_attempts: 2, backoff: {linear: {initial: 1ms, increment: 1500us}}}}
        - client: resilience4j
          circuit_breaker:
            {failure_rate: 50, window: {time: 1500ms}, minimum_calls: 2, open_for: 1s, half_open_calls: 1}
    """)
    assert (delay.path, delay.allowed) == (
        "strategies[0].retry.backoff.linear.increment",
        "a multiple of 1ms, for instance 2ms",
    )
    assert (window.path, window.allowed) == (
        "strategies[1].circuit_breaker.window.time",
        "a multiple of 1s, for instance 2s",
    )


def test_a_limit_of_the_library_holds_in_a_stack_too() -> None:
    (problem,) = found("""\
        - client: resilience4j
          stack:
            - {bulkhead: {max_concurrent: 1}}
            - {retry: {max_attempts: 2, jitter: full, backoff: {fixed: {delay: 1ms}}, retry_after_max: 0ms}}
    """)
    assert problem.path == "strategies[0].stack[1].retry.jitter"


def test_a_strategy_and_a_policy_that_a_client_does_not_have_are_refused_by_name() -> None:
    problems_ = found("""\
        - {client: resilience4j, stack: [{deadline: 1s}, {bulkhead: {max_concurrent: 1}}]}
        - client: tenacity
          circuit_breaker: {failure_rate: 50, window: {calls: 2}, minimum_calls: 2, open_for: 1s, half_open_calls: 1}
    """)
    assert [(problem.path, problem.allowed) for problem in problems_] == [
        ("strategies[0].stack[0].deadline", "timeout, retry, circuit_breaker, bulkhead"),
        ("strategies[1].circuit_breaker", "baseline, retry, stack"),
    ]


def test_a_window_that_never_holds_its_least_number_of_calls_is_refused_for_every_client() -> None:
    breaker = "{failure_rate: 50, window: {calls: 2}, minimum_calls: 3, open_for: 1s, half_open_calls: 1}"
    (alone, stacked) = found(f"""\
        - {{client: native, circuit_breaker: {breaker}}}
        - {{client: native, stack: [{{timeout: 1s}}, {{circuit_breaker: {breaker}}}]}}
    """)
    assert (alone.path, alone.allowed) == ("strategies[0].circuit_breaker.minimum_calls", "at most 2")
    assert stacked.path == "strategies[1].stack[1].circuit_breaker.minimum_calls"


@pytest.mark.parametrize("client", registry.names())
def test_every_limit_of_a_client_names_a_field_that_a_strategy_can_have(client: str) -> None:
    every = study(
        STUDY
        + """\
  - {client: x, retry: {max_attempts: 2, jitter: full, backoff: {fixed: {delay: 1us}}}}
  - {client: x, retry: {max_attempts: 2, backoff: {linear: {initial: 1us, increment: 1us, max: 1us}}}}
  - {client: x, retry: {max_attempts: 2, backoff: {exponential: {initial: 1us, max: 1us}}}}
  - client: x
    circuit_breaker: {failure_rate: 50, window: {time: 1us}, minimum_calls: 2, open_for: 1us, half_open_calls: 1}
"""
    )
    limits = registry.limits_of(client, {})
    strategies = [scenario.strategy for scenario in expand(every).scenarios]
    reported = {problem.path for problem in itertools.chain(*(problems(client, limits, one) for one in strategies))}
    assert reported == {f"strategy.{name}" for limit in limits for name in limit.fields}


def test_a_client_that_cannot_be_had_has_no_known_limits() -> None:
    assert registry.limits_of("hystrix", {}) == ()


def test_a_client_that_is_built_where_it_runs_is_installed_by_the_tool_of_a_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    text = (registry.FOLDER / "tenacity" / "client.yaml").read_text()
    (tmp_path / "one" / "client.yaml").write_text(text)
    monkeypatch.setattr(registry, "FOLDER", tmp_path)
    monkeypatch.setattr(shipped, "from_wheel", lambda: True)
    spec = registry.find("one", {})
    assert not isinstance(spec, Problem)
    (need,) = spec.needs
    how = "type `patternbench doctor --install` (pip fetches what its requirements.lock lists)"
    assert (need.present, need.how) == (None, how)
    assert need.install == ((sys.executable, f"{tmp_path}/kits/python/install.py", f"{tmp_path}/one"),)


def test_a_wheel_names_no_command_of_a_checkout_for_a_client_that_it_can_build_nor_for_its_runtime(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shipped, "from_wheel", lambda: True)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    clients = [name for name in registry.names() if registry.described(name).sources_travel]
    assert {"polly", "failsafe-go", "cockatiel", "tenacity"} <= set(clients)
    for spec in (registry.find(name, {}) for name in clients):
        assert not isinstance(spec, Problem)
        for need in spec.needs:
            assert "make " not in need.how, need
            assert need.how.count("`patternbench doctor --install`") == 1, need


def test_a_client_whose_build_tool_is_missing_says_so_and_leaves_the_other_clients_to_be_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    text = (registry.FOLDER / "failsafe-go" / "client.yaml").read_text()
    (tmp_path / "one" / "client.yaml").write_text(text.replace("build: [go,", "build: [no-such-tool,"))
    monkeypatch.setattr(registry, "FOLDER", tmp_path)
    monkeypatch.setattr(shipped, "from_wheel", lambda: True)
    spec = registry.find("one", {})
    assert not isinstance(spec, Problem)
    (need,) = spec.needs
    assert need.how == "type `patternbench doctor --install` (it needs Go 1.26, https://go.dev/dl)"
    assert need.install == ()
