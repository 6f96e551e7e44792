"""Texts and files that are made to hurt their reader are refused with one sentence, in bounded memory and time."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from patternbench.records.folder import read_json
from patternbench.study.text.document import parse, without_comments
from patternbench.study.text.files import problem_of, read_bytes, read_text
from patternbench.terms.problems import LONGEST_VALUE, InputError, shown


def refused(text: str) -> str:
    with pytest.raises(InputError) as error:
        parse(text, "study.yaml")
    (problem,) = error.value.problems
    return str(problem)


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_aliases_that_stand_for_ten_billion_values_are_refused() -> None:
    assert "study.yaml:5: cannot be taken: is too large with its aliases expanded" in refused(bomb(10))


def test_aliases_that_stand_for_a_few_values_are_read() -> None:
    assert parse(bomb(3), "study.yaml").value["a2"][9][9] == ["x"] * 10


def test_a_long_text_under_many_aliases_is_refused() -> None:
    assert "is too large with its aliases expanded" in refused(f"a: &a {'x' * 10_000}\nb: [{', '.join(['*a'] * 200)}]")


def test_a_bomb_in_a_key_or_a_merge_is_refused_too() -> None:
    assert "is too large with its aliases expanded" in refused(bomb(7) + "\n? *a6\n: 1")
    assert "is too large with its aliases expanded" in refused(bomb(7) + "\nb: {<<: {c: *a6}}")


def test_a_value_that_holds_itself_is_refused() -> None:
    assert "*a refers to a value that contains itself" in refused("a: &a [*a]")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_20000_nested_values_are_refused_at_the_first_that_is_too_deep(opening: str) -> None:
    assert "is nested too deeply (more than 40 levels)" in refused("a: " * (opening == "[") + opening * 20_000)


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system", "!!set", "!!omap", "!own"])
def test_a_tag_that_makes_something_else_of_a_value_is_refused(tag: str) -> None:
    assert f"the tag {tag} is not allowed" in refused(f"name: {tag} [x]")


def test_a_number_that_the_parser_trips_over_is_refused() -> None:
    assert "study.yaml: is not YAML" in refused("-_")


def test_plain_tags_are_read() -> None:
    assert parse("name: !!str 5", "study.yaml").value == {"name": "5"}


@pytest.mark.parametrize("opening", ["/*", '"'])
def test_what_a_json_text_never_closes_runs_to_its_end(opening: str) -> None:
    text = f'{{"a": 1}}\n{opening} b // c'
    kept = without_comments(text)
    assert kept == (text if opening == '"' else '{"a": 1}\n' + " " * len("/* b // c"))


def stated_of(path: Path) -> str:
    problem = problem_of(path)
    assert problem is not None
    return problem.message


def test_pipes_devices_sockets_and_folders_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        assert stated_of(tmp_path / "pipe") == "is a pipe, a socket or a device; a file is needed"
        assert stated_of(Path("/dev/zero")) == "is a pipe, a socket or a device; a file is needed"
        assert stated_of(tmp_path / "socket").startswith(("cannot be read", "is a pipe"))
        assert stated_of(tmp_path) == "is a folder; a file is needed"


def test_a_missing_file_is_named_with_its_nearest_neighbour(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("")
    problem = problem_of(tmp_path / "studi.yaml")
    assert problem is not None
    assert (problem.message, problem.hint) == ("there is no such file", "did you mean `study.yaml`?")


def test_no_more_of_a_file_is_read_than_its_bound(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="is too large; allowed: at most 1,000 bytes"):
        read_bytes(tmp_path / "huge", 1000)


def test_what_is_no_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_text(tmp_path / "x")


def test_json_nested_20000_deep_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[" * 20_000)
    with pytest.raises(InputError, match=r"manifest\.json: is nested too deeply"):
        read_json(tmp_path / "manifest.json")


@pytest.mark.parametrize(
    "number", ["7" * 5000, "-" + "7" * 301, "0x" + "f" * 5000, "0o" + "7" * 5000, "7_" * 2500 + "7"]
)
def test_a_number_of_thousands_of_digits_is_refused_with_its_line(number: str) -> None:
    reported = refused(f"name: x\nseed: {number}\n")
    assert reported.startswith("study.yaml:2: cannot be taken: a number of ")
    assert reported.endswith(" digits; allowed: at most 300")


def test_a_long_text_and_a_number_of_300_digits_are_read() -> None:
    read = parse(f"text: '{'7' * 5000}'\nword: {'deadbeef' * 100}\nnumber: {'7' * 300}\n", "study.yaml").fields
    assert read == {"text": "7" * 5000, "word": "deadbeef" * 100, "number": int("7" * 300)}


def test_a_number_of_thousands_of_digits_in_a_runs_file_is_said_in_our_words(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(f'{{"rounds": {"7" * 5000}}}')
    with pytest.raises(InputError, match=r"plan.json: holds a number of thousands of digits$"):
        read_json(tmp_path / "plan.json")


def test_a_message_shows_a_number_of_any_length() -> None:
    assert shown(-(10**5000)).startswith("-0x")
    assert len(shown(10**5000)) <= LONGEST_VALUE
    assert shown(10**300) == f"1{'0' * 58}…"
