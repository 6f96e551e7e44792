"""Pages that compare configurations are made of their studies' rounds, and each study has what its claims compare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reproductions import comparisons
from reproductions.banerjee_2022 import cinema
from reproductions.pages import DOCS
from tests.support.studies import ROOT

from patternbench.analyze.statements.verdict import HIGHER
from patternbench.lab.systems import file_of
from patternbench.plan.expand import Plan, expand
from patternbench.run.before import evidence
from patternbench.study.load import load
from patternbench.terms.roles import Unit
from patternbench.terms.units import Duration

FIVE, MESH = (
    comparisons.read(f"{comparisons.FOLDER}/{name}.yaml") for name in ("five-ways-to-make-it-worse", "client-or-mesh")
)
BOXES = comparisons.read("containers/compared.yaml")
PAGES = {DOCS / "five-ways-to-make-it-worse.md": FIVE, DOCS / "client-or-mesh.md": MESH, DOCS / "containers.md": BOXES}
WAYS = {**FIVE, **MESH, **BOXES}
BUDGET = "anti-patterns-retry-budget"
BLOCKS = 6


def planned(study: str) -> Plan:
    loaded = load(ROOT / "studies" / f"{study}.yaml")
    file = file_of(loaded.system)
    assert file is not None
    plan = expand(loaded, file)
    file.check(scenario.system.setting_levels for scenario in plan.scenarios)
    evidence.check(loaded, plan)
    return plan


def made_up(study: str, factor: float = 1.0, seed: int = 1) -> pd.DataFrame:
    """Rounds of all scenarios of a study, alike but for the second side of each claim, which goes where it says."""
    way, rng = WAYS[study], np.random.default_rng(seed)
    plan = planned(study)
    levels = pd.DataFrame([{**one.levels, "scenario": one.id} for one in plan.scenarios])
    for name in (name for name, known_factor in plan.factors.items() if known_factor.unit is Unit.DURATION):
        levels[name] = levels[name].map(lambda text: Duration.parse(text).seconds, na_action="ignore")
    levels = levels.apply(as_kept)
    rounds = levels.merge(pd.DataFrame({"block": range(BLOCKS)}), how="cross").assign(warnings=None)
    responses = {*(one.column for one in way.shown), *(one.claim.response for one in way.compared)}
    rounds = rounds.assign(**{name: 20 * np.exp(rng.normal(0, 0.005, len(rounds))) for name in sorted(responses)})
    return planted(way, rounds, factor)


def as_kept(column: pd.Series) -> pd.Series:
    """A column as a table of rounds holds it: as texts where its levels are words and numbers."""
    kinds = {isinstance(level, str) for level in column.dropna()}
    return column.map(str, na_action="ignore") if len(kinds) > 1 else column


def planted(way: comparisons.Comparison, rounds: pd.DataFrame, factor: float) -> pd.DataFrame:
    """The rounds with what is claimed multiplied into them: ``factor`` where it is higher, its inverse where lower."""
    for one in way.compared:
        there = rounds["scenario"] == one.pairs[0][1]
        expected = one.claim.expected
        rounds.loc[there, one.claim.response] *= (
            1.0 if expected.is_margin else factor if expected is HIGHER else 1 / factor
        )
    return rounds


def verdicts(study: str, rounds: pd.DataFrame) -> list[str]:
    lines = comparisons.claims(WAYS[study], rounds).splitlines()[2:]
    return [line.strip("| ").rpartition(" | ")[2] for line in lines]


def test_a_page_begins_with_its_main_claims_in_numbers_and_names_what_was_not_measured() -> None:
    text = comparisons.in_short("page", {BUDGET: made_up(BUDGET, factor=1.5)}, FIVE)
    (row,) = [line for line in text.splitlines() if line.startswith("| After 1.5 s")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert [float(cell.split(" ")[0]) for cell in cells[2:4]] == pytest.approx([20, 30], rel=0.05)
    assert [cell.partition(" ")[2] for cell in cells[2:4]] == ["(no retry)", "(retry, no budget)"]
    assert cells[4] == "confirmed"
    lacking = [study for study in FIVE if study != BUDGET]
    assert f"Not measured yet: `{'`, `'.join(lacking)}`." in text
    assert "](page/figure.svg)" in text


def test_a_main_claim_without_a_round_that_counts_has_no_number() -> None:
    rounds = made_up(BUDGET).query("strategy != 'no_budget'")
    ((*_, first, second, word),) = comparisons.main_rows(WAYS[BUDGET], rounds)
    assert (first.partition(" ")[2], second, word) == ("(no retry)", "none (retry, no budget)", "inconclusive")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_figure_has_a_panel_for_every_main_claim(path: Path) -> None:
    measured = {study: made_up(study) for study in PAGES[path]}
    text = comparisons.drawn(measured, PAGES[path])
    for way in PAGES[path].values():
        for one in (way.compared[number] for number in way.main):
            assert {
                f">{reported}<" for reported in (one.condition, one.first, one.second) if f">{reported}<" not in text
            } == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_links_each_of_its_studies(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert [study for study in PAGES[path] if f"](../studies/{study}.yaml)" not in page] == []


def test_every_study_of_an_anti_pattern_has_a_part_of_a_page() -> None:
    studies = {path.stem for path in (ROOT / "studies").glob("anti-patterns-*.yaml")}
    assert studies == {*FIVE, *cinema.AVOIDED}


@pytest.mark.parametrize("study", WAYS)
def test_a_study_has_every_condition_and_configuration_that_its_claims_compare(study: str) -> None:
    assert len(set(WAYS[study].names.values())) == len(planned(study).scenarios), "no two have one name"
    assert all(len(one.pairs) == 1 for one in WAYS[study].compared)


@pytest.mark.parametrize("study", WAYS)
def test_a_claim_that_the_rounds_bear_out_is_confirmed(study: str) -> None:
    reported = verdicts(study, made_up(study, factor=1.5))
    assert set(reported) <= {"confirmed", "agrees"}


@pytest.mark.parametrize("study", WAYS)
def test_a_claim_whose_opposite_the_rounds_bear_out_is_contradicted(study: str) -> None:
    directed = [not one.claim.expected.is_margin for one in WAYS[study].compared]
    reported = verdicts(study, made_up(study, factor=1 / 1.5))
    assert [word == "contradicted" for word in reported] == directed


def test_a_scenario_without_a_round_that_counts_leaves_its_claims_open() -> None:
    rounds = made_up(BUDGET, factor=1.5)
    assert verdicts(BUDGET, rounds[rounds["strategy"] != "budget"]) == ["confirmed", "inconclusive"]


def test_every_configuration_has_a_row_with_its_responses() -> None:
    text = comparisons.configurations(WAYS["anti-patterns-no-jitter"], made_up("anti-patterns-no-jitter"))
    assert len(text.splitlines()) == 2 + 1 + 4
    assert "retry, jitter full" in text


def test_the_quick_form_of_a_study_has_what_the_claims_compare_too() -> None:
    there = {scenario.id for scenario in planned("mesh-quick").scenarios}
    assert {scenario for one in WAYS["mesh"].compared for pair in one.pairs for scenario in pair} <= there
