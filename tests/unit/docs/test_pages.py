"""Each page that is remade from rounds holds what is made of the rounds that are kept next to it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from reproductions.__main__ import PAGES, main
from reproductions.pages import DOCS, Page, rounds_as
from scripts.site.marks import part
from tests.support.drawings import same_drawing
from tests.support.studies import ROOT

from patternbench.records.folder import RunFolder
from patternbench.study.load import load
from patternbench.terms.problems import InputError

LONG = ("elmalki-zdun-2021", "elmalki-zdun-2023", "aderaldo-2024")
"""Their models are fitted to each block, and cross-validated, or their claims are many."""
SIMULATED = "kalyanasundaram-2025"
"""Its parts on the target are simulated, with LuaJIT."""
DRAWN = {"metastable": 0, "elmalki-zdun-2021": 10, "elmalki-zdun-2023": 6, "aderaldo-2024": 3, SIMULATED: 4}
NAMES = [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in PAGES if name != SIMULATED]


def test_a_page_is_found_by_its_module_alone() -> None:
    assert {"five-ways-to-make-it-worse", "libraries", SIMULATED} <= PAGES.keys()
    assert all((DOCS / page.name).is_file() for page in PAGES.values())


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_a_page_are_those_that_are_made_of_the_kept_rounds(name: str) -> None:
    page = PAGES[name]
    for file, parts in page.parts(page.kept()).items():
        text = (DOCS / file).read_text(encoding="utf-8")
        assert {mark: part(text, mark) for mark in parts} == parts, file


def test_the_parts_on_the_shop_are_those_that_are_made_of_the_kept_rounds() -> None:
    from reproductions.kalyanasundaram_2025 import shop  # noqa: PLC0415 - slow to import

    text = (DOCS / shop.FILE).read_text(encoding="utf-8")
    parts = shop.of_shops(shop.PAGE.kept())
    assert {mark: part(text, mark) for mark in parts} == parts


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_figures_of_a_page_are_those_that_are_drawn_of_the_kept_rounds(name: str) -> None:
    page = PAGES[name]
    drawn = page.figures(page.kept())
    assert len(drawn) >= DRAWN.get(name, 1)
    for file, figure in drawn.items():
        assert same_drawing((page.folder / file).read_text(encoding="utf-8"), figure), file


@pytest.mark.parametrize("name", PAGES)
def test_a_run_of_another_study_is_refused_with_the_studies_that_are_taken(name: str, tmp_path: Path) -> None:
    shutil.copyfile(ROOT / "studies" / "quickstart.yaml", tmp_path / "study.yaml")
    (tmp_path / "plan.json").write_text("{}")
    page = PAGES[name]
    with pytest.raises(InputError) as refused:
        page.read(RunFolder(tmp_path))
    (problem,) = refused.value.problems
    assert problem.value == "quickstart"
    assert problem.allowed == f"{', '.join(page.readers)}, or the quick form of one"


@pytest.mark.parametrize("name", PAGES)
def test_a_run_of_each_study_of_a_page_is_read_in_the_full_and_in_the_quick_form(name: str, tmp_path: Path) -> None:
    page = PAGES[name]
    reported: dict[str, str] = {}
    named = replace(page, readers={study: lambda run: {"study": load(run.study).name} for study in page.readers})
    text = (ROOT / "studies" / "quickstart.yaml").read_text(encoding="utf-8")
    (tmp_path / "plan.json").write_text("{}")
    for study in (form for one in page.readers for form in (one, f"{one}-quick")):
        (tmp_path / "study.yaml").write_text(text.replace("name: quickstart", f"name: {study}"), encoding="utf-8")
        reported[study] = str(named.read(RunFolder(tmp_path))["study"])
    assert reported == {study: study for study in reported}
    assert len(reported) == 2 * len(page.readers)


def test_a_run_that_has_not_ended_is_refused_with_what_to_type(tmp_path: Path) -> None:
    shutil.copyfile(ROOT / "studies" / "rate-limiting-leases.yaml", tmp_path / "study.yaml")
    (tmp_path / "plan.json").write_text("{}")
    done = CliRunner().invoke(main, [SIMULATED, str(tmp_path), "--write"])
    assert f"type `patternbench report {tmp_path}`" in str(done.exception)


def test_rounds_that_are_taken_in_stand_in_for_those_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproductions.pages.DOCS", tmp_path)
    page = Page(
        "some.md",
        {"quickstart": rounds_as("rounds", ("block", "p50", "unknown"))},
        lambda kept: {"some.md": {"sum": f"{kept['rounds']['p50'].sum():g}"}},
        lambda _: {"figure.svg": "<svg/>"},
    )
    (tmp_path / "some.md").write_text("<!-- sum -->\nold\n<!-- end of sum -->\n")
    run = tmp_path / "run"
    run.mkdir()
    shutil.copyfile(ROOT / "studies" / "quickstart.yaml", run / "study.yaml")
    (run / "plan.json").write_text("{}")
    rounds = pd.DataFrame({"block": [0, 1, 2], "p50": [1.0, 2.0, 4.0], "status": "done", "valid": [True, True, False]})
    rounds.to_parquet(run / "rounds.parquet")
    page.write(*page.remade([RunFolder(run)]))
    assert (tmp_path / "some.md").read_text() == "<!-- sum -->\n3\n<!-- end of sum -->\n"
    assert list(page.kept()["rounds"]) == ["block", "p50", "study"]
    assert (page.folder / "figure.svg").read_text() == "<svg/>"
