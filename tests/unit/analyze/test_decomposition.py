"""What is decomposed by blocks of rows is decomposed as a whole, and a model of it has the same numbers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patternbench.analyze.models import decomposition
from patternbench.analyze.models.decomposition import decomposed, triangle_of
from patternbench.analyze.models.fit import Analysis, Settings, fit_formulas
from patternbench.analyze.models.fit_json import analysis_json


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 8), st.integers(0, 90), st.sampled_from([0.0, 1e9]))
def test_blocks_of_rows_are_decomposed_like_the_whole_matrix(
    seed: int, width: int, block: int, more: int, shift: float
) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(width + more, width)) * 10.0 ** rng.integers(-6, 7, width) + shift
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decomposition, "ROWS", block)
        q, r = decomposed(matrix, shift)
        alone = triangle_of(matrix, shift)
    whole = np.linalg.qr(matrix - shift, mode="r")
    length = np.linalg.norm(whole, axis=0)
    assert q.T @ q == pytest.approx(np.eye(width), abs=1e-13)
    assert q @ (r / length) == pytest.approx((matrix - shift) / length, abs=1e-13)
    for found in (r, alone):
        assert np.abs(found / length) == pytest.approx(np.abs(whole / length), abs=1e-8)
        assert np.tril(found, -1) == pytest.approx(0)


def test_blocks_keep_the_digits_of_nearly_collinear_columns_that_sums_of_products_lose() -> None:
    rng = np.random.default_rng(1)
    first = rng.normal(size=20_000)
    matrix = np.column_stack([first, first + 1e-9 * rng.normal(size=20_000)])
    found, whole = triangle_of(matrix), np.linalg.qr(matrix, mode="r")
    assert abs(found[1, 1]) == pytest.approx(abs(whole[1, 1]), rel=1e-5)
    assert abs(whole[1, 1]) < 1e-6


def table(seed: int, rows: int = 1200) -> pd.DataFrame:
    """Rounds in blocks: two categories, numbers that differ within blocks, one near 1e9, and rows that lack a value."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {
            "block": np.arange(rows) // 60,
            "strategy": rng.choice(["off", "retry", "breaker"], rows),
            "zone": rng.choice(["a", "b"], rows),
            "users": rng.choice([5.0, 10.0, 20.0, 40.0], rows),
            "clock": 1.7e9 + rng.random(rows) * 100,
        }
    )
    late = 0.1 * (made["clock"] - 1.7e9)
    noise = rng.gamma(2.0, 1.0, rows) * np.where(made["zone"] == "a", 1, 2)
    made["p95"] = 30 + 0.2 * made["users"] + late + 3 * (made["strategy"] == "retry") + noise
    made["rate"] = made["p95"] * rng.uniform(0.5, 1.5, rows)
    made.loc[rng.integers(0, rows, 5), "users"] = np.nan
    return made


FORMULAS = (
    "p95 + rate ~ users + C(strategy) * zone + clock",
    "log(p95) ~ users + I(users**2) + zone",
    "p95 ~ C(strategy) + C(users)",
    "rate ~ 0 + users + zone",
    "p95 ~ users + I(2*users)",
)


def in_blocks(frame: pd.DataFrame, rows: int) -> tuple[Analysis, dict[str, object]]:
    """Fit by blocks of that many rows; give the models, and all their numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decomposition, "ROWS", rows)
        analysis = fit_formulas(frame, FORMULAS, Settings(margin=5))
        return analysis, analysis_json(analysis)


@pytest.mark.parametrize("rows", [7, 64, 1000])
def test_a_fit_by_blocks_of_rows_has_the_numbers_of_a_plain_one(rows: int) -> None:
    frame = table(3)
    (_, found), (_, plain) = (in_blocks(frame, block) for block in (rows, len(frame)))
    assert differences(found, plain) == []


SIGNED = ("inference.root", "inference.core", "spread.coefficients")
"""Numbers of the orthonormal columns, whose signs a decomposition may choose."""


def differences(found: object, plain: object, path: str = "") -> list[str]:
    """Name the values of two trees that differ by more than a thousand-millionth."""
    if isinstance(found, dict) and isinstance(plain, dict):
        assert found.keys() == plain.keys()
        return [one for key in found for one in differences(found[key], plain[key], f"{path}.{key}")]
    if isinstance(found, list) and isinstance(plain, list):
        assert len(found) == len(plain), path
        pairs = enumerate(zip(found, plain, strict=True))
        return [one for i, pair in pairs for one in differences(*pair, f"{path}[{i}]")]
    if isinstance(found, float) and isinstance(plain, float) and any(name in path for name in SIGNED):
        found, plain = abs(found), abs(plain)
    return [] if _alike(found, plain) else [f"{path}: {found} and {plain}"]


def _alike(found: object, plain: object) -> bool:
    if isinstance(found, float) and isinstance(plain, float):
        return math.isclose(found, plain, rel_tol=1e-9, abs_tol=1e-9)
    return found == plain


def test_the_matrices_of_a_formula_are_given_up_before_the_next_one_is_fitted() -> None:
    analysis, _ = in_blocks(table(4), 64)
    for model in analysis.models:
        assert not {"x", "cells"} & set(vars(model.fit.design))
        assert "q" not in vars(model.fit.basis)
    last = analysis.models[-1].fit
    assert last.design.x.shape == (last.summary.n, len(last.coefficients))
