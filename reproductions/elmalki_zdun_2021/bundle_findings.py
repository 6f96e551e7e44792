"""What our insurance says of request bundles: verdicts on the paper's claims, savings, costs, and depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd

from patternbench.analyze.noise import floor_of
from reproductions.contrasts import HIGHER, LOWER, PLAIN, Claim, Contrast, Floats, Key, by_block, contrast, verdicts
from reproductions.elmalki_zdun_2021.bundle_rounds import (
    DEPTH,
    FACTORS,
    KEPT,
    KEYS,
    METHODS,
    MS_PER_S,
    NEW,
    SIZES,
    TRACED,
    TYPES,
    UNTRACED,
    batches,
    expected,
    fitted,
    published_table,
    timed,
    traced,
    way,
)
from reproductions.markdown import counted, table, warned

#: The greatest prediction error that both papers accept (after Menascé and Almeida), percent.
TARGET_MAPE = 30.0
CONNECTIONS = {NEW: "a new connection per request", KEPT: "connections kept"}
RESPONSE = "journey_p50"
#: How deep a published bundle went: `bundle_reads`, `bundle_forward`.
AS_PUBLISHED = ("one_by_one", "each")


class Batches:
    """The total time of a batch by block, in seconds: `logs` of it, and `ms`."""

    def __init__(self, rounds: pd.DataFrame, factors: Sequence[str] = FACTORS) -> None:
        self._by_scenario = by_block(rounds, factors, rounds[RESPONSE])

    def __contains__(self, levels: Key) -> bool:
        """Whether a scenario was measured."""
        return levels in self._by_scenario

    def logs(self, *levels: object) -> Floats:
        """The logs of a scenario's times by block."""
        return np.log(self._by_scenario[levels])

    def ms(self, *levels: object) -> Floats:
        """A scenario's times by block in milliseconds."""
        return self._by_scenario[levels] * MS_PER_S


def cells(rounds: pd.DataFrame) -> list[tuple[str, int]]:
    """Every function with every size that was measured, in the paper's order."""
    return [(method, size) for method, size in product(METHODS, SIZES) if (rounds["parameters.size"] == size).any()]


def trace_levels(rounds: pd.DataFrame) -> tuple[str, ...]:
    """How much was traced in the rounds whose times count."""
    return tuple(timed(rounds)["traces.sample"].unique())


def verdict_table(rounds: pd.DataFrame) -> str:
    """What the paper found, and the word for each finding."""
    return "\n".join([verdicts(claims(rounds)), "", trust(rounds)])


def claims(rounds: pd.DataFrame) -> Iterator[Claim]:
    """Every claim that these rounds can speak to."""
    times, published, share = Batches(rounds), way(rounds), trace_levels(rounds)[0]
    for connection in rounds["connection"].unique():
        reported = "" if connection == published else "(not the paper's) "
        at, after = (connection, share), f", {CONNECTIONS[connection]}"
        single = [(times.logs("N", *at, *cell), times.logs("Y", *at, *cell)) for cell in cells(rounds)]
        yield Claim(f"{reported}A bundle cuts the total time, for each function and size (H1){after}", LOWER, single)
        means = [
            (over_sizes(rounds, times, "N", at, method), over_sizes(rounds, times, "Y", at, method))
            for method in METHODS
        ]
        yield Claim(f"{reported}A bundle cuts the total time, for each function over all sizes{after}", LOWER, means)
    gain = {method: _gain(rounds, times, (published, share), method) for method in METHODS}
    others = [(gain[method], gain["Create"]) for method in METHODS if method != "Create"]
    yield Claim("Create gains less than Get and Update (Table II), over all sizes", HIGHER, others)
    yield Claim("Models 1 and 2 predict within 30 % (MAPE)", LOWER, _errors(rounds))
    yield from _costs(rounds, times)


def over_sizes(rounds: pd.DataFrame, times: Batches, bundle: str, at: tuple[str, str], method: str) -> Floats:
    """The mean logs of a function's times over all sizes, by block, with a kind of connections and of tracing."""
    own = [cell for cell in cells(rounds) if cell[0] == method]
    mean: Floats = np.mean([times.logs(bundle, *at, *cell) for cell in own], axis=0)
    return mean


def _gain(rounds: pd.DataFrame, times: Batches, at: tuple[str, str], method: str) -> Floats:
    return over_sizes(rounds, times, "Y", at, method) - over_sizes(rounds, times, "N", at, method)


def _errors(rounds: pd.DataFrame) -> list[tuple[Floats, Floats]]:
    """The target against the prediction errors of models that are fitted to each block alone, as logs."""
    by_model: dict[int, list[float]] = {1: [], 2: []}
    for _, block in traced(rounds).groupby("block"):
        models = fitted(batches(block))
        for number, errors in by_model.items():
            errors.append(models[number].errors.mape or np.nan)
    return [(np.full(len(errors), np.log(TARGET_MAPE)), np.log(errors)) for errors in by_model.values()]


def _costs(rounds: pd.DataFrame, times: Batches) -> Iterator[Claim]:
    if set(rounds["connection"]) == {NEW, KEPT}:
        share = trace_levels(rounds)[0]
        kinds = ((KEPT, share), (NEW, share))
        kept, new = ([over_sizes(rounds, times, "N", kind, method) for method in METHODS] for kind in kinds)
        pairs = list(zip(kept, new, strict=True))
        yield Claim("(not the paper's) A new connection per request costs time, without a bundle", HIGHER, pairs)
    if set(rounds["traces.sample"]) == {UNTRACED, TRACED}:
        pairs = [_tracing(rounds, times, method, bundle) for method, bundle in product(METHODS, "NY")]
        yield Claim("(not the paper's) Tracing every request costs time", HIGHER, pairs)


def _tracing(rounds: pd.DataFrame, times: Batches, method: str, bundle: str) -> tuple[Floats, Floats]:
    """The mean logs without and with tracing over all sizes and connections."""

    def mean(share: str) -> Floats:
        ways = rounds["connection"].unique()
        every: Floats = np.mean([over_sizes(rounds, times, bundle, (one, share), method) for one in ways], axis=0)
        return every

    return mean(UNTRACED), mean(TRACED)


def trust(rounds: pd.DataFrame) -> str:
    """How many rounds carry warnings, and how far the middle scenario lies from itself."""
    groups = [group[RESPONSE].to_numpy() for _, group in timed(rounds).groupby("scenario")]
    floor = floor_of(RESPONSE, groups).typical
    blocks = rounds["block"].nunique()
    return (
        f"{warned(rounds)} Every scenario was measured in {blocks} blocks. The noise floor of the total time, of the "
        f"middle scenario compared with itself, is {floor:.0f} %."
    )


def table_2(rounds: pd.DataFrame) -> str:
    """Our Table II next to the published one, and whether the counts are equal."""
    ours = batches(traced(rounds))
    both = ours.merge(published_table(), on=KEYS, suffixes=("", "_published"))
    heads = ["bundle", "function", "size", "in-memory calls", "db calls", "dist calls"]
    heads += ["in-memory time", "db time", "dist time", "total time"]
    rows = [_row_of_table_2(row) for _, row in both.sort_values(KEYS).iterrows()]
    return "\n".join([table(heads, rows), "", counts_verdict(ours)])


def _row_of_table_2(row: pd.Series) -> list[str]:
    calls, times = ([f"{kind}_{what}" for kind in TYPES] for what in ("calls", "time"))
    cells_of_row = [f"{row[name]:g} ({row[f'{name}_published']:g})".replace("nan", "unknown") for name in calls]
    cells_of_row += [f"{row[name]:.1f} ({row[f'{name}_published']:.0f})" for name in (*times, "total_time")]
    return [row["request_bundle"], row["method"], str(row["size"]), *cells_of_row]


def counts_verdict(ours: pd.DataFrame) -> str:
    """In how many scenarios database and distributed calls equal the published formulas."""
    equal = [
        all(np.isclose(row[f"{kind}_calls"], expected(kind, row)) for kind in ("db", "dist"))
        for _, row in ours.iterrows()
    ]
    return f"Database and distributed calls equal the published formulas in {sum(equal)} of {len(equal)} scenarios."


def savings(rounds: pd.DataFrame) -> str:
    """What a bundle saves of the total time in percent, with intervals over rounds that are paired by block."""
    times, share = Batches(rounds), trace_levels(rounds)[0]
    published = published_table().pivot(index=["method", "size"], columns="request_bundle", values="total_time")
    ways = [connection for connection in (NEW, KEPT) if (rounds["connection"] == connection).any()]
    rows = []
    for cell in cells(rounds):
        ours = [saved(contrast(times.logs("N", c, share, *cell), times.logs("Y", c, share, *cell))) for c in ways]
        rows.append([*cell, *ours, f"{100 * (1 - published['Y'][cell] / published['N'][cell]):.0f}"])
    return table(["function", "size", *(CONNECTIONS[connection] for connection in ways), "published"], rows)


def saved(change: Contrast) -> str:
    """A change of the time as what was saved, with its interval."""
    if not np.isfinite(change.low):
        return f"{-change.value:.0f} (no interval)"
    return f"{-change.value + 0.0:.0f} ({-change.high + 0.0:.0f} to {-change.low + 0.0:.0f})"


def costs(rounds: pd.DataFrame) -> str:
    """What connections and traces cost, per function; a line of its own where a study holds one of both alone."""
    return "\n\n".join([_of_connections(rounds), _of_tracing(rounds)])


def _of_connections(rounds: pd.DataFrame) -> str:
    if set(rounds["connection"]) != {NEW, KEPT}:
        return "These rounds have one kind of connection, so that what a new one costs is not told."
    times, share = Batches(rounds), trace_levels(rounds)[0]

    def cost(method: str, bundle: str) -> str:
        sizes = [size for name, size in cells(rounds) if name == method]
        kept, new = (
            np.mean([times.ms(bundle, c, share, method, n) / (n if bundle == "N" else 1) for n in sizes], axis=0)
            for c in (KEPT, NEW)
        )
        return contrast(kept, new, PLAIN).text()

    heads = ["function", "a new connection costs, ms per single request", "ms per bundle"]
    return table(heads, [[method, *(cost(method, bundle) for bundle in "NY")] for method in METHODS])


def _of_tracing(rounds: pd.DataFrame) -> str:
    if set(rounds["traces.sample"]) != {UNTRACED, TRACED}:
        return "These rounds were all traced alike, so that what tracing costs is not told."
    times = Batches(rounds)
    heads = ["function", "tracing every request changes the time by, without a bundle", "with one"]
    rows = [[m, *(contrast(*_tracing(rounds, times, m, bundle)).text() for bundle in "NY")] for m in METHODS]
    return table(heads, rows)


def summary(rounds: pd.DataFrame) -> str:
    """What the catalogue of patterns says: percent saved by the least and the greatest bundle."""
    times, at = Batches(rounds), (KEPT, trace_levels(rounds)[0])
    sizes = sorted({size for _, size in cells(rounds)})
    ends = (sizes[0], sizes[-1])

    def gain(method: str, size: int) -> str:
        return saved(contrast(times.logs("N", *at, method, size), times.logs("Y", *at, method, size)))

    rows = [[method, *(gain(method, size) for size in ends)] for method in METHODS]
    heads = ["operation", *(f"time saved by a bundle of {size}, percent (95 % interval)" for size in ends)]
    stated = (
        "The time of n requests, one after another by one client that keeps its connection, against one bundle of n,\n"
        f"in {rounds['block'].nunique()} rounds each:"
    )
    return "\n".join([stated, "", table(heads, rows)])


def depth(rounds: pd.DataFrame) -> str:
    """What going further down adds: percent of the bundle's time as published, with intervals; calls per bundle."""
    good = counted(rounds)
    good = good.assign(**{"parameters.size": good["parameters.size"].astype(int)})
    times = Batches(good, DEPTH)
    counts = good.groupby(list(DEPTH), sort=False)[["database_calls", "distributed_calls"]].median()
    rows = [
        [
            *cell,
            *ways,
            *(f"{counts[name][(*ways, *cell)]:g}" for name in counts),
            _ms(times, *ways, *cell),
            _deeper(times, ways, cell),
        ]
        for cell in cells(good)
        for ways in product(("one_by_one", "batched"), ("each", "once"))
        if (*ways, *cell) in times
    ]
    heads = ["function", "size", "`bundle_reads`", "`bundle_forward`", "db calls", "dist calls", "ms", "saved, percent"]
    return table(heads, rows)


def _ms(times: Batches, *levels: object) -> str:
    return f"{np.nanmedian(times.ms(*levels)):.1f}"


def _deeper(times: Batches, ways: tuple[str, str], cell: tuple[str, int]) -> str:
    """What a bundle that goes down in these ways saves against the published one of the same function and size."""
    if ways == AS_PUBLISHED:
        return "as published"
    return saved(contrast(times.logs(*AS_PUBLISHED, *cell), times.logs(*ways, *cell)))
