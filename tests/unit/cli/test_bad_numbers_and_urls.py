"""Numbers and URLs of the command line that would hang, be taken wrongly or show a login are refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from patternbench.cli.main import main
from patternbench.lab.component import existing_file
from patternbench.lab.host import accounts
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.run.before import preflight
from patternbench.run.single import subjects
from patternbench.run.single.rate_rounds import of_url
from patternbench.study import starters
from patternbench.study.load import loads
from patternbench.study.model.cpus import Cpus
from patternbench.study.starters import GOALS, Budget, RunningService
from patternbench.terms.problems import InputError, shown

URL = "http://127.0.0.1:1/"
HALF_URLS = (
    "http://[",
    "http://a:abc/",
    f"http://a:{'9' * 30}/",
    "http://a\tb/",
    "http://a\x1bb/",
    "http://",
    "ftp://a/",
)


@pytest.mark.parametrize(
    "words",
    [
        ("capacity", URL, "--objective", "p95<=1s", "--most", "1e308"),
        ("capacity", URL, "--objective", "p95<=1s", "--start", "0"),
        ("capacity", URL, "--objective", "p95<=1s", "--start", "-1"),
        ("capacity", URL, "--objective", "p95<=1s", "--duration", "0s"),
        ("capacity", URL, "--objective", "p95<=1s", "--duration", "25h"),
        ("load", URL, "--warm-up", "25h"),
        ("load", URL, "--duration", "25h"),
        ("init", "--command", "sh", "--minutes", "nan", "--json"),
        ("fit", "x.csv", "--formula", "p95 ~ users", "--seed", "-1"),
        ("recommend", "x.csv", "--objective", "minimise p95", "--seed", "-1"),
        ("simulate-limits", "--staleness", f"{'7' * 5000}ms"),
        ("simulate-limits", "--window", f"{'7' * 5000}ms"),
    ],
    ids=" ".join,
)
def test_a_number_without_sense_is_refused_by_the_name_of_its_option(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    option = next(word for word in reversed(words) if word.startswith("--") and word != "--json")
    message = capsys.readouterr().err
    assert ended.value.code == 2
    assert option in message
    assert max(map(len, message.splitlines())) < 500, "a value without end is not repeated"


@pytest.mark.parametrize("url", HALF_URLS)
def test_half_a_url_is_refused_by_init_and_capacity(url: str) -> None:
    for ask in (subjects.running, of_url):
        with pytest.raises(InputError, match="isn't a URL"):
            ask(url)


def test_a_login_in_a_url_is_neither_kept_nor_shown() -> None:
    for ask in (subjects.running, of_url):
        with pytest.raises(InputError, match="holds a login") as refused:
            ask("http://me:secret@127.0.0.1:1/")
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize("password", ["se/cret", "se?cret", "se#cret", "se@cret", "s%3Acret"])
def test_no_message_shows_a_password_whatever_signs_it_has(password: str) -> None:
    """A password that is not encoded ends the address at its first ``/``, for whoever reads the URL by the rules."""
    url = f"http://me:{password}@127.0.0.1:1/"
    study = f"patternbench: 1\nname: x\nsystem: {{url: '{url}'}}\n"
    for ask in (subjects.running, of_url, lambda _: loads(study, "s.yaml")):
        with pytest.raises(InputError) as refused:
            ask(url)
        assert "cret" not in str(refused.value)
        assert "cret" not in str([problem.as_json() for problem in refused.value.problems])


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/@me", "http://host/a?mail=me@host", "http://host:80?@me"])
def test_an_at_sign_behind_the_address_is_no_login(url: str) -> None:
    assert shown(url) == repr(url)


def test_capacity_shows_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["capacity", "http://me:secret@127.0.0.1:1/", "--objective", "p95<=1s", "--json"])
    printed = capsys.readouterr()
    assert "secret" not in printed.out + printed.err


def test_a_path_that_holds_a_mark_of_our_own_is_written_as_it_is() -> None:
    for goal in GOALS.values():
        text = starters.study(RunningService("http://127.0.0.1:1", "/{name}/{users}"), goal, Budget(3, 2))
        assert 'path: "/{name}/{users}"' in text


@pytest.mark.parametrize("text", ["0-99999999999", "99999999999", f"0-{'9' * 5000}"])
def test_a_span_of_cpus_without_end_is_refused_before_it_is_counted_out(text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Cpus).validate_python(text)


def test_a_user_without_a_name_is_reported_by_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown() -> str:
        raise KeyError("getpwuid(): uid not found: 54321")

    monkeypatch.setattr("getpass.getuser", unknown)
    monkeypatch.setattr("os.geteuid", lambda: 54321)
    assert accounts.owner_of_new(tmp_path / "svc", "").user == "54321"


def test_a_url_that_is_no_client_is_a_problem_of_the_study(tmp_path: Path) -> None:
    study = loads(
        "patternbench: 1\nname: x\nsystem: {url: 'http://127.0.0.1:1'}\nclients: {mine: {url: 'http://127.0.0.1:1'}}\n"
        "workload: {closed: {users: 1, successes: 1}, request: {path: /}}\nstrategies: [{client: mine, baseline: {}}]",
        "s.yaml",
    )
    found = preflight.inexpressible(study, expand(study).scenarios, Inputs(tmp_path), (), ())
    assert [problem.path for problem in found] == ["clients"]
    assert "client mine at http://127.0.0.1:1 does not answer GET /client" in found[0].message


def test_capacity_of_a_url_speaks_of_the_url_and_not_of_a_study_that_no_one_saw(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["capacity", URL, "--objective", "p95<=1s"])
    message = " ".join(capsys.readouterr().err.split())
    assert message.startswith("error: URL: does not answer")
    assert message.endswith("start it first, or correct the URL")
    assert "urls[0]" not in message


def test_a_folder_in_place_of_a_program_is_called_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; a file is needed"):
        existing_file(tmp_path, str(tmp_path), "command")
