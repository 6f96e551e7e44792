"""What we depend on has a permissive licence, by one list."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from scripts.checks import licences
from tests.support.studies import ROOT

GO_SUMS = [*ROOT.glob("clients/*/go.sum"), *ROOT.glob("filters/*/go.sum")]


def test_the_licences_of_all_modules_of_go_are_asked_for() -> None:
    folders = {path.parent.relative_to(ROOT).as_posix() for path in GO_SUMS}
    assert folders == set(licences.GO_MODULES) <= {step.folder for step in licences.LICENCES}


def test_what_npm_installs_for_our_clients_is_permissive() -> None:
    assert list(ROOT.glob(licences.NPM_LOCKS))
    assert list(licences.npm_problems()) == []


@pytest.mark.parametrize(
    ("package", "message"), [({"license": "GPL-3.0-only"}, "has the licence GPL-3.0-only"), ({}, "has no licence")]
)
def test_a_package_of_another_licence_or_of_none_is_named(
    package: dict[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "clients/own/package-lock.json"
    lock.parent.mkdir(parents=True)
    packages = {"": {"license": "Apache-2.0"}, "node_modules/one": package}
    lock.write_text(json.dumps({"packages": packages}))
    assert licences.main(tmp_path) == 1
    assert f"clients/own/package-lock.json: node_modules/one {message}" in capsys.readouterr().out


def test_cargo_deny_allows_the_licences_of_the_list_and_no_other() -> None:
    denied = tomllib.loads((ROOT / "engine/deny.toml").read_text())
    assert set(denied["licenses"]["allow"]) == licences.PERMISSIVE


def test_every_client_with_a_lock_file_is_asked_about_advisories() -> None:
    requested = {step.folder for step in licences.ADVISORIES}
    assert {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob(licences.NPM_LOCKS)} <= requested
    assert {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/Cargo.lock")} <= requested
    assert {path.parent.relative_to(ROOT).as_posix() for path in GO_SUMS} <= requested
    locks = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("clients/*/requirements.lock")}
    assert {"requirements.lock", *locks} == set(licences.PYTHON_LOCKS)
