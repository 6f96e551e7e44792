"""Sections on models, for the report of a run and for a page of their own; and that page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from patternbench.analyze.models.crossval import undo_log
from patternbench.analyze.models.diagnostics import Test
from patternbench.analyze.models.fit import Analysis, ModelResult, MultivariateResult
from patternbench.analyze.models.inference import Coefficient
from patternbench.analyze.models.influence import SuspiciousRow, thresholds
from patternbench.analyze.models.manova import TermTest
from patternbench.analyze.models.words import effects, headline, preferred, statistics, warnings
from patternbench.observe.section import Figure, Section, Spec, Table
from patternbench.report.page import page_html
from patternbench.report.pages import model_figures as drawn
from patternbench.terms.quantities import number, p_value, quantity

_HOW_MANY = "Each term given all others (marginal), and given those before it, as R's manova prints (sequential)."


def models_html(analysis: Analysis, title: str = "Models", over: Sequence[str] = ()) -> str:
    """Return a self-contained page on an analysis, which opens offline and can be printed.

    ``over`` names the two factors of interaction and surface figures. Without it the strongest are drawn.
    """
    return page_html(title, [*side_by_side(analysis, over), *model_sections(analysis, over)])


def side_by_side(analysis: Analysis, over: Sequence[str]) -> list[Section]:
    """Return a section per response that several models share: the predictions of each over the factors ``over``."""
    sections = []
    for nth, response in enumerate(dict.fromkeys(model.fit.response for model in analysis.models), start=1):
        models = [model for model in analysis.models if model.fit.response == response]
        spec = drawn.models_figure(models, over) if over and len(models) > 1 else None
        if spec is not None:
            caption = "The other factors are at their means and reference levels."
            figure = Figure(f"Each model's prediction of {response}", spec, caption)
            listed = [f"Model {i}: {model.fit.design.parsed.text}" for i, model in enumerate(models, start=1)]
            title = f"{response}: the models next to each other"
            sections.append(Section(f"side-by-side-{nth}", title, points=listed, figures=[figure]))
    return sections


def model_sections(analysis: Analysis, over: Sequence[str] = ()) -> tuple[Section, ...]:
    """Return one section per model, then one per formula with several responses."""
    singles = [
        model_section(model, f"model-{i}", f"{model.fit.response} by {_right(model)}", over)
        for i, model in enumerate(analysis.models, start=1)
    ]
    together = [multivariate_section(one, f"together-{i}") for i, one in enumerate(analysis.multivariate, start=1)]
    return (*singles, *together)


def _right(result: ModelResult) -> str:
    return result.fit.design.parsed.text.split("~", 1)[1].strip().replace("`", "")


def model_section(result: ModelResult, anchor: str, title: str, over: Sequence[str] = ()) -> Section:
    """Return the section of one model: its effects on the response, warnings, tables and figures."""
    return Section(
        anchor,
        title,
        [headline(result)],
        points=[effect.sentence for effect in effects(result)],
        warnings=warnings(result),
        tables=_model_tables(result),
        figures=model_figures(result, over),
    )


# --- tables
# ----------------------------------------------------------------------------------------------------


def _model_tables(result: ModelResult) -> list[Table]:
    logged = [remedy.coefficients for remedy in result.remedies if remedy.kind == "log_response"]
    tests = pd.DataFrame([_test_row(test) for test in result.tests])
    looks = {"verdict": {"holds": "better", "fails": "worse"}}
    return [
        _coefficients(result),
        _errors(result),
        Table("Assumptions", tests, looks=looks),
        *(Table("Coefficients with the log of the response", _coefficient_rows(one)) for one in logged),
        *_odd_rows(result),
    ]


def _coefficients(result: ModelResult) -> Table:
    coefficients, kind = preferred(result)
    references = ", ".join(f"{name} = {levels[0]}" for name, levels in result.fit.design.levels.items())
    title = f"Coefficients ({kind}{f'; reference levels {references}' if references else ''})"
    formula = result.fit.design.parsed.text.replace("`", "")
    return Table(title, _coefficient_rows(coefficients), note=f"Formula: {formula}. {statistics(result)}.")


def _coefficient_rows(coefficients: Sequence[Coefficient]) -> pd.DataFrame:
    rows = pd.DataFrame([_coefficient_row(c) for c in coefficients])
    return rows if any(c.vif is not None for c in coefficients) else rows.drop(columns="VIF")


def _coefficient_row(c: Coefficient) -> dict[str, str]:
    cells = {"estimate": c.estimate, "std. error": c.std_error, "from": c.ci_low, "to": c.ci_high, "t": c.t}
    written = {name: number(value) for name, value in cells.items()}
    return {"term": c.name, **written, "p": p_value(c.p), "VIF": "" if c.vif is None else number(c.vif)}


def _test_row(test: Test) -> dict[str, str]:
    verdict = {True: "holds", False: "fails", None: "not tested"}[test.holds]
    return {
        "test": test.name,
        "assumption": test.assumption,
        "statistic": "" if test.statistic is None else number(test.statistic),
        "p": "" if test.p is None else p_value(test.p),
        "verdict": verdict,
        "note": test.note,
    }


def _errors(result: ModelResult) -> Table:
    target = undo_log(result.fit.response)[0]
    unit = result.fit.design.factors.unit(target)
    kinds = {
        "on the rows it was fitted on": result.errors,
        f"on {result.cross_validation.unit} it has not seen": result.cross_validation.errors,
    }
    rows = [
        {
            "": name,
            "MAPE (%)": _known("", e.mape),
            "MAE": _known(target, e.mae, unit),
            "RMSE": _known(target, e.rmse, unit),
        }
        for name, e in kinds.items()
    ]
    note = " ".join(filter(None, (result.cross_validation.note, result.errors.note)))
    return Table("Prediction errors", pd.DataFrame(rows), note=note)


def _known(response: str, value: float | None, unit: str = "") -> str:
    return "none" if value is None else quantity(response, value, unit)


def _odd_rows(result: ModelResult) -> list[Table]:
    if not result.suspicious:
        return []
    limits = thresholds(result.fit)
    note = (
        f"Flagged is a row beyond {number(limits.studentized)} studentized, or with a Cook's distance above "
        f"{number(limits.cooks)}."
    )
    if result.flagged_rows > len(result.suspicious):
        note += f" The table has the first {len(result.suspicious)}."
    rows = pd.DataFrame([_odd_row(result, row) for row in result.suspicious])
    return [Table(f"Rows that stand out ({result.flagged_rows} flagged)", rows, note=note)]


def _odd_row(result: ModelResult, row: SuspiciousRow) -> dict[str, str]:
    held, response = result.fit.design.factors.held, result.fit.response
    without = "no variance left" if row.adj_r2_without is None else f"{row.adj_r2_without:.4f}"
    return {
        "row": str(row.row),
        "why": "; ".join(row.why),
        "measured": quantity(response, float(str(row.values[response])), result.unit) if response in row.values else "",
        "fitted": quantity(response, row.fitted, result.unit),
        "without it: adj. R²": without,
        "values": ", ".join(f"{name} {held(name, value)}" for name, value in row.values.items()),
    }


# --- figures
# ----------------------------------------------------------------------------------------------------


def model_figures(result: ModelResult, over: Sequence[str] = ()) -> list[Figure]:
    """Return the figures of one model that its data allow. ``over`` names two factors to draw it over."""
    made = (*_of_effects(result, over), *_of_residuals(result))
    return [Figure(title, spec, caption) for title, spec, caption in made if spec is not None]


_Drawn = tuple[str, Spec | None, str]


def _of_effects(result: ModelResult, over: Sequence[str]) -> tuple[_Drawn, ...]:
    return (
        (
            "Effects",
            drawn.effects_figure(result),
            "Effect of each factor over its measured range, with the other factors unchanged.",
        ),
        (
            "Interaction",
            drawn.interaction_figure(result, over),
            "Measured means with 95 % intervals. Lines that aren't parallel show an interaction.",
        ),
        (
            "Response surface",
            drawn.surface_figure(result, over),
            f"Fitted response over {'two' if over else 'the two strongest'} numeric factors, others at their means.",
        ),
    )


def _of_residuals(result: ModelResult) -> tuple[_Drawn, ...]:
    n, some = result.fit.summary.n, drawn.SHOWN
    which = f" Drawn are {some:,} of {n:,} rows at random, and all that stand out." if n > some else ""
    return (
        (
            "Measured against fitted",
            drawn.observed_over_fitted(result),
            f"Measured against fitted values. The points of a good model follow the line.{which}",
        ),
        (
            "Residuals over fitted values",
            drawn.residuals_over_fitted(result),
            f"The points of a good model have no shape here. A funnel means unequal spread.{which}",
        ),
        (
            "Distribution of the residuals",
            drawn.residual_histogram(result),
            "Residuals. Normal residuals have the shape of a bell.",
        ),
        ("Normal quantiles of the residuals", drawn.normal_qq(result), "Normal residuals are on the line."),
        (
            "Influence of single rows",
            drawn.influence_figure(result),
            f"Rows at the top and on the right influence the model most.{which}",
        ),
    )


# --- several responses
# ----------------------------------------------------------------------------------------------------


def multivariate_section(result: MultivariateResult, anchor: str) -> Section:
    """Return the section on several responses together."""
    words = [result.recommended, *(note.text for note in result.notes), _normality(result.normality)]
    rows = pd.DataFrame([_term_row(test) for test in result.tests])
    tables = [Table("MANOVA", rows, note=_HOW_MANY)] if result.tests else []
    title = f"{', '.join(result.design.responses)} together"
    return Section(anchor, title, words, tables, _quantiles(result))


def _normality(test: Test) -> str:
    statistic = "" if test.statistic is None or test.p is None else f" {number(test.statistic)}, p {p_value(test.p)}."
    return f"{test.name}:{statistic} {test.note}"


def _term_row(test: TermTest) -> Mapping[str, str]:
    pillai = test.statistics["pillai"]
    names = {"Pillai": "pillai", "Wilks": "wilks", "Hotelling-Lawley": "hotelling_lawley", "Roy": "roy"}
    values = {title: number(test.statistics[name].value) for title, name in names.items()}
    tested = {"F (Pillai)": number(pillai.f), "p (Pillai)": p_value(pillai.p)}
    return {"term": test.term, "kind": test.kind, "df": str(test.df), **values, **tested}


def _quantiles(result: MultivariateResult) -> list[Figure]:
    if result.quantiles is None:
        return []
    caption = f"Jointly normal residuals are on the line. {result.quantiles.rule}"
    return [Figure("Chi-square quantiles of the residuals", drawn.chi_square_qq(result.quantiles), caption)]
