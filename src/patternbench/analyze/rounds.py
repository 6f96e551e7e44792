"""Which columns of a table of rounds are factors, which are responses, and what a scenario is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from patternbench.analyze.arrays import out_of_scale
from patternbench.analyze.derived import PREFIX
from patternbench.analyze.groups import Places, rows_of_groups
from patternbench.analyze.metrics import RESPONSES
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import DataError, DataProblem, did_you_mean, raise_if_any
from patternbench.terms.factors import NOTHING_KNOWN, FactorTable
from patternbench.terms.quantities import SECONDS, SHARES, level_text
from patternbench.terms.responses import USUAL, WITHOUT_SUCCESSES, counted_by

BOOKKEEPING = (
    *("round", "block", "scenario", "status", "cause", "warnings"),
    *("started", "seconds", "generator_cpu_s", "system_cpu_s", "valid"),
    *("cold", "warmed", "warm_up_attempts", "warm_up_s"),
    "simulated",
)
"""Columns of a run's rounds that are neither factor nor response (contracts/records)."""
CHOSEN = (PREFIX, "series.")
"""How the names of responses begin that a study chooses: those it derives, and series of a monitoring system."""


MOST_CALLS = 1e9
"""Calls of a scenario, of which more are taken for a mistake: tests of counts overflow at three times as many."""
_ROUNDING = 1e-6
Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ColumnRoles:
    """Factor columns and response columns of a table of rounds, and what is known of the factors.

    ``typical`` asks for typical rounds, without the outer fifths.
    """

    factors: tuple[str, ...]
    responses: tuple[str, ...]
    factor_table: FactorTable = NOTHING_KNOWN
    typical: bool = False


def roles(
    table: pd.DataFrame,
    by: Sequence[str] = (),
    responses: Sequence[str] = (),
    factor_table: FactorTable = NOTHING_KNOWN,
) -> ColumnRoles:
    """Tell factors from responses: by a run's ``factor_table``, else by the names of responses, or as ``by`` says.

    Raises ``DataError`` if a name isn't a column, if a response isn't numeric or is too large to compute with, or if
    nothing distinguishes the scenarios.
    """
    columns = [str(name) for name in table.columns]
    raise_if_any(_unknown(columns, "--by", by) + _unknown(columns, "--response", responses))
    chosen = tuple(responses) or _usual(columns) or _numeric_rest(table, by)
    factors = tuple(by) or tuple(name for name in columns if _is_factor(name, chosen, factor_table))
    if not chosen:
        raise DataError(DataProblem("no response is known in this table.", "", "Name one: --response p95."))
    if not factors and "scenario" not in columns:
        raise DataError(
            DataProblem("nothing distinguishes scenarios.", "", "Name the factor columns: --by users,strategy.")
        )
    raise_if_any(_not_numeric(table, chosen))
    raise_if_any(problem for name in chosen for problem in out_of_scale(finite(table[name])[:, None], [name]))
    return ColumnRoles(factors, chosen, factor_table)


def varying(table: pd.DataFrame, columns: ColumnRoles) -> ColumnRoles:
    """Leave out factors of a single level, which tell nothing apart in this table, unless that leaves none."""
    kept = tuple(name for name in columns.factors if table[name].nunique(dropna=False) > 1)
    return replace(columns, factors=kept or columns.factors)


def _unknown(columns: Sequence[str], option: str, names: Sequence[str]) -> list[DataProblem]:
    wrong = [name for name in names if name not in columns]
    return [DataProblem(f"no column is called {name}.", option, did_you_mean(name, columns)) for name in wrong]


def _usual(columns: Sequence[str]) -> tuple[str, ...]:
    names = USUAL if set(USUAL) <= set(columns) else WITHOUT_SUCCESSES
    return tuple(name for name in names if name in columns)


def _numeric_rest(table: pd.DataFrame, by: Sequence[str]) -> tuple[str, ...]:
    if not by:
        return ()
    numeric = table.select_dtypes("number").columns
    return tuple(str(name) for name in numeric if name not in by and name not in BOOKKEEPING)


def _is_factor(name: str, responses: Sequence[str], factor_table: FactorTable) -> bool:
    if factor_table:
        return name in factor_table and name not in responses
    return name not in {*BOOKKEEPING, *SECONDS, *RESPONSES, *responses} and not name.startswith(CHOSEN)


def _not_numeric(table: pd.DataFrame, responses: Sequence[str]) -> list[DataProblem]:
    kinds = {name: table[name].dtype for name in responses}
    wrong = {name: "true and false" for name, kind in kinds.items() if pd.api.types.is_bool_dtype(kind)}
    wrong |= {name: "text" for name, kind in kinds.items() if not pd.api.types.is_numeric_dtype(kind)}
    return [DataProblem(f"response {name} holds {what}.", "", "Store it as numbers.") for name, what in wrong.items()]


@dataclass(frozen=True)
class ScenarioRounds:
    """The rounds of one scenario: the levels that apply, and one array per response (rounds).

    ``blocks`` gives for each response the block of each of its values; empty where a table has no blocks. ``counts``
    gives for each share how many calls (or journeys, or items) each of its values is of; empty where a table doesn't
    say so. ``typical`` says that its typical rounds stand for it, without the outer fifths; never of shares, whose bad
    rounds are what a limit on failures is for.
    """

    name: str
    levels: Mapping[str, object]
    values: Mapping[str, Floats]
    blocks: Mapping[str, Floats] = field(default_factory=dict)
    counts: Mapping[str, Floats] = field(default_factory=dict)
    typical: bool = False

    def typical_in(self, response: str) -> bool:
        """Whether its typical rounds stand for it in this response."""
        return self.typical and response not in SHARES

    def in_blocks(self, chosen: Sequence[int]) -> ScenarioRounds:
        """Return it with the rounds of some blocks alone; as it is where a table has no blocks."""
        if not self.blocks:
            return self
        kept = {name: np.isin(blocks, chosen) for name, blocks in self.blocks.items()}
        return replace(
            self,
            values={name: values[kept[name]] for name, values in self.values.items()},
            blocks={name: blocks[kept[name]] for name, blocks in self.blocks.items()},
            counts={name: counts[kept[name]] for name, counts in self.counts.items()},
        )


def scenarios(table: pd.DataFrame, columns: ColumnRoles) -> list[ScenarioRounds]:
    """Group rounds by scenario, in order of appearance, leaving out missing and infinite values."""
    numbered = _with_numbered_blocks(table)
    numbers = {name: _numbers(numbered[name]) for name in _numeric_columns(numbered, columns)}
    return [
        _scenario(levels, {n: v[rows] for n, v in numbers.items()}, columns)
        for levels, rows in rows_by_levels(table, columns)
    ]


def rows_by_levels(table: pd.DataFrame, columns: ColumnRoles) -> Iterator[tuple[dict[str, object], Places]]:
    """Yield the levels of each scenario that apply, and the places of its rows, in order of appearance."""
    keys = list(columns.factors) or ["scenario"]
    groups = rows_of_groups(table, keys)
    first = [rows[0] for rows in groups]
    levels = zip(*(table[name].iloc[first].tolist() for name in keys), strict=True)
    for own, rows in zip(levels, groups, strict=True):
        yield levels_of(keys, own, columns.factor_table), rows


def _numeric_columns(table: pd.DataFrame, columns: ColumnRoles) -> set[str]:
    """Return the columns that the scenarios' numbers come from: blocks, responses, and what shares are counted by."""
    wanted = {"block", *_counters(columns).values()}
    there = {name for name in wanted if name in table and pd.api.types.is_numeric_dtype(table[name])}
    return there.union(columns.responses)


def _counters(columns: ColumnRoles) -> dict[str, str]:
    """Return by what each share is counted: calls, journeys or items."""
    return {name: counted_by(name) for name in columns.responses if name in SHARES}


def _with_numbered_blocks(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose blocks are numbers: those that are named count from 0, in order of appearance."""
    blocks = table.get("block")
    if blocks is None or pd.api.types.is_numeric_dtype(blocks):
        return table
    numbers = pd.Series(pd.factorize(blocks)[0], index=table.index, dtype=float)
    return table.assign(block=numbers.where(blocks.notna()))


def _scenario(levels: dict[str, object], rows: Mapping[str, Floats], columns: ColumnRoles) -> ScenarioRounds:
    values = {name: rows[name][np.isfinite(rows[name])] for name in columns.responses}
    return ScenarioRounds(
        label(levels), levels, values, _blocks(rows, columns), _counts(rows, columns), columns.typical
    )


def levels_of(names: Sequence[str], values: Iterable[object], factors: FactorTable) -> dict[str, object]:
    """Return the levels of a row by its columns, as a scenario has them: those that apply."""
    return {n: factors.level(n, _plain(v)) for n, v in zip(names, values, strict=True) if not _is_missing(v)}


def _blocks(rows: Mapping[str, Floats], columns: ColumnRoles) -> dict[str, Floats]:
    """Return the block of each finite value, per response; none when a block holds several rounds of the scenario."""
    blocks = rows.get("block")
    if blocks is None or np.isnan(blocks).any() or len(np.unique(blocks)) < len(blocks):
        return {}
    return {name: blocks[np.isfinite(rows[name])] for name in columns.responses}


def _counts(rows: Mapping[str, Floats], columns: ColumnRoles) -> dict[str, Floats]:
    """Of how many calls, journeys or items each finite value of a share is; none where that can't be."""
    known = {name: by for name, by in _counters(columns).items() if by in rows and _can_be(rows[name], rows[by])}
    return {name: rows[by][np.isfinite(rows[name])] for name, by in known.items()}


def _can_be(shares: Floats, calls: Floats) -> bool:
    """Whether these are shares in percent of these calls: tables of others may hold anything under such names."""
    percents, counts = shares[np.isfinite(shares)], calls[np.isfinite(calls)]
    within = (percents >= 0).all() and (percents <= 100 + _ROUNDING).all()
    return bool(within and (counts >= 0).all() and counts.sum() <= MOST_CALLS)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value)) or value is pd.NA


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def finite(column: pd.Series) -> Floats:
    """Return the finite values of a column."""
    values = _numbers(column)
    return values[np.isfinite(values)]


def _numbers(column: pd.Series) -> Floats:
    """Return the values of a column as numbers; NaN where one is missing."""
    values: Floats = column.to_numpy(dtype=float, na_value=np.nan)
    return values


def label(levels: Mapping[str, object]) -> str:
    """Name a scenario by its levels: ``users=80, strategy=retry, initial=20ms``."""
    parts = (f"{_short_name(name, levels)}={level_text(value)}" for name, value in levels.items())
    return ", ".join(parts) or "all"


def _short_name(name: str, levels: Mapping[str, object]) -> str:
    """Leave out the path of a factor that belongs to a level already named, while that keeps the names apart."""
    path, _, last = name.partition(".")
    reported = any(value == path for value in levels.values())
    short = name.rsplit(".", 1)[-1]
    alone = sum(other.rsplit(".", 1)[-1] == short for other in levels) == 1
    return short if last and reported and alone else name


def key(levels: Mapping[str, object]) -> Key:
    """Return a key that two scenarios share exactly if their levels are the same, in any order and of any type."""
    return tuple(sorted((name, f"{v:g}" if isinstance(v, float) else str(v)) for name, v in levels.items()))


def level_of(text: str, table: pd.DataFrame, option: str, factors: FactorTable = NOTHING_KNOWN) -> tuple[str, object]:
    """Read ``factor=level`` and find that level in ``table``; raises ``DataError`` with the levels there are."""
    name, sign, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not sign or name not in table.columns:
        remedy = did_you_mean(name, table.columns) if sign else "Write factor=level, such as strategy=baseline."
        raise DataError(DataProblem(f"'{text}' isn't a level.", option, remedy))
    levels = [_plain(v) for v in table[name].dropna().unique()]
    for one in levels:
        if value in (factors.text(name, one), str(one)) or _same_number(name, one, value, factors):
            return name, one
    texts = [factors.text(name, one) for one in levels]
    raise DataError(DataProblem(f"{name} has no level {value}.", option, did_you_mean(value, texts)))


def _same_number(name: str, level: object, text: str, factors: FactorTable) -> bool:
    try:
        return isinstance(level, (int, float)) and bool(np.isclose(float(level), factors.read(name, text), rtol=1e-9))
    except ValueError:
        return False
