"""Draw the pictures of docs/analysis.md.

    python -m scripts.site.analysis_pictures

The comparison and the recommendation use a small made-up run (seeded), the model the published table of
2021.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_runs
from patternbench.analyze.models.fit import fit_formulas
from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.observe.section import Spec
from patternbench.records.tables import read_table
from patternbench.report.pages.comparison_figures import differences_figure, trade_off_figure, wins_figure
from patternbench.report.pages.model_figures import effects_figure, residuals_over_fitted
from patternbench.report.svg import draw

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "analysis"
TABLE = ROOT / "studies" / "published" / "elmalki-zdun-2021-table2.csv"
STRATEGIES = (
    ("baseline", None, 0.1, 1.0),
    ("retry", 0.05, 1.5, 0.05),
    ("retry", 0.2, 2.2, 0.04),
    ("circuit_breaker", None, 0.2, 0.5),
)
"""Strategy, delay in seconds, how faults slow it down, how many of 100 faults reach the caller."""
FORMULA = "total_time ~ inmem_time + db_time + dist_time + request_bundle + method"


def made_up_run(seed: int, slower: float = 1.0) -> pd.DataFrame:
    """Make up a run of 10 rounds: four configurations, three loads, three fault percentages."""
    rng = np.random.default_rng(seed)
    rows = []
    for users in (10, 50, 100):
        for fault in (0, 25, 50):
            for strategy, delay, slows, leaks in STRATEGIES:
                p95 = (0.05 + users * 0.002) * (1 + fault / 100 * slows) * (slower if strategy == "retry" else 1)
                for block in range(10):
                    failures = fault * leaks + abs(rng.normal(0.3, 0.2))
                    rows.append((block, strategy, delay, users, fault, p95 * np.exp(rng.normal(0, 0.06)), failures))
    return pd.DataFrame(rows, columns=["block", "strategy", "delay", "users", "fault", "p95", "failure_rate"])


def write(name: str, spec: Spec | None) -> None:
    """Write one picture."""
    assert spec is not None
    (FOLDER / f"{name}.svg").write_text(draw(spec))


def main() -> None:
    """Draw all pictures."""
    model = fit_formulas(read_table(TABLE), [FORMULA]).models[0]
    write("effects", effects_figure(model))
    write("residuals", residuals_over_fitted(model))
    run = made_up_run(1)
    write(
        "differences",
        differences_figure(compare_runs(run, made_up_run(2, 1.2), ComparisonOptions(responses=("p95",))), "p95"),
    )
    criteria = Criteria(
        ("minimise p95",), ("failure_rate <= 5%",), conditions=("users", "fault"), baseline=("strategy=baseline",)
    )
    found = recommend(run, criteria)
    write("wins", wins_figure(found.choices, found.conditions))
    write("trade-off", trade_off_figure(found.choices[4], found.conditions))


if __name__ == "__main__":
    main()
