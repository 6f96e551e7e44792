"""The report's files: tables, figures, the page and the terminal's summary."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from markupsafe import escape
from rich.console import Console
from tests.support.factors import factors
from tests.support.synthetic_run import FAULT, REMEDY, synthetic_run

from patternbench.analyze.intervals import median_interval
from patternbench.observe.section import Figure, Section, Table
from patternbench.records.stored import PlannedScenario
from patternbench.report import csv, svg
from patternbench.report.html import render, write_html
from patternbench.report.labels import RESPONSES
from patternbench.report.model import RunReport, WarningCount, warnings, with_warnings, worst
from patternbench.report.pages.models import page_html
from patternbench.report.sections.summary import summary_table
from patternbench.study.model.configuration import Configuration
from patternbench.terms.responses import HEADLINES

GOLDEN = Path(__file__).parents[2] / "golden" / "report"


@pytest.fixture(scope="module")
def whole() -> RunReport:
    return synthetic_run()


@pytest.fixture(scope="module")
def small() -> RunReport:
    return synthetic_run(rounds=6, users=[50], client=["native"], fault=[0, 80])


def printed(report: RunReport, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(summary_table(report))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def golden(name: str, text: str) -> None:
    """Compare with the checked-in text; to take a new one, delete the file and run the test twice."""
    path = GOLDEN / name
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path.name} was missing and has been written: look at it, then run again")
    assert text == path.read_text(encoding="utf-8")


def test_the_summary_is_as_agreed(small: RunReport) -> None:
    golden("summary.txt", printed(small))


def test_no_column_of_the_summary_is_lost_on_a_narrow_terminal(whole: RunReport, small: RunReport) -> None:
    assert "p95 (ok)" in printed(small, 80)
    text = printed(whole, 80)
    assert all(name in text for name in ("success", "goodput", "per ok", "p95 (ok)", "rejected"))


@pytest.mark.parametrize(
    ("workload", "shown"),
    [
        ({"closed": {"users": 1}}, True),
        ({"open": {"rate": 1}}, False),
        ({"groups": [{"open": {"rate": 1}}]}, False),
        ({"groups": [{"open": {"rate": 1}}, {"users": 2}]}, True),
    ],
)
def test_the_time_of_users_per_success_is_shown_only_where_users_wait(
    small: RunReport, workload: dict[str, object], shown: bool
) -> None:
    config = Configuration(workload=workload)
    scenarios = [scenario.model_copy(update={"config": config}) for scenario in small.scenarios]
    assert ("per ok" in printed(replace(small, scenarios=scenarios), 140)) is shown


def test_a_long_summary_shows_the_hardest_conditions_and_counts_the_rest(whole: RunReport) -> None:
    text = printed(whole, 140)
    assert "195 more scenarios in the report" in text
    assert "2 failed rounds" in text
    assert text.count("(resilience4j)") + text.count("(native)") == 15
    assert "abort percentage\u00a00" not in text


def test_the_findings_are_as_agreed(small: RunReport) -> None:
    page = render(small)
    golden("findings.html", page[page.index('<section id="findings">') : page.index('<section id="noise">')])


def test_a_figure_is_as_agreed(small: RunReport) -> None:
    drawn = svg.figures(small)["AverageSuccessTime"]
    # Only the marks: where axes and legends stand depends on the fonts of the machine.
    marks = re.findall(
        r'<path aria-label="([^"]*line: [^"]*)"[^>]* aria-roledescription="([^"]*)"[^>]* d="([^"]*)"', drawn
    )
    assert len(marks) == 7 + 7 + 14
    golden("AverageSuccessTime.txt", "".join(f"{kind} | {label} | {path}\n" for label, kind, path in marks))


@pytest.mark.slow
def test_every_figure_has_a_table_of_its_numbers(whole: RunReport) -> None:
    tables, names = csv.tables(whole), set(svg.figures(whole))
    assert {"AverageSuccessTime", "TotalExecutionTime"} <= names
    for name in names:
        assert len(tables[f"figure-{name}"]) == 210


def test_a_figures_table_traces_back_to_the_rounds(small: RunReport) -> None:
    row = csv.figure_table(small, "p95").iloc[-1]
    values = small.rounds.loc[small.rounds["scenario"] == row["scenario"], "p95"]
    expected = median_interval(values)
    assert (row["median"], row["low"], row["high"]) == (expected.median, expected.low, expected.high)
    assert (row[FAULT], row["strategy"], row["rounds"]) == (80, "circuit_breaker", 6)


def test_every_table_of_estimates_has_their_intervals(small: RunReport) -> None:
    tables = {name: table for name, table in csv.tables(small).items() if {"median", "change"} & set(table.columns)}
    assert {"figure-p95", "comparisons", "drift"} <= tables.keys()
    for name, table in tables.items():
        known = table[table["low"].notna() & table["high"].notna()]
        estimate = known["median" if "median" in known.columns else "change"]
        assert ((known["low"] <= estimate) & (estimate <= known["high"])).all(), name
        assert len(known) > 0 or table.get("rounds", pd.Series(dtype=int)).max() < 6, name


def test_the_page_states_the_noise_floor_of_what_it_speaks_of(small: RunReport) -> None:
    page = render(small)
    stated = page.partition('<section id="noise">')[2].partition("</section>")[0]
    assert "noise floor" in stated
    floors = csv.tables(small)["noise"].set_index("response")["floor"]
    assert floors[list(HEADLINES)].gt(0).all()
    assert all(RESPONSES[name].title in stated for name in HEADLINES)


def test_files_are_written_under_their_names(small: RunReport, tmp_path: Path) -> None:
    figures = svg.write_figures(small, tmp_path / "figures")
    tables = csv.write_tables(small, tmp_path / "tables")
    assert {path.name for path in figures} >= {"AverageSuccessTime.svg", "TotalExecutionTime.svg"}
    assert {path.name for path in tables} >= {"figure-p95.csv", "comparisons.csv", "noise.csv", "drift.csv"}
    assert all(path.stat().st_size > 100 for path in (*figures, *tables[:3]))


@pytest.mark.slow
def test_the_page_of_the_whole_study_is_light(whole: RunReport, tmp_path: Path) -> None:
    path = write_html(whole, tmp_path / "report.html")
    assert path.stat().st_size < 5_000_000


def test_the_page_refers_to_nothing_outside_itself(small: RunReport) -> None:
    page = render(small)
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#|data:)""", own)
    assert "://" not in own


@pytest.mark.slow
def test_failed_rounds_warnings_and_what_was_left_out_are_on_the_page(whole: RunReport) -> None:
    page = render(whole)
    for text in ("out of memory?", "over its time limit of 60s", REMEDY, "no .NET runtime"):
        assert text in page


NASTY = "</script><script>alert(1)</script><!--"


def test_what_a_study_says_cannot_break_the_page(small: RunReport) -> None:
    levels = [PlannedScenario(id=each.id, levels={**each.levels, "note": NASTY}) for each in small.scenarios]
    page = render(replace(small, study_name=NASTY, study_text=NASTY, scenarios=levels, manifest={NASTY: NASTY}))
    assert "<script>alert(1)" not in page
    assert page.count(str(escape(NASTY))) >= 3, "name, text and manifest are shown as they are written"


def test_a_level_cannot_end_the_script_that_holds_the_data_of_the_page(small: RunReport) -> None:
    page = render(with_client(small, NASTY))
    data = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert NASTY in data[0].replace("\\u003c", "<"), "the level is in the data"
    assert "<" not in data[0]
    json.loads(data[0])
    assert "<script>alert(1)" not in page


def with_client(report: RunReport, name: str) -> RunReport:
    """The report of the same run with another client."""
    scenarios = [each.model_copy(update={"levels": {**each.levels, "client": name}}) for each in report.scenarios]
    return replace(report, scenarios=scenarios, factors={**report.factors, **factors({"client": [name]})})


def test_further_sections_are_shown_and_written(small: RunReport, tmp_path: Path) -> None:
    spec = {
        "$schema": "https://example.org",
        "data": {"values": [{"a": 1}]},
        "mark": "bar",
        "encoding": {"y": {"field": "a"}},
    }
    table = Table("Terms", pd.DataFrame({"name": ["users"], "estimate": [0.123456]}))
    section = Section("model-1", "A model", ["Twice the users take 38 % longer."], [table], [Figure("Bars", spec)])
    extended = replace(small, sections=[section])
    page = render(extended)
    assert all(text in page for text in ('id="model-1"', "Twice the users", "<td>0.123", "Bars"))
    assert "example.org" not in page
    assert "model-1-1" in csv.tables(extended)
    assert svg.figures(extended)["model-1-1"].startswith("<svg")


def test_a_name_in_backticks_is_code_and_cannot_break_the_page(small: RunReport) -> None:
    page = render(replace(small, sections=[Section("words", "Words", ["Type `export <b>`, or not."])]))
    assert "<p>Type <code>export &lt;b&gt;</code>, or not.</p>" in page


def test_a_name_that_many_rows_have_is_written_once_and_a_long_table_is_folded(small: RunReport) -> None:
    steps = pd.DataFrame({"scenario": ["first"] * 20 + ["second"] * 20, "calls": range(40)})
    short = pd.DataFrame({"scenario": ["third", "fourth"], "calls": [1, 2]})
    section = Section("steps", "Steps", tables=[Table("Every step", steps), Table("A few", short)])
    page = render(replace(small, sections=[section]))
    assert '<td rowspan="20">first<td>0\n' in page
    assert page.count("<td>third") == page.count('<td rowspan="20">second') == 1
    assert "<summary>Every step (40 rows)</summary>" in page
    assert "<h3>A few</h3>" in page


def test_the_question_of_the_study_stands_below_its_name(small: RunReport) -> None:
    assert '<p class="question">Does it help &lt;us&gt;?</p>' in render(replace(small, question="Does it help <us>?"))
    assert 'class="question"' not in render(small)


def test_a_run_without_a_finished_round_still_has_a_report(small: RunReport) -> None:
    broken = replace(small, rounds=small.rounds.assign(status="failed", cause="the target hangs"))
    assert "the target hangs" in render(broken)
    assert svg.figures(broken) == {}
    assert "failed rounds" in printed(broken)


def test_a_run_none_of_whose_rounds_ever_began_still_has_a_report(small: RunReport) -> None:
    unmeasured = small.rounds.drop(columns=[name for name in RESPONSES if name in small.rounds])
    broken = replace(small, rounds=unmeasured.assign(status="failed", cause="the shop did not come up"))
    assert "the shop did not come up" in render(broken)
    assert "failed rounds" in printed(broken)


def test_each_answer_of_several_is_an_item_of_a_list(small: RunReport) -> None:
    choice = ["Users 10: clearly retry.\nUsers 20: clearly hedge.", "Aim: the lowest p95."]
    page = render(replace(small, sections=(Section("recommendation", "What to choose", choice=choice),)))
    assert '<ul class="lead"><li>Users 10: clearly retry.</li><li>Users 20: clearly hedge.</li></ul>' in page


def test_calls_that_a_limit_rejected_are_said_to_count_as_failed(small: RunReport) -> None:
    message = "Calls that a limit rejected (status 429) count as failed"
    assert message not in render(small)
    limited = replace(small, rounds=small.rounds.assign(limited_rate=12.5))
    assert f"{message}: up to 12.5 % of a scenario" in render(limited)


def test_a_column_without_a_title_has_no_empty_heading(small: RunReport) -> None:
    table = Table("Errors", pd.DataFrame({"": ["MAE"], "value": ["1"]}))
    page = render(replace(small, sections=(Section("errors", "Errors", tables=[table]),)))
    assert '<td></td><th scope="col">value</th>' in page


def test_a_run_of_one_scenario_and_one_round_says_what_it_lacks() -> None:
    single = synthetic_run(rounds=1, users=[50], client=["native"], fault=[0], strategy=["baseline"])
    page = render(single)
    assert "so none are compared" in page
    assert "a 95 % interval of a median needs six" in page


def test_a_round_with_two_warnings_is_one_round_of_those_that_carry_one(small: RunReport) -> None:
    reported = [[{"message": "busy"}, {"message": "late"}]] + [None] * (len(small.rounds) - 1)
    warned = replace(small, rounds=small.rounds.assign(warnings=reported))
    assert with_warnings(warned) == 1
    assert f"1 of {len(reported)} rounds has a warning, most often: busy." in render(warned)


def test_equal_warnings_are_counted_once(whole: RunReport) -> None:
    found = warnings(whole)
    assert [(each.remedy, each.rounds) for each in found] == [(REMEDY, 14)]


@pytest.mark.parametrize(
    ("kinds", "named"),
    [
        ({"machine_shared": (9, False), "nothing_succeeded": (1, False)}, "nothing_succeeded"),
        ({"machine_shared": (9, False), "late_schedule": (1, True)}, "late_schedule"),
        ({"late_schedule": (1, True), "nothing_succeeded": (5, False)}, "late_schedule"),
        ({"machine_shared": (2, False), "few_calls": (3, False)}, "few_calls"),
    ],
)
def test_the_banner_names_the_worst_warning_and_not_the_commonest(
    kinds: dict[str, tuple[int, bool]], named: str
) -> None:
    reported = [WarningCount(kind, "", rounds, (), kind, invalid) for kind, (rounds, invalid) in kinds.items()]
    found = worst(reported)
    assert found is not None
    assert found.kind == named
    assert worst([]) is None


def test_warnings_of_one_kind_are_reported_together_though_the_numbers_in_them_differ(small: RunReport) -> None:
    busy = [{"kind": "machine_shared", "message": f"{percent}% busy", "remedy": "end it"} for percent in (98, 99)]
    rounds = small.rounds.assign(warnings=[busy[place % 2 : place % 2 + 1] for place in range(len(small.rounds))])
    (found,) = warnings(replace(small, rounds=rounds))
    assert found.rounds == len(rounds)
    assert found.message == "98% busy (numbers of the first such round)"


@pytest.mark.parametrize("given", [None, "", "[]", [], float("nan")])
def test_no_warning_may_be_written_in_many_ways(small: RunReport, given: object) -> None:
    rounds = small.rounds.assign(warnings=pd.Series([given] * len(small.rounds), dtype=object))
    assert warnings(replace(small, rounds=rounds)) == []


def with_invalid(report: RunReport, *which: int) -> RunReport:
    """The report when some of its rounds are not valid, and absurd: whatever still holds them shows it."""
    rounds = report.rounds.assign(valid=~report.rounds.index.isin(which))
    rounds.loc[list(which), ["p50", "p95"]] = 1e6
    return replace(report, rounds=rounds)


def test_rounds_that_are_not_valid_are_in_no_figure_and_are_counted(small: RunReport) -> None:
    report = with_invalid(small, 0, 1, 2)
    kept = replace(small, rounds=small.rounds.drop(index=[0, 1, 2]))
    assert printed(report).splitlines()[:-1] == printed(kept).splitlines()[:-1]
    assert "3 rounds not valid, left out" in printed(report)
    assert "3 finished rounds are not valid and left out" in render(report)
    assert len(csv.tables(report)["rounds-not-valid"]) == 3


def test_a_run_without_any_valid_round_is_still_a_page(small: RunReport) -> None:
    report = with_invalid(small, *small.rounds.index)
    assert "not valid and left out" in render(report)
    assert f"{len(report.rounds)} rounds not valid, left out" in printed(report)


def test_the_page_of_an_analysis_loads_nothing_from_elsewhere() -> None:
    page = page_html("<b>title", [])
    assert "Content-Security-Policy\" content=\"default-src 'none'" in page
    assert "<b>title" not in page
