"""What is said of a study's files, commands and secrets before anything is started."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.studies import EXAMPLE, changed, problems, study

from patternbench.cli.plan import plan
from patternbench.plan.expand import expand
from patternbench.records.folder import RunFolder
from patternbench.records.inputs import Inputs, keep
from patternbench.run.before import inspection, preflight
from patternbench.study.load import load, parse_study
from patternbench.study.text import secrets
from patternbench.terms.problems import InputError

FILES = """\
patternbench: 1
name: x
system: target
strategies: [{client: native, baseline: {}}]
workload:
  open: {rate: 5, duration: 1s}
  feeder: names.csv
  journey: [{path: /, body_file: order.json}, {path: /, body_file: pipe}]
"""
COMMANDS = changed(clients='{mine: {command: [./mine, "[/x]"]}}').replace(
    "client: resilience4j, baseline", "client: mine, baseline"
)
SECRETS = """\
patternbench: 1
system:
  url: http://127.0.0.1:1
  headers:
    Authorization: "Bearer abc.def"
    X-Api-Key: ${env:KEY}
    Accept: text/html
workload:
  journey:
    - path: /login
      form: {user: me, password: pa55}
"""


def test_plan_names_every_file_that_cannot_be_read_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text("{}")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "study.yaml").write_text(FILES)
    with pytest.raises(InputError) as error:
        CliRunner().invoke(plan, [str(tmp_path / "study.yaml")], catch_exceptions=False)
    reported = [str(problem) for problem in error.value.problems]
    assert len(reported) == 2
    assert "study.yaml:7: workload.feeder.file: there is no such file (got 'names.csv')" in reported[0]
    assert "is a pipe, a socket or a device; a file is needed (got 'pipe')" in reported[1]


def test_plan_names_a_setting_that_a_component_refuses(tmp_path: Path) -> None:
    text = FILES.partition("  feeder")[0].replace(
        "system: target", "system: {name: target, settings: {workers: [2, 0]}}"
    )
    (tmp_path / "study.yaml").write_text(text)
    with pytest.raises(InputError, match=r"study.yaml:3: system.settings.workers: .*allowed: at least 1"):
        CliRunner().invoke(plan, [str(tmp_path / "study.yaml")], catch_exceptions=False)


UNBUILT = """\
patternbench-system: 1
name: own
about: a service whose jar is not built yet
components: [{jvm_app: {name: shop, jar: shop.jar, class_data_sharing: true}}]
endpoint: shop
"""


def test_a_study_of_a_jar_that_is_not_built_is_planned_and_only_its_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "own.yaml").write_text(UNBUILT)
    (tmp_path / "study.yaml").write_text(FILES.partition("  feeder")[0].replace("system: target", "system: own"))
    planned = CliRunner().invoke(plan, [str(tmp_path / "study.yaml")], catch_exceptions=False)
    lacking = f"{tmp_path}/systems/shop.jar is missing: build it first"
    assert planned.exit_code == 0
    assert "1 scenario x 10 rounds" in planned.output
    assert f"before it can run: system `own` cannot start: {lacking}" in planned.output
    requested = load(tmp_path / "study.yaml")
    (problem,) = preflight.system_problems(requested, Inputs(tmp_path))
    assert f"{problem.message}: {problem.hint}".startswith(f"system `own` cannot start: {lacking}")


def test_a_plan_names_clients_that_cannot_start_here_and_can_leave_them_out(tmp_path: Path) -> None:
    text = FILES.partition("  feeder")[0].replace("client: native, baseline", "client: [native, hystrix], baseline")
    (tmp_path / "study.yaml").write_text(
        text.replace("open: {rate: 5, duration: 1s}", "closed: {users: 1, successes: 2}")
    )
    whole = CliRunner().invoke(plan, [str(tmp_path / "study.yaml")], catch_exceptions=False)
    assert "2 scenarios x 10 rounds" in whole.output
    assert "before it can run: there is no client `hystrix`" in whole.output
    left = CliRunner().invoke(plan, [str(tmp_path / "study.yaml"), "--skip-unavailable"], catch_exceptions=False)
    assert "1 scenario x 10 rounds" in left.output
    assert "left out: client hystrix: there is no client `hystrix`" in left.output
    assert "before it can run" not in left.output


def test_the_commands_of_a_study_are_listed_and_can_be_refused(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(COMMANDS)
    listed = CliRunner().invoke(plan, [str(tmp_path / "study.yaml")], catch_exceptions=False).output
    assert "starts its author's command as client mine: ./mine [/x]" in " ".join(listed.split())
    with pytest.raises(InputError, match=r"clients\.mine\.command: starts a command"):
        CliRunner().invoke(plan, [str(tmp_path / "study.yaml"), "--no-commands"], catch_exceptions=False)
    inspection.refuse_commands(study(EXAMPLE))


def test_secrets_that_are_written_out_are_reported_with_their_lines_and_hidden() -> None:
    document = parse_study(SECRETS, "study.yaml")
    reported = inspection.warnings_of(document)
    assert [sentence.partition(" contains")[0] for sentence in reported] == [
        "study.yaml:5: system.headers.Authorization",
        "study.yaml:11: workload.journey[0].form.password",
    ]
    assert "in the study and plan.json of its folder, readable only by your account" in reported[0]
    shown = secrets.blanked(SECRETS, document)
    assert "abc.def" not in shown
    assert "pa55" not in shown
    assert "${env:KEY}" in shown
    assert "Accept: text/html" in shown


@pytest.mark.parametrize("place", ["http://me:pa55@127.0.0.1:1/x", "https://token@host"])
def test_a_url_with_a_login_is_refused_without_repeating_it(place: str) -> None:
    (problem,) = problems(changed(system=f"{{url: '{place}'}}"))
    assert "holds a user or a password" in str(problem)
    assert "Authorization" in problem.allowed
    assert "pa55" not in str(problem)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_copy_of_a_file_is_read_by_those_alone_who_may_read_the_original(mode: int, tmp_path: Path) -> None:
    (tmp_path / "tokens.csv").write_text("a")
    (tmp_path / "tokens.csv").chmod(mode)
    run = RunFolder(tmp_path / "run")
    run.create()
    for _ in range(2):  # a run that was killed while it was made copies once more
        noted = keep(run, ["tokens.csv"], tmp_path)
    copy = run.path / noted["tokens.csv"].copied_to
    assert copy.stat().st_mode & 0o777 == mode
    assert run.inputs.stat().st_mode & 0o777 == 0o700


def test_whether_a_system_is_ready_is_reported_by_the_head_of_its_answer_alone(tmp_path: Path) -> None:
    """A body that never ends would be waited for until its reader is out of memory or time."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        requested = threading.Event()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
                requested.set()
                connection.recv(1)  # until the other side has gone

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        preflight.check_urls(study(changed(system=f"{{url: '{url}'}}")), Inputs(tmp_path))
        assert requested.wait(10)
        thread.join(10)


def test_a_study_without_files_has_no_file_problems(tmp_path: Path) -> None:
    assert inspection.file_problems(expand(study()), Inputs(tmp_path)) == []
