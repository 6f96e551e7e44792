"""Responses that a study derives from others: arithmetic on a round's responses and the levels of its factors.

``derived: {items_per_s: "goodput * parameters.limit"}`` gives every round the response ``derived.items_per_s``.
Studies may come from other people, so only names, numbers and ``+ - * /`` are let through: nothing is evaluated.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping

from patternbench.terms.data_problems import DataError, DataProblem

PREFIX = "derived."
"""How the columns of derived responses begin, which tells them from factors."""
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_MOST_NODES = 100


def parse(text: str) -> ast.expr:
    """Return the expression that a text writes; raises DataError saying what is allowed."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refused(text) from None
    if sum(1 for _ in ast.walk(tree)) > _MOST_NODES or not all(map(_allowed, _parts(tree))):
        raise _refused(text)
    return tree


def names(tree: ast.expr) -> list[str]:
    """Return the responses and factors that an expression reads, each once."""
    return list(dict.fromkeys(_dotted(part) for part in _parts(tree) if isinstance(part, ast.Name | ast.Attribute)))


def value(tree: ast.expr, row: Mapping[str, object]) -> float:
    """Return the value of an expression in one round; NaN if a name has no number there, or after division by zero."""
    try:
        return _value(tree, row)
    except (ZeroDivisionError, OverflowError):
        return math.nan


def _value(tree: ast.expr, row: Mapping[str, object]) -> float:
    if isinstance(tree, ast.BinOp):
        return _OPERATIONS[type(tree.op)](_value(tree.left, row), _value(tree.right, row))
    if isinstance(tree, ast.UnaryOp):
        return -_value(tree.operand, row)
    operand = tree.value if isinstance(tree, ast.Constant) else row.get(_dotted(tree))
    return float(operand) if isinstance(operand, int | float) else math.nan


def _parts(tree: ast.expr) -> Iterator[ast.expr]:
    """Yield the expression and all within it; a dotted name is one part."""
    yield tree
    if isinstance(tree, ast.BinOp):
        yield from (*_parts(tree.left), *_parts(tree.right))
    elif isinstance(tree, ast.UnaryOp):
        yield from _parts(tree.operand)


def _allowed(part: ast.expr) -> bool:
    if isinstance(part, ast.BinOp):
        return type(part.op) in _OPERATIONS
    if isinstance(part, ast.UnaryOp):
        return isinstance(part.op, ast.USub)
    if isinstance(part, ast.Constant):
        return type(part.value) in (int, float) and part.value not in (math.inf, -math.inf)
    return bool(_dotted(part))


def _dotted(part: ast.expr) -> str:
    """Return a name as it is written, with its dots; nothing for any other expression."""
    if isinstance(part, ast.Name):
        return part.id
    above = _dotted(part.value) if isinstance(part, ast.Attribute) else ""
    return f"{above}.{part.attr}" if above and isinstance(part, ast.Attribute) else ""


def _refused(text: str) -> DataError:
    allowed = "Write responses, factors and numbers with + - * / between them, as in goodput * parameters.limit."
    return DataError(DataProblem(f"{text!r} cannot be computed.", "derived", allowed))
