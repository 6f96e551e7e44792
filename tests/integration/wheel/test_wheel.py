"""The wheel, built and installed outside a checkout, is a whole patternbench."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[3]
LIMITER = {"algorithm": "token_bucket", "store": "crdt", "synchronisation": "per_request", "lease_holder": "worker"}
"""A limiter whose sidecar is built from the source that the wheel carries."""

MOST_OF_ENGINE, MOST_INSTALLED = 12e6, 650e6
"""Bytes; the latter of the wheel and all that it brings, without compiled Python: pyarrow, scipy, Envoy above all."""

WITHOUT_DOTNET = shutil.which("dotnet") is None
"""Whether Polly's client can't be built here: the SDK of .NET is not in Debian."""


def system_of(file: Path) -> str:
    """The system that a study measures."""
    system = YAML(typ="safe").load(file.read_text())["system"]
    return str(system if isinstance(system, str) else system["name"])


def is_carried(file: Path) -> bool:
    """Whether a study measures what the wheel carries; applications have to be built in a checkout."""
    return "../apps/" not in (ROOT / "systems" / f"{system_of(file)}.yaml").read_text()


STUDIES = sorted((ROOT / "studies").glob("*.yaml"), key=lambda file: file.stem)
CARRIED = [file.stem for file in STUDIES if is_carried(file)]
APPLICATIONS = {system_of(file): file.stem for file in reversed(STUDIES) if not is_carried(file)}
"""One study of each application."""
LEFT_OUT = ("design", "models", "recommend", "claims", "quick", "usage")
"""The parts on levels and stores that a shortened study hasn't."""
pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


IN_FORKS = """
import json, os, sys
import patternbench.cli.example, patternbench.cli.plan, patternbench.cli.run, patternbench.run.before.preflight
from patternbench.cli.main import main

for number, words in enumerate(json.load(sys.stdin)):
    if not os.fork():
        printed = os.open(f"printed-{number}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(printed, 1), os.dup2(printed, 2)
        main(words)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
"""Runs several commands, each in a fork of an interpreter that has loaded what they need."""


class Tool:
    """The installed command, run in a folder that is no checkout, with its own caches."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        home = folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        pip = [str(home / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-c", str(_constraints(folder)), str(wheel)], check=True)
        self.command = str(home / "bin/patternbench")

    def __call__(self, *words: str, code: int = 0) -> str:
        done = self._run([self.command, *words])
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def each(self, commands: Sequence[Sequence[str]], code: int = 0) -> list[str]:
        """Run several commands sooner than one by one, which would load the same modules each time."""
        done = self._run([str(Path(self.command).with_name("python")), "-c", IN_FORKS], json.dumps(commands))
        printed = [(self.folder / f"printed-{number}").read_text() for number in range(len(commands))]
        assert done.stdout.split() == [str(code)] * len(commands), f"{done.stdout}\n{done.stderr}\n{printed}"
        return printed

    def _run(self, command: Sequence[str], typed: str = "") -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
        environment |= {"XDG_CACHE_HOME": str(self.cache), "COLUMNS": "120"}
        return subprocess.run(
            command, cwd=self.folder, env=environment, input=typed, capture_output=True, text=True, check=False
        )


def _constraints(folder: Path) -> Path:
    """The versions of the lock file, without its hashes: what is installed is what was tested."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    file = folder / "constraints.txt"
    file.write_text("".join(f"{line.split(' ')[0]}\n" for line in lines if "==" in line and line[0].isalnum()))
    return file


@pytest.fixture(scope="module")
def tool(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Tool:
    return Tool(wheel, tmp_path_factory.mktemp("stranger"))


def test_the_wheel_has_a_platform_tag_that_package_indexes_take(wheel: Path) -> None:
    tag = wheel.stem.split("-", 3)[-1]
    assert tag.startswith("none-manylinux_2_") or tag.startswith("py3-none-manylinux_2_"), tag
    from build_wheel import platform_tag  # noqa: PLC0415  the build's own module, which only a checkout has

    assert tag.endswith(platform_tag(ROOT / "engine/target/release/patternbench-engine"))


def test_the_wheel_carries_sources_studies_and_the_licences_of_what_it_contains(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        notices = archive.read("patternbench/THIRD-PARTY-NOTICES.txt").decode()
    for inside in (
        "_filters/crdt-sidecar/main.go",
        "_filters/crdt-sidecar/go.sum",
        "_filters/nginx-ratelimit/nginx.conf.template",
        "_studies/quickstart.yaml",
        "_systems/target.yaml",
        "_contracts/client/vectors/backoff.json",
        "_clients/native/client.yaml",
        "_clients/resilience4j/target/patternbench-client-resilience4j.jar",
        "_agents/jvm-calls/target/patternbench-jvm-calls.jar",
        "_bin/patternbench-engine",
        "_scripts/vega.js",
    ):
        assert f"patternbench/{inside}" in names
    assert "parquet " in notices
    assert "Vega-Lite, Vega-Embed" in notices
    assert "patternbench-client-resilience4j.jar" in notices
    assert "Apache License" in notices
    assert len(names) == len(set(names))


def test_the_engine_in_the_wheel_is_small_and_has_no_symbols(wheel: Path) -> None:
    """With its symbols it was 47 MB, which every installation had to fetch."""
    with zipfile.ZipFile(wheel) as archive:
        engine = archive.read("patternbench/_bin/patternbench-engine")
    assert b".shstrtab" in engine
    assert b".symtab" not in engine
    assert len(engine) < MOST_OF_ENGINE


def test_what_an_installation_takes_is_known(tool: Tool) -> None:
    folder = next((tool.folder / "venv/lib").glob("python*/site-packages"))
    files = [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    assert sum(file.stat().st_size for file in files) < MOST_INSTALLED
    assert not (folder / "vl_convert").exists()


LISTED = re.compile(r"^\s+\(([^)]+)\).*? \(([\w.-]+:[\w.-]+):", re.MULTILINE)
"""A line of what Maven lists: a library's first licence, and its coordinates."""
PERMISSIVE = re.compile(r"Apache|MIT|BSD|CC0|Public Domain", re.IGNORECASE)


def test_every_jar_of_a_client_lists_libraries_with_permissive_licences(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        jars = {name: archive.read(name) for name in archive.namelist() if re.search(r"_clients/.*\.jar$", name)}
    assert len(jars) == 2
    for name, content in jars.items():
        with zipfile.ZipFile(io.BytesIO(content)) as jar:
            libraries = LISTED.findall(jar.read("META-INF/THIRD-PARTY.txt").decode())
        assert libraries, name
        assert [library for licence, library in libraries if not PERMISSIVE.search(licence)] == [], name


def test_nothing_that_only_a_build_made_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    stray = [name for name in names if "__pycache__" in name or name.endswith(".class") or "/target/classes" in name]
    assert stray == []


def test_every_study_is_written_and_each_kind_is_planned_by_the_installed_tool(tool: Tool) -> None:
    listed = [study["name"] for study in json.loads(tool("example", "--json"))["studies"]]
    assert listed == [file.stem for file in STUDIES]
    tool.each([("example", name, "--out", "studies") for name in listed])
    planned = tool.each([("plan", f"studies/{name}.yaml") for name in (*CARRIED, *APPLICATIONS.values())])
    assert all("scenarios" in text for text in planned)
    runs = [("run", f"studies/{name}.yaml", "--out", "runs/never") for name in APPLICATIONS.values()]
    assert all("type `make apps` in a checkout" in text for text in tool.each(runs, code=2))


def test_a_study_that_is_there_is_not_overwritten_by_the_example(tool: Tool) -> None:
    (tool.folder / "mine").mkdir()
    (tool.folder / "mine/quickstart.yaml").write_text("mine")
    assert "already there" in tool("example", "quickstart", "--out", "mine", code=2)
    assert (tool.folder / "mine/quickstart.yaml").read_text() == "mine"
    assert "did you mean `quickstart`" in tool("example", "quikstart", code=2)


def test_the_installed_tool_installs_what_is_missing_and_then_lacks_nothing(tool: Tool) -> None:
    before = tool("doctor", code=1)
    assert "crdt-sidecar" in before
    assert "make " not in before
    after = tool("doctor", "--install", code=1 if WITHOUT_DOTNET else 0)
    lacking = {line.split()[0] for line in after.splitlines() if " missing: " in line}
    assert lacking == ({"dotnet", "patternbench-client-polly.dll"} if WITHOUT_DOTNET else set())
    assert list(tool.cache.glob("patternbench/crdt-sidecar-*"))


def test_a_service_of_a_users_own_goes_from_init_to_a_report(tool: Tool) -> None:
    """A service in JavaScript, started by a command; the study is run as it is written, but for one round each."""
    shutil.copyfile(ROOT / "tests/data/node-shop/shop.js", tool.folder / "shop.js")
    words = ("--command", "node shop.js", "--path", "/items/7", "--find-out", "faults", "--minutes", "2")
    assert "Now type `patternbench run faults.yaml`, which takes about 2 minutes" in tool("init", *words)
    study = tool.folder / "faults.yaml"
    text = re.sub(r"rounds: \d+", "rounds: 1", study.read_text())
    study.write_text(text.replace("[0ms, 500ms, 1s]", "[0ms, 1s]"))
    tool("run", "faults.yaml", "--out", "runs/own")
    journal = (tool.folder / "runs/own/journal.jsonl").read_text().splitlines()
    ended = [entry for entry in map(json.loads, journal) if entry["round"] >= 0]
    assert [entry["status"] for entry in ended] == ["done"] * 4
    frozen = [fault for entry in ended for fault in entry["faults"]]
    assert sorted(round((fault["ended_us"] - fault["began_us"]) / 1e6) for fault in frozen)[-2:] == [1, 1]
    assert "freeze" in (tool.folder / "runs/own/report.html").read_text()


def shortened(name: str) -> dict[str, Any]:
    """The study with the last level of each list alone, one short round, and its last strategy of each client.

    Load is the least, and arrivals may be late: how busy the machine is with other tests is not what is tested.
    """
    study: dict[str, Any] = YAML(typ="safe").load((ROOT / f"studies/{name}.yaml").read_text())
    study |= {
        "lateness": {"floor": "10s"},
        "rounds": 1,
        "warm_up": "1s",
        "system": _last(study["system"]),
        "faults": [_within_a_second(fault) for fault in _last(study.get("faults", []))],
    }
    if isinstance(study["system"], dict) and "algorithm" in study["system"].get("settings", {}):
        settings = study["system"]["settings"]
        study["system"]["settings"] = {
            name: at for name, at in settings.items() if not name.startswith("store_")
        } | LIMITER
    workload = study["workload"]
    workload |= {"duration": "3s"} if "duration" in workload else {}
    for kind, level in (("open", "rate"), ("closed", "users")):
        if isinstance(levels := workload.get(kind, {}).get(level), list):
            workload[kind][level] = min(levels)
    if "successes" in workload.get("closed", {}):
        workload["closed"]["successes"] = 2
    if "boundary" in study and "open" in workload:
        workload["open"]["rate"] = 20  # a search would take more rounds, and measure a capacity first
    workload |= {kind: _brief(workload[kind]) for kind in ("open", "closed") if kind in workload}
    study["workload"] = {key: part if key in ("groups", "journeys") else _last(part) for key, part in workload.items()}
    if "strategies" in study:
        ends = [study["strategies"][0], _last(study["strategies"][-1], keep=("client",))]
        study["strategies"] = ends[: len({json.dumps(one) for one in ends})]
    return {key: part for key, part in study.items() if key not in (*LEFT_OUT, "boundary", "capacity")}


def _brief(load: Any) -> Any:
    """The load with short times: how long it lasts, and each step of its schedule."""
    if isinstance(load, list):
        return [_brief(step) for step in load]
    if isinstance(load, dict):
        times = {"duration": "1s", "for": "200ms"}
        return {key: times.get(key, _brief(part)) for key, part in load.items()}
    return load


def _within_a_second(fault: dict[str, Any]) -> dict[str, Any]:
    """The fault with a window that is over before the load is, if it has one."""
    return fault | {"when": {"from": "200ms", "for": "400ms"}} if "when" in fault else fault


def _last(node: Any, keep: tuple[str, ...] = ()) -> Any:
    """The node with every list of plain levels shortened to its last one."""
    if isinstance(node, dict):
        return {key: part if key in keep else _last(part, keep) for key, part in node.items()}
    if isinstance(node, list):
        return [_last(part, keep) for part in node] if node and isinstance(node[0], dict) else node[-1:]
    return node


WORDS = ("name", "description", "seed")
"""What every study has in its own words."""


def parts(part: Any, path: str = "") -> Iterator[str]:
    """Yield what a study has: the place of each value, without the value itself unless that is a client."""
    if isinstance(part, dict):
        for key, one in part.items():
            yield from parts(one, f"{path}.{key}") if key not in WORDS else ()
    elif isinstance(part, list):
        for one in part:
            yield from parts(one, path)
    else:
        yield f"{path}: {part}" if path.endswith("client") else path


def covering() -> list[str]:
    """Return few of the studies that the wheel can run, which have every system, client and key that any has."""
    carried = [file for file in STUDIES if is_carried(file)]
    left = {file.stem: {*parts(shortened(file.stem)), f"system {system_of(file)}"} for file in carried}
    chosen: list[str] = []
    while any(left.values()):
        chosen.append(max(left, key=lambda name: len(left[name])))
        left = {name: found - left[chosen[-1]] for name, found in left.items()}
    return chosen


@pytest.mark.parametrize("name", covering())
def test_the_installed_tool_runs_studies_that_have_all_that_any_has(tool: Tool, name: str) -> None:
    """Each with some scenarios in one short round."""
    file = tool.folder / f"short-{name}.yaml"
    file.write_text(json.dumps(shortened(name)))
    skipping = ["--skip-unavailable"] if WITHOUT_DOTNET and "polly" in file.read_text() else []
    tool("run", file.name, "--out", f"runs/{name}", *skipping)
    journal = (tool.folder / f"runs/{name}/journal.jsonl").read_text().splitlines()
    statuses = [entry["status"] for entry in map(json.loads, journal) if entry["round"] >= 0]
    assert statuses
    assert set(statuses) == {"done"}
    assert (tool.folder / f"runs/{name}/report.html").is_file()
