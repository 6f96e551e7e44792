"""Texts that users write: what can't be sent, started or kept is refused by name, and never ends in a traceback."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from pydantic import TypeAdapter, ValidationError

from patternbench import asking, caches
from patternbench.asking import Bounds
from patternbench.cli.main import main
from patternbench.drivers import environment
from patternbench.lab.components.process import AnyCommand
from patternbench.run.single import subjects
from patternbench.run.single.rate_rounds import of_url
from patternbench.study import starters
from patternbench.study.load import loads
from patternbench.study.model.system import Url
from patternbench.study.starters import GOALS, Budget
from patternbench.study.text.document import parse
from patternbench.study.text.places import filled
from patternbench.terms.problems import InputError
from patternbench.terms.urls import encoded, sendable

HOSTLESS = (
    "http://a..b/",
    "http://xn--/",
    f"http://{'a' * 70}.b/",
    "http://%ff/",
    "http://a b/",
    "http://a:0/",
    "http://[",
)
STUDY = """\
patternbench: 1
name: t
system: {url: "http://127.0.0.1:1/"}
workload:
  closed: {users: 1, duration: 1s}
  request: {path: PATH}
strategies:
  - {client: native, baseline: {}}
"""


@pytest.mark.parametrize("url", HOSTLESS)
def test_a_url_that_no_one_could_ask_is_refused_in_a_study_and_on_the_command_line(url: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Url).validate_python(url)
    with pytest.raises(InputError):
        of_url(url)


@pytest.mark.parametrize("url", ["http://a..b/", "http://xn--/", "http://127.0.0.1:1/\ud800"])
def test_asking_what_is_no_url_is_an_error_of_the_question(url: str) -> None:
    with asking.client(Bounds(1.0)) as http, pytest.raises((httpx.HTTPError, httpx.InvalidURL)):
        http.get(url)


def test_a_path_that_cannot_be_sent_is_refused_with_the_path_to_write() -> None:
    with pytest.raises(InputError, match="gr%C3%BC"):
        loads(STUDY.replace("PATH", "/grü"), "s.yaml")
    assert loads(STUDY.replace("PATH", "/gr%C3%BC"), "s.yaml")


@pytest.mark.parametrize("path", ["/😀", "/a b", "/ü?q=ü", "/x#y", "/%zz", "/'\"", "/{name}"])
def test_what_init_writes_of_a_path_is_a_study_that_can_be_read(path: str, tmp_path: Path) -> None:
    subject = subjects.started("python3 app.py 😀", path, None, tmp_path)
    study = loads(starters.study(subject, GOALS["load"], Budget(6, 2)), "load.yaml")
    assert sendable(encoded(path))
    assert study.workload.request is not None
    assert study.workload.request.path.level == encoded(path)
    assert "😀" in str(parse(starters.system(subject), "s.yaml").value)


@pytest.mark.parametrize("path", ["/\ud800", "/${b}", "/\x1b", "/\n", "/\u2028", "/" + "x" * 9000])
def test_init_refuses_a_path_that_no_study_can_hold(path: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--path"):
        subjects.started("sh", path, None, tmp_path)


def test_init_says_that_no_shell_reads_a_pipe(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sh -c"):
        subjects.started("sh a | tee b", "/", None, tmp_path)


@pytest.mark.parametrize("port", ["0", "99999", "9" * 5000, "²"])
def test_init_refuses_a_port_of_a_service_that_is_none(port: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("services: {}")
    with pytest.raises(InputError, match="--service"):
        subjects.composed(str(tmp_path / "c.yaml"), f"web:{port}", "/", tmp_path)


def test_an_emoji_that_json_writes_in_two_halves_is_one_character() -> None:
    assert parse('{"a\\ud83d\\ude00": "\\ud83d\\ude00"}', "s.json").value == {"a😀": "😀"}


@pytest.mark.parametrize("text", ['a: "\\ud800"', '"\\ud800": 1', 'a: [{b: "x\\udfff"}]', '"\\ud800"'])
def test_half_a_character_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(InputError, match=r"s\.yaml:1: holds half a character"):
        parse(text, "s.yaml")


@pytest.mark.parametrize(
    "setting",
    [
        {"env": {"A": "x\0y"}},
        {"env": {"A=B": "x"}},
        {"env": {"": "x"}},
        {"env": {"A": "x" * 200_000}},
        {"command": ["sh", "\0"]},
        {"files": {"a\0b": "x"}},
        {"files": {".": "x"}},
        {"files": {"x" * 300: "x"}},
        {"files": {"a": "x", "a/b": "y"}},
        {"folder": "\0"},
        {"ready": {"path": "/grüße"}},
        {"ready": {"path": "/", "then": ["http://a:99999/"]}},
        {"ready": {"path": "/", "then": ["http://a..b/"]}},
        {"live": {"a": {"call": {"method": "PUT", "url": "http://["}}}},
    ],
    ids=lambda setting: str(setting)[:60],
)
def test_what_no_program_can_be_given_is_refused_before_it_starts(setting: dict[str, object]) -> None:
    assert AnyCommand.model_validate({"command": "sh"})
    with pytest.raises(ValidationError):
        AnyCommand.model_validate({"command": "sh", **setting})


def test_an_expectation_names_the_place_that_has_no_value() -> None:
    with pytest.raises(InputError, match=r"\$\{user\}"):
        filled("${user}", {"size": "1"})
    with pytest.raises(InputError, match="isn't a JSON value"):
        filled("${size|number}", {"size": "a"})


def test_a_secret_that_is_no_number_is_not_shown() -> None:
    with pytest.raises(InputError) as refused:
        filled("${env:TOKEN|number}", {"env:TOKEN": "s3cret"})
    assert "s3cret" not in str(refused.value)


def test_a_variable_that_is_no_text_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD", "\udcff")
    with pytest.raises(InputError, match="ODD isn't text"):
        environment.value("ODD")


def test_an_argument_that_is_no_text_is_refused_before_anything_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", "\udcff.yaml"])
    assert ended.value.code == 2
    assert "isn't text in UTF-8" in capsys.readouterr().err


def test_a_deadline_of_nothing_is_refused_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["load", "http://127.0.0.1:1/", "--deadline", "0s"])
    assert "--deadline" in capsys.readouterr().err


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(OSError, match="set HOME"):
        caches.folder()
