"""The likelihood of a boundary, against one that is computed in another way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from patternbench.analyze.boundary.likelihood import FEW, HALF, Outcomes, curve, located, penalised, profile, trend

OVERLAP = [(0.2, True), (0.3, True), (0.4, False), (0.4, True), (0.5, True), (0.5, False), (0.6, False), (0.8, False)]
APART = [(0.2, True), (0.3, True), (0.4, True), (0.5, False), (0.6, False), (0.8, False)]


def firth(rounds: list[tuple[float, bool]], line: np.ndarray) -> float:
    """Firth's penalised log-likelihood of an intercept and a slope, as its formula says."""
    x = np.array([place for place, _ in rounds])
    lost = np.array([not held for _, held in rounds])
    logits = line[0] + line[1] * x
    weights = special.expit(logits) * special.expit(-logits)
    design = np.column_stack([np.ones_like(x), x])
    information = design.T @ (design * weights[:, None])
    likely = np.where(lost, special.log_expit(logits), special.log_expit(-logits)).sum()
    return float(likely + 0.5 * np.log(np.linalg.det(information)))


@pytest.mark.parametrize("rounds", [OVERLAP, APART])
def test_the_likeliest_curve_is_that_of_firths_regression(rounds: list[tuple[float, bool]]) -> None:
    best = optimize.minimize(lambda line: -firth(rounds, line), [-5.0, 10.0], method="Nelder-Mead").x
    found = curve(Outcomes.of(rounds))
    assert found.place == pytest.approx(-best[0] / best[1], abs=0.01)
    assert found.slope == pytest.approx(best[1], rel=0.15), "slopes are a grid of 26 % steps"
    assert penalised(Outcomes.of(rounds), HALF).max() == pytest.approx(firth(rounds, best), abs=0.02)


def test_the_profile_of_the_safe_dose_is_that_of_the_formula() -> None:
    seen, place = Outcomes.of(OVERLAP), 0.1
    likely = profile(seen, FEW)
    at = int(np.argmin(np.abs(np.linspace(-0.8, 1.2, 201) - place)))

    def with_slope(log_slope: float) -> float:
        slope = float(np.exp(log_slope))
        return -firth(OVERLAP, np.array([special.logit(FEW) - slope * place, slope]))

    best = optimize.minimize_scalar(with_slope, bounds=(0, 6), method="bounded")
    assert likely[at] == pytest.approx(-best.fun, abs=0.02)


def test_rounds_that_do_not_overlap_have_an_interval_with_two_ends_around_the_gap() -> None:
    found = located(Outcomes.of(APART * 3), HALF, 0.95)
    assert found.low is not None and found.high is not None
    assert 0.25 < found.low < 0.41 and 0.49 < found.high < 0.65
    assert found.at == pytest.approx(0.45, abs=0.02)


def test_a_safe_dose_that_may_lie_anywhere_below_has_no_low_end() -> None:
    found = located(Outcomes.of(OVERLAP), FEW, 0.95)
    assert found.low is None
    assert found.high is not None and found.high < 0.6


def test_twice_as_many_rounds_make_the_interval_narrower() -> None:
    ends = [located(Outcomes.of(OVERLAP * times), HALF, 0.95) for times in (2, 8)]
    widths = [(one.high or np.inf) - (one.low or -np.inf) for one in ends]
    assert widths[1] < 0.7 * widths[0]


def test_a_trend_is_that_of_the_side_on_which_rounds_are_lost() -> None:
    rising, falling = trend(Outcomes.of(APART))
    assert rising > 8
    assert falling < 0.1
    assert trend(Outcomes.of(APART).mirrored) == pytest.approx((falling, rising), abs=1e-6)


def test_the_order_of_rounds_does_not_matter() -> None:
    assert Outcomes.of(OVERLAP) == Outcomes.of(OVERLAP[::-1])
    assert Outcomes.of(OVERLAP).gap is None
    assert Outcomes.of(APART).gap == (0.4, 0.5)


def test_the_coverage_of_an_interval_of_rounds_at_fixed_doses_is_as_claimed() -> None:
    rng, places, hit = np.random.default_rng(1), np.linspace(0, 1, 40), 0
    for _ in range(300):
        lost = rng.random(40) < special.expit(15 * (places - 0.55))
        found = located(Outcomes.of(list(zip(places.tolist(), (~lost).tolist(), strict=True))), HALF, 0.95)
        hit += (found.low or -1) <= 0.55 <= (found.high or 2)
    assert 0.92 <= hit / 300 <= 0.985
