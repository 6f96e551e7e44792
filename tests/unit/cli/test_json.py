"""Every command speaks to programs: with ``--json`` it prints one JSON value, also of what is wrong."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from patternbench.cli import init, output
from patternbench.cli.main import COMMANDS, cli, main


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert [option for option in command.params if "--json" in option.opts]


def done(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


def test_a_schema_is_json_with_and_without_being_asked_for_it() -> None:
    assert json.loads(done("schema", "--json").stdout) == json.loads(done("schema").stdout)


def test_the_studies_are_listed_with_their_questions() -> None:
    studies = json.loads(done("example", "--json").stdout)["studies"]
    questions = {study["name"]: study["question"] for study in studies}
    assert "quickstart" in questions
    assert all(questions.values())
    assert list(questions) == [line.split()[0] for line in done("example").stdout.splitlines()]


def test_the_files_of_a_study_that_was_written_are_named(tmp_path: Path) -> None:
    written = json.loads(done("example", "quickstart", "--out", str(tmp_path), "--json").stdout)["written"]
    assert written == [str(tmp_path / "quickstart.yaml")]
    assert (tmp_path / "quickstart.yaml").is_file()


def test_a_first_study_is_written_without_a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(init, "can_ask", lambda: True)
    result = done("init", "--command", "true", "--json")
    reported = json.loads(result.stdout)
    assert reported["written"][0] == "retry.yaml"
    assert all(Path(path).is_file() for path in reported["written"])
    assert reported["takes"].startswith("about")


def refused(capfd: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    """The problems that a refused command prints as data."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 2
    printed = capfd.readouterr()
    assert printed.err, "people read what is wrong on standard error, too"
    problems: list[dict[str, object]] = json.loads(printed.out)["problems"]
    return problems


def test_a_usage_error_is_data_too(capfd: pytest.CaptureFixture[str]) -> None:
    (problem,) = refused(capfd, "plan", "--nonsense", "--json")
    assert "--nonsense" in str(problem["message"])


def test_a_study_that_is_not_there_is_data_too(capfd: pytest.CaptureFixture[str]) -> None:
    (problem,) = refused(capfd, "plan", "/nowhere/study.yaml", "--json")
    assert problem["file"] == "/nowhere/study.yaml"


@pytest.mark.parametrize("verb", ["fit", "compare", "recommend", "loadtest"])
def test_a_table_that_an_analysis_can_not_read_is_data_too(
    verb: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "rounds.csv"
    table.write_bytes(b"\x00\xff\x00")
    needed = {"fit": ["--formula", "p95 ~ users"], "recommend": ["--objective", "minimise p95"]}
    (problem, *_) = refused(capfd, verb, str(table), *needed.get(verb, []), "--json")
    assert problem["message"]


def test_json_that_is_printed_holds_nothing_that_a_terminal_would_act_on(capsys: pytest.CaptureFixture[str]) -> None:
    """A folder, a level or a title may turn the direction of a line, or colour it; who reads the JSON gets it back."""
    said = {"run": "\u202eevil\x1b[31m\x9b\U000e0001", "é😀": ["\u2028"]}
    output.as_json(said)
    printed = capsys.readouterr().out
    assert not re.search("[\u202e\x1b\x9b\u2028\U000e0001]", printed)
    assert json.loads(printed) == said
    assert "é😀" in printed


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_json_is_json_where_not_every_character_can_be_printed(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said, printed = {"é": "größer", "😀": "…\x85"}, io.BytesIO()
    narrow = io.TextIOWrapper(printed, encoding=encoding, errors="backslashreplace")
    monkeypatch.setattr(sys, "stdout", narrow)
    output.as_json(said)
    narrow.flush()
    assert json.loads(printed.getvalue().decode(encoding)) == said
