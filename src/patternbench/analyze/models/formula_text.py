"""Reads the text of a formula: its sides, its terms and the columns that it names.

The formula language is Wilkinson's, as formulaic reads it (``y ~ a + C(b) + a:b + I(a**2)``), with several
responses joined by ``+`` on the left and at most one random part, ``(a | group)``. Formulas may come from files of
other people. So every name of a column becomes a safe stand-in before formulaic sees the text: a column may then
be called anything (``my col``, ``class``, ``log``), and nothing but numbers, arithmetic and the functions in
``FUNCTIONS`` is ever evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patternbench.terms.data_problems import DataError, DataProblem, raise_if_any

if TYPE_CHECKING:
    from formulaic import Formula

FUNCTIONS = ("C", "I", "log", "log2", "log10", "exp", "sqrt")
"""Functions a formula may call. All are stateless, so that a saved model predicts what it was fitted as."""
MOST_TERMS = 1000
"""A formula that multiplies out to more terms than this is refused: no table can carry it."""
_LONGEST = 4000
_LARGEST_POWER = 20.0

_TOKEN = re.compile(
    r"`(?P<quoted>[^`]+)`|(?P<within>%in%)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*(?:\.\w+)*)(?P<call>\s*\()?|(?P<sign>.)",
    re.DOTALL,
)
_STAND_IN = re.compile(r"_pb\d+_")
_ALONE = re.compile(r"(?:^|(?<=:))(_pb\d+_)(?=$|[:\[])")
_RANDOM = re.compile(r"(?P<joined>\+\s*)?\(\s*(?P<slopes>[^()|~]*)\|\s*(?P<group>_pb\d+_)\s*\)")
_ARITHMETIC = (ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call)
_SIGNS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd)
_ALLOWED = f"A formula may use names, numbers, + - * / ** and {', '.join(FUNCTIONS)}."


@dataclass(frozen=True)
class Random:
    """The random part ``(slopes | group)``: each level of ``group`` has its own intercept and its own ``slopes``."""

    slopes: tuple[str, ...]
    group: str


@dataclass(frozen=True)
class Parsed:
    """A formula that is well formed: its text, its sides and the columns each side reads.

    ``formula`` is formulaic's, written with stand-ins; ``names`` maps each stand-in to its column.
    """

    text: str
    formula: Formula
    names: Mapping[str, str]
    responses: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]
    categorical: tuple[str, ...]
    """columns that the formula itself declares categorical with C(...)"""
    arithmetic: tuple[str, ...]
    """columns of the right side within a function other than C(...)"""
    random: Random | None = None

    def shown(self, text: object) -> str:
        """Write a term or a column of the design with the names of the table's columns."""
        return _shown(str(text), self.names)

    def reads(self, text: object) -> tuple[str, ...]:
        """Return the table's columns that a term or a column of the design reads."""
        return _read(str(text), self.names)

    def log_of(self, response: str) -> str:
        """Write the log of a response as a formula reads it."""
        return f"log({ticked(response) if response in self.left else response})"

    def without(self, terms: Sequence[object]) -> Parsed:
        """Return this formula without ``terms`` of its right side."""
        gone = {str(term) for term in terms}
        kept = [str(term) for term in self.formula.rhs if str(term) not in gone]
        right = kept if "1" in kept else ["0", *kept]
        fixed = f"{' + '.join(str(term) for term in self.formula.lhs)} ~ {' + '.join(right)}"
        return _laid_out(_written(fixed, self.names, self.random), fixed, self.names, self.random)


def parse_formula(text: str) -> Parsed:
    """Parse ``text`` into sides and columns, or raise ``DataError`` saying what is wrong with it."""
    raise_if_any(_size_problems(text))
    safe, names = _safe(text)
    fixed, random = _split_random(safe, names, text)
    raise_if_any([*_side_problems(fixed, text), *_not_allowed(fixed, names, text)])
    return _laid_out(text, fixed, names, random)


def at(text: str) -> str:
    """Say where a problem of formula ``text`` is."""
    return f"formula '{text if len(text) <= _LONGEST else text[:60] + '...'}'"


def _laid_out(text: str, fixed: str, names: Mapping[str, str], random: Random | None) -> Parsed:
    formula = _read_by_formulaic(fixed, names, text)
    right, left = list(formula.rhs), list(formula.lhs)
    factors = [str(factor.expr) for term in right for factor in term.factors]
    return Parsed(
        text=text,
        formula=formula,
        names=names,
        responses=tuple(_shown(str(term), names) for term in left),
        left=_columns(map(str, left), names),
        right=_columns(factors, names),
        categorical=_columns((e for e in factors if e.lstrip().startswith("C(")), names),
        arithmetic=_columns((e for e in factors if "(" in e and not e.lstrip().startswith("C(")), names),
        random=random,
    )


def _read_by_formulaic(fixed: str, names: Mapping[str, str], text: str) -> Formula:
    from formulaic import Formula  # noqa: PLC0415 - slow to import, and most studies have no formula
    from formulaic.errors import FormulaicError  # noqa: PLC0415 - slow to import

    try:
        formula = Formula(fixed)
    except (FormulaicError, SyntaxError, ValueError, RecursionError) as cause:
        raise DataError(DataProblem(f"cannot be read. {_shown(_first_line(cause), names)}", at(text))) from None
    return formula


def _first_line(cause: BaseException) -> str:
    return re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(cause)).split("\n")[0]


# --- stand-ins for the names of columns
# ----------------------------------------------------------------------------------------------------


def _safe(text: str) -> tuple[str, dict[str, str]]:
    """Return ``text`` with a stand-in for each name of a column, and the column of each stand-in."""
    stand_ins: dict[str, str] = {}
    problems: list[DataProblem] = []
    safe = "".join(_replaced(token, stand_ins, problems, text) for token in _TOKEN.finditer(text))
    raise_if_any(problems)
    return safe, {stand_in: name for name, stand_in in stand_ins.items()}


def _replaced(token: re.Match[str], stand_ins: dict[str, str], problems: list[DataProblem], text: str) -> str:
    name = token["quoted"] or token["name"]
    if name is None:
        return "**" if token["sign"] == "^" else token[0]
    if token["call"]:
        if name not in FUNCTIONS:
            problems.append(DataProblem(f"{name}(...) is not allowed.", at(text), _ALLOWED))
        return token[0]
    if token["name"] and re.search(r"(^|\.)__", name):
        problems.append(DataProblem(f"{name} is not allowed.", at(text), _ALLOWED))
    return stand_ins.setdefault(name, f"_pb{len(stand_ins)}_")


def _shown(text: str, names: Mapping[str, str]) -> str:
    """Put the names back: plain on their own, in backticks inside a function unless they are identifiers."""
    alone = _ALONE.sub(lambda m: names.get(m[1], m[1]), text)
    return _STAND_IN.sub(lambda m: ticked(names.get(m[0], m[0])), alone)


def _written(fixed: str, names: Mapping[str, str], random: Random | None) -> str:
    """Write a formula so that reading it gives the same again."""
    text = _STAND_IN.sub(lambda m: ticked(names[m[0]]), fixed)
    if random is None:
        return text
    return f"{text} + ({' + '.join(map(ticked, random.slopes)) or '1'} | {ticked(random.group)})"


def ticked(name: str) -> str:
    """Write the name of a column as in a formula: in backticks unless it is an identifier."""
    return name if name.isidentifier() else f"`{name}`"


def _read(text: str, names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names[one] for one in _STAND_IN.findall(text) if one in names))


def _columns(texts: Iterator[str] | Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for text in texts for name in _read(text, names)))


# --- the random part
# ----------------------------------------------------------------------------------------------------


def _split_random(safe: str, names: Mapping[str, str], text: str) -> tuple[str, Random | None]:
    """Take ``(a | group)`` out of the formula; returns the rest and the random part."""
    parts = list(_RANDOM.finditer(safe))
    if not parts:
        return safe, None
    slopes = [one.strip() for one in parts[0]["slopes"].split("+")]
    if len(parts) > 1 or not all(one == "1" or one in names for one in slopes):
        what = "has a random part that cannot be read."
        raise DataError(DataProblem(what, at(text), "Write one, of plain names: (1 | block) or (users | block)."))
    slope_names = tuple(names[one] for one in slopes if one != "1")
    return _RANDOM.sub("", safe), Random(slope_names, names[parts[0]["group"]])


# --- what a formula may hold
# ----------------------------------------------------------------------------------------------------


def _size_problems(text: str) -> Iterator[DataProblem]:
    if len(text) > _LONGEST:
        yield DataProblem(f"has {len(text):,} characters; at most {_LONGEST:,} are read.", at(text))


def _side_problems(fixed: str, text: str) -> Iterator[DataProblem]:
    sides = fixed.split("~")
    if len(sides) != 2 or not all(side.strip() for side in sides):  # noqa: PLR2004 - left and right
        yield DataProblem("needs exactly one ~ with names on both sides.", at(text), "Write 'response ~ factor'.")
    elif re.search(r"(?<![\w.)])\.(?![\w.])", sides[1]):
        yield DataProblem("uses a dot for all other columns.", at(text), "Name the columns: 'y ~ a + b'.")


def _not_allowed(fixed: str, names: Mapping[str, str], text: str) -> Iterator[DataProblem]:
    if any(True for _ in _side_problems(fixed, text)):
        return
    left, right = fixed.split("~")
    for side in (left, right):
        tree = _tree(side, names, text)
        yield from (_with_place(problem, names, text) for problem in _term_problems(tree))
        yield from _count_problems(tree, text)
    if "C(" in left.replace(" ", ""):
        yield DataProblem("a response is a number, so C(...) isn't allowed on the left.", at(text))


def _tree(side: str, names: Mapping[str, str], text: str) -> ast.expr:
    try:
        return ast.parse(side.strip().replace("%in%", "@").replace(":", "@"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
        open_ = any(text.count(a) != text.count(b) for a, b in ("()", "[]")) or text.count("`") % 2
        why = "A bracket or a backtick is not closed." if open_ else _shown(_syntax(cause), names)
        raise DataError(DataProblem(f"cannot be read. {why}", at(text), _needs_ticks(text))) from None


def _syntax(cause: BaseException) -> str:
    return f"{(cause.msg if isinstance(cause, SyntaxError) else 'it is nested too deeply').capitalize()}."


def _needs_ticks(text: str) -> str:
    return "" if "`" in text else "Write a name that holds spaces or signs in backticks: `my column`."


def _with_place(problem: tuple[str, str], names: Mapping[str, str], text: str) -> DataProblem:
    what, remedy = (_shown(part.replace("@", ":"), names) for part in problem)
    return DataProblem(what, at(text), remedy)


def _term_problems(node: ast.expr) -> Iterator[tuple[str, str]]:
    """Check the operators between terms. The argument of a function is checked as arithmetic."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        yield from _crossing_problems(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (*_SIGNS, ast.MatMult)):
        yield from _term_problems(node.left)
        if not isinstance(node.op, ast.Pow):
            yield from _term_problems(node.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, _SIGNS):
        yield from _term_problems(node.operand)
    elif isinstance(node, ast.Call):
        yield from _call_problems(node, outermost=True)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and node.value not in (0, 1):
        yield f"{node.value} is a number, not a term.", "A column times a number is written I(2*column)."
    elif not isinstance(node, (ast.Name, ast.Constant)) or isinstance(getattr(node, "value", 0), str):
        yield f"{ast.unparse(node)} is not allowed.", _ALLOWED


def _crossing_problems(node: ast.BinOp) -> Iterator[tuple[str, str]]:
    power = node.right.value if isinstance(node.right, ast.Constant) else None
    if not isinstance(power, int) or power < 1:
        yield f"{ast.unparse(node)}: the power of terms must be a whole number.", "Write (a + b)**2."
    elif isinstance(node.left, ast.Name):
        name = node.left.id
        what = f"{name}**{power} means interactions of {name} with itself, which is {name} alone."
        yield what, f"For a power write I({name}**{power})."


def _call_problems(node: ast.Call, outermost: bool) -> Iterator[tuple[str, str]]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    text = ast.unparse(node)
    if name not in FUNCTIONS or node.keywords:
        yield f"{text} is not allowed.", _ALLOWED
    elif len(node.args) != 1:
        yield f"{text}: a function takes one argument.", ""
    elif name == "C" and not (outermost and isinstance(node.args[0], ast.Name)):
        yield f"{text}: C(...) takes the name of one column, and can't be within another function.", ""
    else:
        yield from _arithmetic_problems(node.args[0])


def _arithmetic_problems(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call):
        yield from _call_problems(node, outermost=False)
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        yield from _power_problems(node)
    odd = isinstance(node, ast.Constant) and not isinstance(node.value, (int, float))
    if odd or not isinstance(node, (*_ARITHMETIC, *_SIGNS)):
        yield f"{ast.unparse(node) if isinstance(node, ast.expr) else 'an operator'} is not allowed.", _ALLOWED
        return
    for child in ast.iter_child_nodes(node):
        yield from _arithmetic_problems(child)


def _power_problems(node: ast.BinOp) -> Iterator[tuple[str, str]]:
    """Yield powers that may be too long to compute: of numbers alone, or of a power."""
    exponent = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
    named = isinstance(exponent, ast.Name)
    if not named and not _is_small(exponent):
        yield f"{ast.unparse(node)}: a power must be a number up to {_LARGEST_POWER:g} or a column.", ""
    elif not any(isinstance(one, ast.Name) for one in ast.walk(node)):
        yield f"{ast.unparse(node)} is a power of numbers alone.", "Write its value."


def _is_small(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, (int, float)) and abs(value) <= _LARGEST_POWER


def _count_problems(tree: ast.expr, text: str) -> Iterator[DataProblem]:
    if _terms(tree) > MOST_TERMS:
        what = f"multiplies out to more than {MOST_TERMS:,} terms."
        yield DataProblem(what, at(text), "Write only the interactions that you ask about: 'y ~ a + b + a:b'.")


def _terms(node: ast.expr) -> int:
    """Bound the number of terms to which an expression multiplies out."""
    if not isinstance(node, ast.BinOp):
        return _terms(node.operand) if isinstance(node, ast.UnaryOp) else 1
    left = _terms(node.left)
    if isinstance(node.op, ast.Pow):
        power = node.right.value if isinstance(node.right, ast.Constant) else 1
        return int(left ** min(power if isinstance(power, int) else 1, 64))
    right = _terms(node.right)
    if isinstance(node.op, (ast.Add, ast.Sub)):
        return left + right
    return left * right + (0 if isinstance(node.op, ast.MatMult) else left + right)
