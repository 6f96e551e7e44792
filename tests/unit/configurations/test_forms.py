"""Every form of configuration says every field of every policy, or says that it can't."""

from __future__ import annotations

import json

import pytest
from tests.support.configuration_cases import GOLDEN, cases, patterns
from tests.support.golden import is_golden

from patternbench.configurations.fidelity import Fidelity
from patternbench.configurations.form import Form, GuardedService, WrittenConfiguration
from patternbench.configurations.patterns import REQUEST_TIMEOUT, fields
from patternbench.configurations.registry import MODULES, form
from patternbench.configurations.statement import Fields
from patternbench.study.workload.policies import POLICIES

NAMES = [*MODULES]
EACH = [(name, case) for name in NAMES for case in cases(name)]
OPEN = {"retry.on", "circuit_breaker.on", "order", "retry"}
"""What is said of a policy although the study leaves it open: which failures count, and the order of the policies."""


def written(name: str, case: str) -> WrittenConfiguration:
    return form(name).write(cases(name)[case], GuardedService())


def listing(chosen: Form, made: WrittenConfiguration) -> str:
    """A file as it is checked in: how well each field is said as a comment, then the configuration."""
    return "".join(f"{chosen.comment} {one.words}\n" for one in made.mapped) + "\n" + made.body


@pytest.mark.parametrize(("name", "case"), EACH)
def test_each_form_writes_each_case_as_the_checked_in_file(name: str, case: str) -> None:
    chosen = form(name)
    is_golden(f"{GOLDEN}/{name}/{case}.{chosen.file.rpartition('.')[2]}", listing(chosen, written(name, case)))


@pytest.mark.parametrize(("name", "case"), EACH)
def test_every_field_of_a_policy_is_listed_once_as_exact_approximated_or_not_expressible(name: str, case: str) -> None:
    given = cases(name)[case]
    due = [ours for policy, chosen in given.named for ours, _ in fields(policy, chosen)]
    said = [one.ours for one in written(name, case).mapped if one.ours != REQUEST_TIMEOUT]
    assert sorted(said) == sorted(set(said))
    assert set(due) <= set(said)
    assert set(said) - set(due) <= OPEN


@pytest.mark.parametrize(("name", "case"), EACH)
def test_whatever_is_not_exact_says_why_and_what_is_left_out_is_told_nothing(name: str, case: str) -> None:
    for one in written(name, case).mapped:
        assert one.fidelity is Fidelity.EXACT or one.why, one
        assert not (one.fidelity is Fidelity.INEXPRESSIBLE and one.theirs), one


def test_the_cases_have_every_policy() -> None:
    assert {kind for name in NAMES for given in cases(name).values() for kind in given.kinds} == {*POLICIES}


@pytest.mark.parametrize("name", NAMES)
def test_a_field_can_be_asked_for_by_its_place_and_its_default_is_in_its_own_notation(name: str) -> None:
    for one in form(name).fields:
        assert Fields(form(name).fields)(one.place) is one
        if one.default is not None:
            one.amount.read(one.default)


@pytest.mark.parametrize("name", NAMES)
def test_a_form_of_no_policy_holds_nothing(name: str) -> None:
    assert form(name).write(patterns([]), GuardedService()).body == ""


def test_which_vectors_each_form_says_exactly_is_checked_in_for_the_tests_of_each_product() -> None:
    """Tests in Java, C# and Go follow these, and would not see one that was no longer exact."""
    exact = {name: [case for case in exactly(name) if not case.startswith("stack")] for name in NAMES}
    is_golden(f"{GOLDEN}/exact.json", json.dumps(exact, indent=1) + "\n")


def exactly(name: str) -> list[str]:
    made = {case: written(name, case) for case in cases(name)}
    return [
        case for case, one in made.items() if one.body and all(field.fidelity is Fidelity.EXACT for field in one.mapped)
    ]


def test_what_the_client_of_a_library_does_exactly_its_configuration_says_exactly() -> None:
    """The measured client decided these vectors: its own library must be told the same."""
    assert len([case for case in exactly("spring") if case.startswith("breaker")]) == 8
    in_a_row = [case for case in exactly("failsafe-go") if case.startswith("breaker")]
    assert in_a_row == [
        "breaker-two-failures-open-it-the-wait-runs-out-a-success-closes-it",
        "breaker-one-success-in-the-window-keeps-it-closed-at-100-percent",
        "breaker-a-failing-probe-opens-it-again-for-the-whole-wait",
        "breaker-a-time-window-forgets",
    ]
    assert len([case for case in exactly("failsafe-go") if case.startswith("backoff")]) == 7
    assert "breaker-a-time-window-forgets" in exactly("polly")


@pytest.mark.parametrize(
    ("time", "written_as", "why"),
    [
        ("2ms", "PT0.002S", ""),
        ("1ms", "PT0.001S", ""),
        ("999us", "PT0.001S", "a millisecond at least"),
        ("1us", "PT0.001S", "a millisecond at least"),
    ],
)
@pytest.mark.parametrize("of", ["retry.backoff.exponential.initial", "circuit_breaker.open_for"])
def test_a_time_of_less_than_a_millisecond_is_written_as_one_and_called_approximated(
    of: str, time: str, written_as: str, why: str
) -> None:
    growing = {"retry": {"max_attempts": 3, "backoff": {"exponential": {"initial": time, "multiplier": 3}}}}
    breaker = {
        "circuit_breaker": {
            "failure_rate": 50,
            "window": {"calls": 4},
            "minimum_calls": 4,
            "open_for": time,
            "half_open_calls": 1,
        }
    }
    made = form("resilience4j").write(patterns([growing if of.startswith("retry") else breaker]), GuardedService())
    (told,) = [one for one in made.mapped if one.ours == of]
    assert told.fidelity is (Fidelity.APPROXIMATED if why else Fidelity.EXACT)
    assert why in told.why and bool(told.why) == bool(why)
    assert f": {written_as}\n" in made.body
