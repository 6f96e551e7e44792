"""Loading a study: what is right is read, what is wrong is named with its place."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.studies import EXAMPLE, changed, problems, study

from patternbench.plan.expand import expand
from patternbench.study.load import StudyFile, load, loads, located, placed
from patternbench.study.text.document import parse
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration


def only(text: str) -> str:
    found = problems(text)
    assert len(found) == 1, [str(p) for p in found]
    return str(found[0])


def edited(old: str, new: str) -> str:
    assert old in EXAMPLE
    return EXAMPLE.replace(old, new)


def test_the_example_is_read() -> None:
    read = study()
    assert tuple(read.workload.closed.users) == (50, 100, 150)
    assert read.strategies[1].retry is not None
    assert read.strategies[1].retry.backoff.exponential.initial[0] == Duration(20_000)  # type: ignore[union-attr]


def test_json_is_read_like_yaml() -> None:
    text = json.dumps({"patternbench": 1, "name": "x", "system": "target"})
    found = [p.path for p in problems(text, "study.json")]
    assert found == ["workload"]


def test_an_unknown_key_is_named_with_the_nearest_known_one() -> None:
    text = only(edited("max_attempts: 500", "max_atempts: 500"))
    assert text.startswith("study.yaml:7: workload.closed.max_atempts: unknown key")
    assert "did you mean `max_attempts`?" in text


def test_a_wrong_type_says_what_is_allowed() -> None:
    assert "(got '10'); allowed: a whole number" in only(edited("successes: 10", 'successes: "10"'))


def test_an_empty_list_is_no_list_of_levels() -> None:
    text = only(edited("[50, 100, 150]", "[]"))
    assert "workload.closed.users: is an empty list" in text


@pytest.mark.parametrize("value", ["-1", "0", "1000001", "1.5", "true"])
def test_users_out_of_range_or_of_another_type_are_refused(value: str) -> None:
    assert "workload.closed.users" in only(edited("[50, 100, 150]", value))


@pytest.mark.parametrize("value", ["60", "60.5"])
def test_a_bare_number_is_no_duration(value: str) -> None:
    text = only(edited("[20ms, 40ms, 60ms], multiplier", f"{value}, multiplier"))
    assert "a duration needs a unit" in text
    assert f"`{value}ms`, `{value}s`" in text


@pytest.mark.parametrize("value", ["-20ms", "20 min", "25h", "1e3s", "''"])
def test_other_texts_are_no_durations(value: str) -> None:
    assert "initial" in only(edited("[20ms, 40ms, 60ms], multiplier", f"{value}, multiplier"))


def test_a_percentage_over_100_is_refused_at_its_place_in_the_list() -> None:
    text = only(edited("[0, 20, 40, 60, 80]", "[0, 120]"))
    assert "faults[0].abort.percentage[1]" in text
    assert "(got 120)" in text


def test_a_level_given_twice_is_refused() -> None:
    assert "names the level 20ms twice" in only(edited("open_for: [20ms, 40ms, 60ms]", "open_for: [20ms, 20ms]"))


def test_two_strategies_in_one_entry_are_refused() -> None:
    assert "baseline and retry are given together" in only(
        edited("baseline: {}", "baseline: {}, retry: {max_attempts: 2, backoff: {fixed: {delay: 1ms}}}")
    )


def test_all_problems_are_listed_at_once_in_the_order_of_lines() -> None:
    text = edited("rounds: 10", "rounds: -1").replace("[50, 100, 150]", "[]").replace("GET", "GIT")
    found = problems(text)
    assert [p.line for p in found] == [4, 7, 8]


def test_broken_yaml_names_its_line() -> None:
    assert only("a: [1\nb: 2\n").startswith("study.yaml:2: is not YAML")


def test_a_key_given_twice_is_broken_yaml() -> None:
    assert "duplicate key" in only(EXAMPLE + "seed: 8\n")


@pytest.mark.parametrize("text", ["", "just words", "- a\n- b\n", "42", "null"])
def test_what_is_no_mapping_is_refused(text: str) -> None:
    assert "isn't a mapping" in only(text)


def test_a_missing_file_names_the_nearest_one(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "quickstart.yaml").write_text(EXAMPLE)
    with pytest.raises(InputError, match=r"there is no such file; did you mean `quickstart.yaml`\?"):
        load(tmp_path / "quikstart.yaml")


def test_what_is_not_text_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "study.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not UTF-8"):
        load(tmp_path / "study.yaml")


def test_a_system_is_named_or_has_a_url() -> None:
    read = study(changed(system='{url: "http://localhost:8080", ready: /health, headers: {A: "${env:TOKEN}"}}'))
    assert read.system.addresses == ["http://localhost:8080"]
    assert "name and url are given together" in only(changed(system='{name: x, url: "http://localhost:1"}'))
    assert "settings does not go with" in only(changed(system='{url: "http://localhost:1", settings: {a: 1}}'))


@given(st.text(max_size=300))
def test_no_text_ends_in_anything_but_a_study_or_a_list_of_problems(text: str) -> None:
    try:
        loads(text, "study.yaml")
    except InputError as error:
        assert error.problems


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["closed", "users", "x"]), inner),
        max_leaves=8,
    ),
    st.sampled_from(["workload", "faults", "strategies", "system", "design", "rounds", "clients", "objective"]),
)
def test_no_value_of_a_field_ends_in_anything_else_either(value: object, key: str) -> None:
    try:
        loads(changed(**{key: json.dumps(value)}), "study.yaml")
    except InputError as error:
        assert error.problems
        assert all(problem.message for problem in error.problems)


def test_a_study_that_expands_to_too_many_scenarios_is_named() -> None:
    text = edited("[50, 100, 150]", str(list(range(1, 7_001))))
    with pytest.raises(InputError) as error, placed(text, "study.yaml"):
        expand(loads(text, "study.yaml"))
    assert re.match(r"study.yaml: expands to [\d,]+ scenarios; allowed: at most 100,000", str(error.value))


def test_a_problem_of_another_file_keeps_its_place_there() -> None:
    document = parse("faults:\n  - abort: {status: 503}\n", "study.yaml")
    elsewhere = Problem("has no column `at_us`", file="arrivals.csv", path="faults[0]")
    assert located(elsewhere, document) == elsewhere
    assert located(replace(elsewhere, file=""), document) == replace(elsewhere, file="study.yaml", line=2)


@pytest.mark.parametrize("keys", ["1: a, '1': b", "'1': a, 1: b", "true: a, 'True': b", "null: a, None: b"])
def test_two_keys_that_are_one_text_are_refused_and_neither_wins(keys: str) -> None:
    reported = only(EXAMPLE.replace("path: ", f"headers: {{{keys}}}, path: ", 1))
    assert "twice, as a text and as something else" in reported


@pytest.mark.parametrize(
    "levels", ['["a", "a "]', '["\\u00e9", "e\\u0301"]', '["1", 1]', '["true", true]', "[0.5, '0.5']"]
)
def test_levels_that_look_the_same_when_they_are_printed_are_refused(levels: str) -> None:
    """A report would show two lines of one name, and a table that was exported and read again one level."""
    found = problems(changed(system=f"{{name: x, settings: {{a: {levels}}}}}"))
    assert [(one.path, "is printed like another one" in one.message) for one in found] == [("system.settings.a", True)]


def test_levels_that_look_different_are_read() -> None:
    for levels in ('["a", "A"]', '["a b", "ab"]', "[1, 1.5]", '["1.0", "1"]', "[true, false]"):
        study(changed(system=f"{{name: x, settings: {{a: {levels}}}}}"))


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("quick", [False, True])
def test_a_byte_order_mark_and_line_ends_of_another_system_change_nothing(
    quick: bool, mark: str, ending: str, tmp_path: Path
) -> None:
    text = EXAMPLE.rstrip("\n") + "\nquick: {rounds: 2}\n"
    (tmp_path / "plain.yaml").write_bytes(text.encode())
    (tmp_path / "other.yaml").write_bytes((mark + text.replace("\n", ending)).encode())
    plain, other = (StudyFile.read(tmp_path / name, quick).study() for name in ("plain.yaml", "other.yaml"))
    assert other == plain
    assert [one.id for one in expand(other).scenarios] == [one.id for one in expand(plain).scenarios]
