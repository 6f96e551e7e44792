"""Stacks of policies: what may be said, how scenarios are called, and how each mistake is reported."""

from __future__ import annotations

import pytest
from tests.support.schemas import conforms, of_studies
from tests.support.studies import levels, problems

from patternbench.plan.expand import Plan, expand
from patternbench.study.load import loads
from patternbench.study.text.document import parse
from patternbench.terms.problems import InputError, Problem

AROUND = """\
patternbench: 1
name: x
system: target
workload: {open: {rate: 5, duration: 1s}}
strategies:
  - {client: native, baseline: {}}
"""
BREAKER = "circuit_breaker: {failure_rate: 50, window: {calls: 5}, minimum_calls: 5, open_for: 1s, half_open_calls: 1"
RETRY = "retry: {max_attempts: 3, backoff: {fixed: {delay: 1ms}}}"


def text(*strategies: str) -> str:
    return AROUND + "".join(f"  - {{client: native, {one}}}\n" for one in strategies)


def plan(*strategies: str) -> Plan:
    whole = text(*strategies)
    conforms(parse(whole, "x.yaml").value, of_studies())
    return expand(loads(whole, "x.yaml"))


def problem(*strategies: str) -> Problem:
    (found,) = problems(text(*strategies))
    return found


def test_a_stack_is_known_by_its_policies_from_the_outside_in() -> None:
    found = plan(f"stack: [{{timeout: 1s}}, {{{RETRY}}}]", f"stack: [{{{RETRY}}}, {{timeout: 1s}}]")
    assert levels(found)["strategy"] == ["baseline", "timeout+retry", "retry+timeout"]
    assert len({scenario.id for scenario in found.scenarios}) == 3


def test_a_stack_may_have_its_own_name() -> None:
    assert levels(plan("name: careful, stack: [{timeout: 1s}]"))["strategy"] == ["baseline", "careful"]


def test_two_stacks_of_one_name_are_distinguished_by_their_levels_or_refused() -> None:
    timeouts = (f"stack: [{{timeout: {limit}}}, {{{RETRY}}}]" for limit in ("1s", "2s"))
    assert levels(plan(*timeouts))["timeout"] == ["1s", "2s"]
    with pytest.raises(InputError) as caught:
        plan(f"name: a, stack: [{{timeout: 1s}}, {{{RETRY}}}]", f"name: a, stack: [{{{RETRY}}}, {{timeout: 1s}}]")
    (found,) = caught.value.problems
    assert (found.path, found.message) == ("strategies", "two stacks would be known by the same words (a of native)")
    assert found.hint == "give one of them a `name`"


def test_a_list_in_a_stack_is_a_factor_under_its_policys_name() -> None:
    found = plan(
        "stack: [{timeout: [1s, 2s]}, {hedge: {delay: [5ms, 10ms]}}, {timeout: 500ms}]",
        "stack: [{retry: {max_attempts: [2, 3], backoff: {fixed: {delay: 1ms}}}}]",
    )
    factors = {"timeout": ["1s", "2s"], "hedge.delay": ["5ms", "10ms"], "retry.max_attempts": [2, 3]}
    assert factors.items() <= levels(found).items()
    assert len(found.scenarios) == 1 + 4 + 2


def test_a_second_policy_of_a_kind_is_its_own_factor() -> None:
    assert levels(plan("stack: [{timeout: 1s}, {hedge: {delay: 1ms}}, {timeout: [10ms, 20ms]}]"))["timeout_2"] == [
        "10ms",
        "20ms",
    ]


@pytest.mark.parametrize(
    "policy",
    [
        "retry: {max_attempts: 2, backoff: {fixed: {delay: 1ms}}, on: [timeout, 429, 500-599]}",
        f"{BREAKER}, on: [timeout, 429, 500-599]}}",
    ],
)
def test_which_failures_a_policy_acts_on_is_a_list_and_no_factor(policy: str) -> None:
    plain = policy.replace(", on: [timeout, 429, 500-599]", "")
    acting = plan(f"stack: [{{{policy}}}]")
    assert list(acting.factors) == ["client", "strategy"]
    assert acting.scenarios[1].id != plan(f"stack: [{{{plain}}}]").scenarios[1].id


@pytest.mark.parametrize(
    ("stack", "path", "says"),
    [
        ("[]", "strategies[1].stack", "at least 1 entry"),
        ("[{timeout: 5}]", "strategies[1].stack[0].timeout", "`5ms`"),
        ("[{timeout: 1s, hedge: {delay: 1ms}}]", "strategies[1].stack[0]", "exactly one of timeout, deadline"),
        ("[{hege: {delay: 1ms}}]", "strategies[1].stack[0].hege", "hedge"),
        ("[{retry_budget: {ratio: 1, capacity: 5}}]", "strategies[1].stack", "a retry or hedge before it"),
        ("[{deadline: 1s}, {deadline: 2s}]", "strategies[1].stack", "one deadline"),
        ("[{timeout: 1s}, {timeout: 1s}]", "strategies[1].stack", "each policy once in a row"),
        (
            "[{hedge: {delay: 1ms, max_attempts: 500}}, {hedge: {delay: 2ms, max_attempts: 500}}]",
            "strategies[1].stack",
            "10,000",
        ),
        (
            "[{retry: {max_attempts: 2, backoff: {fixed: {delay: 1ms}}, on: [often]}}]",
            "strategies[1].stack[0].retry.on[0]",
            "'timeout'",
        ),
        (f"[{{{BREAKER}, on: [often]}}}}]", "strategies[1].stack[0].circuit_breaker.on[0]", "'timeout'"),
        (f"[{{{BREAKER}, on: []}}}}]", "strategies[1].stack[0].circuit_breaker.on", "at least 1 entry"),
    ],
)
def test_a_stack_that_makes_no_sense_is_refused_with_its_place(stack: str, path: str, says: str) -> None:
    found = problems(text(f"stack: {stack}"))[0]
    assert (found.line, found.path) == (7, path)
    assert says in str(found)


def test_a_name_goes_with_a_stack_alone_and_is_no_patterns() -> None:
    assert "name with stack" in problem(f"name: x, {RETRY}").allowed
    assert "reserved for a pattern" in problem("name: retry, stack: [{timeout: 1s}]").message


def test_two_stacks_that_no_word_tells_apart_need_names() -> None:
    one = "stack: [{retry: {max_attempts: 2, backoff: {fixed: {delay: 1ms}}}}]"
    other = "stack: [{retry: {max_attempts: 2, backoff: {linear: {initial: 1ms, increment: 1ms}}}}]"
    with pytest.raises(InputError, match="give one of them a `name`"):
        plan(one, other)
    assert levels(plan(one, f"name: rising, {other}"))["strategy"] == ["baseline", "retry", "rising"]


def test_a_limit_of_attempts_does_not_go_with_a_stack() -> None:
    whole = text("stack: [{timeout: 1s}]").replace(
        "{open: {rate: 5, duration: 1s}}", "{closed: {users: 1, successes: 1, max_attempts: 5}}"
    )
    (found,) = problems(whole)
    assert "max_attempts does not go with a stack" in found.message
