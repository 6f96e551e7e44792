"""Debian's packages are installed without starting their services, and the guard for that goes whatever happens."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from patternbench.lab.software import debian, installing
from patternbench.lab.software.needs import Need
from patternbench.terms.problems import InputError

Apt = Callable[[str], None]
TOOLS = Path(__file__).resolve().parents[3] / "scripts" / "install-test-tools"


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the guard is put in these tests."""
    path = tmp_path / "policy-rc.d"
    monkeypatch.setenv("POLICY_RC_D", str(path))
    return path


@pytest.fixture
def apt(tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> Apt:
    """Puts a stand-in apt-get on PATH that keeps what it was asked and what the guard said then."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def stand_in(ending: str) -> None:
        text = f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n{policy} nginx start\necho $? >>{tmp_path}/guard\n{ending}\n'
        (programs / "apt-get").write_text(text)
        (programs / "apt-get").chmod(0o755)

    return stand_in


def test_no_service_is_started_while_packages_are_installed(apt: Apt, policy: Path, tmp_path: Path) -> None:
    apt("exit 0")
    installing.install([debian.need("redis", False, "redis-server", "redis-tools")])
    assert (tmp_path / "asked").read_text() == "install -y -qq --no-install-recommends redis-server redis-tools\n"
    assert (tmp_path / "guard").read_text() == "101\n", "101 forbids to start a service"
    assert not policy.exists()


def test_the_guard_goes_when_the_installation_fails(apt: Apt, policy: Path) -> None:
    apt("exit 100")
    with pytest.raises(InputError, match="ended with code 100"):
        installing.install([debian.need("redis", False, "redis-server")])
    assert not policy.exists()


def test_an_installation_whose_program_is_missing_is_an_error_that_names_it() -> None:
    build = Need("crdt-sidecar", None, "install Go", (("/no/such/go", "build"),))
    with pytest.raises(InputError, match=r"cannot be run: No such file.*/no/such/go build"):
        installing.install([build])


def test_what_cannot_be_installed_keeps_nothing_else_from_it_and_all_that_failed_is_reported(tmp_path: Path) -> None:
    made = tmp_path / "made"
    commands = [(("/no/such/go", "build"),), (("touch", str(made)),), (("false",), ("false", "then"))]
    with pytest.raises(InputError) as failed:
        installing.install([Need("part", None, "install it", of_one) for of_one in commands])
    assert made.exists()
    assert [problem.value for problem in failed.value.problems] == ["/no/such/go build", "false"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_guard_goes_when_the_installation_is_interrupted(apt: Apt, policy: Path, number: signal.Signals) -> None:
    apt(f"kill -{number.value} $PPID; exit 1")
    # A test run in the background ignores SIGINT, and a shell can't catch what it was started to ignore.
    command = ["env", "--default-signal", *debian.need("redis", False, "redis-server").install[0]]
    assert subprocess.run(command, check=False).returncode == 128 + number
    assert not policy.exists()


def test_a_guard_that_was_there_before_stays_as_it_was(apt: Apt, policy: Path) -> None:
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o700)
    apt("exit 0")
    installing.install([debian.need("redis", False, "redis-server")])
    assert policy.read_text() == "#!/bin/sh\nexit 101\n"
    assert stat.S_IMODE(policy.stat().st_mode) == 0o700


def test_a_guard_that_a_killed_installation_left_goes_with_the_next(apt: Apt, policy: Path) -> None:
    apt("kill -9 $PPID")
    subprocess.run(debian.need("redis", False, "redis-server").install[0], check=False)
    assert policy.exists()
    apt("exit 0")
    installing.install([debian.need("redis", False, "redis-server")])
    assert not policy.exists()


def test_where_the_guard_cannot_be_put_nothing_is_installed(apt: Apt, tmp_path: Path) -> None:
    apt("exit 0")
    environment = {**os.environ, "POLICY_RC_D": str(tmp_path / "nowhere" / "policy-rc.d")}
    done = subprocess.run(debian.need("redis", False, "redis-server").install[0], check=False, env=environment)
    assert done.returncode != 0
    assert not (tmp_path / "asked").exists()


def test_lists_of_packages_are_fetched_only_when_a_package_is_not_known(apt: Apt, tmp_path: Path) -> None:
    apt(f"[ -e {tmp_path}/fetched ] && exit 0\ncase $1 in update) touch {tmp_path}/fetched ;; *) exit 100 ;; esac")
    installing.install([debian.need("redis", False, "redis-server")])
    assert [line.split()[0] for line in (tmp_path / "asked").read_text().splitlines()] == [
        "install",
        "update",
        "install",
    ]


def test_the_tools_of_the_tests_are_installed_under_the_same_guard(apt: Apt, policy: Path, tmp_path: Path) -> None:
    apt("exit 100")
    # A PATH without the tools, but with what the script itself calls.
    for name in ("sh", "bash", "dirname", "id", "chmod", "grep", "rm", "env"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    (tmp_path / "bin" / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (tmp_path / "bin" / "sudo").chmod(0o755)
    environment = {**os.environ, "PATH": str(tmp_path / "bin")}
    done = subprocess.run(["bash", TOOLS], check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 100, done.stderr
    requested = (tmp_path / "asked").read_text()
    assert {"hey", "wrk", "chromium"} <= set(requested.split())
    assert (tmp_path / "guard").read_text().split()[0] == "101"
    assert not policy.exists()
