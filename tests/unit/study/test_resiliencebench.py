"""The published test spaces run unchanged, and what libraries mean differently is put into one meaning."""

from __future__ import annotations

import json
import re

import pytest
from tests.support.studies import ROOT, problems

from patternbench.plan.expand import expand
from patternbench.study.load import load, loads
from patternbench.terms.problems import InputError

DATA = ROOT / "tests/data/resiliencebench"


@pytest.mark.parametrize(("name", "count"), [("listing-3", 90), ("listing-4", 210)])
def test_the_papers_listings_expand_to_the_papers_numbers(name: str, count: int) -> None:
    assert len(expand(load(DATA / f"{name}.json")).scenarios) == count


def test_pollys_retries_and_first_delay_are_put_into_our_meaning() -> None:
    retry = load(DATA / "listing-4.json").strategies[1].retry
    assert retry is not None
    assert retry.backoff.exponential is not None
    assert tuple(retry.max_attempts) == (6,), "five retries are six attempts"
    assert [str(d) for d in retry.backoff.exponential.initial] == ["30ms", "60ms", "90ms"], "multiplied once already"


def test_resilience4js_parameters_are_taken_as_they_are() -> None:
    breaker = load(DATA / "listing-4.json").strategies[5].circuit_breaker
    assert breaker is not None
    assert breaker.slow_call is not None
    assert str(breaker.slow_call.duration[0]) == "1s"
    assert tuple(breaker.scope) == ("user",), "that tool makes a breaker for each virtual user"


def test_the_repositorys_spelling_and_comments_are_read() -> None:
    read = load(DATA / "repository-spelling.json")
    assert read.name == "repo-sample"
    breaker = read.strategies[0].circuit_breaker
    assert breaker is not None
    assert str(breaker.window.time[0]) == "30s", "a time window counts seconds"  # type: ignore[index]
    polly = read.strategies[1].retry
    assert polly is not None
    assert polly.backoff.exponential is not None
    assert str(polly.backoff.exponential.initial[0]) == "200ms"


def test_a_file_for_another_host_points_there() -> None:
    text = (DATA / "listing-3.json").read_text().replace("http://server:9211", "http://localhost:9211")
    assert loads(text, "x.json").system.addresses == ["http://localhost:9211"]


def test_the_path_of_a_url_is_asked_for_with_its_query() -> None:
    text = (DATA / "listing-3.json").read_text()
    url = re.search(r'"targetUrl": "([^"]*)"', text)
    assert url is not None
    requested = loads(
        text.replace(url[1], "http://localhost:9211/bytes/1000?seed=7&x=a%20b"), "x.json"
    ).workload.request
    assert list(requested.path) == ["/bytes/1000?seed=7&x=a%20b"]


def test_an_unknown_key_is_an_error_with_its_line_and_the_nearest_known_key() -> None:
    text = (DATA / "listing-3.json").read_text().replace('"durationOfBreaking"', '"durationOfBraking"')
    found = [str(p) for p in problems(text, "x.json")]
    assert found[0].startswith("x.json:32: clientSpecs[1].patternConfig.durationOfBraking: unknown key")
    assert "did you mean `durationOfBreaking`?" in found[0]


def test_the_predecessors_typo_maxAttemps_is_no_longer_ignored() -> None:
    text = (DATA / "repository-spelling.json").read_text().replace('"maxAttempts"', '"maxAttemps"')
    assert "did you mean `maxAttempts`?" in str(problems(text, "x.json")[0])


def test_a_missing_key_is_named() -> None:
    spec = {"rounds": 1, "users": [1], "succRequests": 1, "targetUrl": "http://server/", "clientSpecs": []}
    assert {str(p) for p in problems(json.dumps(spec), "x.json")} == {
        "x.json:1: `fault` is missing",
        "x.json:1: `maxRequests` is missing",
    }


def test_a_bad_level_is_reported_on_its_line_of_the_original() -> None:
    text = (DATA / "listing-3.json").read_text().replace("[0, 20, 40, 60, 80]", "[0, 180]")
    with pytest.raises(InputError, match=r"x\.json:9: .*got 180"):
        loads(text, "x.json")


@pytest.mark.parametrize(
    ("key", "value", "reported"),
    [
        ("fault", "abort", "x.json:1: fault: isn't a mapping (got 'abort')"),
        ("clientSpecs", ["java"], "x.json:1: clientSpecs[0]: isn't a mapping (got 'java')"),
        (
            "clientSpecs",
            [{"platform": "java", "strategy": "retry", "patternConfig": 3}],
            "x.json:1: clientSpecs[0].patternConfig: isn't a mapping (got 3)",
        ),
    ],
)
def test_what_should_be_a_mapping_and_is_none_is_reported_where_it_stands(
    key: str, value: object, reported: str
) -> None:
    spec = {"rounds": 1, "users": [1], "succRequests": 1, "maxRequests": 1, "targetUrl": "http://server/"}
    text = json.dumps({**spec, "fault": None, "clientSpecs": [], key: value})
    assert str(problems(text, "x.json")[0]).startswith(reported)


def test_a_first_delay_times_several_powers_is_refused() -> None:
    config = {"count": 3, "sleepDuration": 20, "exponentialBackoffPow": [1, 2]}
    client = {"lib": "polly", "strategy": "retry", "patternConfig": config}
    spec = {"rounds": 1, "users": [1], "succRequests": 1, "maxRequests": 1, "targetUrl": "http://server/"}
    text = json.dumps({**spec, "fault": None, "clientSpecs": [client]})
    assert any("20 * [1, 2]" in str(problem) for problem in problems(text, "x.json"))
