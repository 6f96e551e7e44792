"""MariaDB of the lab lets in its own user alone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import pytest

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.mariadb import MariaDB
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.software import debian


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SplitResult, Path]]:
    folder = tmp_path_factory.mktemp("mariadb")
    with LocalHost(folder) as host:
        host.launch([MariaDB().describe("mariadb", ComponentRegistry())])
        yield urlsplit(host.running["mariadb"].url), folder / "mariadb"


def requested(*login: str) -> subprocess.CompletedProcess[str]:
    command = [debian.program("mariadb"), "--no-defaults", *login, "-e", "SELECT 1"]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def over_tcp(url: SplitResult, user: str | None, password: str | None) -> subprocess.CompletedProcess[str]:
    return requested("--protocol=tcp", "-h127.0.0.1", f"-P{url.port}", f"-u{user}", f"--password={password}")


def test_its_own_user_logs_in_with_the_password_of_its_url(running: tuple[SplitResult, Path]) -> None:
    url, _ = running
    assert over_tcp(url, url.username, url.password).returncode == 0


@pytest.mark.parametrize(("user", "password"), [("root", ""), ("patternbench", "patternbench"), ("", "")])
def test_no_one_else_logs_in(user: str, password: str, running: tuple[SplitResult, Path]) -> None:
    url, folder = running
    for refused in (
        over_tcp(url, user, password),
        requested(f"--socket={folder / 'm.sock'}", f"-u{user}", "-p" + password),
    ):
        assert refused.returncode == 1
        assert "ERROR" in refused.stderr


def test_its_folder_with_socket_and_password_is_the_callers_alone(running: tuple[SplitResult, Path]) -> None:
    _, folder = running
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "m.sock").is_socket()
