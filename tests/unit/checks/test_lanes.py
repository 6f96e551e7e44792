"""Checks use both cores: two at a time, each heard as a whole, and what depends on time alone, after all others."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from scripts.checks import command, lanes, lint, suites, verdict
from scripts.checks.lanes import Ended, Job
from tests.support.studies import ROOT

PATIENCE_S = 60


def noting(seen: list[str], name: str) -> Callable[[], None]:
    return lambda: seen.append(name)


def nothing() -> None:
    pass


def test_two_jobs_are_carried_out_at_once() -> None:
    meet = threading.Barrier(2)
    jobs = [Job(name, lambda: meet.wait(PATIENCE_S)) for name in ("one", "two")]
    assert sorted(one.result for one in lanes.carry_out(jobs)) == [0, 1]


def test_two_jobs_of_a_tool_wait_for_each_other_and_another_goes_before_the_one_that_waits() -> None:
    other, seen = threading.Event(), list[str]()

    def first() -> None:
        assert other.wait(PATIENCE_S), "the job of no tool has to begin meanwhile"
        seen.append("first")

    jobs = [Job("a", first, "cargo"), Job("b", noting(seen, "second"), "cargo"), Job("c", other.set)]
    assert [one.name for one in lanes.carry_out(jobs)] == ["a", "b", "c"]
    assert seen == ["first", "second"]


def test_what_runs_alone_comes_after_all_others_wherever_it_is_listed() -> None:
    seen: list[str] = []
    alone = [Job(name, noting(seen, name), alone=True) for name in ("x", "y")]
    others = [Job(name, noting(seen, name)) for name in ("a", "b", "c")]
    ended = lanes.carry_out([alone[0], *others, alone[1]])
    assert [one.name for one in ended] == ["x", "a", "b", "c", "y"]
    assert sorted(seen[:3]) == ["a", "b", "c"]
    assert seen[3:] == ["x", "y"]


def test_two_jobs_at_once_are_heard_one_after_the_other(capfd: pytest.CaptureFixture[str]) -> None:
    meet = threading.Barrier(2)

    def says(name: str) -> Callable[[], None]:
        def work() -> None:
            command.run(["sh", "-c", f"echo {name} out; echo {name} err >&2"], ".")
            meet.wait(PATIENCE_S)
            command.tell(f"{name} again\n")

        return work

    lanes.carry_out([Job(name, says(name)) for name in ("one", "two")])
    printed = capfd.readouterr()
    assert printed.err == ""
    for name in ("one", "two"):
        (_, _, said) = printed.out.partition(f"== {name} (")
        assert sorted(said.splitlines()[1:3]) == [f"{name} err", f"{name} out"]
        assert said.splitlines()[3] == f"{name} again"


def test_what_runs_alone_is_heard_at_once_and_what_went_wrong_with_a_check_itself_is_raised() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    seen: list[str] = []
    with pytest.raises(ZeroDivisionError):
        lanes.carry_out([Job("broken", broken), Job("other", noting(seen, "other"))])
    assert seen == ["other"], "the other lane goes on"


BURN = "import time\nwhile time.process_time() < 0.3: pass"


def test_a_job_is_told_with_its_time_and_the_cpu_time_of_its_commands() -> None:
    (ended,) = lanes.carry_out([Job("burns", lambda: command.run([sys.executable, "-c", BURN], "."))])
    assert ended.result == (0, "")
    assert ended.cpu_s >= 0.3
    assert str(Ended("mypy", True, 61.4, 58.6)) == "mypy (61 s, 59 s of CPU time)"


def test_the_jobs_that_took_longest_are_named_the_longest_first() -> None:
    ended = [Ended(f"job {n}", True, float(n), n / 2) for n in range(25)]
    lines = list(verdict.longest(ended))
    assert len(lines) == 20
    assert lines[0] == "longest:     24 s     12 s of CPU time  job 24"


def test_a_command_that_is_not_there_is_named_where_its_job_speaks(capfd: pytest.CaptureFixture[str]) -> None:
    (ended,) = lanes.carry_out([Job("absent", lambda: command.run(["no-such-tool"], "."))])
    assert ended.result == (127, "")
    assert "no-such-tool is not installed; type `make setup-test`" in capfd.readouterr().out


CHECKS = """
import signal, sys
from scripts.checks import __main__ as checks, command
from scripts.checks.steps import Step
from scripts.checks.suites import Suite
command.GRACE_S = command.END_S = 0.2
signal.signal(signal.SIGTERM, signal.default_int_handler)
words = sys.argv[1:]
never = Suite("never", lambda _: open("begun", "w") and ([], 0), alone=True)
sys.exit(checks.carry_out([Step("quick", ".", "false"), Step("endless", ".", " ".join(words))], [never]))
"""
ENDLESS = """\
trap '' INT
sleep 600 &
echo $! > pid
wait
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_what_is_interrupted_leaves_no_command_behind_and_says_what_had_failed_and_what_did_not_end(
    how: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "endless.sh").write_text(ENDLESS)
    words = [sys.executable, "-c", CHECKS, "sh", "endless.sh"]
    with subprocess.Popen(
        words, cwd=tmp_path, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "PATH": "/usr/bin:/bin"},
        stdout=-1, stderr=-1, text=True, start_new_session=True,
    ) as checks:  # fmt: skip
        assert checks.stdout is not None
        while "== quick" not in (line := checks.stdout.readline()):
            assert line, checks.communicate()
        pid = _read(tmp_path / "pid")
        checks.send_signal(how)
        _, err = checks.communicate(timeout=PATIENCE_S)
    assert checks.returncode == 130
    assert err.splitlines()[1:] == [
        "quick failed",
        "endless did not end: all was interrupted",
        "never did not end: all was interrupted",
    ]
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert not (tmp_path / "begun").exists()


def _read(path: Path) -> int:
    """The number that a process writes as soon as it runs."""
    for _ in range(PATIENCE_S * 50):
        if path.exists() and (text := path.read_text().strip()):
            return int(text)
        threading.Event().wait(0.02)
    raise AssertionError(f"{path} is not written")


def test_every_job_has_a_name_of_its_own() -> None:
    steps = [*suites.BUILDS, *lint.SLOW, *lint.QUICK]
    names = [one.name for one in (*steps, *suites.ALL)]
    assert len(names) == len({*names})


def test_commands_that_lock_the_same_folders_are_of_one_tool() -> None:
    tools = {one.name: one.tool for one in (*suites.BUILDS, *lint.SLOW, *suites.ALL) if one.tool}
    assert {tools[name] for name in ("clippy", "clippy, clients", "cargo test, pure")} == {"cargo"}
    assert tools["google-java-format, apps/shop"] == tools["maven, shop"] == "mvn"
    assert "cargo fmt" not in tools, "it locks nothing"
