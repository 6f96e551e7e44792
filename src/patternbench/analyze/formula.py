"""Turns a formula and a table into a design: matrices that are finite, full-rank and fully named.

The formula language is Wilkinson's, as formulaic reads it (`y ~ a + C(b) + a:b + I(a**2)`), with several
responses joined by `+` on the left. Formulas may come from files of other people, so only names, numbers,
arithmetic and the functions in `FUNCTIONS` are let through: everything else is refused before anything is
evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from formulaic import Formula
from formulaic.errors import FormulaicError

from .nesting import Nest, Nested, crossing_problems, nest
from .problems import DataError, Note, Problem, did_you_mean, plural, raise_if_any

Floats = npt.NDArray[np.float64]

#: Functions a formula may call. All are stateless, so that a saved model predicts what it was fitted as.
FUNCTIONS = ("C", "I", "log", "log2", "log10", "exp", "sqrt")
_CONTEXT = {"sqrt": np.sqrt}
_NODES = (
    ast.Expression,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.operator,
    ast.unaryop,
)
#: A column counts as numbers with mistakes in it when at least this share of its text reads as numbers.
_MOSTLY_NUMBERS = 0.5
#: A column is called a combination of others when less than this share of its length is its own.
_OWN_SHARE = 1e-7
_NEGLIGIBLE = 1e-6
_NAMED_AT_MOST = 3
_LARGEST = 1e100


@dataclass(frozen=True)
class Parsed:
    """A formula that is well formed: its text, its sides and the columns each side reads."""

    text: str
    formula: Formula
    responses: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]
    #: columns that the formula itself declares categorical with C(...)
    categorical: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """One term of the formula: its name, and the positions of its columns in the design."""

    name: str
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Design:
    """The matrices of one formula over one table.

    `x` is n x p with full column rank, `y` is n x q, `rows` holds the positions (from 0) of the used rows
    in the table. `levels` maps each categorical column to its levels (the first is the reference), `ranges`
    each numeric one to its smallest and largest value.
    """

    parsed: Parsed
    x: Floats
    y: Floats
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]
    rows: npt.NDArray[np.int64]
    frame: pd.DataFrame
    levels: Mapping[str, tuple[object, ...]]
    ranges: Mapping[str, tuple[float, float]]
    notes: tuple[Note, ...] = field(default=())
    nests: tuple[Nest, ...] = field(default=())

    @property
    def responses(self) -> tuple[str, ...]:
        """Names of the responses, as the formula writes them."""
        return self.parsed.responses

    @property
    def intercept(self) -> bool:
        """Whether the design has a column of ones."""
        return "Intercept" in self.columns


def parse_formula(text: str) -> Parsed:
    """Parse `text` into sides and columns, or raise `DataError` saying what is wrong with it."""
    formula = _parsed_by_formulaic(text)
    right, left = list(formula.rhs), list(formula.lhs)
    problems = [p for term in (*left, *right) for p in _term_problems(text, term)] + _power_problems(text)
    raise_if_any(problems)
    calls = [expr for expr in _expressions(right) if expr.lstrip().startswith("C(")]
    return Parsed(
        text=text,
        formula=formula,
        responses=tuple(str(term) for term in left),
        left=_names(_expressions(left)),
        right=_names(_expressions(right)),
        categorical=_names(calls),
    )


def build_design(text: str, table: pd.DataFrame) -> Design:
    """Build the design of formula `text` over `table`.

    Rows with missing or infinite values are left out, terms with one level and columns that other columns
    explain are dropped; each such fallback is a note. Raises `DataError` where no sound fallback exists.
    """
    parsed = parse_formula(text)
    if not parsed.right:
        raise DataError(Problem("names no factor: there is nothing to estimate.", _at(text), "Add one."))
    raise_if_any(_unknown_columns(parsed, table))
    raise_if_any(_text_problems(parsed, table))
    found = _nested(parsed, table)
    frame, rows, notes = _complete_rows(parsed, found.table, found.alone)
    raise_if_any(_response_problems(parsed, frame))
    frame = _as_categories(parsed, frame)
    varying, dropped = _without_constants(parsed, frame)
    design = _assemble(varying, frame, rows, [*found.notes, *notes, *dropped])
    return replace(design, nests=found.nests)


def _nested(parsed: Parsed, table: pd.DataFrame) -> Nested:
    """The table with the nulls of nested factors filled; raises `DataError` for interactions they cannot have."""
    texts = [name for name in parsed.right if name in parsed.categorical or not _is_number(table[name])]
    found = nest(table, parsed.right, texts)
    terms = [(str(term), _names(_expressions([term]))) for term in parsed.formula.rhs]
    raise_if_any(crossing_problems(found.nests, terms, _at(parsed.text)))
    return found


def right_side(parsed: Parsed, frame: pd.DataFrame) -> tuple[Floats, tuple[str, ...], tuple[Block, ...]]:
    """Evaluate the right side over `frame`: the matrix, the names of its columns, and its terms."""
    matrix = _evaluated(Formula(parsed.formula.rhs), frame)
    spec = matrix.model_spec
    blocks = [Block(_term_name(term), tuple(where)) for term, where in spec.term_indices.items()]
    return np.asarray(matrix, dtype=float), tuple(spec.column_names), tuple(b for b in blocks if b.columns)


def _evaluated(side: Formula, frame: pd.DataFrame) -> Any:
    with np.errstate(all="ignore"):
        return side.get_model_matrix(frame, context=_CONTEXT, output="numpy", na_action="ignore")


def variables_of(text: str) -> tuple[str, ...]:
    """Return the names of the columns that the right side of formula `text` reads."""
    return parse_formula(text).right


# --- parsing
# -----------------------------------------------------------------------------------------------------


def _parsed_by_formulaic(text: str) -> Formula:
    if text.count("~") != 1 or not all(side.strip() for side in text.split("~")):
        raise DataError(
            Problem("needs exactly one ~ with names on both sides.", _at(text), "Write 'response ~ factor'.")
        )
    try:
        formula = Formula(text)
    except (FormulaicError, SyntaxError, ValueError) as cause:
        unclosed = any(text.count(a) != text.count(b) for a, b in ("()", "[]")) or text.count("`") % 2
        why = "A bracket or a backtick is not closed." if unclosed else _first_line(cause)
        raise DataError(Problem(f"cannot be read. {why}", _at(text))) from None
    if not hasattr(formula, "lhs") or isinstance(formula.rhs, tuple) or not hasattr(formula.rhs, "__iter__"):
        raise DataError(Problem("has more than two sides.", _at(text), "Remove the | sign."))
    return formula


def _first_line(cause: Exception) -> str:
    return re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(cause)).split("\n")[0]


def _at(text: str) -> str:
    return f"formula '{text}'"


def _expressions(terms: Sequence[Any]) -> list[str]:
    return [_expression(factor) for term in terms for factor in term.factors if factor.expr != "1"]


def _expression(factor: Any) -> str:
    """Write a factor as a formula would: a column whose name is no identifier in backticks."""
    expr = str(factor.expr)
    return f"`{expr}`" if factor.eval_method.value == "lookup" and not expr.isidentifier() else expr


def _written(term: Any) -> str:
    return ":".join(_expression(factor) for factor in term.factors)


def _term_name(term: object) -> str:
    name = str(term)
    return "Intercept" if name == "1" else name


_TICKS = re.compile(r"`([^`]+)`")


def _tree(expr: str) -> tuple[ast.Expression, dict[str, str]]:
    quoted: dict[str, str] = {}

    def stand_in(match: re.Match[str]) -> str:
        quoted[f"quoted_{len(quoted)}_"] = match.group(1)
        return f"quoted_{len(quoted) - 1}_"

    return ast.parse(_TICKS.sub(stand_in, expr), mode="eval"), quoted


def _names(expressions: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for expr in expressions:
        found.update(dict.fromkeys(_names_in(expr)))
    return tuple(found)


def _names_in(expr: str) -> Iterator[str]:
    if expr.isidentifier() or not _parses(expr):
        yield expr
        return
    tree, quoted = _tree(expr)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called)
    for node in sorted(names, key=lambda n: n.col_offset):
        yield quoted.get(node.id, node.id)


def _parses(expr: str) -> bool:
    try:
        _tree(expr)
    except SyntaxError:
        return False
    return True


def _term_problems(text: str, term: object) -> list[Problem]:
    factors = [f for f in term.factors if f.expr != "1"]  # type: ignore[attr-defined]
    return [p for f in factors if f.eval_method.value != "lookup" for p in _expression_problems(text, f.expr)]


def _expression_problems(text: str, expr: str) -> list[Problem]:
    if not _parses(expr):
        return [Problem(f"{expr} cannot be read.", _at(text))]
    tree, _ = _tree(expr)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    strange = [c for c in calls if not (isinstance(c.func, ast.Name) and c.func.id in FUNCTIONS) or c.keywords]
    if strange or not all(isinstance(node, _NODES) for node in ast.walk(tree)):
        allowed = ", ".join(FUNCTIONS)
        return [
            Problem(
                f"{expr} is not allowed.",
                _at(text),
                f"A formula may use names, numbers, + - * / ** and {allowed}.",
            )
        ]
    wide = [c for c in calls if len(c.args) != 1]
    return [Problem(f"{expr}: a function takes one argument.", _at(text))] if wide else []


def _power_problems(text: str) -> list[Problem]:
    bare = re.sub(r"\w+\([^()]*\)", "", text)
    found = re.search(r"([A-Za-z_]\w*)\s*(\^|\*\*)\s*(\d+)", bare)
    if not found:
        return []
    name, sign, power = found.groups()
    what = f"{name}{sign}{power} means interactions of {name} with itself, which is {name} alone."
    return [Problem(what, _at(text), f"For a power write I({name}**{power}).")]


# --- checking the table
# ------------------------------------------------------------------------------------------


def _unknown_columns(parsed: Parsed, table: pd.DataFrame) -> list[Problem]:
    known = [str(name) for name in table.columns]
    missing = [name for name in dict.fromkeys((*parsed.left, *parsed.right)) if name not in known]
    return [Problem(f"no column is called {name}.", _at(parsed.text), did_you_mean(name, known)) for name in missing]


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _text_problems(parsed: Parsed, table: pd.DataFrame) -> list[Problem]:
    must = set(parsed.left) | _in_arithmetic(parsed)
    problems = []
    for name in dict.fromkeys((*parsed.left, *parsed.right)):
        if name in parsed.categorical or _is_number(table[name]):
            continue
        problems += _text_problem(table[name], name, name in must)
    return problems


def _in_arithmetic(parsed: Parsed) -> set[str]:
    written = [e for e in _expressions(list(parsed.formula.rhs)) if "(" in e and not e.lstrip().startswith("C(")]
    return set(_names(written))


def _text_problem(column: pd.Series, name: str, must: bool) -> list[Problem]:
    counts = column.astype(object).dropna().value_counts(sort=False)
    texts = pd.Series(counts.index.map(str), dtype=object)
    unread = pd.to_numeric(texts, errors="coerce").isna().to_numpy()
    wrong = int(counts[unread].sum())
    share = 1 - wrong / max(int(counts.sum()), 1)
    if not must and (share < _MOSTLY_NUMBERS or pd.api.types.is_bool_dtype(column)):
        return []
    if not wrong:
        return [Problem(f"column {name} holds numbers as text.", "", f"Store it as numbers, or write C({name}).")]
    first = int(np.flatnonzero(column.isin(set(counts.index[unread])))[0])
    more = f" ({plural(wrong, 'such value')})" if wrong > 1 else ""
    what = f"column {name} must hold numbers but holds '{column.iloc[first]}'{more}."
    remedy = "Correct or remove it." if must else f"Correct or remove it, or write C({name}) for a category."
    return [Problem(what, f"row {first + 1}", remedy)]


def _complete_rows(
    parsed: Parsed, table: pd.DataFrame, explained: Sequence[str]
) -> tuple[pd.DataFrame, npt.NDArray[np.int64], list[Note]]:
    names = list(dict.fromkeys((*parsed.left, *parsed.right)))
    frame = table.loc[:, names]
    missing, infinite = frame.isna(), _infinite(frame)
    bad = (missing | infinite).any(axis=1).to_numpy()
    if bad.all():
        culprits = ", ".join(_culprits(missing | infinite)) or "the table is empty"
        raise DataError(Problem(f"no row is complete: {culprits}.", _at(parsed.text)))
    notes = _row_notes("missing", "missing", missing.drop(columns=list(explained))) + _row_notes(
        "infinite", "infinite", infinite
    )
    return frame.loc[~bad].reset_index(drop=True), np.flatnonzero(~bad), notes


def _infinite(frame: pd.DataFrame) -> pd.DataFrame:
    numeric = [name for name in frame.columns if _is_number(frame[name])]
    flags = pd.DataFrame(False, index=frame.index, columns=frame.columns)
    flags[numeric] = np.isinf(frame[numeric].to_numpy(dtype=float, na_value=np.nan))
    return flags


def _culprits(flags: pd.DataFrame) -> list[str]:
    return [f"{name} lacks {plural(int(n), 'value')}" for name, n in flags.sum().items() if n]


def _row_notes(kind: str, word: str, flags: pd.DataFrame) -> list[Note]:
    notes = []
    for name, count in flags.sum().items():
        if count:
            rows = ", ".join(str(int(i) + 1) for i in np.flatnonzero(flags[name])[:_NAMED_AT_MOST])
            dots = ", ..." if count > _NAMED_AT_MOST else ""
            text = f"{plural(int(count), 'row')} left out because {name} is {word} (row {rows}{dots})."
            notes.append(Note(kind, text))
    return notes


def _response_problems(parsed: Parsed, frame: pd.DataFrame) -> list[Problem]:
    problems = []
    for name in parsed.left:
        values = frame[name].to_numpy(dtype=float)
        if not values.any():
            problems.append(Problem(f"{name} is zero in every row: there is nothing to explain.", f"response {name}"))
        elif len(values) > 1 and np.ptp(values) == 0:
            problems.append(
                Problem(f"{name} is {values[0]:g} in every row: there is nothing to explain.", f"response {name}")
            )
    return problems


def _as_categories(parsed: Parsed, frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.copy()
    for name in parsed.right:
        if name in parsed.categorical or not _is_number(frame[name]):
            values = frame[name].astype(object)
            levels = sorted(values.unique(), key=lambda v: (str(type(v)), v))
            frame[name] = pd.Categorical(values, categories=levels)
    return frame


def _without_constants(parsed: Parsed, frame: pd.DataFrame) -> tuple[Parsed, list[Note]]:
    constant = {name for name in parsed.right if frame[name].nunique() == 1}
    if not constant:
        return parsed, []
    kept, notes = [], []
    for term in parsed.formula.rhs:
        held = sorted(set(_names(_expressions([term]))) & constant)
        if not held:
            kept.append(_written(term))
            continue
        value = frame[held[0]].iloc[0]
        notes.append(
            Note(
                "dropped_term",
                f"Term {term} left out: {held[0]} is {value} in every row, so it has no effect to estimate.",
            )
        )
    left = " + ".join(_written(term) for term in parsed.formula.lhs)
    right = " + ".join(kept) if "1" in kept else " + ".join(["0", *kept])
    if kept in ([], ["1"]):
        raise DataError(
            *(Problem(note.text, _at(parsed.text)) for note in notes),
            Problem("No term is left.", _at(parsed.text)),
        )
    return parse_formula(f"{left} ~ {right}"), notes


# --- matrices
# ----------------------------------------------------------------------------------------------------


def _assemble(parsed: Parsed, frame: pd.DataFrame, rows: npt.NDArray[np.int64], notes: list[Note]) -> Design:
    x, columns, blocks = right_side(parsed, frame)
    y = np.asarray(_evaluated(Formula(" + ".join(map(_written, parsed.formula.lhs)) + " - 1"), frame), dtype=float)
    raise_if_any(_not_finite(x, columns, rows) + _not_finite(y, parsed.responses, rows))
    raise_if_any(_out_of_scale(x, columns) + _out_of_scale(y, parsed.responses))
    keep, aliased = independent_columns(x, columns)
    raise_if_any(_too_few_rows(parsed, len(x), len(keep)))
    x, columns, blocks = _only(keep, x, columns, blocks)
    levels = {n: tuple(frame[n].cat.categories) for n in parsed.right if not _is_number(frame[n])}
    ranges = {n: (float(frame[n].min()), float(frame[n].max())) for n in parsed.right if n not in levels}
    return Design(parsed, x, y, columns, blocks, rows, frame, levels, ranges, (*notes, *aliased))


def _not_finite(matrix: Floats, names: Sequence[str], rows: npt.NDArray[np.int64]) -> list[Problem]:
    problems = []
    for j in np.flatnonzero(~np.isfinite(matrix).all(axis=0)).tolist():
        row = int(rows[np.flatnonzero(~np.isfinite(matrix[:, j]))[0]]) + 1
        problems.append(
            Problem(f"{names[j]} has no finite value there (a log of zero, or a division by zero?).", f"row {row}")
        )
    return problems


def _out_of_scale(matrix: Floats, names: Sequence[str]) -> list[Problem]:
    largest = np.abs(matrix).max(axis=0)
    wrong = (largest > _LARGEST) | ((largest > 0) & (largest < 1 / _LARGEST))
    what = "{} reaches {:.0e}, whose square no number can hold."
    return [Problem(what.format(names[j], largest[j]), "", "Change its unit.") for j in np.flatnonzero(wrong).tolist()]


def _too_few_rows(parsed: Parsed, rows: int, terms: int) -> list[Problem]:
    if rows > terms:
        return []
    what = f"{plural(rows, 'complete row')} cannot carry {plural(terms, 'coefficient')}."
    return [Problem(what, _at(parsed.text), f"Add rows (at least {terms + 1}) or remove terms.")]


def _only(
    keep: list[int], x: Floats, columns: tuple[str, ...], blocks: tuple[Block, ...]
) -> tuple[Floats, tuple[str, ...], tuple[Block, ...]]:
    if len(keep) == x.shape[1]:
        return x, columns, blocks
    place = {old: new for new, old in enumerate(keep)}
    moved = [Block(b.name, tuple(place[c] for c in b.columns if c in place)) for b in blocks]
    return x[:, keep], tuple(columns[i] for i in keep), tuple(b for b in moved if b.columns)


def independent_columns(x: Floats, columns: Sequence[str]) -> tuple[list[int], list[Note]]:
    """Keep the columns of `x` that earlier ones do not explain; a note names each one dropped.

    This is R's rule for `lm`: in the order of the formula, a column whose own share of its length is below
    1e-7 is dropped. All work happens on the triangle of one QR decomposition.
    """
    triangle: Floats = np.asarray(np.linalg.qr(x, mode="r"))
    lengths = np.linalg.norm(triangle, axis=0)
    keep: list[int] = []
    notes = []
    for j in range(x.shape[1]):
        weights, own = _explained(triangle, keep, j)
        if own > _OWN_SHARE * max(lengths[j], np.finfo(float).tiny):
            keep.append(j)
        else:
            notes.append(Note("aliased", _alias_text(columns, keep, weights, j)))
    return keep, notes


def _explained(triangle: Floats, keep: list[int], j: int) -> tuple[Floats, float]:
    if not keep:
        return np.empty(0), float(np.linalg.norm(triangle[:, j]))
    scale = np.linalg.norm(triangle[:, keep], axis=0)
    weights = np.linalg.lstsq(triangle[:, keep] / scale, triangle[:, j], rcond=None)[0] / scale
    return weights, float(np.linalg.norm(triangle[:, j] - triangle[:, keep] @ weights))


def _alias_text(columns: Sequence[str], keep: list[int], weights: Floats, j: int) -> str:
    largest = max(np.abs(weights), default=0.0)
    parts = [f"{w:.4g} x {columns[k]}" for k, w in zip(keep, weights, strict=True) if abs(w) > _NEGLIGIBLE * largest]
    return (
        f"{columns[j]} left out: it is exactly {' + '.join(parts) or 'zero'}, so its own effect cannot be told apart."
    )
