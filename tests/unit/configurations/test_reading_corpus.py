"""Configurations as people write them are read as what they mean, and what isn't understood is listed with its line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.support.studies import ROOT

from patternbench.cli import configured
from patternbench.configurations.reading import lint, summary, today
from patternbench.configurations.reading.layer import Layer
from patternbench.configurations.reading.notes import NoteKind
from patternbench.study.workload.policies import Policy

CORPUS = ROOT / "tests" / "data" / "configurations"
FORMATS = ("spring", "dotnet", "istio", "gateway-api", "envoy", "nginx")


def corpus() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each file with each of its cases."""
    for expected in sorted(CORPUS.glob("*/*.expect.yaml")):
        (file,) = (
            one for one in expected.parent.glob(f"{expected.name.removesuffix('.expect.yaml')}.*") if one != expected
        )
        yield from ((file, case) for case in YAML(typ="safe", pure=True).load(expected.read_text()))


CASES = [pytest.param(file, case, id=f"{file.name} {' '.join(case['of'])}".strip()) for file, case in corpus()]


def layers_of(file: Path, of: list[str]) -> list[Layer]:
    return configured.read([file]).layers(of)


def lines(layers: list[Layer], kind: NoteKind) -> set[int]:
    return {note.place.line for note in summary.notes(layers) if note.kind is kind}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_five_files_that_name_a_public_one(name: str) -> None:
    found = [path for path in (CORPUS / name).iterdir() if not path.name.endswith(".expect.yaml")]
    assert len(found) >= 5
    assert all("After " in path.read_text().splitlines()[0] for path in found)


@pytest.mark.parametrize(("file", "case"), CASES)
def test_a_configuration_is_read_as_what_it_means(file: Path, case: dict[str, Any]) -> None:
    (layer,) = layers_of(file, case["of"])
    found = [one.policy for one in layer.policies]
    assert found == [Policy.model_validate(one) for one in case["stack"]]
    if "settings" in case:
        assert layer.settings == case["settings"]


@pytest.mark.parametrize(("file", "case"), CASES)
def test_what_is_not_understood_is_listed_with_its_line(file: Path, case: dict[str, Any]) -> None:
    layers = layers_of(file, case["of"])
    found = [note for note in summary.notes(layers) if note.kind is NoteKind.NOT_UNDERSTOOD]
    assert {note.place.line for note in found} == set(case["not understood"]), "\n".join(map(str, found))
    for line, what in case["not understood"].items():
        assert any(note.place.line == line and what in str(note) for note in found), "\n".join(map(str, found))
    assert summary.is_complete(layers) == (not case["not understood"])


@pytest.mark.parametrize(("file", "case"), CASES)
def test_what_is_approximated_or_left_out_is_listed_with_its_line(file: Path, case: dict[str, Any]) -> None:
    layers = layers_of(file, case["of"])
    for kind in (NoteKind.APPROXIMATED, NoteKind.INEXPRESSIBLE):
        if kind.value in case:
            assert lines(layers, kind) == set(case[kind.value]), "\n".join(map(str, summary.notes(layers)))


@pytest.mark.parametrize(("file", "case"), [one for one in CASES if one.values[1]["stack"]])  # type: ignore[index]
def test_every_stack_has_four_alternatives_and_no_two_are_the_same(file: Path, case: dict[str, Any]) -> None:
    own = today.stack(layers_of(file, case["of"]))
    others = today.alternatives(own)
    assert len({name for name, _ in others}) == today.ALTERNATIVES
    stacks = [own, *(stack for _, stack in others)]
    assert all(stacks.count(one) == 1 for one in stacks)


@pytest.mark.parametrize(("file", "case"), CASES)
def test_no_caution_is_about_a_line_that_says_nothing(file: Path, case: dict[str, Any]) -> None:
    layers = layers_of(file, case["of"])
    text = file.read_text().splitlines()
    for caution in lint.cautions(layers):
        assert all(text[place.line - 1].strip() for place in caution.places)
