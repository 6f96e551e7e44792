"""Turns a formula and a table into a design: matrices that are finite, full-rank and fully named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd
from formulaic import Formula, ModelMatrix
from formulaic.materializers import PandasMaterializer

from patternbench.analyze.arrays import out_of_scale
from patternbench.analyze.blocks import Blocks
from patternbench.analyze.models.decomposition import triangle_of
from patternbench.analyze.models.formula_text import Parsed, at, parse_formula
from patternbench.analyze.models.nesting import Nest, Nested, by_kind, crossing_problems, nest
from patternbench.analyze.round_sums import numbered
from patternbench.terms.arrays import Bools, Floats, Ints
from patternbench.terms.data_problems import DataError, DataProblem, Note, did_you_mean, plural, raise_if_any
from patternbench.terms.factors import NOTHING_KNOWN, FactorTable

_CONTEXT = {"sqrt": np.sqrt}
_MOSTLY_NUMBERS = 0.5
"""A column counts as numbers with mistakes in it when at least this share of its text reads as numbers."""
_OWN_SHARE = 1e-7
"""A column is called a combination of others when less than this share of its length is its own."""
_NEGLIGIBLE = 1e-6
_ROUNDING = 1e-13
"""A column that varies by less than this share of its mean varies by rounding alone."""
_NAMED_AT_MOST = 3
MOST_COEFFICIENTS = 200
"""Coefficients of a model at most. The time of a fit grows with their cube, and no one reads more of them."""


@dataclass(frozen=True)
class Block:
    """One term of the formula: its name, the positions of its columns in the design, the table's columns it reads."""

    name: str
    columns: tuple[int, ...]
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class DesignMatrix:
    """The matrices of one formula over one table.

    ``y`` is n x q, ``rows`` holds the positions (from 0) of the used rows in the table. ``levels`` maps each
    categorical column to its levels (the first is the reference), ``ranges`` each numeric one to its smallest and
    largest value. ``factors`` is what is known of the table's factors. Of the matrix ``x``, ``means`` and ``spans``
    (p) are each column's mean and largest difference, ``triangle`` (p x p) is the r of ``x - centre`` = q r, and
    ``kept`` says which columns of the formula it has.
    """

    parsed: Parsed
    y: Floats
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]
    rows: Ints
    frame: pd.DataFrame
    levels: Mapping[str, tuple[object, ...]]
    ranges: Mapping[str, tuple[float, float]]
    kept: tuple[int, ...]
    means: Floats
    spans: Floats
    triangle: Floats
    notes: tuple[Note, ...] = field(default=())
    nests: tuple[Nest, ...] = field(default=())
    factors: FactorTable = NOTHING_KNOWN

    @cached_property
    def x(self) -> Floats:
        """The matrix (n x p), of full column rank."""
        return _some_of(right_side(self.parsed, self.frame)[0], self.kept)

    @cached_property
    def cells(self) -> Ints:
        """The number of each row's combination of factor values, in the order of the sorted values."""
        return combinations([self.frame[name] for name in self.parsed.right])

    def forget(self) -> None:
        """Give up what is as long as the table and can be made again: ``x``, the largest of all, and ``cells``."""
        self.__dict__.pop("x", None)
        self.__dict__.pop("cells", None)

    @property
    def responses(self) -> tuple[str, ...]:
        """Names of the responses, as the formula writes them."""
        return self.parsed.responses

    @property
    def intercept(self) -> bool:
        """Whether the design has a column of ones."""
        return "Intercept" in self.columns

    @property
    def centre(self) -> Floats:
        """The mean of every column but the intercept; zeros in a design without one."""
        return centres(self.means, self.columns)

    @property
    def correlation(self) -> Floats:
        """The correlation of the columns but the intercept, of a design that has one."""
        inner = self.triangle[:, [i for i, name in enumerate(self.columns) if name != "Intercept"]]
        scaled = inner / np.linalg.norm(inner, axis=0)
        return np.asarray(scaled.T @ scaled, dtype=np.float64)


def combinations(columns: Sequence[pd.Series]) -> Ints:
    """Return the number of each row's combination of values, in the order of the sorted values."""
    number: Ints = np.zeros(len(columns[0]), dtype=np.int64)
    count = 1
    for column in columns:
        codes, size = _sorted_codes(column)
        if count * size > np.iinfo(np.int64).max:
            found, place = numbered(number)
            number, count = place.astype(np.int64), len(found)
        number, count = number * size + codes, count * size
    return numbered(number)[1].astype(np.int64)


def _sorted_codes(column: pd.Series) -> tuple[Ints, int]:
    """Return the place of each value among those of a column, and how many there are."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column.cat.codes, dtype=np.int64), len(column.cat.categories)
    codes, values = pd.factorize(column, sort=True)
    return np.asarray(codes, dtype=np.int64), len(values)


def build_design(text: str, table: pd.DataFrame, factors: FactorTable = NOTHING_KNOWN) -> DesignMatrix:
    """Build the design of formula ``text`` over ``table``, of whose columns ``factors`` are known.

    Rows with missing or infinite values are left out, terms with one level and columns that other columns
    explain are dropped; each such fallback is a note. Raises ``DataError`` where no sound fallback exists.
    """
    parsed = read_formula(text, table)
    raise_if_any(text_problems(parsed, table))
    nested = _nested(parsed, table, factors)
    frame, rows, notes = _complete_rows(parsed, nested.table, nested.alone)
    raise_if_any(response_problems(_ends(frame[list(parsed.left)].to_numpy(dtype=float), parsed.left), len(frame)))
    frame = _as_categories(parsed, frame, factors)
    constants = {name: frame[name].iloc[0] for name in parsed.right if _is_constant(frame[name])}
    varying, dropped = without_constants(parsed, constants)
    usable = _UsableRows(frame, rows, [*nested.notes, *notes, *dropped], nested.nests, factors)
    return _assemble(varying, usable)


@dataclass(frozen=True)
class _UsableRows:
    """The rows of a table that a formula can use, their positions in it, and what there is to say of them."""

    frame: pd.DataFrame
    rows: Ints
    notes: Sequence[Note]
    nests: tuple[Nest, ...]
    factors: FactorTable


def _is_constant(column: pd.Series) -> bool:
    """Say whether a column without missing values, whose categories are those in use, holds one value."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return len(column.cat.categories) == 1
    return bool((column == column.iloc[0]).all())


def read_formula(text: str, table: pd.DataFrame) -> Parsed:
    """Parse formula ``text``. Raises ``DataError`` for one without a factor, and for unknown names."""
    parsed = parse_formula(text)
    if not parsed.right:
        raise DataError(DataProblem("names no factor: there is nothing to estimate.", at(text), "Add one."))
    raise_if_any(unknown_columns(parsed, table))
    return parsed


def _nested(parsed: Parsed, table: pd.DataFrame, factors: FactorTable) -> Nested:
    """Fill the nulls of nested factors; raises ``DataError`` for interactions that they cannot have."""
    texts = [name for name in parsed.right if name in parsed.categorical or not is_number(table[name])]
    nested = nest(table, parsed.right, texts, factors)
    raise_if_any(nest_problems(parsed, nested.nests))
    return nested


def nest_problems(parsed: Parsed, nests: Sequence[Nest]) -> list[DataProblem]:
    """Refuse interactions that nested factors cannot have."""
    terms = [(parsed.shown(term), parsed.reads(term)) for term in parsed.formula.rhs]
    return crossing_problems(nests, terms, at(parsed.text))


def right_side(parsed: Parsed, frame: pd.DataFrame) -> tuple[Floats, tuple[str, ...], tuple[Block, ...]]:
    """Evaluate the right side over ``frame``: the matrix, the names of its columns, and its terms."""
    matrix = _evaluated(Formula(parsed.formula.rhs), parsed, frame)
    spec = matrix.model_spec
    blocks = [Block(_term_name(parsed, term), tuple(i), parsed.reads(term)) for term, i in spec.term_indices.items()]
    columns = tuple(parsed.shown(name) for name in spec.column_names)
    return np.asarray(matrix, dtype=float), columns, tuple(b for b in blocks if b.columns)


def left_side(parsed: Parsed, frame: pd.DataFrame) -> Floats:
    """Evaluate the left side over ``frame``: a column for each response."""
    left = Formula(" + ".join(str(term) for term in parsed.formula.lhs) + " - 1")
    return np.asarray(_evaluated(left, parsed, frame), dtype=float)


def _evaluated(side: Formula, parsed: Parsed, frame: pd.DataFrame) -> ModelMatrix:
    """Evaluate ``side`` under the stand-ins of the columns; whole numbers become floats, whose powers do not wrap."""
    columns = {name: _as_floats(frame[column]) for name, column in parsed.names.items() if column in frame}
    data = pd.DataFrame(columns)
    made_by = PandasMaterializer(data, context=_CONTEXT)
    with np.errstate(all="ignore"):
        matrix: ModelMatrix = made_by.get_model_matrix(side, output="numpy", na_action="ignore")
    # Both are in a circle, so that their columns would stay in memory until Python looks for circles.
    vars(made_by).clear()
    for name in columns:
        del data[name]
    return matrix


def _as_floats(column: pd.Series) -> pd.Series:
    return column.astype(float) if is_number(column) else column


def _term_name(parsed: Parsed, term: object) -> str:
    name = str(term)
    return "Intercept" if name == "1" else parsed.shown(name)


# --- checking the table
# ------------------------------------------------------------------------------------------


def unknown_columns(parsed: Parsed, table: pd.DataFrame | Blocks) -> list[DataProblem]:
    """Say which names of a formula are not columns of a table."""
    columns = [str(name) for name in table.columns]
    random = (parsed.random.group, *parsed.random.slopes) if parsed.random else ()
    missing = [name for name in dict.fromkeys((*parsed.left, *parsed.right, *random)) if name not in columns]
    return [
        DataProblem(f"no column is called {name}.", at(parsed.text), did_you_mean(name, columns)) for name in missing
    ]


def is_number(column: pd.Series) -> bool:
    """Say whether a column holds numbers; true and false do not count."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def text_problems(parsed: Parsed, table: pd.DataFrame) -> list[DataProblem]:
    """Say which columns hold text where a formula needs numbers."""
    texts = Texts(parsed)
    texts.add(table, 0)
    return texts.problems()


class Texts:
    """The text in the columns that a formula reads, counted by blocks of rows."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        names = (*parsed.left, *(name for name in parsed.right if name not in parsed.categorical))
        self._columns = {name: _Cells() for name in names}

    def add(self, block: pd.DataFrame, begin: int) -> None:
        """Count a block's cells; ``begin`` is the position of its first row in the table."""
        for name, cells in self._columns.items():
            if not is_number(block[name]):
                cells.add(block[name], begin)

    def problems(self) -> list[DataProblem]:
        """Say which columns hold text where the formula needs numbers."""
        must = set(self._parsed.left) | set(self._parsed.arithmetic)
        return [problem for name, cells in self._columns.items() for problem in cells.problems(name, name in must)]


@dataclass
class _Cells:
    """The cells of a column of text: how many there are, how many aren't numbers, and the first of those."""

    filled: int = 0
    wrong: int = 0
    row: int = 0
    value: object = None
    truths: bool = False

    def add(self, column: pd.Series, begin: int) -> None:
        counts = without_categories(column).dropna().value_counts(sort=False)
        texts = pd.Series(counts.index.map(str), dtype=object)
        unread = ~np.isfinite(pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float))
        if not self.wrong and unread.any():
            first = int(np.flatnonzero(column.isin(set(counts.index[unread])))[0])
            self.row, self.value = begin + first + 1, column.iloc[first]
        self.filled += int(counts.sum())
        self.wrong += int(counts[unread].sum())
        self.truths = self.truths or pd.api.types.is_bool_dtype(column)

    def problems(self, name: str, must: bool) -> list[DataProblem]:
        if not self.filled:
            return []  # the check for complete rows names it
        if not must and (1 - self.wrong / self.filled < _MOSTLY_NUMBERS or self.truths):
            return []
        if not self.wrong:
            return [
                DataProblem(f"column {name} holds numbers as text.", "", f"Store it as numbers, or write C({name}).")
            ]
        more = f" ({plural(self.wrong, 'such value')})" if self.wrong > 1 else ""
        what = f"column {name} must hold numbers but holds '{self.value}'{more}."
        remedy = "Correct or remove it." if must else f"Correct or remove it, or write C({name}) for a category."
        return [DataProblem(what, f"row {self.row}", remedy)]


def _complete_rows(
    parsed: Parsed, table: pd.DataFrame, explained: Sequence[str]
) -> tuple[pd.DataFrame, Ints, list[Note]]:
    names = list(dict.fromkeys((*parsed.left, *parsed.right)))
    frame = pd.DataFrame({name: table[name] for name in names}, copy=False)  # shares the table's memory
    missing = {name: frame[name].isna().to_numpy() for name in names}
    infinite = {name: _infinite(frame[name]) for name in names}
    bad = np.logical_or.reduce([*missing.values(), *infinite.values()])
    if bad.all():
        culprits = ", ".join(_culprits(missing, infinite)) or "the table is empty"
        raise DataError(DataProblem(f"no row is complete: {culprits}.", at(parsed.text)))
    lacking = {name: cells for name, cells in missing.items() if name not in explained}
    notes = _row_notes("missing", lacking) + _row_notes("infinite", infinite)
    kept = frame.loc[~bad] if bad.any() else frame
    rows = np.flatnonzero(~bad) if bad.any() else _every_row(len(table))
    return kept.reset_index(drop=True), rows, notes


@lru_cache(maxsize=1)
def _every_row(count: int) -> Ints:
    """Return the positions of all rows of a table, which the designs of several formulas share."""
    rows = np.arange(count)
    rows.flags.writeable = False
    return rows


def _infinite(column: pd.Series) -> Bools:
    """Which cells of a column are infinite; of floats alone some may be."""
    if not is_number(column) or pd.api.types.is_integer_dtype(column):
        return np.zeros(len(column), dtype=bool)
    return np.asarray(np.isinf(column.to_numpy(dtype=float, na_value=np.nan)))


def _culprits(missing: Mapping[str, Bools], infinite: Mapping[str, Bools]) -> list[str]:
    counts = {name: int((cells | infinite[name]).sum()) for name, cells in missing.items()}
    return [f"{name} lacks {plural(count, 'value')}" for name, count in counts.items() if count]


def _row_notes(kind: str, flags: Mapping[str, Bools]) -> list[Note]:
    notes = []
    for name, cells in flags.items():
        count = int(cells.sum())
        if count:
            rows = ", ".join(str(int(i) + 1) for i in np.flatnonzero(cells)[:_NAMED_AT_MOST])
            dots = ", ..." if count > _NAMED_AT_MOST else ""
            text = f"{plural(count, 'row')} left out because {name} is {kind} (row {rows}{dots})."
            notes.append(Note(kind, text))
    return notes


def _ends(matrix: Floats, names: Sequence[str]) -> dict[str, tuple[float, float]]:
    return dict(zip(names, zip(matrix.min(axis=0).tolist(), matrix.max(axis=0).tolist(), strict=True), strict=True))


def response_problems(ends: Mapping[str, tuple[float, float]], rows: int) -> list[DataProblem]:
    """Say which responses never vary; ``ends`` are the least and largest value of each in this many rows."""
    problems = []
    for name, (low, high) in ends.items():
        if low == high and (low == 0 or rows > 1):
            value = "zero" if low == 0 else f"{low:g}"
            what = f"{name} is {value} in every row: there is nothing to explain."
            problems.append(DataProblem(what, f"response {name}"))
    return problems


def _as_categories(parsed: Parsed, frame: pd.DataFrame, factors: FactorTable) -> pd.DataFrame:
    frame = frame.copy(deep=False)
    for name in parsed.right:
        if name in parsed.categorical or not is_number(frame[name]):
            values = without_categories(frame[name])
            frame[name] = pd.Categorical(values, categories=in_order(values.unique(), factors.nones.get(name)))
    return frame


def in_order(levels: Iterable[object], none: object) -> list[object]:
    """Return levels in order. The one without the pattern comes first, as the reference of the others."""
    ordered = sorted(levels, key=by_kind)
    return list(dict.fromkeys([*(level for level in ordered if level == none), *ordered]))


def without_categories(column: pd.Series) -> pd.Series:
    """Return a column of values, which know nothing of categories."""
    return column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column


def without_constants(parsed: Parsed, constants: Mapping[str, object]) -> tuple[Parsed, list[Note]]:
    """Return a formula without the terms that read a constant, with a note on each. Raises where none is left."""
    if not constants:
        return parsed, []
    held = [(term, [name for name in parsed.reads(term) if name in constants]) for term in parsed.formula.rhs]
    gone = [(term, names[0]) for term, names in held if names]
    notes = [Note("dropped_term", _constant_text(parsed, term, name, constants[name])) for term, name in gone]
    if all(names or str(term) == "1" for term, names in held):
        lost = [DataProblem(note.text, at(parsed.text)) for note in notes]
        raise DataError(*lost, DataProblem("No term is left.", at(parsed.text)))
    return parsed.without([term for term, _ in gone]), notes


def _constant_text(parsed: Parsed, term: object, name: str, value: object) -> str:
    return f"Term {parsed.shown(term)} left out: {name} is {value} in every row, so it has no effect to estimate."


# --- matrices
# ----------------------------------------------------------------------------------------------------


def _assemble(parsed: Parsed, usable: _UsableRows) -> DesignMatrix:
    """Make the design of a formula whose columns all vary; ``x`` is at hand until it is forgotten."""
    frame, rows = usable.frame, usable.rows
    raise_if_any(_too_wide(parsed, frame))
    x, columns, blocks = right_side(parsed, frame)
    y = left_side(parsed, frame)
    raise_if_any(names_as_responses(y, parsed))
    raise_if_any(not_finite(x, columns, rows) + not_finite(y, parsed.responses, rows))
    raise_if_any(out_of_scale(x, columns) + out_of_scale(y, parsed.responses))
    raise_if_any(response_problems(_ends(y, parsed.responses), len(y)))
    means: Floats = x.mean(axis=0)
    triangle = triangle_of(x, centres(means, columns))
    size = np.sqrt(np.einsum("ij,ij->j", x, x))
    keep, aliased = independent_of(triangle, size, columns, centres(means, columns))
    raise_if_any(nothing_left(parsed, keep, columns, aliased))
    raise_if_any(too_few_rows(parsed, len(x), len(keep)))
    levels = {n: tuple(frame[n].cat.categories) for n in parsed.right if not is_number(frame[n])}
    x = _some_of(x, keep)
    made = DesignMatrix(
        parsed=parsed,
        y=y,
        columns=tuple(columns[i] for i in keep),
        blocks=_blocks_of(keep, blocks),
        rows=rows,
        frame=frame,
        levels=levels,
        ranges={n: (float(frame[n].min()), float(frame[n].max())) for n in parsed.right if n not in levels},
        kept=tuple(keep),
        means=means[keep],
        spans=x.max(axis=0) - x.min(axis=0),
        triangle=triangle_of(triangle[:, keep]),
        notes=(*usable.notes, *aliased),
        nests=usable.nests,
        factors=usable.factors,
    )
    made.__dict__["x"] = x
    return made


def _too_wide(parsed: Parsed, frame: pd.DataFrame) -> list[DataProblem]:
    """Refuse a model of more coefficients than can be fitted: usually an id was taken for a category."""
    return too_wide(parsed, {n: len(frame[n].cat.categories) - 1 for n in parsed.right if not is_number(frame[n])})


def too_wide(parsed: Parsed, spans: Mapping[str, int], at_least: bool = False) -> list[DataProblem]:
    """Refuse a model of too many coefficients; ``spans`` are those of each category by itself, ``at_least`` or not."""
    widths = {
        parsed.shown(str(term)): math.prod(spans.get(name, 1) for name in parsed.reads(term))
        for term in parsed.formula.rhs
    }
    count, widest = sum(widths.values()), max(widths, key=widths.__getitem__)
    if count <= MOST_COEFFICIENTS:
        return []
    least = "at least " if at_least else ""
    numbers = f"{least}{count:,} coefficients, {least}{widths[widest]:,} of them for {widest}"
    what = f"has {numbers}; at most {MOST_COEFFICIENTS} are fitted."
    return [DataProblem(what, at(parsed.text), "Leave that out, group its levels, or write them as a number.")]


def names_as_responses(y: Floats, parsed: Parsed) -> list[DataProblem]:
    """Return the problem of a response that is on the right as names (``C(x)``): it has a column for each level."""
    if y.shape[1] == len(parsed.responses):
        return []
    what = f"{', '.join(parsed.responses)}: a response is on the right, too, and as names."
    return [DataProblem(what, at(parsed.text), "Take it out there.")]


def not_finite(matrix: Floats, names: Sequence[str], rows: Ints) -> list[DataProblem]:
    """Say which columns of a matrix are not finite; ``rows`` are its rows' positions in the table."""
    problems = []
    for j in np.flatnonzero(~np.isfinite(matrix).all(axis=0)).tolist():
        row = int(rows[np.flatnonzero(~np.isfinite(matrix[:, j]))[0]]) + 1
        problems.append(
            DataProblem(f"{names[j]} has no finite value there (a log of zero, or a division by zero?).", f"row {row}")
        )
    return problems


def too_few_rows(parsed: Parsed, rows: int, terms: int) -> list[DataProblem]:
    """Refuse as many coefficients as there are rows."""
    if rows > terms:
        return []
    what = f"{plural(rows, 'complete row')} cannot carry {plural(terms, 'coefficient')}."
    return [DataProblem(what, at(parsed.text), f"Add rows (at least {terms + 1}) or remove terms.")]


def nothing_left(
    parsed: Parsed, keep: Sequence[int], columns: Sequence[str], aliased: Sequence[Note]
) -> list[DataProblem]:
    """Refuse a design of which at most the intercept is kept."""
    if any(columns[i] != "Intercept" for i in keep):
        return []
    return [DataProblem(note.text, at(parsed.text)) for note in aliased] + [
        DataProblem("No term is left.", at(parsed.text))
    ]


def _some_of(x: Floats, keep: Sequence[int]) -> Floats:
    """Return the columns that are kept."""
    return x if len(keep) == x.shape[1] else x[:, list(keep)]


def _blocks_of(keep: Sequence[int], blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the terms that have a column left, with the places of their columns among those that are kept."""
    moved_to = {old: new for new, old in enumerate(keep)}
    moved = [replace(b, columns=tuple(moved_to[c] for c in b.columns if c in moved_to)) for b in blocks]
    return tuple(b for b in moved if b.columns)


def independent_of(
    triangle: Floats, size: Floats, columns: Sequence[str], means: Floats
) -> tuple[list[int], list[Note]]:
    """Keep the columns that earlier ones do not explain; a note names each one dropped.

    This is R's rule for ``lm``: in the order of the formula, a column whose own share of its length is below
    1e-7 is dropped. A column is looked at around its mean where the design has an intercept, so that a clock's
    time (1.7e9 s and some seconds) isn't taken for a constant. All work happens on the ``triangle`` of the centred
    columns; ``size`` are their lengths before that, and ``means`` what was taken from them.
    """
    scale = np.linalg.norm(triangle, axis=0)
    keep: list[int] = []
    notes = []
    for j in range(triangle.shape[1]):
        weights, own = _explained(triangle, keep, j)
        if own > max(_OWN_SHARE * scale[j], _ROUNDING * size[j], np.finfo(float).tiny):
            keep.append(j)
        else:
            whole = _with_intercept(columns, keep, weights, means, j)
            notes.append(Note("aliased", _alias_text(columns, keep, whole, j)))
    return keep, notes


def centres(means: Floats, columns: Sequence[str]) -> Floats:
    """Return the mean of every column but the intercept, of all ``means``; zeros in a design without one."""
    if "Intercept" not in columns:
        return np.zeros(len(means))
    return np.where([name == "Intercept" for name in columns], 0.0, means)


def _with_intercept(columns: Sequence[str], keep: list[int], weights: Floats, means: Floats, j: int) -> Floats:
    """Undo the centring of a combination of columns: what it adds up to goes to the intercept."""
    added = means[j] - float(weights @ means[keep])
    return weights + np.where([columns[k] == "Intercept" for k in keep], added, 0.0)


def _explained(triangle: Floats, keep: list[int], j: int) -> tuple[Floats, float]:
    if not keep:
        return np.empty(0), float(np.linalg.norm(triangle[:, j]))
    scale = np.linalg.norm(triangle[:, keep], axis=0)
    weights = np.linalg.lstsq(triangle[:, keep] / scale, triangle[:, j], rcond=None)[0] / scale
    return weights, float(np.linalg.norm(triangle[:, j] - triangle[:, keep] @ weights))


def _alias_text(columns: Sequence[str], keep: list[int], weights: Floats, j: int) -> str:
    largest = max(np.abs(weights), default=0.0)
    parts = [f"{w:.4g} x {columns[k]}" for k, w in zip(keep, weights, strict=True) if abs(w) > _NEGLIGIBLE * largest]
    return f"{columns[j]} left out: it is exactly {' + '.join(parts) or 'zero'}, so its own effect can't be separated."
