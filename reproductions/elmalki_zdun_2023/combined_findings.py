"""What our insurance says of bundle, limit and balancing: verdicts on the paper's claims, failures, and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from patternbench.analyze.noise import floor_of
from reproductions.contrasts import HIGHER, LOWER, PLAIN, POINTS, SAME, Claim, Contrast, Floats, contrast, verdicts
from reproductions.elmalki_zdun_2023.combined_models import Fitted, fitted
from reproductions.elmalki_zdun_2023.combined_published import PRICE_PER_CORE_HOUR
from reproductions.elmalki_zdun_2023.combined_rounds import FACTORS, LIMITS, NO_LIMIT, SIZES
from reproductions.markdown import table, warned

Levels = Mapping[str, object]
Pair = tuple[Floats, Floats]
#: The greatest prediction error that the paper accepts, percent.
TARGET = 30.0
WAYS = tuple(product("NY", "NY"))
NAMES = {"N": "single requests", "Y": "bundles"}
INSTANCES = {"N": "one instance", "Y": "two"}
_S_PER_HOUR, _MILLION = 3600, 1e6


class Cells:
    """One response of every configuration by block; differences between levels are taken within cells and blocks."""

    def __init__(
        self, rows: pd.DataFrame, response: str, logs: bool = True, factors: tuple[str, ...] = FACTORS
    ) -> None:
        self._factors = factors
        values = rows[response].where(rows[response] > 0) if logs else rows[response]
        keys = [*(rows[name] for name in factors), rows["block"]]
        table = values.astype(float).groupby(keys, sort=False).mean().unstack("block")
        self._table: pd.DataFrame = table.transform("log") if logs else table

    def change(self, a: Levels, b: Levels, over: tuple[str, ...] = ()) -> Pair:
        """From the levels ``a`` to ``b``, the mean over all cells that both have in every block.

        Where no cell has every block, a block in which one is lacking is unknown. What ``over`` names is averaged on
        each side before: a bundle's size, which single requests lack.
        """
        alike = [name for name in self._factors if name not in over and a.get(name) == b.get(name)]
        gaps = self._at(b, alike) - self._at(a, alike)
        whole = gaps.dropna()
        mean = (whole if len(whole) else gaps).mean(axis=0, skipna=False).to_numpy(dtype=float)
        return np.zeros(len(mean)), mean

    def middle(self, levels: Levels) -> float:
        """Return the mean over cells and blocks at some levels."""
        return float(np.nanmean(self._table[self._chosen(levels)].to_numpy(dtype=float)))

    def _at(self, levels: Levels, alike: list[str]) -> pd.DataFrame:
        return self._table[self._chosen(levels)].groupby(level=alike).mean()

    def _chosen(self, levels: Levels) -> npt.NDArray[np.bool_]:
        index = self._table.index
        chosen = np.ones(len(index), dtype=bool)
        for name, level in levels.items():
            chosen &= index.get_level_values(name).isin(level if isinstance(level, tuple) else (level,))
        return chosen


class Study:
    """The rows of a run with the cells of each response."""

    def __init__(self, rows: pd.DataFrame, by_method: pd.DataFrame) -> None:
        self.rows, self.by_method = rows, by_method
        # Times are compared method by method: what a limit turns away changes the mix of calls that succeed.
        self.time = Cells(by_method, "total_time", factors=(*FACTORS, "method"))
        self.items = Cells(rows, "items_per_s")
        self.failures = Cells(rows, "failure_rate", logs=False)
        self.cpu = Cells(rows, "core_s_per_item")
        counts = rows.groupby("api_users")["rate_limit"].nunique()
        self.users = int(cast(int, counts.idxmax()))
        """The number of users with which every limit was measured."""

    @cached_property
    def models(self) -> dict[int, Fitted]:
        """All models fitted to all rows."""
        return fitted(self.rows, self.by_method)

    @cached_property
    def blocks(self) -> list[dict[int, Fitted]]:
        """All models fitted to each block alone."""
        own = self.by_method
        return [fitted(rows, own[own["block"] == block]) for block, rows in self.rows.groupby("block")]

    @property
    def tells_cpu(self) -> bool:
        """Whether these rounds say what their system took of the processors."""
        return bool(self.rows["core_s_per_item"].notna().any())


def limited(study: Study) -> Levels:
    """Every limit that was measured, with the users who were measured with all of them."""
    return {"rate_limit": LIMITS, "api_users": study.users}


def claims(study: Study) -> Iterator[Claim]:
    """Claims (a) to (h) and the decision guide."""
    yield from _of_sizes(study)
    yield from _of_balancing(study)
    yield from _of_balanced_limits(study)
    yield from _of_predictors(study)
    yield from _guide(study)


def _bundled(**levels: object) -> Levels:
    return {"request_bundle": "Y", **levels}


def _of_sizes(study: Study) -> Iterator[Claim]:
    def grown(cells: Cells, size: int, balancing: str) -> Pair:
        least, greater = (_bundled(load_balancing=balancing, bundle_size=n) for n in (SIZES[0], size))
        return cells.change(least, greater)

    ends = [grown(study.time, SIZES[-1], balancing) for balancing in "NY"]
    yield Claim("(a) The time grows with the size of a bundle, 50 against 10 (model 1)", HIGHER, ends)
    at = [{"request_bundle": bundle, "load_balancing": balancing} for bundle, balancing in WAYS]
    of_users = {"api_users": study.users}
    acts = [
        study.time.change({**one, **of_users, "rate_limit": LIMITS[0]}, {**one, **of_users, "rate_limit": LIMITS[-1]})
        for one in at
    ]
    yield Claim("(a) The limit hardly acts on the time, 1200 against 100", SAME, acts)
    each_size = list(product(SIZES[1:], "NY"))
    sizes = [grown(study.time, *cell) for cell in each_size]
    yield Claim("(b) The size plays no part in the time, against 10 (models 2, 4)", SAME, sizes)
    failures = [grown(study.failures, *cell) for cell in each_size]
    yield Claim("(b) The size plays no part in the failure rate", SAME, failures, POINTS)


def balanced(cells: Cells, levels: Levels) -> Pair:
    """Return what a second instance changes."""
    return cells.change({**levels, "load_balancing": "N"}, {**levels, "load_balancing": "Y"})


def bundles(cells: Cells, levels: Levels) -> Pair:
    """Return what bundles change, averaged over their sizes."""
    return cells.change({**levels, "request_bundle": "N"}, {**levels, "request_bundle": "Y"}, over=("bundle_size",))


def _of_balancing(study: Study) -> Iterator[Claim]:
    large = [balanced(study.time, _bundled(bundle_size=size)) for size in SIZES[2:]]
    yield Claim("(c) Balancing worsens the time from 30 bundled requests on (private cloud)", HIGHER, large)
    small, largest = (balanced(study.time, _bundled(bundle_size=size))[1] for size in (SIZES[0], SIZES[-1]))
    yield Claim(
        "(c) It improves the time as bundles grow, its effect at 50 against 10 (AWS)", LOWER, [(small, largest)]
    )
    groups = [{"rate_limit": NO_LIMIT}, limited(study)]
    second = [balanced(study.failures, {"request_bundle": bundle, **group}) for bundle in "NY" for group in groups]
    yield Claim("(d) Balancing does not change the failure rate (Figure 8)", SAME, second, POINTS)
    instead = [bundles(study.failures, {"load_balancing": one, **group}) for one in "NY" for group in groups]
    yield Claim("(d) Nor do bundles (Figure 8)", SAME, instead, POINTS)


def _of_balanced_limits(study: Study) -> Iterator[Claim]:
    def effect(bundle: str, *limits: float) -> Pair:
        return balanced(study.failures, {"request_bundle": bundle, "rate_limit": limits, "api_users": study.users})

    lowers = [effect(bundle, *LIMITS) for bundle in "NY"]
    yield Claim("(e) Balancing lowers the failure rate under a limit (private cloud)", LOWER, lowers, POINTS)
    middle, high = LIMITS[1:6], LIMITS[9:]
    most = [(effect(bundle, *middle)[1], effect(bundle, *high)[1]) for bundle in "NY"]
    yield Claim("(e) most at high limits, 1000 to 1200 against 200 to 600", LOWER, most, POINTS)
    hardly = [effect(bundle, *middle) for bundle in "NY"]
    yield Claim("(e) hardly between 200 and 600", SAME, hardly, POINTS)
    others = [limit for limit in LIMITS if limit != WORST]
    of_users = {"api_users": study.users}
    worst = [
        study.time.change({**of_users, "rate_limit": limit}, {**of_users, "rate_limit": WORST}) for limit in others
    ]
    yield Claim("(f) The time is worst at a limit of 800 (AWS)", HIGHER, worst)


WORST = 800.0


def _of_predictors(study: Study) -> Iterator[Claim]:
    blocks = study.blocks
    traces = {term: np.array([models[1].pillai.get(term, np.nan) for models in blocks]) for term in blocks[0][1].pillai}
    strongest = [(trace, traces["request_bundle"]) for term, trace in traces.items() if term != "request_bundle"]
    yield Claim("(g) The bundle is the strongest predictor (Pillai's trace, model 1)", HIGHER, strongest, PLAIN)
    weakest = [(trace, traces["load_balancing"]) for term, trace in traces.items() if term != "load_balancing"]
    yield Claim("(g) Balancing is the weakest", LOWER, weakest, PLAIN)
    for response, error in (("total_time", "mape"), ("failure_rate", "mae")):
        name = "MAPE of the time" if response == "total_time" else "MAE of the failure rate"
        yield Claim(f"(h) All five models predict within 30 ({name})", LOWER, _within(blocks, response, error))


def _within(blocks: list[dict[int, Fitted]], response: str, error: str) -> list[Pair]:
    """Return the target against each model's errors in each block, as logs."""
    errors = [[getattr(models[n].models[response].errors, error) or np.nan for models in blocks] for n in blocks[0]]
    return [(np.full(len(blocks), np.log(TARGET)), np.log(values)) for values in errors]


def _guide(study: Study) -> Iterator[Claim]:
    blocks = study.blocks
    both: dict[str, tuple[object, ...]] = {"request_bundle": ("Y",), "load_balancing": ("Y",)}
    yield Claim("(guide) Bundle and balancing: model 2 predicts the time best", LOWER, _better(blocks, 2, both))
    both = {"rate_limit": LIMITS, "load_balancing": ("Y",)}
    yield Claim("(guide) Limit and balancing: model 3 predicts the time best", LOWER, _better(blocks, 3, both))
    at = limited(study)
    more = [balanced(study.items, _bundled(bundle_size=size, **at)) for size in SIZES]
    yield Claim("(guide) Bundle and limit need balancing: more items per second with it", HIGHER, more)
    unlimited, least = ({**_bundled(load_balancing="N"), "rate_limit": limit} for limit in (NO_LIMIT, LIMITS[-1]))
    acts = [study.time.change({**unlimited, "bundle_size": n}, {**least, "bundle_size": n}) for n in SIZES[2:]]
    yield Claim("(guide) With bundles of 30 and more the backend is overloaded before a limit acts", SAME, acts)
    gains = [bundles(study.items, {"load_balancing": one, **at}) for one in "NY"]
    yield Claim("(not the paper's) Bundles serve more items per second under a limit", HIGHER, gains)
    if study.tells_cpu:
        less = [bundles(study.cpu, {"load_balancing": one, "rate_limit": NO_LIMIT}) for one in "NY"]
        yield Claim("(not the paper's) Bundles take less CPU time per item", LOWER, less)


def _better(blocks: list[dict[int, Fitted]], number: int, levels: Mapping[str, tuple[object, ...]]) -> list[Pair]:
    """Each other model's errors against one model's, on the rows with these levels, as logs by block."""
    errors = {n: np.log([_error(models[n], levels) for models in blocks]) for n in blocks[0]}
    return [(errors[n], errors[number]) for n in errors if n != number]


def _error(model: Fitted, levels: Mapping[str, tuple[object, ...]]) -> float:
    """Return mean absolute percentage error of a model's time on the rows with these levels, of which it knows some."""
    fit = model.models["total_time"].fit
    rows = model.tables["total_time"].iloc[fit.design.rows]
    chosen = np.logical_and.reduce([rows[name].isin(values).to_numpy() for name, values in levels.items()])
    return float(100 * np.mean(np.abs(fit.residuals[chosen] / fit.y[chosen])))


def verdict_table(study: Study) -> str:
    """Every claim with its word, and how far the run can be trusted."""
    return "\n".join([verdicts(claims(study)), "", trust(study)])


def trust(study: Study) -> str:
    """How many rounds carry warnings, how far the middle scenario lies from itself, which rows have no time."""
    rows = study.rows
    floor = floor_of("total_time", [group["total_time"].dropna().to_numpy() for _, group in rows.groupby("scenario")])
    untimed = int(rows["total_time"].isna().sum())
    return (
        f"{warned(rows)} The noise floor of the time, of the middle scenario compared with itself, is "
        f"{floor.typical:.0f} %. In {untimed} rounds no call succeeded: they have no time, and count in all else."
    )


def failures(study: Study) -> str:
    """Return the failure rate, of the limit and of all else, next to the items that were served."""
    rows = study.rows[study.rows["api_users"] == study.users]
    heads = ["", "", "limit", "failed calls, %", "of the limit, %", "others, %", "items per second"]
    return table(heads, [_failed(rows, *cell) for cell in product("NY", "NY", (NO_LIMIT, 1200.0, 400.0, 100.0))])


def _failed(rows: pd.DataFrame, bundle: str, balancing: str, limit: float) -> list[str]:
    at = {"request_bundle": bundle, "load_balancing": balancing, "rate_limit": limit}
    own = rows[(rows[list(at)] == pd.Series(at)).all(axis=1)]
    per_round = own.groupby("block")[["failure_rate", "limited_rate", "items_per_s"]].mean()
    rest = per_round["failure_rate"] - per_round["limited_rate"]
    parts = (per_round["failure_rate"], per_round["limited_rate"], rest, per_round["items_per_s"])
    name = "none" if limit == NO_LIMIT else f"{limit:g} per minute"
    return [NAMES[bundle], INSTANCES[balancing], name, *(f"{part.mean() + 0.0:.1f}" for part in parts)]


def costs(study: Study) -> str:
    """Return what a million items cost without a limit, from CPU seconds."""
    if not study.tells_cpu:
        return "These rounds do not say how much CPU time their system took, so no cost can be given."
    heads = ["", "", "CPU seconds per 1,000 items", "US$ per million items", "a second instance changes it by"]
    rows = [_cost(study, bundle, balancing) for bundle, balancing in WAYS]
    return table(heads, rows)


def _cost(study: Study, bundle: str, balancing: str) -> list[str]:
    at = {"request_bundle": bundle, "rate_limit": NO_LIMIT}
    per_item = float(np.exp(study.cpu.middle({**at, "load_balancing": balancing})))
    dollars = per_item * _MILLION / _S_PER_HOUR * PRICE_PER_CORE_HOUR
    added = contrast(*balanced(study.cpu, at)).text() if balancing == "Y" else ""
    return [NAMES[bundle], INSTANCES[balancing], f"{1000 * per_item:.2f}", f"{dollars:.3f}", added]


def reported(pairs: Pair, points: bool = False) -> Contrast:
    """One change with its own 95 % interval."""
    return contrast(*pairs, POINTS) if points else contrast(*pairs)


def of_limit(study: Study) -> str:
    """Return the catalogue's part on rate limits.

    What the strictest limit does to failures and time, next to no limit.
    """
    strictest = {"rate_limit": LIMITS[0], "api_users": study.users}
    open_ = {**strictest, "rate_limit": NO_LIMIT}
    rows = [
        [
            NAMES[bundle],
            INSTANCES[balancing],
            reported(study.failures.change({**open_, **at}, {**strictest, **at}), points=True).text(),
            reported(study.time.change({**open_, **at}, {**strictest, **at})).text(),
        ]
        for bundle, balancing in WAYS
        for at in [{"request_bundle": bundle, "load_balancing": balancing}]
    ]
    heads = ["", "", "a limit of 100 per minute changes failed calls by", "and the time of good ones by"]
    return table(heads, rows)


def of_balancing(study: Study) -> str:
    """Return the catalogue's part on load balancing: what a second instance changes, without a limit and with one."""
    groups = {"none": {"rate_limit": NO_LIMIT}, "100 to 1200 per minute": limited(study)}
    cells = product("NY", groups)
    rows = [
        [NAMES[bundle], name, *_second(study, {"request_bundle": bundle, **groups[name]})] for bundle, name in cells
    ]
    return table(["", "limit of each instance", "failed calls", "time of good ones", "items per second"], rows)


def _second(study: Study, at: Levels) -> list[str]:
    failed, time, items = (balanced(cells, at) for cells in (study.failures, study.time, study.items))
    return [reported(failed, points=True).text(), reported(time).text(), reported(items).text()]


def together(study: Study) -> str:
    """Return the catalogue's part on combinations.

    What bundles change, alone, with a limit, with balancing, with both.
    """
    groups = {"none": {"rate_limit": NO_LIMIT}, "100 to 1200 per minute": limited(study)}
    cells = product("NY", groups)
    rows = [
        [INSTANCES[balancing], name, *_bundling(study, {"load_balancing": balancing, **groups[name]})]
        for balancing, name in cells
    ]
    heads = ["instances", "limit of each", "bundles change failed calls by", "and items per second by"]
    return table(heads, rows)


def _bundling(study: Study, at: Levels) -> list[str]:
    failed, items = (bundles(cells, at) for cells in (study.failures, study.items))
    return [reported(failed, points=True).text(), reported(items).text()]
