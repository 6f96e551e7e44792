"""Clients are built as their ``client.yaml`` says: those that are not fresh, where the tools are there."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

import build_wheel
import pytest
from scripts.checks import cases, clients, suites
from scripts.checks.clients import BUILT, FAILED, LACKING, READY, Client

from patternbench.drivers import registry
from patternbench.lab.carried import client_files


def client(folder: Path, *command: str) -> Client:
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "a.txt").write_text("x")
    return Client("some", command, folder / "made", (source,), "install it")


def touching(folder: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", f"open({str(folder / 'made')!r}, 'w')")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some").mkdir()
    monkeypatch.setattr(registry, "FOLDER", tmp_path)


def test_a_client_is_built_once_and_again_when_a_source_is_newer(tmp_path: Path) -> None:
    some = client(tmp_path, *touching(tmp_path))
    assert [clients.build(some), clients.build(some)] == [BUILT, READY]
    later = (tmp_path / "made").stat().st_mtime + 10
    os.utime(tmp_path / "source" / "a.txt", (later, later))
    assert not some.fresh


def test_what_a_build_makes_is_no_source(tmp_path: Path) -> None:
    some = client(tmp_path, *touching(tmp_path))
    (tmp_path / "source" / "target").mkdir()
    (tmp_path / "source" / "target" / "made.class").write_text("x")
    assert [path.name for path in clients.files_of(tmp_path / "source")] == ["a.txt"]
    assert clients.build(some) == BUILT


def test_a_missing_tool_leaves_a_client_out_and_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert clients.build(client(tmp_path, "no-such-tool", "build")) == LACKING
    assert "no-such-tool is not installed; install it" in capsys.readouterr().out


def test_a_build_that_fails_or_leaves_nothing_is_a_failure(tmp_path: Path) -> None:
    assert clients.build(client(tmp_path, sys.executable, "-c", "raise SystemExit(1)")) == FAILED
    assert clients.build(client(tmp_path, sys.executable, "-c", "")) == FAILED


def test_the_tests_of_a_client_in_python_are_read_line_by_line() -> None:
    text = """test_a (test_client.OneTest.test_a) ... ok
test_b (test_client.OneTest.test_b) ... FAIL
test_c (test_client.OneTest.test_c) ... skipped 'no wish'
Ran 3 tests in 0.001s
"""
    outcomes = [(case.name, case.outcome) for case in cases.of_unittest(text)]
    assert outcomes == [
        ("test_client.OneTest.test_a", cases.PASSED),
        ("test_client.OneTest.test_b", cases.FAILED),
        ("test_client.OneTest.test_c", cases.SKIPPED),
    ]


def test_the_tests_of_a_client_in_c_sharp_are_read_line_by_line() -> None:
    text = """[xUnit.net 00:00:00.51]     Kit.RowsTest.B [FAIL]
  Passed Kit.RowsTest.A [12 ms]
  Failed Kit.RowsTest.B [< 1 ms]
  Skipped Kit.RowsTest.C(name: "fixed [20 ms]")
Test Run Failed.
Total tests: 3
     Passed: 1
     Failed: 1
"""
    outcomes = [(case.name, case.outcome) for case in cases.of_dotnet(text)]
    assert outcomes == [
        ("Kit.RowsTest.A", cases.PASSED),
        ("Kit.RowsTest.B", cases.FAILED),
        ('Kit.RowsTest.C(name: "fixed [20 ms]")', cases.SKIPPED),
    ]


def test_a_tool_that_is_missing_is_a_skipped_test_that_says_what_to_install() -> None:
    start = suites.of_client("C#", ("no-such-tool", "test"), "install the SDK")
    (case,), code = start([])
    assert (case.name, case.outcome, case.why, code) == (
        "no-such-tool is not installed",
        cases.SKIPPED,
        "install the SDK",
        0,
    )


COMPILED = """\
about: one
language: Go
kit: go
strategies: [baseline]
build: [go, build]
test: [go, test]
carries: [main.go, go.sum]
command: ["${here}/bin/one", --port, "0"]
needs: "${here}/bin/one"
how: type it
"""


def test_a_client_that_is_compiled_where_it_runs_is_built_again_when_a_source_of_it_or_of_its_kit_is_newer(
    tmp_path: Path,
) -> None:
    for name in ("one/main.go", "one/bin/one", "kits/go/rows.go"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "one" / "client.yaml").write_text(COMPILED)
    for source in ("one/main.go", "kits/go/rows.go"):
        (one,) = clients.clients(["one"])
        now = max(path.stat().st_mtime for path in tmp_path.rglob("*")) + 10
        os.utime(one.needed, (now, now))
        assert one.fresh
        os.utime(tmp_path / source, (now + 10, now + 10))
        assert not one.fresh, source


def test_a_wheel_carries_the_sources_of_a_kit_and_nothing_that_a_build_made(tmp_path: Path) -> None:
    for name in ("go/go.mod", "go/rows.go", "dotnet/src/Kit.csproj", "dotnet/src/obj/a.json", "dotnet/src/bin/b.json"):
        (tmp_path / "kits" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kits" / name).write_text("")
    carried = [file.name for file in client_files(tmp_path)]
    assert carried == ["go.mod", "rows.go", "Kit.csproj"]


CLIENTS = Path(__file__).parents[3] / "clients"


@pytest.fixture
def _real_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FOLDER", CLIENTS)


@pytest.mark.usefixtures("_real_folder")
def test_every_client_that_is_built_says_how_it_is_tested_and_what_a_wheel_carries() -> None:
    for name in registry.names():
        file = registry.described(name)
        assert bool(file.build) == bool(file.test) == bool(file.carries), name


@pytest.mark.usefixtures("_real_folder")
def test_clients_are_built_by_their_names_by_their_tool_or_all_but_those_of_a_tool(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built: list[str] = []

    def notes(client: Client) -> str:
        built.append(client.name)
        return READY

    monkeypatch.setattr(clients, "build", notes)
    of_words: dict[str, list[str]] = {}
    for words in ("", "with mvn", "without mvn", "tower cockatiel"):
        assert clients.main(["build", *words.split()]) == 0
        of_words[words], built = built, []
    assert of_words["with mvn"] == ["failsafe", "resilience4j"]
    assert sorted(of_words["with mvn"] + of_words["without mvn"]) == sorted(of_words[""])
    assert of_words["tower cockatiel"] == ["tower", "cockatiel"]
    assert clients.main([]) == 2
    assert "usage: scripts/clients build [NAME...|with TOOL|without TOOL]" in capsys.readouterr().out


@pytest.mark.usefixtures("_real_folder")
def test_a_command_that_tests_several_clients_runs_once() -> None:
    names = [suite.name for suite in suites.of_clients()]
    assert "clients failsafe, resilience4j" in names
    assert len(set(names)) == len(names)


def test_a_wheel_carries_what_each_client_says(tmp_path: Path) -> None:
    folder = tmp_path / "clients" / "one"
    (folder / "target").mkdir(parents=True)
    (folder / "client.yaml").write_text("about: one\ncarries: [target/one.jar, two.lock]\n")
    for name in ("target/one.jar", "target/other.jar", "two.lock"):
        (folder / name).write_text("")
    carried = [file.name for file in client_files(tmp_path / "clients")]
    assert carried == ["client.yaml", "one.jar", "two.lock"]


def test_a_copy_of_the_kit_for_rust_is_complete() -> None:
    kit = Path(build_wheel.__file__).parent / "clients" / "kits" / "rust"
    manifests = [kit / "Cargo.toml", kit / "server" / "Cargo.toml"]
    depends = [tomllib.loads(manifest.read_text())["dependencies"] for manifest in manifests]
    paths = [
        manifest.parent / one["path"]
        for manifest, found in zip(manifests, depends, strict=True)
        for one in found.values()
        if isinstance(one, dict) and "path" in one
    ]
    assert paths == [kit / "server"]
