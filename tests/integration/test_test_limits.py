"""The verb that tests rules of the filter with requests: its exit codes, and what it prints."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.studies import ROOT

from patternbench.cli.test_limits import test_limits as verb
from patternbench.ratelimit.simulate import simulator
from patternbench.terms.problems import InputError

EXAMPLES = ROOT / "filters" / "nginx-ratelimit" / "examples"
PLAN, REQUESTS = EXAMPLES / "plan.json", EXAMPLES / "requests.csv"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("luajit") is None, reason="needs luajit2 and lua-cjson"),
]


def run(*words: str | Path) -> object:
    """What the verb returns, which is its exit code."""
    return CliRunner().invoke(verb, [str(word) for word in words], standalone_mode=False).return_value


def test_the_rules_that_are_shipped_do_what_the_requests_next_to_them_expect(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(PLAN, REQUESTS) == 0
    assert "8 lines as expected, 0 not" in capfd.readouterr().out


def test_a_request_that_is_decided_otherwise_is_named_with_its_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.csv").write_text("path,header:X-Api-Key,repeat,expect\n/cart,ann,101,allowed\n", encoding="utf-8")
    assert run(PLAN, tmp_path / "r.csv") == 1
    assert "r.csv:2: expected allowed, got rejected by per_client" in capfd.readouterr().out


def test_programs_get_the_counts_and_what_was_decided_otherwise(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(PLAN, REQUESTS, "--json") == 0
    reported = json.loads(capfd.readouterr().out)
    assert (reported["lines"], reported["wrong"]) == (8, [])
    (tmp_path / "r.csv").write_text("path,header:X-Api-Key,repeat,expect\n/cart,ann,101,allowed\n", encoding="utf-8")
    assert run(PLAN, tmp_path / "r.csv", "--json") == 1
    (wrong,) = json.loads(capfd.readouterr().out)["wrong"]
    assert (wrong["line"], wrong["got"], wrong["got_by"]) == (2, "rejected", ["per_client"])


def test_what_can_not_be_used_ends_with_2_and_says_why(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.csv").write_text("path,expect\n/cart,maybe\n", encoding="utf-8")
    assert run(PLAN, tmp_path / "r.csv") == 2
    assert 'r.csv:2: expect is "maybe"; allowed: allowed, rejected' in capfd.readouterr().err
    assert run(PLAN, REQUESTS, "--start", "yesterday") == 2
    assert '--start is "yesterday"' in capfd.readouterr().err


def test_without_luajit_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator.shutil, "which", lambda _name: None)
    result = CliRunner().invoke(verb, [str(PLAN), str(REQUESTS)], standalone_mode=False)
    assert isinstance(result.exception, InputError)
    assert "apt-get install luajit2 lua-cjson" in str(result.exception)


@pytest.mark.timeout(30)
def test_a_pipe_or_a_device_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for odd in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="is a pipe, a socket or a device; a file is needed"):
            run_raising(odd, REQUESTS)
        with pytest.raises(InputError, match="is a pipe, a socket or a device; a file is needed"):
            run_raising(PLAN, odd)


def run_raising(*words: Path) -> None:
    """Run the verb; what it raises is raised here."""
    CliRunner().invoke(verb, [str(word) for word in words], standalone_mode=False, catch_exceptions=False)
