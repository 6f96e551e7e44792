"""What the flags of ``load`` refuse before the engine is asked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from patternbench import interrupts
from patternbench.cli.load import held, load
from patternbench.terms.problems import InputError


@pytest.mark.parametrize("rate", ["1e309", "inf", "nan", "-inf", "fast"])
def test_a_rate_that_is_no_finite_number_is_refused(rate: str) -> None:
    done = CliRunner().invoke(load, ["http://127.0.0.1:1", f"--rate={rate}"])
    assert done.exit_code == 2
    assert f"'{rate}' is not a rate; write for example 500 or 120/m" in " ".join(done.output.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_ctrl_c_or_sigterm_keeps_the_results_and_the_second_ends_the_command(number: signal.Signals) -> None:
    stopped: list[str] = []
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        interrupts.on_first(lambda: stopped.append("stopped"))
        signal.raise_signal(number)
        assert stopped == ["stopped"]
        for second in before:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(second)
    finally:
        interrupts.taken()
        for one, handler in before.items():
            signal.signal(one, handler)


@pytest.mark.parametrize("flag", ["--body=@{}", "--ca={}"])
def test_a_pipe_is_refused_where_a_file_is_needed(flag: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe, a socket or a device; a file is needed"):
        CliRunner().invoke(load, ["http://127.0.0.1:1", flag.format(tmp_path / "pipe")], catch_exceptions=False)


@pytest.mark.parametrize("flag", ["--trust-cluster", "--send-package"])
def test_a_flag_that_only_a_cluster_can_have_is_refused_without_one(flag: str) -> None:
    with pytest.raises(InputError, match=f"{flag} says nothing without --on"):
        CliRunner().invoke(load, ["http://127.0.0.1:1", flag], catch_exceptions=False)


def test_a_folder_that_another_command_writes_to_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with held(out):
        assert not [*out.iterdir()]
        with pytest.raises(InputError, match="another command is writing there"), held(out):
            pass
    with held(out):
        (out / "summary.json").touch()
    with pytest.raises(InputError, match="is already there, and not empty"), held(out):
        pass
