"""Each command of the guide does what the guide says, on a service in JavaScript."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.support.studies import ROOT

PAGE = (ROOT / "docs/find-the-right-retry.md").read_text()
ADDRESS, NEWER = "http://127.0.0.1:8080", "http://127.0.0.1:8081"
CODES_OF_A_GATE = (0, 1, 3)
"""What a gate between two copies of one version ends with; five times in a hundred it fails one."""
PATIENCE_S = 20.0
pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with shop(tmp_path_factory.mktemp("shop")) as address:
        yield address


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a second copy of the shop, the version to be released."""
    with shop(tmp_path_factory.mktemp("newer")) as address:
        yield address


@contextmanager
def shop(folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["node", str(ROOT / "tests/data/node-shop/shop.js")]
    process = subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, cwd=folder)
    try:
        await_answer(f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def await_answer(url: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            httpx.get(url).raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.05)
    raise AssertionError(f"{url} does not answer")


def commands() -> list[str]:
    """The commands of the page's blocks without a language, in their order."""
    return [line for language, block in blocks() if not language for line in block.splitlines()]


def blocks() -> list[tuple[str, str]]:
    """The blocks of the page with their languages."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S)


def test_the_guide_leads_from_a_url_to_a_recommendation_and_a_gate(url: str, newer: str, tmp_path: Path) -> None:
    """As it is written, but for the ports, and with 3 rounds of half a second instead of 9 of five."""
    message: dict[tuple[str, bool], str] = {}
    for command in commands():
        of_both = "both" in command
        if command.startswith("patternbench run both.yaml"):
            give_two_addresses(tmp_path, url, newer)
        here = command.replace(ADDRESS, url).replace(NEWER, newer)
        message[command.split()[1], of_both] = done(here, tmp_path, CODES_OF_A_GATE if "--fail-if" in here else (0,))
        if command.startswith("patternbench init"):
            study = tmp_path / "retry.yaml"
            assert excerpt() in study.read_text(), "the page shows what init writes"
            short = study.read_text().replace("rounds: 9", "rounds: 3").replace("5s}", "500ms}")
            study.write_text(short.replace("warm_up: 1s", "warm_up: 100ms"))
    assert [verb for verb, of_both in message if not of_both] == ["init", "try", "plan", "run", "recommend", "compare"]
    assert [verb for verb, of_both in message if of_both] == ["run", "compare"]
    assert "200" in message["try", False]
    assert "10 scenarios x 3 rounds" in message["plan", False]
    assert (tmp_path / "runs/retry/report.html").is_file()
    assert "max_attempts" in message["recommend", False] or "retry" in message["recommend", False]
    assert "amplification" in message["compare", False]
    assert "call_success_p95 > +10%" in message["compare", True]


def give_two_addresses(folder: Path, old: str, new: str) -> None:
    """Copy the study as the page says, with the addresses that the page shows."""
    shown = f'url: ["{ADDRESS}", "{NEWER}"]'
    assert shown in PAGE
    study = (folder / "retry.yaml").read_text()
    both = study.replace(f'url: "{old}"', shown.replace(ADDRESS, old).replace(NEWER, new))
    assert both != study
    (folder / "both.yaml").write_text(both)


def excerpt() -> str:
    return next(block for language, block in blocks() if language == "yaml")


def done(command: str, folder: Path, codes: tuple[int, ...]) -> str:
    program, *words = shlex.split(command)
    assert program == "patternbench"
    reported = subprocess.run(
        [sys.executable, "-m", "patternbench", *words],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert reported.returncode in codes, f"{command}: {reported.stdout}\n{reported.stderr}"
    return reported.stdout + reported.stderr


def test_what_the_guide_computes_is_so() -> None:
    assert (round(0.2**2 * 100, 2), round(0.2**4 * 100, 2)) == (4.0, 0.16)
    assert "two attempts leave 4 % of calls, four leave 0.16 %" in PAGE
    assert shutil.which("node"), "the tests' tools are installed"
