"""What a study may ask observers for: series of Prometheus, and traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field, ValidationError
from tests.support.studies import changed, problems, study

from patternbench.plan.expand import expand
from patternbench.plan.order import Round
from patternbench.run.round.orders import Orders, RoundOrder
from patternbench.series.question import PrometheusAt, Series, SeriesQuestion, response_name
from patternbench.speed.question import SpeedQuestion
from patternbench.study.model.parts import Model
from patternbench.study.models import Study
from patternbench.study.questions import Question, asking, questions
from patternbench.study.watching import Watch, counting_watch, share_of
from patternbench.terms.units import Duration

CPU = "rate(process_cpu_seconds_total[5s])"


def only(**changes: str) -> str:
    refused = problems(changed(**changes))
    assert len(refused) == 1, [str(problem) for problem in refused]
    return str(refused[0])


def test_a_series_is_a_query_or_a_query_with_its_words() -> None:
    read = study(series=f"{{cpu: '{CPU}', depth: {{query: up, unit: messages, better: lower, step: 500ms}}}}").series
    assert read["cpu"] == Series(query=CPU)
    assert (read["depth"].unit, read["depth"].better, read["depth"].step) == ("messages", "lower", Duration(500_000))


def test_what_observers_are_asked_for_is_no_part_of_a_scenario() -> None:
    requested = study(
        series="{cpu: up}", prometheus="http://localhost:9090", traces="{sample: 5%, counting_pass: true}"
    )
    assert [one.id for one in expand(requested).scenarios] == [one.id for one in expand(study()).scenarios]


def test_a_study_that_asks_for_nothing_asks_observers_for_nothing() -> None:
    assert study().watch == Watch()
    assert study().watch.traces is None


def test_what_a_study_asks_for_travels_with_its_orders(tmp_path: Path) -> None:
    requested = study(series="{cpu: up}", prometheus="{url: 'http://localhost:9090'}", traces="{sample: 0.5}")
    scenario = expand(requested).scenarios[0]
    order = Orders(requested, {}, tmp_path).of(Round(0, 0, scenario.id), scenario, "00000", "warm-up-000")
    arrived = RoundOrder.from_json(order.as_json()).watch
    assert arrived == requested.watch
    assert arrived.prometheus == PrometheusAt(url="http://localhost:9090")


def test_a_counting_pass_observes_nothing_but_traces() -> None:
    requested = study(series="{cpu: up}", prometheus="http://localhost:9090", traces="{sample: 5%}", speed_probe="{}")
    counting = counting_watch(requested.watch)
    assert SeriesQuestion.of(counting).series == {}
    assert SpeedQuestion.of(counting).speed_probe is None
    assert counting.traces is not None
    assert share_of(counting.traces.sample.level) == 1


def answered_by(**changes: str) -> str | PrometheusAt:
    return SeriesQuestion.of(study(series="{cpu: up}", **changes).watch).answered_by


def test_prometheus_is_a_component_or_a_url() -> None:
    assert answered_by() == "prometheus"
    assert answered_by(prometheus="monitor") == "monitor"
    at = PrometheusAt(url="https://prometheus:9090/base")
    assert answered_by(prometheus="https://prometheus:9090/base") == at


@pytest.mark.parametrize(("sample", "share"), [("1%", 0.01), ("100 %", 1.0), ("0.25", 0.25), ("0.001", 0.001)])
def test_the_share_that_is_traced_is_written_as_a_share_or_in_percent(sample: str, share: float) -> None:
    traces = study(traces=f"{{sample: {sample}}}").traces
    assert traces is not None
    assert share_of(traces.sample.level) == share


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("series", "{CPU: up}", "small letters, digits and `_`"),
        ("series", "{cpu: {unit: s}}", "`query` is missing"),
        ("series", "{cpu: {query: up, step: 0s}}", "series.cpu.step"),
        ("series", "{cpu: ''}", "series.cpu"),
        ("traces", "{sample: 120%}", "traces.sample"),
        (
            "traces",
            "{sample: some}",
            "traces.sample: is not a share (got 'some'); allowed: a share from 0 to 1 such as",
        ),
        ("traces", "{pass: true}", "unknown key"),
        ("prometheus", "prometheus", "prometheus does not go with a study without `series`"),
    ],
)
def test_what_is_wrong_is_said_once_and_with_its_line(key: str, value: str, message: str) -> None:
    text = only(**{key: value})
    assert text.startswith("study.yaml")
    assert message in text


def test_a_login_in_the_url_of_prometheus_is_refused_since_records_would_hold_it() -> None:
    message = problems(changed(series="{cpu: up}", prometheus="http://me:word@localhost:9090"))
    assert any("holds a user or a password" in str(problem) for problem in message)


def test_the_response_of_a_summary_is_called_after_its_series() -> None:
    assert response_name("cpu", "max") == "series.cpu.max"


class Tides(Question):
    """What a study may ask of a made-up observer."""

    tides: Annotated[int, Field(ge=1)] | None = None


class Sailing(Model):
    """A made-up study."""

    name: str = "sail"


def test_the_fields_of_a_question_are_fields_of_a_study_and_checked_as_its_own() -> None:
    sailing = asking("Sailing", Sailing, [Tides])
    assert list(sailing.model_fields) == ["name", "tides"]
    assert Tides.of(sailing.model_validate({"tides": 2})).tides == 2
    assert Tides.of(sailing()).tides is None
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        sailing.model_validate({"tides": 0})


def test_two_questions_of_one_name_are_refused_when_the_package_is_loaded() -> None:
    with pytest.raises(TypeError, match="would have tides twice"):
        asking("Sailing", Sailing, [Tides, Tides])


def test_a_model_that_lacks_the_fields_of_a_question_is_no_answer_to_it() -> None:
    with pytest.raises(TypeError, match="Sailing has no fields of Tides"):
        Tides.of(Sailing())


def test_every_question_of_a_wing_is_asked_by_studies_and_travels_with_rounds() -> None:
    assert {SeriesQuestion, SpeedQuestion} <= set(questions())
    for question in questions():
        assert set(question.model_fields) <= set(Study.model_fields) & set(Watch.model_fields)
        assert question.of(Watch()) == Watch(), "the defaults of every field ask for nothing"
