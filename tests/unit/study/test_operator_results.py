"""Published results of ResilienceBench's operator are shown beside ours, as single runs without intervals."""

from __future__ import annotations

import pytest

from patternbench.analyze.statements.claims.claim import amount_of
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.study.text import operator_results
from patternbench.terms.problems import InputError

HEAD = (
    "scenario,scenario_type,fault_percentage,workload_users,checkout_error,checkout_success_rate,"
    "checkout_http_req_duration,GRPC_BACKOFF_MULTIPLIER,GRPC_INITIAL_BACKOFF,GRPC_MAX_ATTEMPTS,GRPC_MAX_BACKOFF\n"
)
ROWS = (
    "b-1,baseline,25,300,750,0.75,1300.5,0.0,0.0,0.0,0.0\n"
    "r-1,retry,25,300,180,0.94,1800.9,1.0,0.5,2.0,15.0\n"
    "r-2,retry,25,300,240,0.92,2089.2,1.5,0.5,2.0,15.0\n"
    "r-3,retry,25,300,30,0.99,1713.3,1.0,0.5,3.0,15.0\n"
    "r-4,retry,50,300,30,0.9,1713.3,1.0,0.5,3.0,15.0\n"
)


def made(text: str = HEAD + ROWS) -> Study:
    found = operator_results.rows(text, "data.csv")
    return loads(operator_results.study(found, "published", "http://127.0.0.1:8080", "/", "data.csv"), "p.yaml")


def test_each_condition_with_both_sides_is_a_claim_with_the_published_change() -> None:
    assert [(one.to["retry.max_attempts"], one.published) for one in made().claims] == [
        (2, "-18.0 points (2 single runs)"),
        (3, "-24.0 points (1 single run)"),
    ]


def test_the_published_change_is_read_as_a_number_by_the_report() -> None:
    assert amount_of(made().claims[0].published or "", "failure_rate") == (-18.0, False)


def test_the_study_has_the_levels_of_the_table() -> None:
    study = made()
    retry = study.strategies[1].retry
    assert retry is not None and retry.backoff.exponential is not None
    assert list(retry.max_attempts) == [2, 3]
    assert [str(one) for one in retry.backoff.exponential.initial] == ["500ms"]
    assert list(retry.backoff.exponential.multiplier) == [1, 1.5]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b\n1,2\n", "isn't a table of ResilienceBench's operator"),
        (HEAD, "has no rows"),
        (HEAD + ROWS.replace("0.94", "94"), "data.csv:3: checkout_success_rate: isn't a share"),
        (HEAD + ROWS.replace("2.0,15.0", "two,15.0"), "data.csv:3: GRPC_MAX_ATTEMPTS: isn't a number"),
        (HEAD + ROWS.replace("r-3,retry", "r-3,hedge"), "data.csv:5: scenario_type: isn't known here"),
        (HEAD + ROWS.splitlines()[0] + "\n", "no retry"),
        (HEAD + ROWS.replace("0.94", "NaN"), "isn't a number"),
    ],
)
def test_a_table_that_is_not_understood_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        made(text)
    assert why in str(caught.value)
