"""What the terminal shows of a report: a table, then what to choose, in the words of the report."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from tests.support.measured_run import measured_run

from patternbench.cli.main import cli
from patternbench.report import build
from patternbench.report.sections.declared import with_sections
from patternbench.study.load import loads


def test_the_terminal_says_what_to_choose_in_the_words_of_the_report_and_what_that_rests_on(tmp_path: Path) -> None:
    run = measured_run(tmp_path / "run")
    screen = with_sections(build.gather(run), loads(run.study.read_text(), str(run.study))).first_screen
    assert screen is not None
    printed = CliRunner().invoke(cli, ["report", str(run.path)]).stdout.splitlines()
    first = printed.index(screen.sentences[0])
    assert printed[first : first + len(screen.sentences) + len(screen.notes)] == [*screen.sentences, *screen.notes]
    assert printed[first - 1].startswith("medians over rounds")
    assert any("report.html" in line for line in printed[first:])
