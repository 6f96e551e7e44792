"""The project has one version, which pyproject.toml states and all other files repeat."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from scripts.checks import versions
from tests.support.studies import ROOT

import patternbench


def test_every_file_states_the_same_version() -> None:
    assert list(versions.problems()) == []
    assert patternbench.__version__ == versions.source()


def test_every_pom_crate_and_package_of_ours_is_among_them() -> None:
    looked_at = {path.relative_to(ROOT).as_posix() for spot in versions.SPOTS for path in versions.files(spot, ROOT)}
    assert {one.file for one in versions.stated()} == looked_at
    crates = (ROOT / "engine/crates").glob("*/Cargo.toml")
    assert all(re.search(r"^version\.workspace = true$", crate.read_text(), re.MULTILINE) for crate in crates)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files that state the version, copied."""
    for file in {one.file for one in versions.stated()}:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((ROOT / file).read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_another_version_is_written_everywhere_and_nothing_else_is_changed(project: Path) -> None:
    before = {one.file: (project / one.file).read_text(encoding="utf-8") for one in versions.stated(project)}
    old = versions.source(project)
    assert versions.main(["12.34.56"], project) == 0
    assert {one.version for one in versions.stated(project)} == {"12.34.56"}
    for file, text in before.items():
        assert (project / file).read_text(encoding="utf-8").replace("12.34.56", old) == text, file
    tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))


def test_a_file_that_states_another_version_is_named_with_its_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project / "clients/opossum/package.json"
    path.write_text(re.sub(r'"version": "[^"]+"', '"version": "0.0.9"', path.read_text()), encoding="utf-8")
    assert versions.main([], project) == 1
    assert "clients/opossum/package.json:3: 0.0.9; pyproject.toml says" in capsys.readouterr().err


def test_a_file_that_states_none_any_more_is_named(project: Path) -> None:
    (project / "CITATION.cff").unlink()
    assert ["no version is stated in CITATION.cff" in problem for problem in versions.problems(project)] == [True]


@pytest.mark.parametrize("words", [["1"], ["v1.2.3"], ["1.2.3", "1.2.4"]])
def test_what_is_not_a_version_is_refused(words: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(versions.stated(project))
    assert versions.main(words, project) == 2
    assert "MAJOR.MINOR.PATCH" in capsys.readouterr().err
    assert list(versions.stated(project)) == before


def test_the_compiler_is_the_same_here_and_where_all_is_built_again() -> None:
    channel = tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"]["channel"]
    oldest = tomllib.loads((ROOT / "engine/Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    assert f"dtolnay/rust-toolchain@{channel} " in (ROOT / ".github/workflows/ci.yml").read_text()
    assert [int(part) for part in oldest.split(".")] <= [int(part) for part in channel.split(".")]
