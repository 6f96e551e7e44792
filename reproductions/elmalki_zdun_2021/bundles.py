"""What our own insurance measured of request bundles: the page elmalki-zdun-2021.md, its models and its figures.

Tables III and IV are the four models fitted to our rows, next to the published ones. Figures 1 to 10 are residuals of
the four models, and what models 1, 2 and 4 predict next to what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import pandas as pd
from studies.published.refit_2021 import NAMES, PUBLISHED, QUALITY, printed_quality, quality_of

from patternbench.analyze.models.fit import ModelResult
from patternbench.observe.section import Spec
from patternbench.report.figures.scenarios import LIGHT
from patternbench.report.pages.model_figures import normal_qq, residual_histogram, residuals_over_fitted
from patternbench.report.svg import draw
from reproductions import drawing
from reproductions.elmalki_zdun_2021 import bundle_findings, bundle_rounds, predict
from reproductions.elmalki_zdun_2021.bundle_rounds import METHODS, MS_PER_S, SIZES, batches, fitted, traced, usable
from reproductions.markdown import within
from reproductions.pages import Page, Parts, Tables, rounds_as

FILE = "reproductions/elmalki-zdun-2021.md"
DRAWN = (1, 2, 4)
"""Of the four models those whose predictions the paper draws."""
BELOW_ZERO = {4: 2}
"""How many batches the paper's models predict to take less than no time, where it says so."""


def parts(kept: Tables) -> Parts:
    """Every part of the page, and of the catalogue's page on bundles."""
    rounds = usable(kept["rounds"])
    own = {
        "verdicts": bundle_findings.verdict_table(rounds),
        "savings": bundle_findings.savings(rounds),
        "costs": bundle_findings.costs(rounds),
        "depth": bundle_findings.depth(kept["depth"]),
        "predicted": predict.report(rounds),
        "table II": bundle_findings.table_2(rounds),
        "decomposed": bundle_findings.decomposed(rounds),
        "models": models(rounds),
    }
    return {FILE: own, "patterns/request-bundle.md": {"measured": bundle_findings.summary(rounds)}}


def models(rounds: pd.DataFrame) -> str:
    """Coefficients, quality, and what the bundle's own coefficient says in ms, as Markdown."""
    fits = fitted(batches(traced(rounds)))
    ours = {n: bundle_rounds.estimates(one.fit.coefficients) for n, one in fits.items()}
    both = bundle_rounds.beside({n: PUBLISHED[n].coefficients for n in fits}, ours, "unknown")
    cells = {NAMES.get(term, term): of_it for term, of_it in both.items()}
    fit = (zip(printed_quality(PUBLISHED[n]), quality_of(one, digits=3), strict=True) for n, one in fits.items())
    quality = {name: map(" / ".join, of_it) for name, *of_it in zip(QUALITY, *fit, strict=True)}
    lacking = any(len(PUBLISHED[n].coefficients) > len(one.fit.coefficients) for n, one in fits.items())
    left_out = "What these rounds do not tell, or tell always alike, is left out of our models.\n\n" if lacking else ""
    own = {n: next((c for c in one.coefficients if c.name == "request_bundle[T.Y]"), None) for n, one in fits.items()}
    bundle = "; ".join(f"model {n}: {within(c.estimate, c.ci_low, c.ci_high)}" for n, c in own.items() if c)
    below = ([str(BELOW_ZERO.get(n, "not printed")), str((one.fit.fitted < 0).sum())] for n, one in fits.items())
    quality["predictions below zero"] = map(" / ".join, below)
    return (
        f"{bundle_rounds.by_model({**cells, **quality})}\n\n{left_out}"
        f"The bundle's own coefficient in ms, with the 95 % interval that `fit` prefers: {bundle}."
    )


def drawn(rounds: pd.DataFrame) -> dict[str, str]:
    """Every figure as SVG, by its name."""
    return {f"figure-{number}.svg": draw(figure) for number, figure in enumerate(figures(traced(rounds)), start=1)}


def figures(rounds: pd.DataFrame) -> Iterator[Spec]:
    """Figures 1 to 4 (a model's residuals), then 5 to 10 (a function without and with bundles)."""
    rows = batches(rounds)
    found = fitted(rows)
    for model in found.values():
        yield drawing.side_by_side(residual_histogram(model), normal_qq(model), residuals_over_fitted(model))
    for method, bundle in product(METHODS, "NY"):
        yield predicted(rounds, rows, found, method, bundle)


def predicted(
    rounds: pd.DataFrame, rows: pd.DataFrame, found: Mapping[int, ModelResult], method: str, bundle: str
) -> Spec:
    """Draw total times over the size: a dot per round, the medians, and what models say of them."""
    chosen = rows[(rows["method"] == method) & (rows["request_bundle"] == bundle)]
    own = rounds[(rounds["parameters.method"] == method) & (rounds["request_bundle"] == bundle)]
    lines = {"measured": chosen["total_time"]}
    lines |= {f"model {number}": pd.Series(found[number].fit.fitted)[chosen.index] for number in DRAWN}
    shown = pd.concat([_line(chosen["size"], values, name) for name, values in lines.items()])
    dots = _line(own["parameters.size"], own["journey_p50"] * MS_PER_S, "measured")
    title = f"{method}, {'with' if bundle == 'Y' else 'without'} a bundle"
    words = {"names": list(lines), "colours": LIGHT[1 : len(lines) + 1], "sizes": list(SIZES), "title": title}
    return drawing.panel("batches", {"rounds": dots, "lines": shown.sort_values(["line", "size"])}, **words)


def _line(sizes: pd.Series, values: pd.Series, name: str) -> pd.DataFrame:
    return pd.DataFrame({"size": sizes.to_numpy(), "ms": values.to_numpy().round(3), "line": name})


READERS = {
    f"insurance-{study}": rounds_as(name, bundle_rounds.KEPT_COLUMNS)
    for study, name in (("bundling", "rounds"), ("bundle-depth", "depth"))
}
PAGE = Page(FILE, READERS, parts, lambda kept: drawn(usable(kept["rounds"])))
