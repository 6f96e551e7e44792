"""What comes from outside is printed as it stands: no text of a user or of a process means anything to the console."""

from __future__ import annotations

import ast
import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Group
from rich.table import Column, Table
from tests.support.factors import factors
from tests.support.studies import ROOT, study

from patternbench.cli import example, planned
from patternbench.cli.execution import Bar
from patternbench.cli.narrow import fitting
from patternbench.cli.output import MOST_PROBLEMS, complain, note
from patternbench.cli.terminal import FILE_WIDTH, PlainConsole
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.records.journal import FAILED, Entry
from patternbench.run.before.reconfigurations import Reconfigurations
from patternbench.study.load import load
from patternbench.terms.problems import InputError, Problem

HOSTILE = "[/x] [red]cause[/] :smile: \x1b[2J"
PRINTED = "[/x] [red]cause[/] :smile: \\x1b[2J"


def test_a_failed_round_whose_cause_looks_like_markup_is_reported_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar(range(3), 0, quiet=False)
    bar.round_ended(Entry(1, 0, "x", FAILED, "00001", 0.0, 0.0, cause=HOSTILE))
    assert PRINTED in " ".join(capsys.readouterr().err.split())


def test_cells_of_tables_are_printed_as_they_stand() -> None:
    out = io.StringIO()
    table = Table(HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE)
    PlainConsole(file=out, width=200).print(table)
    assert out.getvalue().count(PRINTED) == 3


def table_of(*cells: str, column: str | Column = "") -> Table:
    table = Table(column, box=None, padding=0, pad_edge=False)
    for cell in cells:
        table.add_row(cell)
    return table


def test_rows_that_differ_at_their_ends_stay_apart_within_a_group_too() -> None:
    out = io.StringIO()
    start = "checkout-" + "x" * 60
    PlainConsole(file=out, width=40).print(Group(Group(table_of(f"{start}-first", f"{start}-second"))))
    assert "-first" in out.getvalue()
    assert "-second" in out.getvalue()
    assert "…" not in out.getvalue()


def test_a_number_that_is_too_long_for_its_column_is_marked_and_never_cropped_in_silence() -> None:
    out = io.StringIO()
    PlainConsole(file=out, width=6).print(table_of("123456789.25", column=Column(no_wrap=True)))
    assert "12345…" in out.getvalue()


def test_a_row_in_a_file_stays_on_its_line_however_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    out = io.StringIO()
    long = " ".join(["word"] * 100)
    PlainConsole(file=out).print(table_of(long))
    assert long in out.getvalue()
    assert len(long) < FILE_WIDTH
    monkeypatch.setenv("COLUMNS", "80")
    assert PlainConsole(file=out).width == 80


@pytest.mark.parametrize("columns", ["0", "-5", "x", "", "²", "9" * 30])
def test_a_width_that_is_none_is_no_width(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", columns)
    out = io.StringIO()
    console = PlainConsole(file=out)
    console.print("- all of this stays on its line")
    assert (console.width, out.getvalue()) == (FILE_WIDTH, "- all of this stays on its line\n")


@pytest.mark.parametrize("width", [1, 2, 3, 20])
def test_in_the_narrowest_terminal_no_character_of_an_item_is_lost(width: int) -> None:
    out = io.StringIO()
    PlainConsole(file=out, width=width).print("- all of this stays")
    assert "".join(out.getvalue().split()) == "-allofthisstays"


def test_a_table_of_one_column_is_printed_in_a_terminal_that_is_narrower() -> None:
    out = io.StringIO()
    console = PlainConsole(file=out, width=5)
    console.print(fitting(table_of("checkout", column="step"), console))
    assert "".join(out.getvalue().split()) == "stepcheckout"


def test_a_plan_lists_levels_that_look_like_markup(capsys: pytest.CaptureFixture[str]) -> None:
    read = study().model_copy(update={"name": "[/x]"})
    expanded = expand(study())
    expanded = replace(expanded, factors={**expanded.factors, **factors({"path": ["/[/x]", "/[bold]"]})})
    planned.show(read, expanded, Reconfigurations(read, Inputs(Path())), None)
    message = capsys.readouterr().out
    assert message.startswith("[/x]: ")
    assert "/[/x], /[bold]" in message


def test_notes_and_problems_are_printed_as_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    note(HOSTILE)
    complain(InputError(Problem("is wrong", path=HOSTILE)), as_data=False)
    assert capsys.readouterr().err.count(PRINTED) == 2


def test_of_20000_problems_people_get_twenty_and_how_many_more_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    complain(InputError([Problem(f"is wrong ({place})") for place in range(20_000)]), as_data=False)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == MOST_PROBLEMS + 1
    assert lines[-1] == "... and 19,980 more; with --json all are listed"


@pytest.mark.parametrize(("no_color", "is_red"), [("", True), ("1", False)])
def test_an_error_is_red_unless_no_color_is_set(
    no_color: str, is_red: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80", "NO_COLOR": no_color}.items():
        monkeypatch.setenv(name, value)
    complain(InputError(Problem("is wrong")), as_data=False)
    printed = capsys.readouterr().err
    assert "error: is wrong" in printed
    assert ("\x1b[31m" in printed) is is_red


@pytest.mark.parametrize("path", sorted((ROOT / "src/patternbench").rglob("*.py")), ids=lambda path: path.stem)
def test_no_one_makes_a_console_that_reads_markup(path: Path) -> None:
    called = {
        node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
    }
    assert "Console" not in called, "use patternbench.cli.terminal.PlainConsole"
    assert not {"secho", "style"} & called, "use patternbench.cli.output.say, which knows NO_COLOR"


def comparison_table() -> Table:
    table = Table("scenario", "response", Column("change", justify="right"), title="B against A")
    for scenario in ("limit=60, strategy=breaker-not-for-429", "limit=none, strategy=baseline"):
        for response in ("goodput", "call_success_p95"):
            table.add_row(scenario, response, "-79.6 % (-81.4 to -77.7)")
    return table


def in_columns(width: int) -> list[str]:
    out = io.StringIO()
    console = PlainConsole(file=out, width=width)
    console.print(fitting(comparison_table(), console))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_table_that_has_room_is_printed_as_it_is() -> None:
    assert any("baseline" in line and "goodput" in line for line in in_columns(120))


def test_a_table_too_wide_for_a_terminal_gets_a_heading_per_scenario_and_breaks_no_word() -> None:
    lines = in_columns(60)
    assert lines.count("limit=60, strategy=breaker-not-for-429") == 1
    assert lines.count("limit=none, strategy=baseline") == 1
    rows = [line for line in lines if "-79.6 % (-81.4 to -77.7)" in line]
    assert len(rows) == 4
    assert len({line.index("-79.6") for line in rows}) == 1
    assert lines[0] == "B against A"
    assert all(len(line) <= 60 for line in lines)


def test_the_list_of_studies_breaks_no_word_in_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    example.listing(json_=False)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    words = {word for name in example.names() for word in (name, *example.question(name).split())}
    assert {word for line in lines for word in line.split()} == words


def test_the_further_lines_of_an_item_of_a_list_are_indented_like_its_text() -> None:
    out = io.StringIO()
    console = PlainConsole(file=out, width=40)
    console.print("  - Lower in 3 of 5 scenarios, most at limit=60, strategy=[breaker].")
    console.print("error: a sentence without a mark that is longer than a line is wrapped as ever")
    lines = out.getvalue().splitlines()
    assert lines[:2] == ["  - Lower in 3 of 5 scenarios, most at", "    limit=60, strategy=[breaker]."]
    assert lines[3].startswith("longer")


def test_a_narrow_table_of_many_numbers_breaks_none_and_loses_none() -> None:
    titles = ("sync", "balancers", "staleness", "tolerant", "exact", "+", "-", "client mean", "peak", "asked store")
    cells = ("request", "2", "0ms", "16.67", "16.68", "16.69", "16.70", "16.71", "1.20", "100 %")
    table = Table("algorithm", *(Column(title, justify="right") for title in titles), box=None)
    table.add_row("sliding_window_counter", *cells)
    out = io.StringIO()
    console = PlainConsole(file=out, width=80)
    console.print(fitting(table, console))
    *head, heading, row = out.getvalue().splitlines()
    assert heading == "sliding_window_counter"
    assert " ".join(row.split()) == " ".join(cells)
    assert sorted(" ".join(head).split()) == sorted(" ".join(titles).split())
    assert len(row) <= 80


def test_a_plan_names_a_factor_in_one_piece(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    read = load(ROOT / "studies/quickstart.yaml")
    planned.show(read, expand(read), Reconfigurations(read, Inputs(Path())), None)
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith(" retry.backoff.exponential.initial ") for line in lines)
    assert all(len(line) <= 80 for line in lines)
