"""What our own insurance measured of request bundles, next to the published numbers: the page elmalki-zdun-2021.md."""

from __future__ import annotations

from reproductions.elmalki_zdun_2021 import bundle_figures, bundle_findings, bundle_models, predict
from reproductions.elmalki_zdun_2021.bundle_rounds import KEPT_COLUMNS, usable
from reproductions.pages import Page, Parts, Tables, rounds_as

FILE = "reproductions/elmalki-zdun-2021.md"


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
        "models": bundle_models.printed(rounds),
    }
    return {FILE: own, "patterns/request-bundle.md": {"measured": bundle_findings.summary(rounds)}}


READERS = {
    f"insurance-{study}": rounds_as(name, KEPT_COLUMNS)
    for study, name in (("bundling", "rounds"), ("bundle-depth", "depth"))
}
PAGE = Page(FILE, READERS, parts, lambda kept: bundle_figures.drawn(usable(kept["rounds"])))
