"""A command of a user's own: what is wrong with it is known before it starts, at the line that says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.support.studies import own_system

from patternbench.lab import startable, systems, topologies
from patternbench.lab.host import cgroups
from patternbench.lab.host.calls import Call
from patternbench.lab.host.launch import File, Launch, LiveCall, LiveFile, Preparation, ResourceLimits, Stop
from patternbench.lab.host.ready import Http, LogLine, Port, SuccessiveReadiness
from patternbench.lab.host.references import producers
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration


def own(folder: Path, *lines: str) -> systems.SystemFile:
    """The system of a file whose only component says these lines."""
    (folder / "systems").mkdir(exist_ok=True)
    (folder / "systems" / "own.yaml").write_text(own_system(*lines))
    return systems.load("own", folder)


def launch(folder: Path, *lines: str) -> Launch:
    return topologies.of_file(own(folder, *lines), {}).launches[0]


def problem(folder: Path, *lines: str) -> Problem:
    (refused,) = startable.settings_problems(own(folder, *lines), {})
    return refused


def test_a_command_runs_in_the_folder_of_the_system_file_and_is_told_its_port(tmp_path: Path) -> None:
    shop = launch(tmp_path, "command: sh -c 'echo a b' ${self.port.http}")
    assert shop.command[1:] == ("-c", "echo a b", "${self.port.http}")
    assert shop.cwd == str(tmp_path / "systems")
    assert (shop.env, shop.ports) == ({"PORT": "${self.port.http}"}, {"http": 0})
    assert (shop.url, shop.ready) == ("http://127.0.0.1:${self.port.http}", Port("http"))


def test_a_program_with_a_slash_counts_from_the_folder_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "shop").touch(0o755)
    shop = launch(tmp_path, "folder: ..", "command: [bin/shop, --workers, 4, --fast, true]")
    assert shop.command == (str(tmp_path / "bin" / "shop"), "--workers", "4", "--fast", "true")
    assert shop.cwd == str(tmp_path)


def test_all_that_a_command_may_say_reaches_its_launch(tmp_path: Path) -> None:
    shop = launch(
        tmp_path,
        f"command: {sys.executable} -V",
        "prepare: [make shop, [sh, -c, 'exit 0']]",
        "env: {WORKERS: 4, FAST: true, PORT: ''}",
        "files: {conf/shop.json: {stock: [1, 2]}, hello.txt: hello}",
        "ports: {http: 0, admin: 4711}",
        "ready: {path: /health, status: 204, port: admin}",
        "within: 5s",
        "stop: {signal: SIGINT, grace: 1s}",
        "cpus: 0-1,3",
        "memory: 64MiB",
        "cpu: 1.5",
        "live: {limit: {call: {method: PUT, url: '${self.url}'}}, plan: {file: hello.txt, signal: SIGHUP}}",
        "user: nobody",
        "url: tcp://127.0.0.1:1",
        "endpoints: {admin: 'http://127.0.0.1:${self.port.admin}', token: '${self.secret.token}'}",
        "secrets: [token]",
    )
    assert shop.secrets == ("token",)
    assert shop.endpoints == {"admin": "http://127.0.0.1:${self.port.admin}", "token": "${self.secret.token}"}
    assert shop.prepare == (Preparation(("make", "shop")), Preparation(("sh", "-c", "exit 0")))
    assert shop.env == {"WORKERS": "4", "FAST": "true", "PORT": ""}
    assert shop.files == (File("conf/shop.json", {"stock": [1, 2]}), File("hello.txt", "hello"))
    assert (shop.ports, shop.ready) == ({"http": 0, "admin": 4711}, Http("admin", "/health", status=204))
    assert (shop.within, shop.stop) == (Duration.parse("5s"), Stop("SIGINT", Duration.parse("1s")))
    assert shop.limits == ResourceLimits((0, 1, 3), 64 * 1024**2, 1.5)
    assert shop.live == (LiveCall("limit", Call("PUT", "${self.url}")), LiveFile("hello.txt", "SIGHUP"))
    assert (shop.user, shop.url, shop.traced) == ("nobody", "tcp://127.0.0.1:1", True)
    assert shop.origin == f"{tmp_path}/systems/own.yaml:5"


def test_all_cpus_are_no_limit(tmp_path: Path) -> None:
    assert launch(tmp_path, "command: sh", "cpus: all").limits == ResourceLimits()


def test_a_line_of_the_log_makes_a_command_without_ports_ready(tmp_path: Path) -> None:
    worker = launch(tmp_path, "command: sh", "ports: {}", "ready: {log: '^up$'}")
    assert (worker.ready, worker.env, worker.url) == (LogLine("^up$"), {}, "")


def test_what_must_be_answered_before_it_is_ready_is_started_before_it(tmp_path: Path) -> None:
    shop = launch(tmp_path, "command: sh", "ready: {log: up, then: ['${stock.url}/items', 'http://127.0.0.1:9/x']}")
    assert shop.ready == SuccessiveReadiness(LogLine("up"), ("${stock.url}/items", "http://127.0.0.1:9/x"))
    assert producers(shop) == ["stock"]


@pytest.mark.parametrize(
    ("lines", "line", "path", "words"),
    [
        (("command: nodee shop.js",), 7, "shop.command", "isn't a program on PATH (got 'nodee'); install it"),
        (("command: ./shop.sh",), 7, "shop.command", "there is no such file"),
        (("command: ./plain.sh",), 7, "shop.command", "cannot be executed (got './plain.sh'); type `chmod +x"),
        (("command: sh 'a",), 7, "shop.command", "cannot be split into words: No closing quotation"),
        (("command: []",), 7, "shop.command", "at least 1"),
        (("within: 5s",), 5, "shop.command", "`command` is missing"),
        (("command: sh", "comand: sh"), 8, "shop.comand", "unknown key"),
        (("command: sh", "folder: nowhere"), 8, "shop.folder", "there is no such folder"),
        (("command: sh", "ready: {status: 200}"), 8, "shop.ready", "status does not go with ready without a path"),
        (("command: sh", "ready: {log: up, path: /}"), 8, "shop.ready", "needs exactly one way"),
        (("command: sh", "ready: {then: ['http://127.0.0.1:9']}"), 8, "shop.ready", "needs exactly one way"),
        (("command: sh", "ready: {log: up, then: [up]}"), 8, "shop.ready.then[0]", "is not allowed here (got 'up')"),
        (("command: sh", "ready: {log: '('}"), 8, "shop.ready.log", "isn't a regular expression"),
        (("command: sh", "ready: {port: htp}"), 8, "shop.ready.port", "did you mean `http`?"),
        (("command: sh", "ports: {}"), 5, "shop.ready.port", "names none of its ports"),
        (("command: sh", "ports: {http: 70000}"), 8, "shop.ports.http", "at most 65535"),
        (("command: sh", "within: 20"), 8, "shop.within", "a duration needs a unit"),
        (("command: sh", "stop: {signal: SIGNALS}"), 8, "shop.stop.signal", "isn't a signal"),
        (("command: sh", "memory: 512"), 8, "shop.memory", "is not a size (got 512); allowed: more than 0, with"),
        (("command: sh", "memory: 0MB"), 8, "shop.memory", "is not a size"),
        (("command: sh", "cpu: 0"), 8, "shop.cpu", "more than 0"),
        (("command: sh", "cpus: 1-"), 8, "shop.cpus", "names no CPUs (got '1-'); allowed: numbers and spans"),
        (("command: sh", "live: {plan: {file: a}}"), 8, "shop.live.plan.file", "isn't one of its files (got 'a')"),
        (("command: sh", "live: {plan: {}}"), 8, "shop.live.plan", "needs exactly one of them"),
        (("command: sh", "files: {../up: x}"), 8, "shop.files.../up", "leads out of the component's folder"),
        (("command: sh", "env: {A: '${stok.url}'}"), 5, "shop", "it refers to `stok`"),
        (("command: sh", "env: {A: '${self.port.htp}'}"), 5, "shop", "did you mean `port.http`?"),
    ],
)
def test_what_is_wrong_with_a_command_is_reported_at_its_line(
    tmp_path: Path, lines: tuple[str, ...], line: int, path: str, words: str
) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "plain.sh").touch(0o644)
    reported = problem(tmp_path, *lines)
    assert str(reported).startswith(f"{tmp_path}/systems/own.yaml:{line}: {path}: ")
    assert words in str(reported)


def test_everything_wrong_with_a_command_is_reported_at_once(tmp_path: Path) -> None:
    reported = startable.settings_problems(own(tmp_path, "command: sh", "within: 1", "comand: sh", "user: [a]"), {})
    assert {one.path for one in reported} == {"shop.within", "shop.comand", "shop.user"}


def test_a_program_that_a_preparation_makes_may_be_missing_before(tmp_path: Path) -> None:
    assert launch(tmp_path, "command: ./made", "prepare: [make made]").command == ("./made",)


def test_a_setting_that_a_command_is_made_of_is_where_its_problem_is_reported(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    text = own_system("command: '${runtime} shop.js'").replace("components:", "settings: {runtime: %s}\ncomponents:")
    (tmp_path / "systems" / "own.yaml").write_text(text % "{default: sh, about: what runs it}")
    (reported,) = startable.settings_problems(systems.load("own", tmp_path), {"runtime": "bun!"})
    assert (reported.path, reported.file) == ("system.settings.runtime", "")


def test_limits_that_are_compared_are_refused_where_they_cannot_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "systems").mkdir()
    text = own_system("command: sh", "memory: '${heap}'")
    text = text.replace("components:", "settings: {heap: {default: 1GB, about: memory}}\ncomponents:")
    (tmp_path / "systems" / "own.yaml").write_text(text)
    system = systems.load("own", tmp_path)
    monkeypatch.setattr(cgroups, "refusal", lambda limits: "there are none")
    (reported,) = startable.limits_problems(system, {"heap": ["1GB", "2GB"]})
    assert reported.path == "system.settings.heap"
    assert (
        "its levels would have no effect: memory of shop cannot be limited, because there are none" in reported.message
    )
    assert startable.limits_problems(system, {"heap": ["1GB"]}) == []
    monkeypatch.setattr(cgroups, "refusal", lambda limits: "")
    assert startable.limits_problems(system, {"heap": ["1GB", "2GB"]}) == []


def test_load_cannot_go_to_a_command_without_an_address(tmp_path: Path) -> None:
    reported = problem(tmp_path, "command: sh", "ports: {}", "ready: {log: up}")
    assert (reported.path, reported.line) == ("endpoint", 10)
    assert "has no address" in reported.message


def test_a_system_file_that_names_the_lab_s_own_fields_is_refused(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "own.yaml").write_text(own_system("command: sh") + "origin: {file: a, lines: {}}\n")
    with pytest.raises(InputError, match=r"own\.yaml:9: origin: unknown key"):
        systems.load("own", tmp_path)
