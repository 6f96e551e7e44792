"""What the commands that start something print with ``--json`` fits their schemas."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.run.conftest import TINY, command, patternbench
from tests.support.answers_of_commands import LIVE, fits
from tests.support.studies import ROOT
from tests.support.targets import target_up

STUDY = TINY.replace("rounds: 3", "rounds: 1").replace("users: [2, 4]", "users: 2").replace("[0, 50]", "0")
RULES = ROOT / "filters" / "nginx-ratelimit" / "examples"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with target_up(tmp_path_factory.mktemp("target"), "--service-time", "fixed:2ms") as url:
        yield url


def done(*words: object, codes: tuple[int, ...] = (0,)) -> str:
    ended = patternbench(*map(str, words))
    assert ended.returncode in codes, ended.stderr
    return ended.stdout


def first_line(*words: object) -> str:
    """What a command that stays prints first; it is ended as by Ctrl-C."""
    with subprocess.Popen(command(*map(str, words)), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline()]
            process.send_signal(signal.SIGINT)
            lines += process.stdout.readlines()
        finally:
            process.kill()
    return "".join(lines)


def of_run(_: str, place: Path) -> str:
    (place / "study.yaml").write_text(STUDY, encoding="utf-8")
    return done("run", place / "study.yaml", "--out", place / "run", "--json")


def of_load(url: str, _: Path) -> str:
    return done("load", f"{url}/bytes/10", "--users", 2, "--duration", "300ms", "--json")


def of_try(_: str, place: Path) -> str:
    (place / "study.yaml").write_text(STUDY, encoding="utf-8")
    return done("try", place / "study.yaml", "--json")


def of_up(_: str, __: Path) -> str:
    return first_line("up", "target", "--json")


def of_watch(_: str, place: Path) -> str:
    (place / "runs").mkdir()
    return first_line("watch", place / "runs", "--port", "0", "--json")


def of_test_limits(_: str, place: Path) -> str:
    requests = place / "requests.csv"
    requests.write_text("path,header:X-Api-Key,repeat,expect\n/cart,ann,101,allowed\n", encoding="utf-8")
    return done("test-limits", RULES / "plan.json", requests, "--json", codes=(0, 1))


def of_simulate_limits(_: str, __: Path) -> str:
    return done("simulate-limits", "--json", "--algorithm", "fixed_window", "--balancers", "2", "--duration", "1m")


CASES: dict[str, Callable[[str, Path], str]] = {
    "run": of_run,
    "load": of_load,
    "try": of_try,
    "up": of_up,
    "watch": of_watch,
    "test-limits": of_test_limits,
    "simulate-limits": of_simulate_limits,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_a_command_that_starts_something_prints_fits_its_schema(name: str, url: str, tmp_path: Path) -> None:
    fits(name, CASES[name](url, tmp_path))


def test_every_command_that_starts_something_is_here() -> None:
    assert sorted(CASES) == sorted(LIVE)
