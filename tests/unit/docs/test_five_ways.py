"""The page on anti-patterns is made of its studies' rounds, and each study has what its claims compare."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.support.scripts import DOCS, page_script
from tests.support.studies import ROOT

from patternbench.lab.systems import file_of
from patternbench.plan.expand import Plan, expand
from patternbench.run import evidence
from patternbench.study.load import load
from patternbench.study.roles import Unit
from patternbench.study.units import Duration

FOLDER = "five-ways-to-make-it-worse"
measured = page_script(f"{FOLDER}/measured.py", DOCS)
pages = page_script("pages.py")
WAYS = measured.WAYS
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
    levels = pd.DataFrame([scenario.levels for scenario in plan.scenarios])
    for name in (name for name, known_factor in plan.factors.items() if known_factor.unit is Unit.DURATION):
        levels[name] = levels[name].map(lambda text: Duration.parse(text).seconds, na_action="ignore")
    rounds = levels.merge(pd.DataFrame({"block": range(BLOCKS)}), how="cross").assign(warnings=None, scenario="")
    responses = {one.column for one in (*way.shown, *way.compared)}
    rounds = rounds.assign(**{name: 20 * np.exp(rng.normal(0, 0.005, len(rounds))) for name in sorted(responses)})
    return planted(way, rounds, factor)


def planted(way: object, rounds: pd.DataFrame, factor: float) -> pd.DataFrame:
    """The rounds with what is claimed multiplied into them: `factor` where it is higher, its inverse where lower."""
    named = way.named(rounds)  # type: ignore[attr-defined]
    for one in way.compared:  # type: ignore[attr-defined]
        there = (named["condition"] == one.condition) & (named["configuration"] == one.second)
        direction = {"higher": factor, "lower": 1 / factor, "the same": 1.0}[one.says]
        rounds.loc[there, one.column] *= direction
    return rounds


def verdicts(study: str, rounds: pd.DataFrame) -> list[str]:
    lines = measured.claims(WAYS[study], rounds).splitlines()[2:]
    return [line.strip("| ").rpartition(" | ")[2] for line in lines]


def test_the_parts_of_the_page_are_those_that_the_script_prints() -> None:
    page = measured.PAGE.read_text(encoding="utf-8")
    parts = measured.printed(measured.kept())
    assert {mark: pages.part(page, mark) for mark in parts} == parts


def test_the_page_links_each_study_and_there_is_none_without_a_part() -> None:
    page = measured.PAGE.read_text(encoding="utf-8")
    assert {path.stem for path in (ROOT / "studies").glob("anti-patterns-*.yaml")} == set(WAYS)
    assert [study for study in WAYS if f"](../studies/{study}.yaml)" not in page] == []


@pytest.mark.parametrize("study", WAYS)
def test_a_study_has_every_condition_and_configuration_that_its_claims_compare(study: str) -> None:
    way, rounds = WAYS[study], made_up(study)
    named = way.named(rounds)
    pairs = set(zip(named["condition"], named["configuration"], strict=True))
    assert len(pairs) == len(planned(study).scenarios)
    wanted = {(one.condition, name) for one in way.compared for name in (one.first, one.second)}
    assert wanted <= pairs


@pytest.mark.parametrize("study", WAYS)
def test_a_claim_that_the_rounds_bear_out_is_confirmed(study: str) -> None:
    told = verdicts(study, made_up(study, factor=1.5))
    assert set(told) <= {"confirmed", "agrees"}


@pytest.mark.parametrize("study", WAYS)
def test_a_claim_whose_opposite_the_rounds_bear_out_is_contradicted(study: str) -> None:
    directed = [one.says != "the same" for one in WAYS[study].compared]
    told = verdicts(study, made_up(study, factor=1 / 1.5))
    assert [word == "contradicted" for word in told] == directed


def test_a_scenario_without_a_round_that_counts_leaves_its_claims_open() -> None:
    rounds = made_up("anti-patterns-retry-budget", factor=1.5)
    rest = rounds[rounds["strategy"] != "budget"]
    assert verdicts("anti-patterns-retry-budget", rest) == ["confirmed", "cannot be told"]


def test_every_configuration_has_a_row_with_its_responses() -> None:
    text = measured.configurations(WAYS["anti-patterns-no-jitter"], made_up("anti-patterns-no-jitter"))
    assert len(text.splitlines()) == 2 + 2 * 4
    assert "retry, jitter full" in text


def test_a_run_of_another_study_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured.kept_rounds, "study_of", lambda _: "quickstart")
    with pytest.raises(SystemExit, match="is a run of quickstart; this page is made of anti-patterns-layers"):
        measured.of_runs(iter([measured.HERE]))
