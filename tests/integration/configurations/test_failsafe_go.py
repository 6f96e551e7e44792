"""Source that is generated for failsafe-go compiles against the library, and decides the shared vectors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.configuration_cases import cases
from tests.support.golden import FOLDER
from tests.support.studies import ROOT

GOLDEN = FOLDER / "configurations" / "failsafe-go"
CLIENT = ROOT / "clients" / "failsafe-go"
HARNESS = ROOT / "tests" / "data" / "failsafe-go" / "vectors_test.go"
EXACT: list[str] = json.loads((FOLDER / "configurations" / "exact.json").read_text())["failsafe-go"]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module of Go with a package for each generated file, in which the client's own versions are required."""
    folder = tmp_path_factory.mktemp("applied")
    for file in sorted(GOLDEN.glob("*.go")):
        if "\npackage service\n" in file.read_text():
            package = folder / file.stem
            package.mkdir()
            shutil.copy(file, package / "resilience.go")
            shutil.copy(HARNESS, package / "vectors_test.go")
    required = (CLIENT / "go.mod").read_text().replace("=> ../kits/go", f"=> {ROOT / 'clients/kits/go'}")
    (folder / "go.mod").write_text(required.replace("module patternbench.dev/clients/failsafe-go", "module applied"))
    shutil.copy(CLIENT / "go.sum", folder / "go.sum")
    return folder


def go(module: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["go", *arguments]
    own = {**os.environ, "GOFLAGS": "-mod=mod", **environment}
    return subprocess.run(command, cwd=module, env=own, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_generated_file_compiles_without_complaints_of_vet_and_gofmt(module: Path) -> None:
    packages = [path for path in module.iterdir() if path.is_dir()]
    assert len(packages) >= 20
    vetted = go(module, "vet", "./...")
    assert vetted.returncode == 0, vetted.stderr
    formatted = subprocess.run(
        ["gofmt", "-l", *map(str, module.glob("*/resilience.go"))], capture_output=True, text=True, check=True
    )
    assert formatted.stdout == ""


@pytest.mark.slow
def test_every_vector_that_is_said_exactly_is_decided_as_the_client_decides_it(module: Path) -> None:
    tested = go(module, "test", "-v", *(f"./{case}" for case in EXACT), APPLIED_EXACT=",".join(EXACT))
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert {line.rpartition(" ")[2] for line in tested.stdout.splitlines() if "followed " in line} == {*EXACT}


def test_the_exact_ones_are_vectors_of_both_kinds() -> None:
    assert {case.partition("-")[0] for case in EXACT} == {"backoff", "breaker"}
    assert set(EXACT) <= {*cases("failsafe-go")}
