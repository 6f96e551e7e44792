"""The packages for Debian 12: built alike wherever they are, installed into a root of their own, and serving there."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from ratelimit_fixture import FILTER, Component, eventually, free_port, listens, missing_programs, running

BUILD = FILTER.parent / "packaging" / "build.sh"
ESSENTIAL = ("dash", "coreutils", "base-files", "base-passwd", "libc-bin")
"""What a Debian system has and no package asks for: a shell and its programs, users, the loader's cache."""
LOADED = {"mod-http-ndk.conf": "10-ndk.conf", "mod-http-lua.conf": "50-lua.conf"}
SITE = """server {{
  listen 127.0.0.1:{port};
  location / {{
    access_by_lua_block {{ require("ratelimit").access() }}
    content_by_lua_block {{ ngx.say("ok") }}
  }}
}}
"""
RULES = """{{"version": 1, "stores": {{"beside": {{"kind": "crdt", "address": "127.0.0.1:{port}"}}}}, "limits": [
  {{"name": "l", "key": {{"from": "header", "name": "X-Api-Key"}}, "algorithm": "sliding_window_log", "limit": 3,
    "window": "1h", "store": "beside", "when_store_fails": "open"}}]}}
"""

pytestmark = pytest.mark.skipif(
    missing_programs("dpkg-deb", "chroot") != [] or os.geteuid() != 0, reason="roots are made by root only"
)


ENVIRONMENT = {
    **os.environ,
    "SOURCE_DATE_EPOCH": "1700000000",
    "PATH": f"{os.environ['PATH']}:/usr/local/go/bin:/usr/sbin:/sbin",
}


def build(script: Path, into: Path, mask: int = 0o022) -> list[Path]:
    done = subprocess.run(
        ["sh", str(script), str(into)], env=ENVIRONMENT, capture_output=True, text=True, check=False, umask=mask
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [Path(line) for line in done.stdout.split()]


@pytest.fixture(scope="module")
def packages(workshop: Path) -> list[Path]:
    return build(BUILD, workshop / "packages")


def test_the_same_sources_give_the_same_bytes(folder: Path, packages: list[Path]) -> None:
    copied = folder / "elsewhere" / "filters"
    shutil.copytree(FILTER.parent, copied)
    os.utime(copied / "nginx-ratelimit" / "README.md", (1, 1))
    again = build(copied / "packaging" / "build.sh", folder / "again", mask=0o077)
    assert [package.name for package in again] == [package.name for package in packages]
    for one, other in zip(packages, again, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_what_the_script_is_not_given_is_said(folder: Path) -> None:
    for words in ([], ["--fast"], ["one", str(folder)]):
        done = subprocess.run(["sh", str(BUILD), *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith("build.sh: ")


def requested(output: str, *packages: str) -> list[str]:
    """What dpkg says of packages, a line each."""
    command = ["dpkg-query", "-W", f"-f={output}\\n", *packages]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def needed(packages: list[Path]) -> list[str]:
    """The installed packages that some packages need, and those that these need."""
    depends, provided = dict[str, str](), dict[str, str]()
    for line in requested("${Package}\t${Pre-Depends}, ${Depends}\t${Provides}"):
        name, expected, provides = line.split("\t")
        depends[name] = expected
        provided |= dict.fromkeys(names(provides), name)
    control = [subprocess.check_output(["dpkg-deb", "-f", str(path), "Depends"], text=True) for path in packages]
    waiting, taken = [*ESSENTIAL, *(first for text in control for first in alternatives(text, depends, provided))], []
    while waiting:
        name = waiting.pop()
        if name not in taken:
            taken.append(name)
            waiting += alternatives(depends[name], depends, provided)
    return taken


def names(text: str) -> list[str]:
    return [word.strip().split(" ")[0].split(":")[0] for word in text.split(",") if word.strip()]


def alternatives(text: str, depends: dict[str, str], provided: dict[str, str]) -> list[str]:
    """Of each dependency the first alternative that is installed."""
    chosen = []
    for expected in text.split(","):
        options = [name for option in expected.split("|") for name in names(option)]
        installed = [name if name in depends else provided.get(name, "") for name in options]
        installed = [name for name in installed if name]
        assert installed or not options, f"none of {options} is installed"
        chosen += installed[:1]
    return chosen


def copy_in(root: Path, packages: list[str]) -> None:
    """Copy the files of installed packages, and what dpkg knows of them."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    files = subprocess.check_output(["dpkg", "-L", *packages], text=True).splitlines()
    expected = "\n".join(sorted({file[1:] for file in files if file.startswith("/") and os.path.lexists(file)} - {""}))
    skipped = ["--exclude=usr/share/doc", "--exclude=usr/share/man", "--exclude=usr/share/locale"]
    pack = ["tar", "-C", "/", "--no-recursion", *skipped, "-T", "-", "-cf", str(root / "files.tar")]
    subprocess.run(pack, input=expected, text=True, check=True, capture_output=True)
    subprocess.run(["tar", "-C", str(root), "--keep-directory-symlink", "-xf", str(root / "files.tar")], check=True)
    (root / "files.tar").unlink()
    database = root / "var/lib/dpkg"
    for name in ("info", "updates"):
        (database / name).mkdir(parents=True, exist_ok=True)
    known = subprocess.check_output(["dpkg-query", "-s", *packages], text=True)
    (database / "status").write_text(known, encoding="utf-8")
    for name in packages:
        for file in Path("/var/lib/dpkg/info").glob(f"{name}*.list"):
            shutil.copy(file, database / "info")


def devices(root: Path) -> None:
    (root / "dev").mkdir(exist_ok=True)
    for name, minor in (("null", 3), ("zero", 5), ("urandom", 9)):
        os.mknod(root / "dev" / name, 0o666 | 0o020000, os.makedev(1, minor))


@pytest.fixture(scope="module")
def root(workshop: Path, packages: list[Path]) -> Iterator[Path]:
    """A root that holds what the packages depend on, and nothing else; the packages installed into it by dpkg."""
    root = workshop / "root"
    root.mkdir()
    copy_in(root, needed(packages))
    devices(root)
    shutil.copy(root / "usr/share/base-passwd/passwd.master", root / "etc/passwd")
    shutil.copy(root / "usr/share/base-passwd/group.master", root / "etc/group")
    for name in ("run", "tmp", "etc/nginx/modules-enabled", "etc/nginx/sites-enabled", "var/log/nginx"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for available, enabled in LOADED.items():  # what the maintainer scripts of the modules do
        link = root / "etc/nginx/modules-enabled" / enabled
        link.symlink_to(f"/usr/share/nginx/modules-available/{available}")
    dpkg(root, "--install", *map(str, packages))
    yield root
    shutil.rmtree(root)


def dpkg(root: Path, *words: str) -> str:
    environment = {**ENVIRONMENT, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["dpkg", f"--root={root}", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def within(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["chroot", str(root), *command], capture_output=True, text=True, check=False)


def test_what_is_installed_serves_and_limits_by_the_sidecar_next_to_it(root: Path, folder: Path) -> None:
    port, metrics, state, gossip = (free_port() for _ in range(4))
    config = root / "etc/nginx/conf.d/ratelimit.conf"
    config.write_text(config.read_text().replace("127.0.0.1:9145", f"127.0.0.1:{metrics}"))
    (root / "etc/nginx/sites-enabled/site").write_text(SITE.format(port=port))
    (root / "etc/nginx-ratelimit/plan.json").write_text(RULES.format(port=state))
    assert within(root, "/usr/sbin/nginx", "-t").returncode == 0, within(root, "/usr/sbin/nginx", "-t").stderr
    chroot = ["chroot", str(root)]
    listen = ["-listen", f"127.0.0.1:{state}", "-gossip", f"127.0.0.1:{gossip}"]
    sidecar = Started([*chroot, "/usr/bin/crdt-sidecar", *listen], folder / "sidecar.log", state)
    nginx = Started([*chroot, "/usr/sbin/nginx", "-g", "daemon off;"], folder / "nginx.log", port)
    with running(sidecar, nginx):
        ask = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"X-Api-Key": "ann"})
        assert [ask.get("/").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
        eventually(lambda: "ratelimit_decisions_total" in httpx.get(f"http://127.0.0.1:{metrics}/metrics").text)
        assert "Hot keys" in httpx.get(f"http://127.0.0.1:{metrics}/").text


class Started(Component):
    """A process that listens on a port once it has started."""

    def __init__(self, command: list[str], log: Path, port: int) -> None:
        super().__init__(command, log)
        self.port = port

    def start(self) -> None:
        self.launch()
        eventually(lambda: listens(self.port))


def test_the_installed_command_tests_rules_with_requests(root: Path) -> None:
    examples = "/usr/share/doc/nginx-ratelimit/examples"
    done = within(root, "/usr/bin/ratelimit", "test", f"{examples}/plan.json", f"{examples}/requests.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lines as expected, 0 not" in done.stdout


def test_the_installed_sidecar_says_its_version_and_carries_its_licences(root: Path) -> None:
    done = within(root, "/usr/bin/crdt-sidecar", "--version")
    assert re.fullmatch(r"crdt-sidecar \d+\.\d+\.\d+\n", done.stderr)
    licences = (root / "usr/share/doc/crdt-sidecar/copyright").read_text()
    assert "github.com/hashicorp/memberlist" in licences
    assert "Mozilla Public License" in licences


def test_an_upgrade_keeps_the_rules_and_a_removal_leaves_nothing_else(
    root: Path, folder: Path, packages: list[Path]
) -> None:
    rules = root / "etc/nginx-ratelimit/plan.json"
    rules.write_text('{"version": 1, "limits": []}', encoding="utf-8")
    dpkg(root, "--install", *map(str, packages))
    assert rules.read_text(encoding="utf-8") == '{"version": 1, "limits": []}'
    dpkg(root, "--remove", "nginx-ratelimit", "crdt-sidecar")
    assert not (root / "usr/share/nginx-ratelimit").exists()
    assert not (root / "usr/bin/crdt-sidecar").exists()
    assert rules.exists()
    dpkg(root, "--purge", "nginx-ratelimit", "crdt-sidecar")
    assert not rules.exists()


@pytest.mark.skipif(missing_programs("systemd-analyze") != [], reason="install systemd (apt-get install)")
def test_systemd_takes_the_unit_of_the_sidecar(folder: Path, packages: list[Path]) -> None:
    subprocess.run(["dpkg-deb", "-x", str(packages[1]), str(folder)], check=True)
    unit = folder / "lib/systemd/system/crdt-sidecar.service"
    unit.write_text(unit.read_text().replace("/usr/bin/", f"{folder}/usr/bin/"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "crdt-sidecar" not in done.stderr, done.stderr
