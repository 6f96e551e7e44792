"""What the thesis prints of its load tests, the numbers behind its figures, and what these say of its claims.

The means and failed shares behind Figures 4.7, 4.10, 5.9 and 5.12 and the printed shares of Figures 4.6, 4.9, 5.8 and
5.11 are in ``studies/published/banerjee-2022-load-tests.csv``: those behind the figures come from the author's public
notebooks (github.com/rajitbanerjee/microservice-design-patterns at 7d6310d), and give the printed correlations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from patternbench.analyze.load.loadtest import Knee, Linearity, knee, linearity
from patternbench.analyze.statements.verdict import Conclusion
from reproductions.markdown import table as markdown
from reproductions.pages import STUDIES

TABLE = STUDIES / "published" / "banerjee-2022-load-tests.csv"
CASES = {1: "gateway", 2: "messaging"}
MEAN_FIGURES = {(1, "A"): "4.7", (1, "B"): "4.10", (2, "A"): "5.9", (2, "B"): "5.12"}
STATUS_FIGURES = {(1, "A"): "4.6", (1, "B"): "4.9", (2, "A"): "5.8", (2, "B"): "5.11"}
TIME_FIGURES = {(1, "A"): "4.5", (1, "B"): "4.8", (2, "A"): "5.7", (2, "B"): "5.10"}
PRINTED_R = {(1, "A"): 0.983, (1, "B"): 0.985, (2, "A"): 0.998, (2, "B"): 0.992}
MOST_USERS = 100
SEED = 1


@dataclass(frozen=True)
class Line:
    """Whether means of one load test lie on a line over the users, and where they bend."""

    straight: Linearity
    bend: Knee

    @property
    def r(self) -> str:
        """Pearson's r with its interval."""
        return f"{self.straight.r:.3f} ({self.straight.low:.3f} to {self.straight.high:.3f})"

    def place_of(self, printed: float) -> str:
        """Whether the interval of r holds a printed r."""
        return "inside" if self.straight.low <= printed <= self.straight.high else "outside"

    @property
    def knee(self) -> str:
        """The load at which the slope changes, with its interval, where a knee is found."""
        if self.bend.load is None:
            return Conclusion.INCONCLUSIVE
        return f"{self.bend.load:.0f} ({self.bend.low:.0f} to {self.bend.high:.0f})"

    @property
    def shape(self) -> str:
        """What the test of a bend says, in words."""
        words = {"linear": f"rises; whether it bends is {Conclusion.INCONCLUSIVE}", "flat": Conclusion.INCONCLUSIVE}
        return words.get(self.straight.verdict, self.straight.verdict.replace("_", " "))


def line_of(users: pd.Series, means: pd.Series) -> Line:
    """Test one load test's means, at least four of them, one for each number of users."""
    loads, values = users.to_numpy(dtype=float), means.to_numpy(dtype=float)
    return Line(linearity(loads, values), knee(loads, values, np.random.default_rng(SEED)))


def table() -> pd.DataFrame:
    """One row per case, test and number of users: ``mean_ms``, ``failed_percent`` and ``printed_failed_percent``."""
    return pd.read_csv(TABLE)


def of(case: int, test: str) -> pd.DataFrame:
    """Return the rows of one load test, by users."""
    rows = table()
    return rows[(rows["case"] == case) & (rows["test"] == test)].sort_values("users")


def at(case: int, test: str, column: str, users: int = MOST_USERS) -> float:
    """One number of one load test."""
    rows = of(case, test).set_index("users")
    return float(rows[column].loc[users])


RATIOS = (
    ("A, 100 users: the gateway is about 25 % slower", 1.25, "A", "mean_ms", (1, 2)),
    ("A, 100 users: the gateway is 7 times more error-prone", 7.0, "A", "failed_percent", (1, 2)),
    ("B, 100 users: the gateway answers about 5 times faster", 5.0, "B", "mean_ms", (2, 1)),
)
"""The headline ratios: the text, the printed ratio, the test, the column, and which case is divided by which."""
OF_TWO = 2
"""An operation of case 2 is two requests, of which only the second can fail."""


def section() -> str:
    """Return what the published numbers say of themselves, as Markdown."""
    keys = list(MEAN_FIGURES)
    heads = ["users", *(f"{CASES[case]}, {test}" for case, test in keys)]
    means = [[users, *(_cell(*key, users) for key in keys)] for users in sorted(set(table()["users"]))]
    of_line = ["printed r", "recomputed r (95 % interval)", "the means over users", "knee at users"]
    of_ratio = ["claim", "printed ratio", "per request", "per operation", "what the thesis's own data say"]
    return "\n".join(
        [
            "Mean time of a request in milliseconds, and failed requests in percent (printed / behind the figure):\n",
            f"{markdown(heads, means)}\n",
            f"{markdown(['figure', 'load test', *of_line], _lines())}\n",
            markdown(of_ratio, _ratios()),
        ]
    )


def _cell(case: int, test: str, users: int) -> str:
    printed, behind = (at(case, test, name, users) for name in ("printed_failed_percent", "failed_percent"))
    return f"{at(case, test, 'mean_ms', users):.2f}; {printed:g} / {behind:g}"


def _lines() -> Iterator[list[object]]:
    for (case, test), figure in MEAN_FIGURES.items():
        rows = of(case, test)
        line = line_of(rows["users"], rows["mean_ms"])
        yield [figure, f"{CASES[case]}, {test}", PRINTED_R[case, test], line.r, line.shape, line.knee]


def _ratios() -> Iterator[list[str]]:
    for text, printed, test, column, (above, below) in RATIOS:
        request = at(above, test, column) / at(below, test, column)
        operation = request * (OF_TWO if above == OF_TWO else 1 / OF_TWO)
        numbers = (f"{printed:g}", f"{request:.2f}", f"{operation:.2f}")
        yield [text, *numbers, own_verdict(request > 1, operation > 1)]


def own_verdict(request: bool, operation: bool) -> str:
    """Whether both ratios of the thesis's own data lie on the claim's side of one; there is one run, so no interval."""
    words = {(True, True): "the same direction", (False, False): "the opposite direction"}
    return words.get((request, operation), "the direction depends on what is counted")
