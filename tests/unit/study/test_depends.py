"""What in a workload depends on the levels of settings and parameters, and what of that cannot be."""

from __future__ import annotations

from tests.support.studies import problems as problems_of_text

from patternbench.plan.expand import expand
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.study.workload import depends
from patternbench.terms.problems import Problem

STUDY = """\
patternbench: 1
name: x
system: {name: shop, settings: {architecture: [gateway, messaging], size: [1, 3], fast: true}}
workload:
  closed: {users: 1, journeys: 1}
  parameters: {items: [2, 5], word: red}
"""


def study(journey: str) -> Study:
    return loads(STUDY + f"  journey: [{journey}]\n", "x.yaml")


def problems(journey: str) -> list[Problem]:
    read = study(journey)
    parts = [(scenario.system, scenario.workload) for scenario in expand(read).scenarios]
    found = [problem for system, workload in parts for problem in depends.problems(system, workload)]
    return list({str(problem): problem for problem in [*found, *depends.never(parts, read.workload)]}.values())


def test_settings_and_parameters_are_known_to_places_by_their_names() -> None:
    first = expand(study("{path: /}")).scenarios[0]
    assert depends.texts(first.system, first.workload) == {
        "items": "2",
        "word": "red",
        "setting.architecture": "gateway",
        "setting.size": "1",
        "setting.fast": "true",
    }


def test_a_condition_holds_for_one_level_or_for_one_of_a_list() -> None:
    values = {"setting.architecture": "gateway", "setting.fast": "true", "items": "2"}
    assert depends.applies(None, values)
    assert depends.applies({"architecture": "gateway", "parameters.items": [1, 2]}, values)
    assert depends.applies({"fast": True}, values)
    assert not depends.applies({"architecture": "gateway", "parameters.items": 5}, values)


def test_a_condition_on_what_the_study_does_not_say_is_reported_with_the_nearest_name() -> None:
    (found,) = problems("{path: /}, {path: /b, when: {architectur: gateway}}")
    assert (found.path, found.hint) == ("workload.journey.steps[1].when.architectur", "did you mean `architecture`?")
    assert "parameters.items" in found.allowed


def test_a_misspelt_condition_of_the_only_step_is_reported_once() -> None:
    (found,) = problems("{path: /, when: {architectur: gateway}}")
    assert found.path == "workload.journey.steps[0].when.architectur"


def test_a_condition_that_holds_in_no_scenario_is_reported_with_the_levels_there_are() -> None:
    (found,) = problems("{path: /}, {path: /b, when: {architecture: [mesh], size: 3}}")
    assert (found.message, found.path) == ("isn't true in any scenario", "workload.journey.steps[1].when")
    assert "architecture: gateway, messaging" in found.allowed


def test_a_scenario_without_a_step_is_reported_with_its_levels() -> None:
    found = problems("{path: /b, when: {architecture: gateway}}")
    assert found
    assert all(
        one.path == "workload.journey.steps" and "setting.architecture=messaging" in one.message for one in found
    )


def test_a_repeat_refers_to_a_whole_number_in_every_scenario() -> None:
    assert problems("{path: /, repeat: '${items}'}, {path: /b, repeat: '${setting.size}'}") == []
    (word,) = problems("{path: /, repeat: '${word}'}")
    assert word.path == "workload.journey.steps[0].repeat"
    assert "items, setting.size" in word.allowed
    (unknown,) = problems("{path: /, repeat: '${item}'}")
    assert unknown.hint == "did you mean `items`?"


def test_a_repeat_that_is_neither_a_number_nor_a_place_is_refused() -> None:
    (found,) = problems_of_text(STUDY + "  journey: [{path: /, repeat: twice}]\n")
    assert "a place such as `${size}`" in found.allowed


WAITS = (
    "{path: /b, when: {parameters.word: [0ms, 5ms]}, pause: '${word}', until_expected: {every: '${word}', limit: 1s}}"
)


def with_word(levels: str, journey: str) -> list[Problem]:
    read = loads(STUDY.replace("word: red", f"word: {levels}") + f"  journey: [{journey}]\n", "x.yaml")
    parts = [(scenario.system, scenario.workload) for scenario in expand(read).scenarios]
    return [problem for system, workload in parts for problem in depends.problems(system, workload)]


def test_a_pause_refers_to_a_duration_in_every_scenario_that_takes_its_step() -> None:
    assert with_word("[never, 0ms, 5ms]", f"{{path: /}}, {WAITS}") == []
    everywhere = "{path: /, pause: '${word}'}"
    (red, *_) = with_word("[red, 5ms]", everywhere)
    assert (red.path, red.value) == ("workload.journey.steps[0].pause", "${word}")
    assert red.message == "`${word}` is not a duration in every scenario"
    (unknown, *_) = with_word("5ms", "{path: /, until_expected: {limit: 1s, every: '${wort}'}}")
    assert (unknown.path, unknown.hint) == ("workload.journey.steps[0].until_expected.every", "did you mean `word`?")


def test_a_pause_that_is_neither_a_duration_nor_a_place_is_refused() -> None:
    (bare,) = problems_of_text(STUDY + "  journey: [{path: /, pause: 5}]\n")
    assert bare.message == "a duration needs a unit"
    (place,) = problems_of_text(STUDY + "  journey: [{path: /, pause: '${Wait'}]\n")
    assert (place.path, place.value) == ("workload.journey[0].pause", "${Wait")


def test_what_a_workload_says_of_settings_is_found_wherever_it_stands() -> None:
    about = [
        "path: '/${setting.size}'",
        "path: /, when: {architecture: gateway}",
        "path: /, json: {a: ['${setting.fast}']}",
    ]
    assert all(depends.on_settings(study(f"{{{step}}}").workload) for step in about)
    assert not depends.on_settings(study("{path: '/${items}', when: {parameters.items: [2, 5]}}").workload)
