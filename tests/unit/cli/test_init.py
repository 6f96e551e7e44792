"""``init`` asks three questions, and writes files that can be run."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from patternbench.cli import init as verb
from patternbench.lab import startable, systems, topologies
from patternbench.study.load import load
from patternbench.study.starters import GOALS
from patternbench.terms.problems import InputError


class Items(BaseHTTPRequestHandler):
    """Answers paths below /items."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path.startswith("/items") else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Items) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(*words: str, typed: str = "") -> Result:
    return CliRunner().invoke(verb.init, words, input=typed, catch_exceptions=False)


def refused(*words: str) -> str:
    with pytest.raises(InputError) as caught:
        done(*words)
    return str(caught.value)


def test_a_url_becomes_a_study_of_it(service: str) -> None:
    assert "Now type `patternbench run retry.yaml`, which takes about" in done("--url", f"{service}/items/7").output
    study = load("retry.yaml")
    assert study.system.addresses == [service]
    assert list(study.workload.request.path) == ["/items/7"]


@pytest.mark.parametrize("word", GOALS)
def test_a_command_becomes_a_system_that_can_be_described(word: str, folder: Path) -> None:
    done("--command", "sh -c 'sleep 9'", "--path", "health", "--find-out", word, "--out", "deep/studies")
    study = load(f"deep/studies/{word}.yaml")
    file = systems.file_of(study.system, folder / "deep/studies")
    assert file is not None
    startable.check_settings(file, {})
    (launch,) = topologies.of_file(file, {}).launches
    assert (launch.cwd, launch.command[1:]) == (str(folder), ("-c", "sleep 9"))


def test_the_port_that_is_given_is_the_one_that_the_system_waits_for(folder: Path) -> None:
    done("--command", "sh -c 'sleep 9'", "--port", "8123", "--path", "/", "--find-out", "retry", "--out", "here")
    file = systems.file_of(load("here/retry.yaml").system, folder / "here")
    assert file is not None
    assert topologies.of_file(file, {}).launches[0].ports == {"http": 8123}


def test_a_compose_file_becomes_a_system_that_names_it(folder: Path) -> None:
    (folder / "compose.yaml").write_text("services: {}\n")
    done("--compose", "compose.yaml", "--service", "web:8080", "--find-out", "load")
    text = (folder / "systems/service.yaml").read_text()
    assert 'file: "../compose.yaml"' in text
    assert f"services: {json.dumps({'web': 8080})}" in text


def test_who_types_it_without_options_is_asked_three_questions(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "can_ask", lambda: True)
    output = done(typed=f"{service}/items\n4\n6\n").output
    assert output.count("> ") == 3
    assert load("load.yaml").name == "load"


def test_a_command_that_is_typed_is_asked_for_its_path_too(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(verb, "can_ask", lambda: True)
    done(typed="sh serve.sh\n/health\n1\n10\n")
    assert '{"path": "/health", "status": 200}' in (folder / "systems/service.yaml").read_text()


def test_the_last_line_names_try_and_plan_next_to_run(service: str) -> None:
    last = done("--url", f"{service}/items/7").output.splitlines()[-1]
    assert all(f"`patternbench {word} retry.yaml`" in last for word in ("try", "plan", "run"))


def test_fewer_rounds_than_an_interval_takes_are_said_with_the_time_that_is_enough(service: str) -> None:
    reported = done("--url", f"{service}/items/7", "--minutes", "3").output
    assert re.search(r"5 rounds of each scenario fit .* takes 6: `--minutes 4`", reported), reported
    assert load("retry.yaml").rounds == 5
    enough = done("--url", f"{service}/items/7", "--minutes", "4", "--force").output
    assert (load("retry.yaml").rounds, "fit into" in enough) == (7, False)


def test_a_study_named_as_the_folder_is_refused_with_what_to_type(service: str, folder: Path) -> None:
    reported = refused("--url", f"{service}/items/7", "--out", "mine.yaml")
    assert "names a study, where a folder is wanted" in reported and "type `--out .`" in reported
    assert not list(folder.iterdir())


def test_files_that_are_there_stay_unless_one_says_so(service: str, folder: Path) -> None:
    (folder / "retry.yaml").write_text("mine")
    assert "retry.yaml: is already there; type --force" in refused("--url", f"{service}/items")
    assert (folder / "retry.yaml").read_text() == "mine"
    done("--url", f"{service}/items", "--force")
    assert "patternbench: 1" in (folder / "retry.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ((), "nothing to measure is named, and there is no terminal to ask on; name one of --url URL"),
        (("--url", "localhost:80"), "isn't a URL (got 'localhost:80')"),
        (("--url", "http://127.0.0.1:1/"), "does not answer"),
        (("--command", "nodee shop.js"), "isn't a program that can be run (got 'nodee shop.js'); install it"),
        (("--command", "sh 'a"), "cannot be split into words"),
        (("--compose", "compose.yaml"), "there is no such file"),
        (("--command", "sh", "--compose", "a.yaml"), "names several things to measure (got 'compose command')"),
        (
            ("--command", "sh", "--minutes", "1"),
            "is too short for 10 scenarios of 3 rounds (got '1'); allowed: at least 2",
        ),
    ],
)
def test_what_cannot_be_measured_is_reported_and_nothing_is_written(
    words: tuple[str, ...], reported: str, folder: Path
) -> None:
    assert reported in refused(*words)
    assert list(folder.iterdir()) == []


def test_a_path_that_answers_badly_is_reported(service: str) -> None:
    assert "answers 404" in refused("--url", f"{service}/nothing")
