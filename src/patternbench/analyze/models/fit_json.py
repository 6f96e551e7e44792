"""The documented JSON of a fit, which programs and ``predict`` read (keys: docs/analysis.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from patternbench.analyze.models.crossval import CrossValidation, Errors
from patternbench.analyze.models.diagnostics import Histogram, QuantilePoints, Test, histogram, normal_quantiles
from patternbench.analyze.models.fit import Analysis, ModelResult, MultivariateResult
from patternbench.analyze.models.inference import Coefficient
from patternbench.analyze.models.influence import SuspiciousRow, thresholds
from patternbench.analyze.models.manova import TermTest
from patternbench.analyze.models.model_file import FORMAT
from patternbench.analyze.models.robust import Remedy
from patternbench.analyze.models.saved_model import inference_json
from patternbench.analyze.models.words import effects, headline, preferred, statistics, warnings
from patternbench.analyze.plain_json import notes_json, plain


def analysis_json(analysis: Analysis) -> dict[str, object]:
    """Lay out an analysis as plain JSON values under documented keys; numbers that do not exist are null."""
    settings = analysis.settings
    return plain(
        {
            "format": FORMAT,
            "rows": analysis.rows,
            "settings": {
                "level": settings.level,
                "group": settings.group,
                "scenario": settings.scenario,
                "seed": settings.seed,
                "margin": settings.margin,
            },
            "models": list(_models_json(analysis.models)),
            "multivariate": [multivariate_json(result) for result in analysis.multivariate],
        }
    )


def _models_json(models: Sequence[ModelResult]) -> Iterator[dict[str, object]]:
    """Lay out models one after another; the matrices of a formula are given up after its last response."""
    for model, following in zip_longest(models, models[1:]):
        yield model_json(model)
        if following is None or following.fit.design is not model.fit.design:
            model.fit.design.forget()
            model.fit.basis.forget()


def model_json(result: ModelResult) -> dict[str, object]:
    """Lay out one model."""
    fit, summary = result.fit, result.fit.summary
    _, kind = preferred(result)
    return {
        "formula": fit.design.parsed.text,
        "response": fit.response,
        "in_words": [headline(result), *(e.sentence for e in effects(result))],
        "doubts": list(warnings(result)),
        "n": summary.n,
        "terms": coefficients_json(fit.coefficients),
        "reference_levels": {name: levels[0] for name, levels in fit.design.levels.items()},
        "term_inflation": dict(result.term_inflation),
        **_summary_json(result),
        **errors_json(result.errors),
        "cross_validated": cross_validation_json(result.cross_validation),
        "tests": [assumption_json(test) for test in result.tests],
        "remedies": [remedy_json(remedy) for remedy in result.remedies],
        "preferred": kind,
        "statistics": statistics(result),
        "suspicious_rows": [row_json(row) for row in result.suspicious],
        "flagged_rows": result.flagged_rows,
        "thresholds": vars(thresholds(fit)),
        "figures": _figures_json(result),
        "notes": notes_json(result.notes),
        "design": _design_json(result),
    }


def _summary_json(result: ModelResult) -> dict[str, object]:
    s = result.fit.summary
    return {
        "r2": s.r2,
        "adj_r2": s.adj_r2,
        "f": s.f,
        "f_df": [s.df_model, s.df_residual],
        "f_p": s.f_p,
        "aic": s.aic,
        "bic": s.bic,
        "log_likelihood": s.log_likelihood,
        "sigma": s.sigma,
    }


def _figures_json(result: ModelResult) -> dict[str, object]:
    return {
        "histogram": histogram_json(histogram(result.fit.residuals)),
        "normal_qq": quantiles_json(normal_quantiles(result.influence.standardized)),
    }


def _design_json(result: ModelResult) -> dict[str, object]:
    """Return what a prediction needs: columns, levels, ranges, covariance, left-out residual quantiles."""
    design, fit = result.fit.design, result.fit
    return {
        "columns": list(design.columns),
        "levels": {name: list(levels) for name, levels in design.levels.items()},
        "ranges": {name: list(ends) for name, ends in design.ranges.items()},
        "factors": design.factors.rows(design.parsed.right),
        "nested": [one.as_json() for one in design.nests],
        "bread": fit.bread.tolist(),
        "largest_leverage": float(fit.leverage.max()),
        "level": fit.level,
        "left_out_quantiles": result.left_out_quantiles,
        **inference_json(result),
        "normal": all(t.holds is not False for t in result.tests if t.assumption == "normality"),
    }


def coefficients_json(coefficients: Sequence[Coefficient]) -> list[dict[str, object]]:
    """Lay out coefficients in the order of the design."""
    return [
        {
            "name": c.name,
            "estimate": c.estimate,
            "std_error": c.std_error,
            "ci_low": c.ci_low,
            "ci_high": c.ci_high,
            "t": c.t,
            "p": c.p,
            "vif": c.vif,
        }
        for c in coefficients
    ]


def errors_json(errors: Errors) -> dict[str, object]:
    """Lay out prediction errors."""
    return {"mape": errors.mape, "mae": errors.mae, "rmse": errors.rmse, "errors_note": errors.note}


def cross_validation_json(validation: CrossValidation) -> dict[str, object]:
    """Lay out the errors on left-out scenarios."""
    return {
        **errors_json(validation.errors),
        "scored": validation.errors.scored,
        "unscored": validation.unscored,
        "scenarios": validation.scenarios,
        "folds": validation.folds,
        "unit": validation.unit,
        "note": validation.note,
    }


def assumption_json(test: Test) -> dict[str, object]:
    """Lay out one test of an assumption."""
    return {
        "name": test.name,
        "assumption": test.assumption,
        "statistic": test.statistic,
        "p": test.p,
        "holds": test.holds,
        "note": test.note,
    }


def remedy_json(remedy: Remedy) -> dict[str, object]:
    """Lay out one remedy."""
    return {
        "kind": remedy.kind,
        "because": list(remedy.because),
        "text": remedy.text,
        "terms": coefficients_json(remedy.coefficients),
        "numbers": dict(remedy.numbers),
    }


def row_json(row: SuspiciousRow) -> dict[str, object]:
    """Lay out one row that stands out, and the model without it."""
    return {
        "row": row.row,
        "values": dict(row.values),
        "identity": dict(row.identity),
        "fitted": row.fitted,
        "why": list(row.why),
        "studentized": row.studentized,
        "leverage": row.leverage,
        "cooks": row.cooks,
        "without": {
            "adj_r2": row.adj_r2_without,
            "sigma": row.sigma_without,
            "terms": {name: {"with": a, "without": b} for name, (a, b) in row.moves.items()},
        },
    }


def multivariate_json(result: MultivariateResult) -> dict[str, object]:
    """Lay out what is said of several responses together."""
    return {
        "formula": result.design.parsed.text,
        "responses": list(result.design.responses),
        "manova": [term_test_json(test) for test in result.tests],
        "normality": assumption_json(result.normality),
        "recommended": result.recommended,
        "residual_correlation": result.correlation.tolist(),
        "chi_square_qq": None if result.quantiles is None else quantiles_json(result.quantiles),
        "notes": notes_json(result.notes),
    }


def term_test_json(test: TermTest) -> dict[str, object]:
    """Lay out the four statistics of one term."""
    entry: dict[str, object] = {"term": test.term, "kind": test.kind, "df": test.df}
    for name, s in test.statistics.items():
        entry[name] = {"value": s.value, "f": s.f, "df": [s.df_numerator, s.df_denominator], "p": s.p}
    return entry


def histogram_json(bins: Histogram) -> dict[str, object]:
    """Lay out a histogram."""
    return {"edges": bins.edges.tolist(), "counts": bins.counts.tolist()}


def quantiles_json(points: QuantilePoints) -> dict[str, object]:
    """Lay out the points of a quantile-quantile plot."""
    return {"expected": points.expected.tolist(), "observed": points.observed.tolist(), "rule": points.rule}
