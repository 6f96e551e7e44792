"""The claims of a run's study in its report, as a printed part, and as a test."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.studies import ROOT

from patternbench.analyze.statements.claims.claim import Claim
from patternbench.analyze.statements.claims.judged import JudgedClaim, JudgedClaims
from patternbench.analyze.statements.verdict import HIGHER, Conclusion
from patternbench.cli.plan import plan
from patternbench.cli.report import exit_code, report
from patternbench.records.folder import RunFolder
from patternbench.report.sections.claims import as_json

OLDER = ROOT / "tests" / "data" / "run-before-roles"
GOLDEN = ROOT / "tests" / "golden" / "report" / "claims.md"
DELAY = "retry.backoff.fixed.delay"
CLAIMS = f"""
claims:
  - says: a retry | makes <b>calls</b> succeed
    response: failure_rate
    change: lower
    from: {{strategy: baseline}}
    to: {{strategy: retry}}
    where: {{abort.percentage: 40}}
    published: −30 points
  - says: two milliseconds are no worse than one
    response: success_rate
    change: same
    margin: 5 points
    from: {{{DELAY}: 1ms}}
    to: {{{DELAY}: 0.002s}}
    over: mean
"""


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run of before there were claims, in whose study they are written now."""
    folder = RunFolder(Path(shutil.copytree(OLDER, tmp_path / "run")))
    folder.study.write_text(folder.study.read_text() + CLAIMS)
    return folder


def printed(*words: object) -> str:
    done = CliRunner().invoke(report, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_claims_of_a_run_are_printed_as_markdown(run: RunFolder) -> None:
    text = printed(run.path, "--part", "claims")
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
    assert not run.report.exists()


def test_the_claims_of_a_run_are_printed_as_json(run: RunFolder) -> None:
    reported = json.loads(printed(run.path, "--part", "claims", "--format", "json"))
    assert next(claim["says"] for claim in reported["claims"]) == "a retry | makes <b>calls</b> succeed"
    assert reported["intervals"] == sum(len(claim["changes"]) for claim in reported["claims"])


def test_the_page_shows_what_the_study_says_as_text(run: RunFolder) -> None:
    printed(run.path)
    page = run.report.read_text()
    assert "What the study expected" in page
    assert "makes &lt;b&gt;calls&lt;/b&gt; succeed" in page
    assert "<b>calls</b>" not in page.replace("&lt;b&gt;calls&lt;/b&gt;", "").split("What the study expected")[1][:2000]


def test_claims_that_the_rounds_do_not_show_end_with_3(run: RunFolder) -> None:
    words = [str(run.path), "--part", "claims", "--fail-if-contradicted"]
    assert CliRunner().invoke(report, words).exit_code == 3


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([Conclusion.CONFIRMED, Conclusion.AGREES], 0),
        ([Conclusion.CONFIRMED, Conclusion.CONFIRMED_IN_PART], 3),
        ([Conclusion.CONFIRMED, Conclusion.INCONCLUSIVE], 3),
        ([Conclusion.INCONCLUSIVE, Conclusion.CONTRADICTED], 1),
        ([Conclusion.CONFIRMED, Conclusion.MIXED], 1),
        ([Conclusion.CONTRADICTED_IN_PART], 1),
    ],
)
def test_a_contradicted_claim_ends_with_1_and_an_open_one_with_3(words: list[Conclusion], code: int) -> None:
    one = Claim("x", "p95", HIGHER, None, {}, {}, {})
    judged = tuple(JudgedClaim(one, True, (), word) for word in words)
    assert exit_code(JudgedClaims(judged, len(judged), 0.95)) == code


@pytest.mark.parametrize(
    ("response", "unit"), [("system_cpu_s", "s"), ("seconds", "s"), ("p95", "s"), ("failure_rate", "points")]
)
def test_a_change_in_the_unit_of_its_response_says_that_unit_in_json(response: str, unit: str) -> None:
    one = JudgedClaim(Claim("x", response, HIGHER, False, {}, {}, {}), False, (), Conclusion.INCONCLUSIVE)
    reported = json.loads(json.dumps(as_json(JudgedClaims((one,), 1, 0.95))))
    assert reported["claims"][0]["unit"] == unit


def test_a_test_without_claims_is_refused_instead_of_passed() -> None:
    done = CliRunner().invoke(report, [str(OLDER), "--part", "claims", "--fail-if-contradicted"])
    assert done.exit_code != 0
    assert "has no claims" in str(done.exception)


STUDY = """\
patternbench: 1
name: x
system: target
workload: {closed: {users: [4, 40], successes: 10, max_attempts: 500}}
strategies:
  - {client: native, baseline: {}}
  - {client: native, retry: {max_attempts: [2, 3], backoff: {fixed: {delay: 1ms}}}}
claims:
"""
ONE = "  - {{says: x, response: {response}, change: higher, from: {from_}, to: {to}, where: {where}}}\n"


def refused(tmp_path: Path, response: str, from_: str, to: str, where: str = "{}") -> str:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY + ONE.format(response=response, from_=from_, to=to, where=where))
    return str(CliRunner().invoke(plan, [str(file)]).exception)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (("p59", "{users: 4}", "{users: 40}"), "claims[0].response: `p59` isn't a response"),
        (("p95", "{usres: 4}", "{users: 40}"), "did you mean `users`?"),
        (("p95", "{users: 4}", "{users: 41}"), "users has no such level (got 41); allowed: 4, 40"),
        (("p95", "{users: 4}", "{users: 4}"), "`from` and `to` are the same scenarios"),
        (("p95", "{users: 4}", "{strategy: retry, users: 40}", "{strategy: baseline}"), "is in `from` or `to` already"),
        (("p95", "{strategy: baseline}", "{retry.max_attempts: 3}"), "they differ in strategy"),
        (("p95", "{strategy: baseline, retry.max_attempts: 3}", "{strategy: retry}"), "no scenario has"),
        (("p95", "{strategy: baseline}", "{strategy: [retry, baseline]}"), "no two scenarios with this level differ"),
        (("p95", "{users: {low: 4}}", "{users: 40}"), "claims[0].from.users: is not allowed here; allowed: a text or"),
        (("p95", "{users: 4}", "{users: [40, 41]}"), "claims[0].to.users[1]: users has no such level (got 41)"),
    ],
)
def test_plan_refuses_a_claim_that_no_scenario_can_decide_with_its_line(
    tmp_path: Path, claim: tuple[str, ...], message: str
) -> None:
    reported = refused(tmp_path, *claim)
    assert message in reported
    assert "study.yaml:9: claims[0]" in reported


def test_plan_says_how_many_rounds_the_claims_take(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY + ONE.format(response="p95", from_="{users: 4}", to="{users: 40}", where="{}"))
    done = CliRunner().invoke(plan, [str(file), "--spread", "10%"])
    assert "1 claim, decided by 3 intervals" in done.output
    assert "a change of 10 % takes" in done.output
    assert CliRunner().invoke(plan, [str(file), "--spread", "10"]).exit_code == 2


@pytest.fixture
def without_claims(tmp_path: Path) -> Path:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY.replace("claims:\n", ""))
    return file


@pytest.mark.parametrize("words", [["--spread", "10%"], ["--from", str(OLDER)]])
def test_plan_says_that_a_study_has_no_claims_which_a_scatter_would_be_for(
    without_claims: Path, words: list[str]
) -> None:
    done = CliRunner().invoke(plan, [str(without_claims), *words], catch_exceptions=False)
    assert done.exit_code == 0
    assert "the study has no `claims`" in done.stderr
    assert "the study has no `claims`" not in CliRunner().invoke(plan, [str(without_claims)]).stderr


def test_plan_refuses_what_is_no_run_also_for_a_study_without_claims(without_claims: Path) -> None:
    done = CliRunner().invoke(plan, [str(without_claims), "--from", str(without_claims.parent)])
    assert done.exit_code != 0
    assert "isn't a run's folder" in str(done.exception)
