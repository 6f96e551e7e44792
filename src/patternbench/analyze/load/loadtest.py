"""The results of a load test: smoothed times, shares of status codes, linearity over load, the knee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import signal, stats

from patternbench.analyze.load.columns import Columns
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import DataError, DataProblem, Note, did_you_mean, raise_if_any
from patternbench.terms.quantities import number

PUBLISHED_WINDOW = 10_000
"""Window of the Savitzky-Golay filter that the case-study paper used, and its polynomial."""
_POLYNOMIAL = 2
_SMALLEST_WINDOW = 5
_SHARE = 20
_SHOWN = 400
_FEWEST_LEVELS = 4
_KNEE_LEVELS = 6
_SIMULATIONS = 1000
_ALPHA = 0.05
MOST_LEVELS, MOST_STATUSES = 2000, 100
"""Distinct loads, and distinct statuses, at most: more are those of another column. The knee takes their square."""
_BLOCK = "block"
"""The column of a run's requests that says which block they are from."""
_WELL = ("2", "3", "good")
"""Prefixes of statuses that aren't failures; journeys have "good" instead of a status."""


@dataclass(frozen=True)
class Smoothed:
    """Response times of one load level over time, smoothed; at most 400 points are kept, evenly spaced."""

    load: float
    times: Floats
    values: Floats
    window: int
    note: str


@dataclass(frozen=True)
class Linearity:
    """Whether the mean response time is a straight line of the load.

    ``r`` is Pearson's with its interval (Fisher's z), ``p_quadratic`` the F test of a squared term; ``verdict``
    is bends_up or bends_down when that is below 0.05, else flat when the interval of ``r`` holds zero, else linear: no
    bend was seen.
    """

    r: float
    low: float
    high: float
    levels: int
    p_quadratic: float | None
    verdict: str


@dataclass(frozen=True)
class Knee:
    """Where two lines join that fit better than one: the load with its interval, the slopes, and the p of any knee.

    ``load`` is None when two lines explain no more than one (p above 0.05) or than a smooth curve, or there are too few
    levels; ``note`` says why.
    """

    load: float | None
    low: float | None
    high: float | None
    slope_before: float | None
    slope_after: float | None
    p: float | None
    note: str


@dataclass(frozen=True)
class LoadTest:
    """Everything a load test shows; ``levels`` has one row a load: mean, median, p95, requests."""

    levels: pd.DataFrame
    shares: pd.DataFrame
    smoothed: tuple[Smoothed, ...]
    linearity: Linearity | None
    knee: Knee
    notes: tuple[Note, ...]


def analyze_load_test(
    requests: pd.DataFrame, columns: Columns | None = None, window: int | None = None, seed: int = 1
) -> LoadTest:
    """Analyze a log of requests, one row each; raises ``DataError`` for missing or text columns."""
    names = columns or Columns()
    table, notes = _cleaned(requests, names)
    levels = (
        table.groupby("load")["response"].agg(mean="mean", median="median", p95=_p95, requests="size").reset_index()
    )
    shares = status_shares(table)
    smoothed = tuple(smooth(float(str(load)), rows, window) for load, rows in table.groupby("load"))
    loads, means = levels["load"].to_numpy(dtype=float), levels["mean"].to_numpy(dtype=float)
    straight = linearity(loads, means) if len(levels) >= _FEWEST_LEVELS else None
    if straight is None:
        notes.append(
            Note(
                "few_levels",
                (f"{len(levels)} load levels cannot show a line: at least {_FEWEST_LEVELS} are needed."),
            )
        )
    bent = knee(loads, means, np.random.default_rng(seed), _errors(table))
    return LoadTest(levels, shares, smoothed, straight, bent, tuple(notes))


def _errors(table: pd.DataFrame) -> Floats:
    """Return the standard error of each mean: between the rounds of a run, else between the requests of a log."""
    if _BLOCK in table and table.groupby("load")[_BLOCK].nunique().min() > 1:
        rounds = table.groupby(["load", _BLOCK])["response"].mean()
        return np.asarray(rounds.groupby("load").sem(), dtype=np.float64)
    return np.asarray(table.groupby("load")["response"].sem(), dtype=np.float64)


def _p95(values: pd.Series) -> float:
    return float(values.quantile(0.95))


def _cleaned(requests: pd.DataFrame, names: Columns) -> tuple[pd.DataFrame, list[Note]]:
    expected = {"load": names.load, "time": names.time, "response": names.response, "status": names.status}
    columns = [str(name) for name in requests.columns]
    wrong = [(option, name) for option, name in expected.items() if name not in columns]
    raise_if_any(
        DataProblem(f"no column is called {n}.", f"--{option}", did_you_mean(n, columns)) for option, n in wrong
    )
    table = pd.DataFrame({option: requests[name] for option, name in expected.items()})
    for option in ("load", "time", "response"):
        table[option] = _numbers(table[option], expected[option])
    if _BLOCK in columns:
        table[_BLOCK] = requests[_BLOCK]
    complete = table[np.isfinite(table[["load", "time", "response"]].to_numpy(dtype=float)).all(axis=1)]
    if complete.empty:
        raise DataError(DataProblem("no request has a load, a time and a response time."))
    raise_if_any(_too_many(complete, expected))
    lost = len(table) - len(complete)
    return complete, [
        Note("missing", f"{lost:,} requests without a load, time or response time left out.")
    ] if lost else []


def _too_many(table: pd.DataFrame, names: Mapping[str, str]) -> Iterator[DataProblem]:
    """Problems of columns with more different values than a load test has loads or statuses."""
    for option, most in (("load", MOST_LEVELS), ("status", MOST_STATUSES)):
        count = int(table[option].nunique())
        if count > most:
            what = f"column {names[option]} has {count:,} different values; at most {most:,} are analysed."
            yield DataProblem(what, f"--{option}", "Name another column, or group its values.")


def _numbers(column: pd.Series, name: str) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    odd = pd.api.types.is_bool_dtype(column) or pd.api.types.is_timedelta64_dtype(column)
    wrong = column[(numbers.isna() | odd) & column.notna()]
    if len(wrong):
        raise DataError(
            DataProblem(
                f"column {name} must hold numbers but holds '{wrong.iloc[0]}'.",
                f"row {int(wrong.index[0]) + 1}",
            )
        )
    return numbers


def status_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return the percentage of each status per load: one row a load, one column a status."""
    statuses = table["status"].astype(str).str.replace(r"\.0$", "", regex=True)
    return pd.crosstab(table["load"], statuses, normalize="index") * 100


def smooth(load: float, rows: pd.DataFrame, window: int | None = None) -> Smoothed:
    """Smooth response times over time with a Savitzky-Golay filter (quadratic; Savitzky & Golay 1964).

    Without ``window`` it is a twentieth of the requests, at most the 10,000 of the case-study paper, always
    odd.
    """
    ordered = rows.sort_values("time", kind="stable")
    values = ordered["response"].to_numpy(dtype=float)
    chosen = _odd(window or min(PUBLISHED_WINDOW, len(values) // _SHARE), len(values))
    if chosen < _SMALLEST_WINDOW:
        return Smoothed(load, ordered["time"].to_numpy(dtype=float), values, 1, "Too few requests to smooth.")
    smooth_values = signal.savgol_filter(values, chosen, _POLYNOMIAL)
    shown = np.unique(np.linspace(0, len(values) - 1, min(_SHOWN, len(values))).astype(np.int64))
    times = ordered["time"].to_numpy(dtype=float)[shown]
    note = f"Savitzky-Golay, {chosen:,} requests wide, quadratic; {len(shown)} of {len(values):,} points kept."
    return Smoothed(load, times, smooth_values[shown], chosen, note)


def _odd(window: int, n: int) -> int:
    chosen = min(max(window, _SMALLEST_WINDOW), n)
    return chosen if chosen % 2 else chosen - 1


def linearity(loads: Floats, means: Floats, level: float = 0.95) -> Linearity:
    """Test whether mean response times (one per load level, at least 4) rise in a straight line."""
    n = len(loads)
    if np.ptp(means) == 0:
        return Linearity(0.0, 0.0, 0.0, n, None, "flat")
    r = float(np.corrcoef(loads, means)[0, 1])
    margin = float(stats.norm.ppf((1 + level) / 2)) / np.sqrt(n - 3)
    low, high = np.tanh(np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)) + np.array([-margin, margin]))
    p, bend = _quadratic(loads, means)
    verdict = "flat" if low <= 0 <= high else "linear"
    if p is not None and p < _ALPHA:
        verdict = "bends_up" if bend > 0 else "bends_down"
    return Linearity(r, float(low), float(high), n, p, verdict)


def _quadratic(loads: Floats, means: Floats) -> tuple[float | None, float]:
    x = (loads - loads.mean()) / np.ptp(loads)
    line, curve = np.column_stack([np.ones_like(x), x]), np.column_stack([np.ones_like(x), x, x**2])
    df = len(x) - 3
    if df < 1:
        return None, 0.0
    rest_line, rest_curve = _rest(line, means), _rest(curve, means)
    bend = float(np.linalg.lstsq(curve, means, rcond=None)[0][2])
    if rest_curve <= 1e-12 * float(means @ means):
        return (0.0 if rest_line > 1e-12 * float(means @ means) else 1.0), bend
    return float(stats.f.sf((rest_line - rest_curve) / (rest_curve / df), 1, df)), bend


def _rest(x: Floats, y: Floats) -> float:
    gaps = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return float(gaps @ gaps)


def knee(loads: Floats, means: Floats, rng: np.random.Generator, errors: Floats | None = None) -> Knee:
    """Find the load at which the slope changes: two joined lines against one (Hudson 1966).

    ``errors`` are the standard errors of the means, up to a factor: they weigh the levels, since the noise of a mean
    grows with the load. The knee is searched on a grid between the second and the last but one level. Since it is
    searched, the gain over one line has no F distribution; its p comes from 1,000 seeded redraws of one line, with
    the signs of its own residuals drawn at random (wild bootstrap: Liu, Annals of Statistics 16, 1988), so that
    unequal noise doesn't look like a knee. A smooth curve of as many parameters must fit worse than the two lines.
    The interval holds the knees whose fit is not worse than the best by an F test at 5 %. Needs 6 levels.
    """
    if len(loads) < _KNEE_LEVELS:
        return _no_knee(None, f"{len(loads)} load levels: a knee needs at least {_KNEE_LEVELS}.")
    weights = _weights(loads, errors)
    y = weights * means
    grid = np.linspace(loads[1], loads[-2], 121)
    straight = _residual_maker(weights[:, None] * np.column_stack([np.ones_like(loads), loads]))
    bends = _bends(loads, weights, grid, straight)
    rests = float(y @ straight @ y) - (bends @ y) ** 2
    gain = _gain(float(y @ straight @ y), float(rests.min()))
    if not np.isfinite(gain):
        return _no_knee(None, "The means lie on a line exactly.")
    p = _searched_p(gain, bends, straight, straight @ y, rng)
    if p >= _ALPHA:
        return _no_knee(p, f"Whether there is a knee is inconclusive: two lines explain no more than one (p {p:.2g}).")
    if _smooth_rest(loads, y, weights) <= float(rests.min()):
        why = "a smooth curve fits the means at least as well as two lines"
        return _no_knee(p, f"Response times bend, but a knee is inconclusive: {why} (p of one line {p:.2g}).")
    best = int(np.argmin(rests))
    df = len(loads) - 4
    inside = grid[rests <= rests[best] * (1 + float(stats.f.ppf(0.95, 1, df)) / df)]
    slopes = np.asarray(
        np.linalg.lstsq(weights[:, None] * _bent(loads, grid[best]), y, rcond=None)[0], dtype=np.float64
    )
    return _found_knee(loads, float(grid[best]), inside, slopes, p)


def _weights(loads: Floats, errors: Floats | None) -> Floats:
    """One over the standard errors, smoothed by a power of the load: few rounds know each of them badly."""
    if errors is None or not (np.isfinite(errors) & (errors > 0)).all() or not (loads > 0).all():
        return np.ones_like(loads)
    logs = np.polyval(np.polyfit(np.log(loads), np.log(errors), 1), np.log(loads))
    weights: Floats = np.exp(logs.mean() - logs)
    return weights


def _smooth_rest(loads: Floats, y: Floats, weights: Floats) -> float:
    """Return what the better of two curves without a knee leaves, each of four parameters as two joined lines are.

    A cubic, and a line with a pole beyond the loads measured, as queues have: a + b x + c / (d - x).
    """
    x = (loads - loads[0]) / np.ptp(loads)
    poles = 1 + np.geomspace(0.02, 3, 40)
    curves = [np.column_stack([np.ones_like(x), x, 1 / (pole - x)]) for pole in poles]
    return min(_rest(weights[:, None] * curve, y) for curve in [np.vander(x, 4), *curves])


def _no_knee(p: float | None, note: str) -> Knee:
    return Knee(None, None, None, None, None, p, note)


def _bent(loads: Floats, at: float) -> Floats:
    return np.column_stack([np.ones_like(loads), loads, np.maximum(loads - at, 0)])


def _residual_maker(x: Floats) -> Floats:
    q, _ = np.linalg.qr(x)
    made: Floats = np.eye(len(x)) - q @ q.T
    return made


def _gain(one_line: float, two_lines: float) -> float:
    if one_line <= 0 or two_lines <= 1e-12 * one_line:
        return float("inf") if one_line > 0 and two_lines > 0 else float("nan")
    return one_line / two_lines


def _bends(loads: Floats, weights: Floats, grid: Floats, straight: Floats) -> Floats:
    """Return what each knee of the grid adds to one line: unit vectors across it, a row each."""
    across = (weights * np.maximum(loads - grid[:, None], 0)) @ straight
    bends: Floats = across / np.linalg.norm(across, axis=1, keepdims=True)
    return bends


def _searched_p(gain: float, bends: Floats, straight: Floats, residuals: Floats, rng: np.random.Generator) -> float:
    """How often redraws of one line, with its residuals' signs at random, gain as much from a knee."""
    # A residual is smaller than its error by the share of it that the line took: HC2's correction.
    errors = residuals / np.sqrt(np.clip(np.diag(straight), 1e-12, None))
    noise = errors * rng.choice([-1.0, 1.0], size=(_SIMULATIONS, len(residuals)))
    one = ((noise @ straight) ** 2).sum(axis=1)
    two = one - ((noise @ bends.T) ** 2).max(axis=1)
    return float((1 + np.sum(one >= gain * two)) / (_SIMULATIONS + 1))


def _found_knee(loads: Floats, at: float, inside: Floats, slopes: Floats, p: float) -> Knee:
    before, after = float(slopes[1]), float(slopes[1] + slopes[2])
    note = (
        f"Between the loads measured ({loads[0]:g} to {loads[-1]:g}) two lines fit better than one: joined at "
        f"{at:.3g}, their slopes are {before:.3g} and {after:.3g} per unit of load (p {p:.2g})."
    )
    return Knee(at, float(inside.min()), float(inside.max()), before, after, p, note)


def in_words(load_test: LoadTest) -> Sequence[str]:
    """Say what a load test shows, a sentence each."""
    sentences = [_shape(load_test.linearity)] if load_test.linearity is not None else []
    sentences.append(load_test.knee.note)
    worst = _worst_status(load_test.shares)
    return [*sentences, worst] if worst else sentences


def in_short(load_test: LoadTest) -> Sequence[str]:
    """Say what a load test shows without its statistics: from which load on answers take longer, and what fails."""
    if load_test.knee.load is not None:
        shape = _turn(load_test.knee)
    else:
        shape = load_test.knee.note if load_test.linearity is None else f"{_followed(load_test.linearity)}."
    return [shape, *filter(None, [_worst_status(load_test.shares)])]


def _turn(knee: Knee) -> str:
    """Say where response times turn, and by how much."""
    assert knee.load is not None and knee.slope_before is not None and knee.slope_after is not None
    where = f"a load of {knee.load:.3g} ({knee.low:.3g} to {knee.high:.3g}) on"
    if 0 < knee.slope_before < knee.slope_after:
        return f"From {where}, response times rise {knee.slope_after / knee.slope_before:.2g} times as fast."
    change = f"{knee.slope_after:.3g} per unit of load, before by {knee.slope_before:.3g}"
    return f"From {where}, response times change by {change}."


def _shape(linearity: Linearity) -> str:
    """How response times follow the load, with the statistics."""
    stated = _followed(linearity)
    bend = "" if linearity.p_quadratic is None else f"; p of a bend {linearity.p_quadratic:.2g}"
    pearson = f"Pearson {linearity.r:.3f}, {linearity.low:.3f} to {linearity.high:.3f}"
    return f"{stated} ({pearson}, {linearity.levels} levels{bend})."


def _followed(linearity: Linearity) -> str:
    """How response times follow the load; that no bend is seen does not show that there is none."""
    direction = "rise" if linearity.r > 0 else "fall"
    return {
        "linear": f"Response times {direction} with the load; whether they bend is inconclusive",
        "bends_up": "Response times bend upwards with the load",
        "bends_down": "Response times bend downwards with the load",
        "flat": "Whether response times change with the load is inconclusive",
    }[linearity.verdict]


def _worst_status(shares: pd.DataFrame) -> str:
    bad = shares[[name for name in shares.columns if not str(name).startswith(_WELL)]]
    if bad.empty or not bad.to_numpy().any():
        return "Every request was answered well."
    total = bad.sum(axis=1)
    return f"Most failures: {number(float(total.max()))} % at load {total.idxmax():g}."
