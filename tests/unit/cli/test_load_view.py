"""The terminal views of load, as agreed, and the jobs that its flags make."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.support.schemas import conforms
from tests.support.studies import ROOT

from patternbench.cli.load import DONE, INTERRUPTED, NOT_VALID, NOTHING_GOOD, Options, job_of, load, tell
from patternbench.cli.load_view import History, ending, in_a_line, live, milliseconds
from patternbench.records.load_summaries import LoadProgress, LoadSummary
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration
from patternbench.watch.bars import BARS, sparkline

GOLDEN = ROOT / "tests/golden/load"
SCHEMA = json.loads((ROOT / "contracts/load/job.schema.json").read_text())
DEFAULTS: dict[str, Any] = {
    "urls": ("http://127.0.0.1:8080/",),
    "rate": None,
    "users": None,
    "duration": None,
    "requests": None,
    "warm_up": Duration(0),
    "poisson": False,
    "in_flight": 1000,
    "method": "GET",
    "headers": (),
    "body": None,
    "timeout": Duration.parse("30s"),
    "ca": None,
    "insecure": False,
    "seed": 1,
}


def job(**given: Any) -> dict[str, Any]:
    """The job of some flags; asserts that the contract allows it."""
    made = job_of(Options(**{**DEFAULTS, **given}), log=True).job
    conforms(made, SCHEMA)
    return made


def progress(second: int, p50: float | None, **more: Any) -> LoadProgress:
    times = {"p50": p50, "p90": p50, "p99": p50 and p50 * 4, "max": p50 and p50 * 9}
    counts = {"requests": 500 * second, "errors": second // 4, "dropped": 0, "in_flight": second}
    message = {"elapsed_us": second * 1_000_000, **counts, "rate_per_s": 500.0 + second, "response_ms": times}
    return LoadProgress.model_validate({**message, **more})


def printed(view: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=80, color_system=None).print(view)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def golden(name: str, text: str) -> None:
    """Compare with the checked-in text; to take a new one, delete the file and run the test twice."""
    path: Path = GOLDEN / name
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path.name} was missing and has been written: look at it, then run again")
    assert text == path.read_text(encoding="utf-8")


def test_the_live_view_is_as_agreed() -> None:
    history = History()
    for second in range(1, 13):
        history.add(progress(second, None if second == 5 else 1.5 * second))
    golden("live.txt", printed(live(history, ["http://127.0.0.1:8080/items", "http://127.0.0.1:8081/"], 30.0)))


def test_the_live_view_begins_before_anything_is_known() -> None:
    assert "sent 0" in printed(live(History(), ["http://x/"], None))


def test_the_live_view_shows_statuses_and_lateness_when_the_engine_tells_them() -> None:
    history = History()
    history.add(progress(1, 1.0, statuses={"2xx": 499, "5xx": 1}, lateness_ms={"p99": 0.08}))
    text = printed(live(history, ["http://x/"], None))
    assert "2xx 499   5xx 1" in text
    assert "late p99       80 µs" in text


def test_a_round_of_a_run_is_reported_in_a_line() -> None:
    reported = progress(4, 1.0, statuses={"2xx": 1999, "5xx": 1}, lateness_ms={"p99": 0.08})
    assert in_a_line(reported) == "sent 2,000  2xx 1,999  5xx 1  errors 1  p99 4 ms  late p99 80 µs"
    assert in_a_line(LoadProgress()) == "sent 0  p99 –"


def test_the_ending_is_as_agreed() -> None:
    times = {"p50": 0.85, "p90": 3.456, "p99": 99.96, "p999": 1234.0, "max": None}
    step = {"group": "all", "calls": 10, "successes": 9, "response_ms": times}
    summary = {
        "requests": 15_000,
        "calls": 15_000,
        "errors": 12,
        "dropped": 3,
        "duration_s": 30.01,
        "rate_per_s": 499.83,
        "response_ms": times,
        "service_ms": times,
        "lateness_ms": times,
        "generator_cpu_s": 0.71,
        "statuses": {"2xx": 14_988, "5xx": 10},
        "outcomes": {"answered": 14_998, "timeout": 2, "connection_error": 0, "dropped": 3},
        "generator": {"connections": 20},
        "steps": [{**step, "step": "login"}, {**step, "step": "browse"}],
    }
    golden("ending.txt", printed(ending(LoadSummary.model_validate(summary))))


@given(st.lists(st.none() | st.floats(0, 1e9), max_size=60))
def test_a_sparkline_has_a_bar_for_every_value_and_the_largest_is_highest(values: list[float | None]) -> None:
    text = sparkline(values, width=0)
    assert [character == " " for character in text] == [value is None for value in values]
    known = [value for value in values if value is not None]
    if known and max(known) > 0:
        assert text[values.index(max(known))] == BARS[-1]


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0.0, "0 µs"), (0.85, "850 µs"), (3.456, "3.46 ms"), (1200, "1.20 s")]
)
def test_times_are_written_for_people(value: float | None, text: str) -> None:
    assert milliseconds(value) == text


def test_a_rate_makes_an_open_workload() -> None:
    made = job(rate=500.0, poisson=True, in_flight=9, duration=Duration.parse("30s"))
    assert made["duration_us"] == 30_000_000
    assert made["groups"][0]["workload"]["open"] == {
        "schedule": {"constant": {"rate": 500.0}},
        "spacing": "poisson",
        "users": 1,
        "max_in_flight": 9,
    }


def test_without_a_rate_users_wait_for_ten_seconds() -> None:
    made = job()
    assert made["groups"][0]["workload"] == {"closed": {"users": 50, "think_us": 0}}
    assert made["duration_us"] == 10_000_000


def test_a_number_of_requests_needs_no_duration() -> None:
    made = job(requests=7)
    assert made["groups"][0]["workload"]["closed"]["until"] == {"calls": 7}
    assert made["duration_us"] is None


def test_a_request_is_what_the_flags_say() -> None:
    urls = ("https://127.0.0.1:8080/",)
    made = job(urls=urls, method="post", headers=("A: b:c", "X:"), body="hi ${user}", ca=__file__)
    (step,) = made["groups"][0]["journeys"][0]["steps"]
    assert (step["method"], step["headers"], step["body"]) == ("POST", {"A": "b:c", "X": ""}, "hi ${user}")
    assert made["tls"] == {"ca_file": __file__}
    assert job(urls=urls, ca=__file__, insecure=True)["tls"] == {"verify": False}


def test_flags_of_policies_stack_in_one_order() -> None:
    made = job(deadline=Duration.parse("1s"), retry=3, hedge=Duration.parse("20ms"))["policies"]
    assert [next(iter(policy)) for policy in made] == ["deadline", "retry", "hedge"]
    assert made[1]["retry"]["jitter"] == "full"
    assert made[1]["retry"]["backoff"]["exponential"]["initial_us"] == 100_000
    assert made[2]["hedge"] == {"delay_us": 20_000, "max_attempts": 2}
    assert "policies" not in job()


def documented() -> list[list[str]]:
    """The arguments of every call of the command in the documentation."""
    page = (ROOT / "docs/load.md").read_text()
    return [
        shlex.split(line.removeprefix("$ "))[2:] for line in page.splitlines() if line.startswith("$ patternbench load")
    ]


@pytest.mark.parametrize("arguments", documented())
def test_every_call_in_the_documentation_is_one(arguments: list[str]) -> None:
    assert load.make_context("load", list(arguments)).params["urls"]


def test_every_flag_is_documented_by_its_own_help_and_the_exit_codes_by_the_page() -> None:
    assert all(option.help or option.name in ("urls", "method") for option in load.params if hasattr(option, "help"))
    page = (ROOT / "docs/load.md").read_text()
    for code in (DONE, NOTHING_GOOD, NOT_VALID, INTERRUPTED):
        assert f"\n| {code} | " in page


def test_the_stack_of_the_documentation_is_one(tmp_path: Path) -> None:
    block = (ROOT / "docs/load.md").read_text().split("```yaml\n")[1].partition("```")[0]
    (tmp_path / "stack.yaml").write_text(block)
    stack = job(policies=tmp_path / "stack.yaml")["policies"]
    assert [next(iter(policy)) for policy in stack] == ["deadline", "retry", "timeout"]


def test_urls_have_weights() -> None:
    targets = job(urls=("http://a/", "http://b/"), weights=(3, 1))["targets"]
    assert targets == [{"url": "http://a/", "weight": 3}, {"url": "http://b/", "weight": 1}]


def test_a_socket_is_asked_for_what_the_url_says() -> None:
    made = job(urls=("http://shop.test/items?page=1",), unix_socket="/run/app.sock", redirects=2)
    (step,) = made["groups"][0]["journeys"][0]["steps"]
    assert made["targets"][0]["url"] == "unix:/run/app.sock:/items?page=1"
    assert (step["headers"], step["max_redirects"]) == ({"Host": "shop.test"}, 2)
    made = job(urls=("http://shop.test/",), unix_socket="/run/app.sock", headers=("host: other.test",))
    assert made["groups"][0]["journeys"][0]["steps"][0]["headers"] == {"host": "other.test"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"rate": 5.0, "users": 5}, "--rate and --users do not go together"),
        ({"headers": ("no colon",)}, "--header: isn't a header"),
        ({"headers": (": x",)}, "--header: isn't a header"),
        ({"weights": (1, 2)}, "--weights: has too few or too many weights"),
        ({"urls": ("https://a/",), "unix_socket": "/x"}, "URL: has no host and path"),
        ({"urls": ("http://a/", "http://b/"), "unix_socket": "/x"}, "URL: names several hosts for one socket"),
        ({"retry": 3, "policies": Path("/x.yaml")}, "--policies: does not go with --retry"),
    ],
)
def test_what_makes_no_sense_is_refused(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        job_of(Options(**{**DEFAULTS, **flags}), log=False)
    (problem,) = caught.value.problems
    assert str(problem).startswith(message)


@pytest.mark.parametrize(
    ("path", "flag"),
    [
        ("targets[0].url", "URL"),
        ("targets[0].weight", "--weights"),
        ("tls.ca_file", "--ca"),
        ("groups[0].workload.open.schedule.constant.rate", "--rate"),
        ("groups[0].workload.open.max_in_flight", "--in-flight"),
        ("groups[0].journeys[0].steps[0].headers.X-Rate", "--header"),
        ("groups[0].journeys[0].steps[0].body", "--body"),
        ("duration_us", "--duration"),
        ("policies[0].deadline.after_us", "--deadline"),
        ("policies[1].retry.max_attempts", "--retry"),
    ],
)
def test_a_problem_of_the_engine_is_reported_at_the_flag_that_it_comes_from(path: str, flag: str) -> None:
    policies = {"deadline": Duration.parse("1s"), "retry": 3}
    given = {"urls": ("https://a/",), "ca": __file__, "rate": 5.0, "headers": ("X-Rate: 1",), "body": "x", **policies}
    assert job_of(Options(**{**DEFAULTS, **given}), log=True).origin(path) == flag


def test_json_has_each_generator_where_there_are_several(capsys: pytest.CaptureFixture[str]) -> None:
    counts = {"requests": 4, "calls": 4, "errors": 0, "dropped": 0, "statuses": {"200": 4}, "outcomes": {"ok": 4}}
    times = {"duration_s": 1.0, "rate_per_s": 4.0, "generator_cpu_s": 0.1}
    parts = {"steps": [], "generator": {"connections": 1}}
    summary = {**counts, **times, **parts, "response_ms": {}, "service_ms": {}, "lateness_ms": {}}
    generators = [{"part": {"index": i, "of": 2}, "requests": 2, "valid": True, "lost": None} for i in range(2)]
    tell(LoadSummary.model_validate({**summary, "generators": generators}), json_=True, out=None)
    assert json.loads(capsys.readouterr().out)["generators"] == generators
    tell(LoadSummary.model_validate(summary), json_=True, out=None)
    assert "generators" not in json.loads(capsys.readouterr().out)
