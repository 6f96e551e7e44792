"""How often a change is called another, or the same, on several lanes where it is not: 5 % at most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from patternbench.analyze.statements.lanes import Heterogeneity, heterogeneity, shown
from patternbench.analyze.statements.shown import Shown
from patternbench.terms.arrays import Floats

pytestmark = pytest.mark.slow
RUNS, MARGIN = 200, float(np.log(1.1))
Draw = Callable[[np.random.Generator, int, int], Floats]
"""The changes of so many blocks of the lane of that number, around no change."""


def normal(rng: np.random.Generator, blocks: int, _: int) -> Floats:
    return 0.05 * rng.standard_normal(blocks)


def unequal(rng: np.random.Generator, blocks: int, lane: int) -> Floats:
    return (0.25 if lane == 0 else 0.05) * rng.standard_normal(blocks)


def tenfold(rng: np.random.Generator, blocks: int, lane: int) -> Floats:
    return normal(rng, blocks, lane) + np.log(10) * (rng.random(blocks) < 0.05)


def skewed_alike(rng: np.random.Generator, blocks: int, _: int) -> Floats:
    return 0.2 * (rng.exponential(size=blocks) - 1)


def skewed_on_one(rng: np.random.Generator, blocks: int, lane: int) -> Floats:
    return skewed_alike(rng, blocks, lane) if lane == 0 else normal(rng, blocks, lane)


def wandering(rng: np.random.Generator, blocks: int, _: int) -> Floats:
    """A lane whose noise doubles half way."""
    return 0.05 * rng.standard_normal(blocks) * np.where(np.arange(blocks) < blocks / 2, 1, 2)


SIZES = [(3, 3), (3, 8), (4, 4, 4), (2, 2, 2, 3)]
every_size = pytest.mark.parametrize("sizes", SIZES, ids=str)


def bound(runs: int = RUNS) -> float:
    """The most that a simulated rate of 5 % may show: three standard errors above."""
    return float(0.05 + 3 * np.sqrt(0.05 * 0.95 / runs))


def drawn(draw: Draw, sizes: tuple[int, ...], runs: int = RUNS, moved: float = 0.0) -> list[Heterogeneity]:
    """Runs in which the last lane's change is ``moved`` from the others'."""
    rng = np.random.default_rng(sum(sizes))
    last = len(sizes) - 1
    return [
        heterogeneity({str(k): draw(rng, blocks, k) + moved * (k == last) for k, blocks in enumerate(sizes)})
        for _ in range(runs)
    ]


@every_size
@pytest.mark.parametrize("draw", [normal, unequal, tenfold, skewed_alike, wandering])
def test_equal_changes_differ_between_lanes_in_5_percent_at_most(draw: Draw, sizes: tuple[int, ...]) -> None:
    found = drawn(draw, sizes)
    assert np.mean([bool(shown([one], 0.05)[0]) for one in found]) <= bound()


@every_size
def test_without_a_condition_also_where_the_blocks_of_one_lane_alone_are_skewed(sizes: tuple[int, ...]) -> None:
    found = drawn(skewed_on_one, sizes)
    assert np.mean([shown([one], 0.05)[0] is Shown.FIRMLY for one in found]) <= bound()


@every_size
def test_of_ten_changes_that_are_all_equal_any_differs_in_5_percent_of_runs_at_most(sizes: tuple[int, ...]) -> None:
    found = drawn(normal, sizes, 10 * 100)
    runs = [found[start : start + 10] for start in range(0, len(found), 10)]
    assert np.mean([any(shown(run, 0.05)) for run in runs]) <= bound(100)


@every_size
@pytest.mark.parametrize("draw", [normal, unequal, tenfold, skewed_alike, skewed_on_one, wandering])
def test_changes_that_differ_by_the_margin_are_the_same_in_5_percent_at_most(
    draw: Draw, sizes: tuple[int, ...]
) -> None:
    for moved in (MARGIN, -MARGIN):
        assert np.mean([one.is_same(MARGIN) for one in drawn(draw, sizes, moved=moved)]) <= bound()


def test_equal_changes_on_eight_lanes_differ_in_5_percent_at_most() -> None:
    assert np.mean([bool(shown([one], 0.05)[0]) for one in drawn(unequal, (3,) * 8)]) <= bound()


def test_a_lane_on_which_the_change_is_another_is_found() -> None:
    assert np.mean([bool(shown([one], 0.05)[0]) for one in drawn(normal, (4, 4, 4), moved=0.25)]) > 0.9


def test_equal_changes_are_called_the_same_where_they_scatter_little() -> None:
    assert np.mean([one.is_same(MARGIN) for one in drawn(normal, (8, 8), moved=0.0)]) > 0.5


@pytest.mark.parametrize("true", [0.0, 0.1])
def test_the_interval_of_i2_holds_the_share_that_lanes_add(true: float) -> None:
    rng, blocks, spread = np.random.default_rng(3), 5, 0.05
    held = []
    for _ in range(RUNS):
        own = rng.normal(0, true, 4)
        one = heterogeneity({str(k): normal(rng, blocks, k) + own[k] for k in range(4)})
        share = blocks * true**2 / (blocks * true**2 + spread**2)
        held.append(one.i2_ends[0] <= share <= one.i2_ends[1])
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.0475 / RUNS)
