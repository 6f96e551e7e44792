"""The package as it is sent to nodes: whole, runnable as it is, and with a hash that tells any change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest

from patternbench.lab import carried, shipped
from patternbench.lab.software import engine
from patternbench.run.lanes import identity
from patternbench.run.lanes.package import MARK, sent_hash, tree_hash, unpack_into

SAYS = """
import json
from patternbench.run.lanes.identity import identity, libraries
print(json.dumps([identity(), libraries()]))
"""


def test_the_package_that_is_sent_runs_where_it_is_put_and_says_that_it_is_ours(tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    folder.mkdir()
    sent = unpack_into(folder)
    inside = folder / "patternbench"
    assert os.access(inside / "_bin" / engine.NAME, os.X_OK)
    for name in ("_systems/target.yaml", "_clients/native/client.yaml", "_contracts/load", "_filters/nginx-ratelimit"):
        assert (inside / name).exists(), name
    assert not [*folder.rglob("__pycache__"), *folder.rglob(".gitignore")]
    (about,) = distributions(name="patternbench", path=[str(folder)])
    assert about.version == identity.identity()["version"]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", SAYS], cwd=tmp_path, env=env, capture_output=True, check=True)
    says, libraries = json.loads(done.stdout)
    assert says == {**identity.identity(), "sent_sha256": sent}
    assert libraries["numpy"]
    assert sent == tree_hash(folder), "what Python compiled there meanwhile changes nothing"


def test_the_hash_of_what_is_sent_tells_any_change_of_a_content_or_a_name(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "one").write_text("x")
    hashes = [tree_hash(folder)]
    for change in (
        lambda: (folder / "a" / "one").write_text("y"),
        lambda: (folder / "a" / "one").rename(folder / "a" / "two"),
        lambda: (folder / "b").write_text(""),
    ):
        change()
        hashes.append(tree_hash(folder))
    assert len(set(hashes)) == 4


def test_a_package_that_is_installed_was_not_sent() -> None:
    assert not (shipped.PACKAGE.parent / MARK).exists()
    assert sent_hash() == ""


def test_the_folders_that_are_sent_are_those_of_a_wheel() -> None:
    project = tomllib.loads((shipped.CHECKOUT / "pyproject.toml").read_text())
    of_wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert of_wheel == {name: f"patternbench/_{name}" for name in carried.FOLDERS}


def test_the_hash_of_our_code_is_that_of_a_wheel_which_carries_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "study" / "a.py").write_text("a")
    monkeypatch.setattr(identity, "PACKAGE", tmp_path)
    ours = identity.code_hash()
    for name in ("_clients/tenacity", "_filters/simulator"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "b.py").write_text("b")
    assert identity.code_hash() == ours
    (tmp_path / "study" / "b.py").write_text("b")
    assert identity.code_hash() != ours


def test_the_engine_that_is_sent_is_the_one_that_runs_here_wherever_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, folder = tmp_path / "elsewhere" / "an-engine", tmp_path / "sent"
    own.parent.mkdir()
    own.write_text("the engine of this machine")
    folder.mkdir()
    monkeypatch.setattr(engine, "binary", lambda: str(own))
    unpack_into(folder)
    assert (
        (folder / "patternbench" / "_bin" / engine.NAME).read_text() == own.read_text() == "the engine of this machine"
    )
