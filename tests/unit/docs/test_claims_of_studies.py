"""What shipped studies claim is concluded from the kept rounds as their page says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from reproductions.claimed import study_of
from tests.support.studies import ROOT

from patternbench.analyze.statements.claims.judged import JudgedClaim, judge_claims
from patternbench.analyze.statements.shown import IF_EVEN
from patternbench.analyze.statements.verdict import conclude
from patternbench.records.inputs import Inputs
from patternbench.report.declared_claims import claims_of
from patternbench.run.before.preflight import expanded
from patternbench.study.load import load

DOCS = ROOT / "docs"
KEPT = [*sorted((DOCS / "five-ways-to-make-it-worse").glob("*.parquet")), DOCS / "client-or-mesh" / "mesh.parquet"]


def judged(study: str, kept: Path, named: Mapping[str, str], only: str = "") -> tuple[JudgedClaim, ...]:
    """The claims of a study, or ``only`` one of them, held against kept rounds; ``named`` has columns that the page
    calls otherwise.
    """
    loaded = load(ROOT / "studies" / f"{study}.yaml")
    planned = {one.id: one.levels for one in expanded(loaded, Inputs(ROOT / "studies")).scenarios}
    rounds = pd.read_parquet(kept).rename(columns=dict(named))
    if "scenario" not in rounds:
        names = [name for name in next(iter(planned.values())) if name in rounds]
        ids = {tuple(str(levels[name]) for name in names): identity for identity, levels in planned.items()}
        rounds["scenario"] = [ids[tuple(map(str, row))] for row in rounds[names].itertuples(index=False)]
    claims = [one for one in claims_of(loaded) if only in ("", one.says)]
    return judge_claims(claims, planned, rounds, {}).claims


def conclusion_of(row: str) -> str:
    """The conclusion at the end of a page's row, without a margin before it and a condition after it.

    A page judges each claim alone, and a study all of its claims together: so that condition may differ.
    """
    return row.rsplit("|", 2)[1].strip().rpartition(": ")[2].removesuffix(f", {IF_EVEN}")


@pytest.mark.parametrize("rounds", KEPT, ids=lambda path: path.stem)
def test_a_study_concludes_from_the_kept_rounds_what_its_page_says(rounds: Path) -> None:
    claims = judged(rounds.stem, rounds, {})
    assert claims
    page = rounds.parent.with_suffix(".md").read_text(encoding="utf-8").splitlines()
    for one in claims:
        rows = [line for line in page if line.startswith(f"| {one.claim.says} |")]
        assert rows
        assert {conclusion_of(row) for row in rows} == {one.conclusion}


def test_the_cinemas_other_ways_are_as_the_page_says() -> None:
    kept = DOCS / "reproductions" / "banerjee-2022" / "ways.parquet"
    claims = judged("cinema-ways", kept, {})
    page = (DOCS / "reproductions" / "banerjee-2022.md").read_text(encoding="utf-8").splitlines()
    for one in claims:
        (row,) = [line for line in page if line.startswith(f"| {one.claim.says} |")]
        assert conclusion_of(row) == one.conclusion


@pytest.mark.parametrize("delay", ["third", "twelfth", "Eight thirds"])
def test_the_rule_of_thumb_is_as_the_page_says(delay: str) -> None:
    claims = judged("rule-of-thumb", DOCS / "rule-of-thumb" / "rounds.parquet", {})
    page = (DOCS / "rule-of-thumb.md").read_text(encoding="utf-8").splitlines()
    for text in dict.fromkeys(one.claim.says.rpartition(" (")[0] for one in claims if delay in one.claim.says):
        (row,) = [line for line in page if line.startswith(f"| {text} |")]
        own = [one for one in claims if one.claim.says.startswith(text)]
        votes = [conclude(one.claim.expected, one.changes) for one in own]
        changes = [change for one in own for change in one.changes]
        assert conclusion_of(row) == conclude(own[0].claim.expected, changes), votes


def test_each_claim_on_containers_is_on_the_page_as_it_is_judged_alone() -> None:
    kept = DOCS / "containers" / "containers.parquet"
    study = study_of(pd.read_parquet(kept), ("containers", "containers-quick"))
    page = (DOCS / "containers.md").read_text(encoding="utf-8").splitlines()
    claims = judged(study, kept, {})
    assert len(claims) == 4
    for one in claims:
        rows = [line for line in page if line.startswith(f"| {one.claim.says} |")]
        alone = judged(study, kept, {}, only=one.claim.says)
        assert {conclusion_of(row) for row in rows} == {each.conclusion for each in alone}


def test_libraries_are_as_the_page_says() -> None:
    rounds = pd.read_parquet(DOCS / "libraries" / "rounds.parquet")
    page = (DOCS / "libraries.md").read_text(encoding="utf-8")
    contradicted = {
        str(change.where["client"]).removeprefix("native to ")
        for one in judged("libraries-quick", DOCS / "libraries" / "rounds.parquet", {})
        for change in one.changes
        if one.claim.expected.fails(change)
    }
    assert contradicted == {"purgatory", "stamina", "tenacity"} < set(rounds["client"])
    assert all(f"{client}: median of successful calls, p95 of successful calls" in page for client in contradicted)
