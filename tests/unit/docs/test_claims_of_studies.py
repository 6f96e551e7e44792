"""What shipped studies claim is concluded from the kept rounds as their page says."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.support.studies import ROOT

from patternbench.analyze.statements.claims.judged import judge_claims
from patternbench.records.inputs import Inputs
from patternbench.report.sections.claims import claims_of
from patternbench.run.before.preflight import expanded
from patternbench.study.load import load

PAGE = ROOT / "docs" / "five-ways-to-make-it-worse.md"
KEPT = sorted(PAGE.with_suffix("").glob("*.parquet"))
WORDED_OTHERWISE = {"At 75 % of it and above a hedge costs good calls": "At 75 % of it a hedge costs good calls"}


@pytest.mark.parametrize("rounds", KEPT, ids=lambda path: path.stem)
def test_a_study_concludes_from_the_kept_rounds_what_its_page_says(rounds: Path) -> None:
    study = load(ROOT / "studies" / f"{rounds.stem}.yaml")
    planned = {one.id: one.levels for one in expanded(study, Inputs(ROOT / "studies")).scenarios}
    judged = judge_claims(claims_of(study), planned, pd.read_parquet(rounds), {}).claims
    assert judged
    page = PAGE.read_text(encoding="utf-8").splitlines()
    for one in judged:
        text = WORDED_OTHERWISE.get(one.claim.says, one.claim.says)
        rows = [line for line in page if line.startswith(f"| {text} |")]
        assert rows
        assert all(row.endswith(f"| {one.conclusion} |") for row in rows)
