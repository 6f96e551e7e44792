"""What the thesis prints of its load tests, the numbers behind its figures, and what these say of its claims.

All are tables in ``studies/published``: which figures show each load test, with its printed correlation; the ratios
that it claims; the means and failed shares behind Figures 4.7, 4.10, 5.9 and 5.12; and the printed shares of Figures
4.6, 4.9, 5.8 and 5.11. Those behind the figures come from the author's public notebooks
(github.com/rajitbanerjee/microservice-design-patterns at 7d6310d), and give the printed correlations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from patternbench.analyze.load.loadtest import Linearity, knee, linearity
from patternbench.analyze.statements.verdict import Conclusion
from reproductions.markdown import table as markdown
from reproductions.markdown import within
from reproductions.pages import STUDIES

FOLDER = STUDIES / "published"
MOST_USERS = 100
SEED = 1
TABLE = pd.read_csv(FOLDER / "banerjee-2022-load-tests.csv")
"""One row per case, test and number of users: ``mean_ms``, ``failed_percent`` and ``printed_failed_percent``."""
CALLS = pd.read_csv(FOLDER / "banerjee-2022-calls.csv", dtype={"figure": str})
"""One row per call of the manual tests: its figure and its time in ms."""
OF_TWO = 2
"""An operation of case 2 is two requests, of which only the second can fail."""


@dataclass(frozen=True)
class LoadTest:
    """A load test: its architecture, the figures of its times, statuses and means, and its printed correlation."""

    case: int
    architecture: str
    test: str
    times: str
    statuses: str
    means: str
    r: float

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return f"{self.architecture}, {self.test}"

    @property
    def published(self) -> pd.DataFrame:
        """What was published of it, by users."""
        return of(self.case, self.test)

    def of(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a table of ours that belong to it."""
        return rows[(rows["architecture"] == self.architecture) & (rows["test"] == self.test)]


_FIGURES = pd.read_csv(FOLDER / "banerjee-2022-figures.csv", dtype=str)
LOAD_TESTS = TypeAdapter(list[LoadTest]).validate_python(_FIGURES.to_dict("records"))
CASES = {one.case: one.architecture for one in LOAD_TESTS}


def of(case: int, test: str) -> pd.DataFrame:
    """Return the rows of one load test, by users."""
    return TABLE[(TABLE["case"] == case) & (TABLE["test"] == test)].sort_values("users")


def at(case: int, test: str, column: str, users: int = MOST_USERS) -> float:
    """One number of one load test."""
    return float(of(case, test).set_index("users")[column].loc[users])


@dataclass(frozen=True)
class Line:
    """Whether means of one load test lie on a line over the users; what the test of a bend says, and the load of it."""

    straight: Linearity
    shape: str
    knee: str

    @property
    def r(self) -> str:
        """Pearson's r with its interval."""
        return within(self.straight.r, self.straight.low, self.straight.high)

    def place_of(self, printed: float) -> str:
        """Whether the interval of r holds a printed r."""
        return "inside" if self.straight.low <= printed <= self.straight.high else "outside"


def line_of(users: pd.Series, means: pd.Series) -> Line:
    """Test one load test's means, at least four of them, one for each number of users."""
    loads, values = users.to_numpy(dtype=float), means.to_numpy(dtype=float)
    straight, bend = linearity(loads, values), knee(loads, values, np.random.default_rng(SEED))
    words = {"linear": f"rises; whether it bends is {Conclusion.INCONCLUSIVE}", "flat": Conclusion.INCONCLUSIVE}
    shape = words.get(straight.verdict, straight.verdict.replace("_", " "))
    return Line(
        straight, shape, Conclusion.INCONCLUSIVE if bend.load is None else within(bend.load, bend.low, bend.high)
    )


def section() -> str:
    """Return what the published numbers say of themselves, as Markdown."""
    means = [[users, *(_cell(one, users) for one in LOAD_TESTS)] for users in sorted(set(TABLE["users"]))]
    of_line = ["printed r", "recomputed r (95 % interval)", "the means over users", "knee at users"]
    lines = ((one, line_of(one.published["users"], one.published["mean_ms"])) for one in LOAD_TESTS)
    rows = ([one.means, one.name, one.r, line.r, line.shape, line.knee] for one, line in lines)
    of_ratio = ["claim", "printed ratio", "per request", "per operation", "what the thesis's own data say"]
    return "\n\n".join(
        [
            "Mean time of a request in milliseconds, and failed requests in percent (printed / behind the figure):",
            markdown(["users", *(one.name for one in LOAD_TESTS)], means),
            markdown(["figure", "load test", *of_line], rows),
            markdown(of_ratio, _ratios()),
        ]
    )


def _cell(one: LoadTest, users: int) -> str:
    names = ("mean_ms", "printed_failed_percent", "failed_percent")
    mean, printed, behind = (at(one.case, one.test, name, users) for name in names)
    return f"{mean:.2f}; {printed:g} / {behind:g}"


def _ratios() -> Iterator[list[str]]:
    """Yield each ratio; there is one run, so no interval, only on which side of one the thesis's own data lie."""
    words = {(True, True): "the same direction", (False, False): "the opposite direction"}
    for text, printed, test, column, above, below in pd.read_csv(FOLDER / "banerjee-2022-ratios.csv").to_numpy():
        request = at(above, test, column) / at(below, test, column)
        operation = request * (OF_TWO if above == OF_TWO else 1 / OF_TWO)
        says = words.get((request > 1, operation > 1), "the direction depends on what is counted")
        yield [text, f"{printed:g}", f"{request:.2f}", f"{operation:.2f}", says]
