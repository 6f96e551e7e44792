"""Linear algebra of a fit has one thread, and what is around it keeps its own."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from patternbench.analyze.blocks import in_blocks
from patternbench.analyze.models import by_blocks, fit
from patternbench.analyze.models.formula import build_design

TABLE = pd.DataFrame({"y": [1.0, 2.0, 4.0, 4.5, 6.0, 5.5], "x": [1, 2, 3, 4, 5, 6]})


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def noting(seen: list[set[int]], work: Callable[..., object]) -> Callable[..., object]:
    def noted(*given: object) -> object:
        seen.append(threads())
        return work(*given)

    return noted


@pytest.mark.parametrize("of_blocks", [False, True])
def test_a_fit_does_its_linear_algebra_in_one_thread_and_then_gives_the_others_back(
    monkeypatch: pytest.MonkeyPatch, of_blocks: bool
) -> None:
    seen: list[set[int]] = []
    monkeypatch.setattr(fit, "build_design", noting(seen, build_design))
    monkeypatch.setattr(by_blocks, "_triangle", noting(seen, by_blocks._triangle))
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        if of_blocks:
            by_blocks.estimates(in_blocks(TABLE), "y ~ x")
        else:
            fit.fit_formulas(TABLE, ["y ~ x"])
        assert seen == [{1}]
        assert threads() == before
