"""Ctrl-C ends a run soon, whatever it waits for: no wait of its own is as long as what it waits for."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.run.conftest import command, left_behind

PATIENCE_S = 60.0
"""What each of these runs waits for takes this long or longer."""
SOON_S = 2.0 + 1.0 + 5.0
"""A wait ends within 2 s and components within their second of grace; the rest is for a busy machine."""
SYSTEM = """\
patternbench-system: 1
name: own
about: a service that never gets far
components:
  - process:
      name: shop
      command: {command}
      {more}
      within: 120s
      stop: {{signal: SIGTERM, grace: 1s}}
endpoint: shop
"""
STUDY = """\
patternbench: 1
name: long
system: {system}
rounds: 1
warm_up: {warm_up}
time_limit: 5m
workload: {{open: {{rate: 20, duration: 60s}}, request: {{path: {path}}}}}
strategies:
  - {{client: native, baseline: {{}}}}
"""
SERVE = 'python3 -u -c \'print(1); import http.server as s; s.test(port=int("${self.port.http}"), bind="127.0.0.1")\''


def own(folder: Path, command_line: str, more: str = "ready: {log: never}", warm_up: str = "0ms") -> str:
    (folder / "systems").mkdir()
    (folder / "systems" / "own.yaml").write_text(SYSTEM.format(command=command_line, more=more))
    return STUDY.format(system="{name: own}", warm_up=warm_up, path="/")


@pytest.fixture
def silent() -> Iterator[tuple[str, list[socket.socket]]]:
    """A server that takes connections and a request, and says nothing; its URL, and what it holds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", held
        for one in held:
            one.close()


def starting(folder: Path) -> tuple[str, str]:
    return own(folder, "sh -c 'echo begun; exec sleep 600'"), "begun"


def preparing(folder: Path) -> tuple[str, str]:
    more = "prepare: [[sh, -c, 'echo begun; exec sleep 600']]"
    return own(folder, "sleep 600", more), "begun"


def preparing_deaf(folder: Path) -> tuple[str, str]:
    more = "prepare: [[sh, -c, \"trap '' TERM INT; echo begun; while :; do sleep 1; done\"]]"
    return own(folder, "sleep 600", more), "begun"


def probing(folder: Path) -> tuple[str, str]:
    line = 'python3 -u -c \'print("begun"); import socket, os, time; s = socket.create_server(("127.0.0.1", '
    line += 'int(os.environ["PORT"]))); time.sleep(600)\''
    return own(folder, line, "ready: {path: /}"), "begun"


def warming(folder: Path) -> tuple[str, str]:
    return own(folder, SERVE, "ready: {path: /}", "60s"), "GET"


def measuring(folder: Path) -> tuple[str, str]:
    return own(folder, SERVE, "ready: {path: /}"), "GET"


ONCE = """\
if [ -e was ]; then echo again; exec sleep 600; fi
touch was
exec python3 -u -m http.server "$PORT" --bind 127.0.0.1
"""
"""A service that comes up once, and never again."""


def restarting(folder: Path) -> tuple[str, str]:
    (folder / "once.sh").write_text(ONCE)
    fault = "faults: [{crash: {}, where: shop, when: {from: 1s, for: 500ms}}]\n"
    return own(folder, f"sh {folder / 'once.sh'}", "ready: {path: /}") + fault, "again"


@pytest.mark.parametrize("phase", [starting, preparing, preparing_deaf, probing, warming, measuring, restarting])
def test_ctrl_c_ends_a_run_soon_while_it_is(phase: Callable[[Path], tuple[str, str]], tmp_path: Path) -> None:
    text, sign = phase(tmp_path)
    (tmp_path / "study.yaml").write_text(text)
    log = tmp_path / "run" / "logs" / "shop.log"
    run = begun(tmp_path)
    await_(lambda: log.exists() and sign in log.read_text(errors="replace"), run)
    time.sleep(0.5)
    assert interrupted(run) < SOON_S
    assert not left_behind(str(tmp_path))


DROPS_THE_FIRST = """
import select
real, dropped = select.select, []
def waiting(*given):
    try:
        return real(*given)
    except KeyboardInterrupt:
        if dropped:
            raise
    dropped.append(True)
    return real(*given)
select.select = waiting
from patternbench.cli.main import main
main()
"""
"""The command line, where what waits for the load engine drops the first interrupt, as a callback from C does."""


@pytest.mark.parametrize("phase", [warming, measuring])
def test_a_first_ctrl_c_that_is_dropped_ends_a_run_all_the_same_while_it_is(
    phase: Callable[[Path], tuple[str, str]], tmp_path: Path
) -> None:
    text, sign = phase(tmp_path)
    (tmp_path / "study.yaml").write_text(text)
    log = tmp_path / "run" / "logs" / "shop.log"
    line = [sys.executable, "-c", DROPS_THE_FIRST, "run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "run")]
    run = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    await_(lambda: log.exists() and sign in log.read_text(errors="replace"), run)
    time.sleep(0.5)
    assert interrupted(run) < SOON_S
    assert not left_behind(str(tmp_path))


def test_ctrl_c_ends_the_question_whether_a_running_system_answers(
    silent: tuple[str, list[socket.socket]], tmp_path: Path
) -> None:
    url, held = silent
    (tmp_path / "study.yaml").write_text(STUDY.format(system=f"{{url: '{url}'}}", warm_up="0ms", path="/"))
    run = begun(tmp_path)
    await_(lambda: bool(held), run)
    assert interrupted(run) < SOON_S


def test_ctrl_c_ends_up_while_a_component_is_still_starting(tmp_path: Path) -> None:
    own(tmp_path, "sh -c 'echo begun; exec sleep 600'")
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    up = subprocess.Popen(
        command("up", "own"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, cwd=tmp_path
    )
    await_(lambda: any("sleep 600" in line for line in left_behind(str(tmp_path))), up)
    assert interrupted(up) < SOON_S
    assert not left_behind(str(tmp_path))


def begun(folder: Path) -> subprocess.Popen[str]:
    line = command("run", str(folder / "study.yaml"), "--out", str(folder / "run"))
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ})


def await_(reached: Callable[[], bool], run: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        if run.poll() is not None or time.monotonic() > deadline:
            run.kill()
            pytest.fail(f"it never came so far: {run.communicate()[0]}")
        time.sleep(0.05)


def interrupted(run: subprocess.Popen[str]) -> float:
    """Seconds from Ctrl-C to the end of a run."""
    requested = time.monotonic()
    run.send_signal(signal.SIGINT)
    try:
        message, _ = run.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        run.kill()
        pytest.fail("Ctrl-C did not end it")
    took = time.monotonic() - requested
    print(f"took {took:.1f} s")
    assert "Traceback" not in message
    return took
