"""Tables of others, whatever they hold: an answer or a sentence, and nothing that a terminal would act on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.measured_run import measured_run

from patternbench.cli.main import main

VERBS = {
    "recommend": ("--objective", "minimise p95"),
    "compare": ("--baseline", "strategy=c"),
    "fit": ("--formula", "p95 ~ C(strategy)"),
}
TABLES = {
    "named blocks": "strategy,block,p95\na,x,1\nc,x,2\na,y,1.1\nc,y,3\n",
    "blocks of which one lacks its name": "strategy,block,p95\na,,1\nc,,2\na,y,1.1\nc,y,3\n",
    "shares that no share can be": "strategy,block,p95,failure_rate,TotalCalls\n"
    "a,1,1,250,10\nc,1,2,-5,10\na,2,1,1,0\nc,2,2,1,-3\n",
    "more calls than were ever made": "strategy,block,p95,failure_rate,TotalCalls\n"
    "a,1,1,0.1,1e18\nc,1,2,0,1e18\na,2,1,0,1e18\nc,2,2,5,1e18\n",
    "calls that no one counted": "strategy,block,p95,failure_rate,TotalCalls\na,1,1,0,\nc,1,2,0,\na,2,1,0,\nc,2,2,5,\n",
    "half a call": "strategy,block,p95,failure_rate,TotalCalls\na,1,1,0,0.5\nc,1,2,0,0.5\na,2,1,9,0.5\nc,2,2,5,0.5\n",
    "a level of two lines": 'strategy,block,p95\n"a\nb",1,1\nc,1,2\n"a\nb",2,1.1\nc,2,2.2\n',
    "a level that turns and colours a line": "strategy,block,p95\n\u202e\x1b[1ma,1,1\nc,1,2\n"
    "\u202e\x1b[1ma,2,1\nc,2,2\n",
    "numbers near the largest": "strategy,block,p95\na,1,1e308\nc,1,1e308\na,2,1e308\nc,2,1e307\n",
    "numbers near the smallest": "strategy,block,p95\na,1,1e-320\nc,1,1e-320\na,2,5e-324\nc,2,1e-310\n",
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("what", TABLES)
def test_an_odd_table_is_answered_or_refused_in_words(
    what: str, verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text(TABLES[what], encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main([verb, str(tmp_path / "t.csv"), *VERBS[verb]])
    printed = "".join(capsys.readouterr())
    assert ended.value.code in (0, 2), printed
    assert "patternbench itself failed" not in printed
    assert not re.search("[\x1b\u202e]", printed)


def test_blocks_that_are_named_pair_rounds_as_numbered_ones_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(text: str) -> str:
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(SystemExit):
            main(["compare", str(tmp_path / "t.csv"), "--baseline", "strategy=c", "--json"])
        return capsys.readouterr().out

    named = "strategy,block,p95\na,x,1\nc,x,2\nc,y,3\na,y,1.1\na,z,1.2\nc,z,2.5\n"
    numbered = named.replace(",x,", ",1,").replace(",y,", ",2,").replace(",z,", ",3,")
    assert '"method": "paired t"' in answer(named)
    assert answer(named) == answer(numbered)


def test_an_error_about_a_table_is_a_sentence_of_whatever_command_met_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], run_without_rounds: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["export", str(run_without_rounds), "--format", "csv", "--out", str(tmp_path / "o.csv")])
    message = " ".join(capsys.readouterr().err.split())
    assert (ended.value.code, "itself failed" in message) == (2, False)
    assert "no round of this run has ended yet. Type `patternbench resume" in message


@pytest.fixture
def run_without_rounds(tmp_path: Path) -> Path:
    run = measured_run(tmp_path / "run")
    run.journal.write_text("")
    return run.path
