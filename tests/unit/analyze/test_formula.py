"""A formula and a table become a design, or a sentence that says what is wrong and where."""

import re

import numpy as np
import pandas as pd
import pytest

from patternbench.analyze.models.fit import fit_formulas
from patternbench.analyze.models.formula import MOST_COEFFICIENTS, build_design
from patternbench.analyze.models.formula_text import parse_formula
from patternbench.terms.data_problems import DataError


def table(rows: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"y": rng.normal(10, 1, rows), "x": rng.normal(0, 1, rows)})
    frame["method"] = np.resize(["get", "put", "post"], rows)
    frame["twice"] = 2 * frame["x"] + 1
    frame["three"] = 3
    frame["one_level"] = "only"
    frame["zero"] = 0.0
    frame["fault.percentage"] = np.resize([0, 25, 50], rows)
    return frame


def problem(formula: str, frame: pd.DataFrame | None = None) -> str:
    with pytest.raises(DataError) as raised:
        build_design(formula, table() if frame is None else frame)
    return str(raised.value)


def test_several_responses_and_categories_are_laid_out_by_name() -> None:
    design = build_design("y + log(y) ~ x * C(`fault.percentage`) + method", table())
    assert design.responses == ("y", "log(y)")
    assert design.y.shape == (40, 2)
    assert design.levels["method"] == ("get", "post", "put")
    assert design.levels["fault.percentage"] == (0, 25, 50)
    assert set(design.ranges) == {"x"}


def test_a_name_that_is_no_column_is_answered_with_the_nearest_one() -> None:
    assert problem("y ~ metod") == "formula 'y ~ metod': no column is called metod. Did you mean method?"


def test_all_unknown_names_are_listed_at_once() -> None:
    assert problem("yy ~ metod").count("no column is called") == 2


def test_a_constant_column_is_left_out_and_named() -> None:
    design = build_design("y ~ x + three", table())
    assert design.columns == ("Intercept", "x")
    assert design.notes[0].text.startswith("Term three left out: three is 3 in every row")


def test_a_category_with_one_level_is_left_out_and_named() -> None:
    assert "one_level is only in every row" in build_design("y ~ x + one_level", table()).notes[0].text


def test_a_formula_without_any_varying_column_is_refused() -> None:
    assert "No term is left" in problem("y ~ three + C(one_level)")


def test_perfect_collinearity_is_resolved_as_in_R_and_the_combination_is_named() -> None:
    design = build_design("y ~ x + twice", table())
    assert design.columns == ("Intercept", "x")
    assert design.notes[0].text.startswith("twice left out: it is exactly 1 x Intercept + 2 x x")


def test_fewer_rows_than_terms_are_refused_with_the_number_needed() -> None:
    frame = table(6)
    frame["z"], frame["w"] = frame["x"] ** 2, frame["x"] ** 3
    assert "6 complete rows cannot carry 6 coefficients" in problem("y ~ x + z + w + method", frame)


def test_missing_values_are_left_out_counted_and_located() -> None:
    frame = table()
    frame.loc[[4, 9], "y"] = np.nan
    design = build_design("y ~ x", frame)
    assert len(design.x) == 38
    assert 4 not in design.rows
    assert design.notes[0].text == "2 rows left out because y is missing (row 5, 10)."


def test_infinite_values_are_left_out_counted_and_located() -> None:
    frame = table()
    frame.loc[7, "x"] = np.inf
    assert build_design("y ~ x", frame).notes[0].text == "1 row left out because x is infinite (row 8)."


def test_a_table_without_a_complete_row_is_refused() -> None:
    frame = table()
    frame["y"] = np.nan
    assert "no row is complete: y lacks 40 values" in problem("y ~ x", frame)


def test_text_among_numbers_is_located() -> None:
    frame = table()
    frame["x"] = frame["x"].astype(object)
    frame.loc[3, "x"] = "12ms"
    message = problem("y ~ x", frame)
    assert message.startswith("row 4: column x must hold numbers but holds '12ms'.")
    assert message.endswith("Correct or remove it, or write C(x) for a category.")


def test_a_bracket_that_is_not_closed_is_said_so() -> None:
    assert "A bracket or a backtick is not closed." in problem("y ~ C(x")


def test_a_text_response_is_refused() -> None:
    assert "column method must hold numbers but holds 'get'" in problem("method ~ x")


def test_a_response_that_is_all_zero_is_refused() -> None:
    assert "zero is zero in every row" in problem("zero ~ x")


def test_a_constant_response_is_refused() -> None:
    assert "three is 3 in every row" in problem("three ~ x")


def test_the_log_of_a_negative_number_is_located() -> None:
    frame = table()
    frame.loc[11, "y"] = -1
    assert "row 12: log(y) has no finite value there" in problem("log(y) ~ x", frame)


def test_a_power_that_would_silently_mean_an_interaction_is_refused_with_what_to_type() -> None:
    assert "write I(x**2)" in problem("y ~ x^2")
    assert build_design("y ~ I(x**2)", table()).columns == ("Intercept", "I(x ** 2)")


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ {__import__('os').getcwd()}",
        "y ~ I(x.__class__)",
        "y ~ np.log(x)",
        "y ~ C(x, 3)",
        "y ~ I((lambda: x)())",
        "y ~ x | method",
        "y ~ (x",
        "y ~",
        "~ x",
        "y",
        "y ~ x ~ x",
        "y ~ log()",
    ],
)
def test_a_formula_that_is_malformed_or_runs_code_is_refused_in_words(formula: str) -> None:
    with pytest.raises(DataError) as raised:
        parse_formula(formula)
    assert formula in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_sqrt_is_understood() -> None:
    frame = table()
    design = build_design("y ~ sqrt(y)", frame)
    assert design.x[:, 1] == pytest.approx(np.sqrt(frame["y"]))


def test_names_with_dots_are_written_in_backticks_on_both_sides() -> None:
    frame = table().rename(columns={"y": "time.p95"})
    design = build_design("`time.p95` ~ `fault.percentage` + three", frame)
    assert design.columns == ("Intercept", "fault.percentage")
    assert design.ranges == {"fault.percentage": (0.0, 50.0)}


def test_a_formula_without_factors_is_refused() -> None:
    assert "names no factor" in problem("y ~ 1")


def test_a_column_too_large_to_square_is_refused_with_what_to_do() -> None:
    assert "Change its unit" in problem("y ~ x", table().assign(y=lambda t: t["y"] * 1e200))
    assert "Change its unit" in problem("y ~ x", table().assign(x=lambda t: t["x"] * 1e-200))


ODD_NAMES = ["my col", "C", "I", "log", "class", "lambda", "None", "1st", "a-b", "request (ms)", "größe", "x[0]", "in"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_column_may_have_any_name_as_number_and_as_category_alone_and_in_functions(name: str) -> None:
    frame = table().rename(columns={"x": name, "method": f"{name} kind"})
    written = f"y ~ `{name}` * `{name} kind` + I(`{name}`**2)"
    plain = build_design("y ~ x * method + I(x**2)", table())
    design = build_design(written, frame)
    assert design.x == pytest.approx(plain.x)
    assert (set(design.ranges), set(design.levels)) == ({name}, {f"{name} kind"})
    assert build_design(design.parsed.text, frame).columns == design.columns


def test_a_name_with_a_dot_needs_no_backticks_in_a_function() -> None:
    assert build_design("y ~ C(fault.percentage)", table()).levels == {"fault.percentage": (0, 25, 50)}


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ (x + method)**40", "multiplies out to more than 1,000 terms"),
        ("y ~ " + "*".join(f"c{i}" for i in range(30)), "multiplies out to more than 1,000 terms"),
        ("y ~ I(x**9**9**9**9)", "a power must be a number up to 20 or a column"),
        ("y ~ I(9**9**9*x)", "a power must be a number up to 20 or a column"),
        ("y ~ I((9**20)**20*x)", "is a power of numbers alone"),
        ("y ~ " + "(" * 1500 + "x" + ")" * 1500, "cannot be read"),
        ("y ~ " + "x + " * 4000 + "x", "has 16,005 characters"),
        ("y ~ .", "uses a dot for all other columns. Name the columns"),
        ("y ~ 1e400*x", "is a number, not a term"),
        ("C(y) ~ x", "isn't allowed on the left"),
        ("y ~ log(C(method))", "can't be within another function"),
        ("y ~ my col", "in backticks: `my column`"),
    ],
)
def test_a_formula_that_would_hang_or_break_half_way_is_refused_at_once(formula: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        parse_formula(formula)


@pytest.mark.parametrize("power", ["20", "-20", "0.5", "users"])
def test_a_power_up_to_the_bound_or_of_a_column_is_taken(power: str) -> None:
    parse_formula(f"y ~ I(x**{power})")


@pytest.mark.parametrize("power", ["21", "-21", "20.1", "1e9", "(users + 1)"])
def test_a_power_beyond_the_bound_is_refused(power: str) -> None:
    with pytest.raises(DataError, match=re.escape("a power must be a number up to 20 or a column")):
        parse_formula(f"y ~ I(x**{power})")


def test_a_power_of_whole_numbers_does_not_wrap() -> None:
    frame = table().assign(users=np.resize([1000, 2000, 3000], 40))
    assert build_design("y ~ I(users**8)", frame).x[:, 1].max() == pytest.approx(3000.0**8)


def test_a_column_near_1e9_keeps_its_effect_and_its_digits() -> None:
    frame = table()
    frame["clock"] = 1.7e9 + frame["x"]
    near, far = (fit_formulas(frame, [f"y ~ {name}"]).models[0].fit for name in ("x", "clock"))
    assert far.coefficients[1].estimate == pytest.approx(near.coefficients[1].estimate, rel=1e-5)
    assert far.coefficients[1].std_error == pytest.approx(near.coefficients[1].std_error, rel=1e-5)


def test_a_column_that_varies_by_rounding_alone_is_refused_in_words() -> None:
    frame = table().assign(x=lambda t: 1e16 + 2 * (t["x"] > 0))
    assert "No term is left" in problem("y ~ x", frame)


@pytest.mark.parametrize("formula", ["p95 ~ C(name)", "p95 ~ users * C(name)", "p95 ~ C(name):C(kind)"])
def test_a_model_of_too_many_coefficients_is_refused_before_it_is_fitted(formula: str) -> None:
    count = 3 * (MOST_COEFFICIENTS + 2)
    table = pd.DataFrame({"p95": range(count), "users": range(count), "kind": ["a", "b", "c"] * (count // 3)})
    table["name"] = [f"n{number // 3}" for number in range(count)]
    with pytest.raises(DataError, match=rf"coefficients, \d+ of them for .*C\(name\).*at most {MOST_COEFFICIENTS}"):
        build_design(formula, table)


def test_a_model_of_exactly_as_many_coefficients_as_are_allowed_is_built() -> None:
    levels = [f"n{number}" for number in range(MOST_COEFFICIENTS)]
    table = pd.DataFrame({"p95": range(2 * len(levels)), "name": levels * 2})
    assert len(build_design("p95 ~ C(name)", table).columns) == MOST_COEFFICIENTS


def test_a_number_that_is_infinite_as_text_is_located() -> None:
    table = pd.DataFrame({"p95": ["1", "inf", "3", "4"], "users": [1, 2, 3, 4]})
    with pytest.raises(DataError, match="row 2: column p95 must hold numbers but holds 'inf'"):
        build_design("p95 ~ users", table)
