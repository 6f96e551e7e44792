"""How sure a difference is, is computed and written in ``analyze/statements``, and nowhere else."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "src" / "patternbench"
ROOM = "analyze/statements/"
TESTS = {"ttest_1samp", "ttest_ind", "ttest_rel", "wilcoxon", "mannwhitneyu", "fisher_exact", "permutation_test"}
CORRECTIONS = {"false_discovery_control", "multipletests", "fdrcorrection"}
OF_STATISTICS = ("scipy.stats", "statsmodels")
ALLOWED = {
    "analyze/covariates.py": "the effect of a covariate: a model of its own kind",
    "analyze/intervals.py": "the interval of one median, which compares nothing",
    "analyze/load/crossing.py": "the interval of a rate where a curve crosses an objective (likelihood ratio)",
    "analyze/load/loadtest.py": "the shape of a curve over loads: Pearson's r, and where two lines join",
    "analyze/models/": "the tests of regression models and of their assumptions",
    "analyze/noise.py": "the spread of one scenario against itself",
    "analyze/recommend/ranking.py": "the p that a configuration keeps a limit (Clopper and Pearson)",
    "analyze/recovery.py": "whether so few calls of a window are good by chance (binomial)",
}
"""Where statistics are imported elsewhere, and for what other question than how two things differ."""
NUMBER_WRITER = {"terms/quantities.py"}
"""The module that writes the signs of numbers."""


@cache
def _modules() -> dict[str, ast.Module]:
    files = sorted(SOURCE.rglob("*.py"))
    trees = {str(file.relative_to(SOURCE)): ast.parse(file.read_text(encoding="utf-8")) for file in files}
    return {name: tree for name, tree in trees.items() if not name.startswith(ROOM)}


def _imported(tree: ast.Module) -> set[str]:
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    from_ = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return names | {f"{node.module}.{alias.name}" for node in from_ for alias in node.names}


def _called(tree: ast.Module) -> set[str]:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {getattr(func, "attr", getattr(func, "id", "")) for func in calls}


def _imports_statistics(tree: ast.Module) -> bool:
    return any(name.startswith(OF_STATISTICS) for name in _imported(tree))


def _writes_signed_interval(tree: ast.Module) -> bool:
    """Whether a text holds a change with its sign, written by hand or by the number writer, next to another one."""
    return any(isinstance(node, ast.JoinedStr) and sum(map(_is_signed, node.values)) > 1 for node in ast.walk(tree))


def _is_signed(part: ast.expr) -> bool:
    if not isinstance(part, ast.FormattedValue):
        return False
    written = part.format_spec is not None and "'+" in ast.unparse(part.format_spec)
    return written or (isinstance(part.value, ast.Call) and getattr(part.value.func, "id", "") == "signed")


def _compares_a_verdict_with_a_text(tree: ast.Module) -> bool:
    """Whether a verdict is held against a text of its own instead of a member of the enumeration of its words."""
    compared = (node for node in ast.walk(tree) if isinstance(node, ast.Compare))
    return any(_is_verdict(node.left) and any(map(_holds_a_text, node.comparators)) for node in compared)


def _is_verdict(node: ast.expr) -> bool:
    return ast.unparse(node).endswith((".verdict", "['verdict']"))


def _holds_a_text(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))


def test_no_verdict_is_compared_with_a_word_of_its_own() -> None:
    wrong = [name for name, tree in _modules().items() if _compares_a_verdict_with_a_text(tree)]
    assert not wrong, f"compare with a member of the enumerations in analyze/statements/verdict in {wrong}"
    assert _compares_a_verdict_with_a_text(ast.parse('one.verdict in ("clear", "kept")'))
    assert _compares_a_verdict_with_a_text(ast.parse('table["verdict"] == "better"'))
    assert not _compares_a_verdict_with_a_text(ast.parse("one.verdict is Verdict.BETTER"))


def test_only_the_statements_test_a_difference_or_correct_for_many() -> None:
    wrong = {name: used for name, tree in _modules().items() if (used := _called(tree) & (TESTS | CORRECTIONS))}
    assert not wrong, f"use analyze/statements (estimate, family) in {wrong}"


def test_who_else_imports_statistics_asks_another_question_that_is_listed() -> None:
    importing = {name for name, tree in _modules().items() if _imports_statistics(tree)}
    unlisted = {name for name in importing if not any(name.startswith(allowed) for allowed in ALLOWED)}
    assert not unlisted, f"use analyze/statements, or say in ALLOWED why not: {sorted(unlisted)}"
    idle = {allowed for allowed in ALLOWED if not any(name.startswith(allowed) for name in importing)}
    assert not idle, f"these need no exception any more: {sorted(idle)}"


def test_only_the_statements_write_the_interval_of_a_change() -> None:
    wrong = [name for name, tree in _modules().items() if _writes_signed_interval(tree)]
    assert not wrong, f"use analyze/statements/sentences.change_text in {wrong}"


def test_no_sign_of_a_number_is_repaired_outside_the_number_writer() -> None:
    minus = '"-", "−"'
    files = (file for file in SOURCE.rglob("*.py") if str(file.relative_to(SOURCE)) not in NUMBER_WRITER)
    assert not [str(file) for file in files if minus in file.read_text(encoding="utf-8")]


def test_an_interval_written_by_hand_is_found() -> None:
    assert _writes_signed_interval(ast.parse('f"{low:+.1f} to {high:+.1f} %"'))
    assert _writes_signed_interval(ast.parse('f"{signed(low)} to {signed(high)}"'))
    assert _imports_statistics(ast.parse("from scipy import stats"))
