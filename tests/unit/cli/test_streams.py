"""How a command ends whose output no one takes: in words, with an exit code, and no traceback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "patternbench"]
PRINTING = (["--help"], ["schema"])


def ended(arguments: list[str], folder: Path, redirection: str) -> subprocess.CompletedProcess[str]:
    shell = ["bash", "-c", f'"$@" {redirection}', "bash", *COMMAND, *arguments]
    return subprocess.run(shell, cwd=folder, text=True, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("arguments", PRINTING)
def test_a_full_place_for_output_is_one_sentence_that_says_what_is_lost(arguments: list[str], tmp_path: Path) -> None:
    done = ended(arguments, tmp_path, ">/dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith("error: standard output: what this command prints is lost: No space left on device")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", PRINTING)
def test_a_closed_output_changes_nothing_but_what_is_printed(arguments: list[str], tmp_path: Path) -> None:
    done = ended(arguments, tmp_path, ">&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_goes_away_ends_a_command_as_sigpipe_does() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run([*COMMAND, "schema"], stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)
    assert (run.returncode, run.stderr) == (141, b"")


def test_where_errors_cannot_be_printed_either_the_exit_code_stays(tmp_path: Path) -> None:
    assert ended(["plan", "none.yaml"], tmp_path, ">/dev/full 2>&1").returncode == 2


def test_an_interrupt_during_the_imports_shows_no_traceback() -> None:
    # The first import sends the signal, so the moment is certain on a machine of any speed.
    code = "import os, signal, sys, types, patternbench.command as command\n"
    code += "interrupt = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
    code += "sys.meta_path.insert(0, types.SimpleNamespace(find_spec=interrupt)); command.main()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (-signal.SIGINT, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_and_a_terminal_that_is_closed_end_a_command_as_ctrl_c_does_and_soon(number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        line = [*COMMAND, "capacity", f"http://127.0.0.1:{server.getsockname()[1]}/", "--objective", "p95<=1s"]
        run = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with server.accept()[0]:  # it asks, and waits for an answer that never comes
            run.send_signal(number)
            _, errors = run.communicate(timeout=10)
    assert (run.returncode, errors.strip()) == (130, "interrupted")


def test_a_warning_of_a_library_is_not_printed() -> None:
    code = "import sys, types, warnings, patternbench.command as command\n"
    code += "warn = lambda *_: warnings.warn('overflow', RuntimeWarning)\n"
    code += (
        "sys.meta_path.insert(0, types.SimpleNamespace(find_spec=warn)); sys.argv[1:] = ['--version']; command.main()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_an_interrupt_while_a_command_ends_because_of_the_first_shows_no_traceback() -> None:
    code = "import patternbench.cli.main as cli, patternbench.command as command\n"
    code += "def interrupted_again(): raise KeyboardInterrupt\n"
    code += "cli.main = interrupted_again; command.main()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (130, "")
