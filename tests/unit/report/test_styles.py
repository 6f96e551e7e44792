"""What a verdict looks like on a page: its name in the style sheet is one that the sheet knows."""

from __future__ import annotations

import re

import pytest

from patternbench.analyze.statements.verdict import DIFFERS, Verdict
from patternbench.report.page import environment

SHEET = environment().get_template("page.css").render()
SHOWN = (*DIFFERS, Verdict.INCONCLUSIVE, Verdict.TOO_FEW)
"""The verdicts that cells and cards of a report have."""


@pytest.mark.parametrize("verdict", Verdict)
def test_the_style_of_a_verdict_is_one_name_and_no_list_of_names(verdict: Verdict) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", verdict.style), verdict.style


@pytest.mark.parametrize("verdict", SHOWN)
def test_the_style_sheet_knows_each_verdict_that_is_shown(verdict: Verdict) -> None:
    assert re.search(rf"\.{verdict.style}\b", SHEET), verdict.style


def test_no_two_verdicts_look_alike() -> None:
    assert len({verdict.style for verdict in SHOWN}) == len(SHOWN)
