"""The findings of a run in plain words: every line against the baseline under the same conditions, with intervals.

Only rounds of the same condition (client, load, fault) are compared, paired by block, with the estimator of all
comparisons (`analyze.differences`). A change over several conditions is their mean. A change is called better or worse
only if it is significant with the false discovery rate of all comparisons of all responses at 5 % (Benjamini and
Hochberg, 1995). If nothing differs, at most 5 % of runs contain such a word. A configuration is named for a gain only
where it keeps the limit on failed calls, because fast failures aren't a gain. The words name levels of the axis,
because a mean over levels depends on which levels a study happens to have.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from patternbench.analyze.compare.comparison import against, percent
from patternbench.analyze.differences import UNKNOWN, Numbers, is_relative, over
from patternbench.analyze.intervals import CONFIDENCE
from patternbench.analyze.models.formula import Floats
from patternbench.analyze.rounds import ColumnRoles, ScenarioRounds, scenarios
from patternbench.observe.response import Better
from patternbench.observe.section import Section
from patternbench.report.labels import BESIDE, HEADLINES, RESPONSES, number
from patternbench.report.layout import Axis, Layout
from patternbench.report.model import RunReport

FALSE_DISCOVERIES = 0.05
_NAMED = 4
_TOLD = 2
_CHOICE = "What to choose"
_NO_DECIMAL = 100
_TOO_FEW = "Too few rounds: at least two finished rounds per scenario are needed."
_GROUPS = {"scenario": ["scenario"], "level": ["item", "x"], "item": ["item"]}


@dataclass(frozen=True)
class Findings:
    """Every comparison with the reference line: a table per scenario, one per line and level of the axis, one per line.

    The tables have `item`, `response`, `relative` (whether `change` is in percent; else in the response's
    unit), `change`, `low`, `high`, `p` (adjusted), `conditions`, `verdict` (`better`, `worse`, `unclear`,
    or `unknown` with too few rounds), `failed` and `rejected` (percent of calls: the most under one of its conditions,
    and the mean), `keeps` (whether no condition exceeds the limit on failed calls, `failure_limit`) and
    `reference_keeps`.
    """

    reference: str
    axis: Axis
    failure_limit: float
    by_scenario: pd.DataFrame
    by_level: pd.DataFrame
    by_item: pd.DataFrame


class Change(NamedTuple):
    """One row of the tables of `Findings`."""

    item: str
    client: str
    response: str
    relative: bool
    change: float
    low: float
    high: float
    verdict: str
    failed: float
    rejected: float


def changes(table: pd.DataFrame) -> list[Change]:
    """The rows of a table of `Findings`."""
    return [Change(*row) for row in table[list(Change._fields)].itertuples(index=False, name=None)]


@dataclass(frozen=True)
class Headline:
    """One finding in words: its title, the finding, what else to know, and what kind of news it is."""

    title: str
    lead: str
    more: tuple[str, ...]
    verdict: str


def findings(report: RunReport, arrangement: Layout) -> Findings:
    """Compare every line with the reference under the same conditions."""
    tables = compared(report.done, _pairs(arrangement), report.failure_limit)
    names = arrangement.reference, arrangement.axis
    return Findings(*names, report.failure_limit, tables["scenario"], tables["level"], tables["item"])


def compared(rounds: pd.DataFrame, pairs: pd.DataFrame, failure_limit: float) -> dict[str, pd.DataFrame]:
    """The tables of `Findings` by `scenario`, `level` and `item`, from rounds that count.

    `pairs` has a row per scenario that is compared: the ids `scenario` and `baseline`, and `item`, `line`, `client`,
    `x`, `x_text` and `condition` as in `Layout`.
    """
    responses = [name for name in (*HEADLINES, *BESIDE) if name in rounds.columns] if len(pairs) else []
    measured = _measured(rounds, responses)
    outcomes = _outcomes(rounds)
    failures = dict(zip(outcomes["scenario"], outcomes["failed"], strict=True))
    pairs = pairs.merge(outcomes, on="scenario", how="left")
    pairs["reference_failed"] = pairs["baseline"].map(failures) if len(pairs) else []
    return {
        kind: _judged(_joined([_changes(pairs, by, measured, name, failure_limit) for name in responses]))
        for kind, by in _GROUPS.items()
    }


def headlines(comparisons: Findings, arrangement: Layout, sections: Sequence[Section] = ()) -> list[Headline]:
    """Say what is a safe choice, then for each headline response which line gains where, and at what cost.

    If a section recommends a configuration, its words replace the comparison with the reference.
    """
    if comparisons.by_item.empty:
        return []
    chosen = [_chosen(section) for section in sections if section.choice]
    responses = [name for name in HEADLINES if (comparisons.by_item["response"] == name).any()]
    table = comparisons.by_level if arrangement.axis.quantity else comparisons.by_item.assign(x=0.0, x_text="")
    return [*(chosen or [_overall(comparisons, table)]), *(_headline(comparisons, table, name) for name in responses)]


def merged(told: Sequence[Headline]) -> list[Headline]:
    """Make one headline of neighbours that say the same, under the titles of all."""
    runs = [list(run) for _, run in groupby(told, key=lambda one: (one.lead, one.more, one.verdict))]
    return [replace(run[0], title=_titles([one.title for one in run])) for run in runs]


def change_text(row: Change) -> str:
    """Write a change: `−41.2 %`."""
    return "–" if np.isnan(row.change) else f"{_signed(row.change)}{_unit(row)}"


def interval_text(row: Change) -> str:
    """Write the interval of a change: `−44.0 to −38.1 %`."""
    return "no interval" if np.isnan(row.low) else f"{_signed(row.low)} to {_signed(row.high)}{_unit(row)}"


def _pairs(arrangement: Layout) -> pd.DataFrame:
    """Every scenario that has a reference scenario of the same client and condition, which is its `baseline`."""
    table = arrangement.scenarios
    return table[~table["reference"] & table["baseline"].notna()].reset_index(drop=True)


def _measured(rounds: pd.DataFrame, responses: Sequence[str]) -> dict[str, ScenarioRounds]:
    """Give each scenario's values of the responses, with the block of each."""
    if not responses or not len(rounds):
        return {}
    measured = scenarios(rounds.reset_index(drop=True), ColumnRoles(("scenario",), tuple(responses)))
    return {str(scenario.levels["scenario"]): scenario for scenario in measured}


def _outcomes(rounds: pd.DataFrame) -> pd.DataFrame:
    """Give what share of its calls each scenario failed and rejected, mean over its rounds, in percent."""
    names = {"failure_rate": "failed", "rejected_rate": "rejected"}
    kept = rounds.reindex(columns=["scenario", *names]).rename(columns=names)
    return kept.astype(dict.fromkeys(names.values(), float)).groupby("scenario", as_index=False).mean()


def _changes(
    pairs: pd.DataFrame, by: list[str], measured: dict[str, ScenarioRounds], response: str, failure_limit: float
) -> pd.DataFrame:
    """Compare the groups of pairs in one response."""
    relative = is_relative(response, *(scenario.values[response] for scenario in measured.values()))
    rows = [
        {**_identity(part, by), **_change(part, measured, response, relative), **_kept(part, failure_limit)}
        for _, part in pairs.groupby(by, sort=False)
    ]
    return pd.DataFrame(rows).assign(response=response, relative=relative)


def _judged(table: pd.DataFrame) -> pd.DataFrame:
    """The comparisons with their verdicts, p values adjusted for the number of all that bear one."""
    if table.empty:
        return table
    bears = np.array([RESPONSES[name].better is not Better.NEITHER for name in table["response"]])
    p = table["p"].to_numpy(float)
    told, rest = (_adjusted(np.where(which, p, np.nan)) for which in (bears, ~bears))
    table = table.assign(p=np.where(bears, told, rest))
    judged = zip(table["response"], table["p"], table["change"], strict=True)
    return table.assign(verdict=[_verdict(response, p, change) for response, p, change in judged])


def _kept(part: pd.DataFrame, failure_limit: float) -> dict[str, object]:
    failed = float(part["failed"].max())
    return {
        "failed": failed,
        "rejected": float(part["rejected"].mean()),
        "keeps": not failed > failure_limit,
        "reference_keeps": not part["reference_failed"].max() > failure_limit,
    }


def _identity(part: pd.DataFrame, by: Sequence[str]) -> dict[str, object]:
    first = part.iloc[0]
    names = ["item", "line", "client"]
    names += ["x", "x_text"] if "item" not in by or "x" in by else []
    names += ["scenario", "condition"] if by == ["scenario"] else []
    return {name: first[name] for name in names}


def _change(
    part: pd.DataFrame, measured: dict[str, ScenarioRounds], response: str, relative: bool
) -> dict[str, object]:
    """Average the change over the conditions of a group."""
    matched = [
        (measured.get(base), measured.get(mine)) for base, mine in zip(part["baseline"], part["scenario"], strict=True)
    ]
    estimates = [against(a, b, response, relative) for a, b in matched if a and b]
    parts = [one for one in estimates if not np.isnan(one.value)]
    estimate = over(parts) if parts else UNKNOWN
    low, high = estimate.ends(CONFIDENCE)
    return {
        "change": _in_percent(estimate.value, relative),
        "low": _in_percent(low, relative),
        "high": _in_percent(high, relative),
        "p": float(estimate.p),
        "conditions": len(parts),
    }


def _joined(tables: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _in_percent(value: Numbers, relative: bool) -> float:
    return percent(value) if relative else float(value)


def _adjusted(p: Floats) -> Floats:
    """Adjust p values after Benjamini and Hochberg, leaving out the unknown ones."""
    tested = ~np.isnan(p)
    adjusted = np.full(len(p), np.nan)
    if tested.any():
        adjusted[tested] = stats.false_discovery_control(p[tested])
    return adjusted


def _verdict(response: str, p: float, change: float) -> str:
    better = RESPONSES[response].better
    if np.isnan(p):
        return "unknown"
    if p > FALSE_DISCOVERIES or change == 0 or better is Better.NEITHER:
        return "unclear"
    return "better" if (change < 0) == (better is Better.LOWER) else "worse"


def _overall(comparisons: Findings, table: pd.DataFrame) -> Headline:
    """Name the lines that are clearly better somewhere, clearly worse nowhere, and keep the limit on failures."""
    if (table["verdict"] == "unknown").all():
        return Headline(_CHOICE, _TOO_FEW, (), "unclear")
    every = table.groupby("item", sort=False).agg(
        better=("verdict", lambda told: (told == "better").sum()),
        worse=("verdict", lambda told: (told == "worse").sum()),
        keeps=("keeps", "all"),
    )
    safe = every[(every["better"] > 0) & (every["worse"] == 0) & every["keeps"]].sort_values("better", ascending=False)
    if len(safe):
        lead = f"Better than {comparisons.reference} in some responses, clearly worse in none: {_listed(safe.index)}."
        return Headline(_CHOICE, lead, (), "better")
    if (every["better"] > 0).any():
        lead = (
            f"No free gain: each configuration that beats {comparisons.reference} in one response or condition is "
            f"worse in another, or fails more than {number(comparisons.failure_limit)}\u00a0% of calls."
        )
        return Headline(_CHOICE, lead, ("Choose by the response that matters most to you.",), "unclear")
    return Headline(
        _CHOICE, f"No configuration is clearly better than {comparisons.reference} in any response.", (), "unclear"
    )


def _chosen(section: Section) -> Headline:
    verdict = "better" if section.choice_is_clear else "unclear"
    return Headline(_CHOICE, section.choice[0], tuple(section.choice[1:]), verdict)


@dataclass(frozen=True)
class _At:
    """The finding on one response at one level of the axis: its kind, and the rows that it covers.

    `alike` says that of several lines none fails less than the others.
    """

    kind: str
    rows: pd.DataFrame
    alike: bool = False

    @property
    def x(self) -> float:
        """The level's position on the axis."""
        return float(self.rows["x"].iloc[0])

    @property
    def level(self) -> str:
        """The level of the axis in words."""
        return str(self.rows.iloc[0]["x_text"])

    @property
    def items(self) -> frozenset[str]:
        """The lines that gain."""
        return frozenset(self.rows["item"]) if self.kind == "gain" else frozenset()


def _headline(comparisons: Findings, table: pd.DataFrame, response: str) -> Headline:
    """Say at which levels which line gains most, at which none does, and what each gain costs."""
    mine = table[table["response"] == response].sort_values("x", kind="stable")
    told = [_at(part, response) for _, part in mine.groupby("x", sort=True)]
    if all(at.kind == "unknown" for at in told):
        return Headline(RESPONSES[response].title, _TOO_FEW, (), "unclear")
    phrases = [_phrase(comparisons, stretch) for stretch in _stretches(told)]
    more = [line for at in told for line in _beside(comparisons, table, at)]
    kinds = {at.kind for at in told}
    verdict = "better" if "gain" in kinds else "worse" if kinds <= {"worse", "broken", "only"} else "unclear"
    return Headline(RESPONSES[response].title, f"{_capital('; '.join(phrases))}.", tuple(more), verdict)


def _at(rows: pd.DataFrame, response: str) -> _At:
    """Judge one level: the gains of lines that keep the limit, or why there are none."""
    sign = -1 if RESPONSES[response].better is Better.HIGHER else 1
    ranked = rows.assign(rank=sign * rows["change"]).sort_values("rank", kind="stable")
    kept = ranked[ranked["keeps"]]
    gains = kept[kept["verdict"] == "better"]
    if len(gains):
        return _At("gain", gains)
    if kept.empty:
        least = rows.sort_values("failed", kind="stable").head(1)
        alike = len(rows) > 1 and rows["failed"].nunique() == 1
        return _At("only" if least["reference_keeps"].all() else "broken", least, alike)
    verdicts = set(kept["verdict"])
    kind = "unknown" if verdicts == {"unknown"} else "worse" if verdicts == {"worse"} else "unclear"
    return _At(kind, kept)


def _stretches(told: Sequence[_At]) -> Iterator[list[_At]]:
    """Group neighbouring levels with the same finding."""
    stretch: list[_At] = []
    for at in told:
        if stretch and (at.kind, at.items) != (stretch[0].kind, stretch[0].items):
            yield stretch
            stretch = []
        stretch.append(at)
    yield stretch


def _phrase(comparisons: Findings, stretch: Sequence[_At]) -> str:
    where, rows = _levels([at.level for at in stretch], comparisons.axis), stretch[0].rows
    everywhere = rows["conditions"].max()
    limit = f"failed calls at {number(comparisons.failure_limit)}\u00a0% or below"
    gain = f"gain{'s' if len(rows) == 1 else ''} over {_reference(comparisons, changes(rows)[0])}"
    said = {
        "gain": f"{_listed(rows['item'])} {gain}",
        "unclear": f"nothing that keeps {limit} is clearly better than {comparisons.reference}",
        "worse": f"everything that keeps {limit} is worse than {comparisons.reference}",
        "broken": f"nothing keeps {limit}{'' if where or everywhere == 1 else ' under every condition'}",
        "only": f"only {comparisons.reference} keeps {limit}",
        "unknown": "too few rounds",
    }
    return said[stretch[0].kind] + (f" {where}" if where else "")


def _beside(comparisons: Findings, table: pd.DataFrame, at: _At) -> Iterator[str]:
    """Details of a level's finding: the size and cost of gains, or which line fails least when all break the limit."""
    where = f"{_capital(_levels([at.level], comparisons.axis))}: " if at.level else ""
    if at.kind == "gain":
        told = [_gain(table[table["x"] == at.x], row) for row in changes(at.rows.head(_TOLD))]
        yield f"{where}{' '.join(told)}"
    least = changes(at.rows)[0]
    if at.kind in ("broken", "only") and least.response == HEADLINES[0] and not (at.alike or np.isnan(least.failed)):
        yield f"{where}{least.item} fails least{' of the others' if at.kind == 'only' else ''}: {_calls(least)}."


def _gain(level: pd.DataFrame, row: Change) -> str:
    return f"{row.item} {change_text(row)} ({interval_text(row)}), {_calls(row)}.{_cost(level, row)}"


def _calls(row: Change) -> str:
    return f"{_share(row.failed)} of calls failed, {_share(row.rejected)} rejected"


def _share(percent_of_calls: float) -> str:
    return "an unknown share" if np.isnan(percent_of_calls) else f"{number(percent_of_calls)}\u00a0%"


def _reference(comparisons: Findings, row: Change) -> str:
    """Name the reference; each client has its own."""
    return f"{comparisons.reference}{' of the same client' if row.client else ''}"


def _unit(row: Change) -> str:
    """Give the unit of a change: percent, percentage points, or the unit of the response."""
    if row.relative:
        return "\u00a0%"
    return {"percent": " points", "time": "\u00a0s"}.get(RESPONSES[row.response].kind, "")


def _signed(value: float) -> str:
    """Write a change with its sign; with one decimal below 100, without decimals from 100 on."""
    text = f"{abs(value):,.0f}" if abs(value) >= _NO_DECIMAL else f"{abs(value):.1f}"
    return text if float(text.replace(",", "")) == 0 else f"{'+' if value > 0 else '−'}{text}"


def _levels(texts: Sequence[str], axis: Axis) -> str:
    if not texts[0]:
        return ""
    if len(texts) == 1:
        return f"at {axis.named(texts[0])}"
    return f"from {axis.named(texts[0], first=True)} to {axis.named(texts[-1], last=True)}"


def _cost(level: pd.DataFrame, best: Change) -> str:
    """Name the other responses in which the line is clearly worse at the same level."""
    mine = level[(level["item"] == best.item) & (level["response"] != best.response) & (level["verdict"] == "worse")]
    costs = [
        f"{_small(RESPONSES[row.response].title)} {change_text(row)} ({interval_text(row)})" for row in changes(mine)
    ]
    return f" Its cost: {'; '.join(costs)}." if costs else ""


def _listed(names: Iterable[str]) -> str:
    """Name the first few, and count the rest."""
    every = list(names)
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return f"{', '.join(every[:_NAMED])}{more}"


def _small(title: str) -> str:
    return title[:1].lower() + title[1:]


def _titles(titles: Sequence[str]) -> str:
    first, *rest = titles
    return ", ".join([first, *(title if title[1:2].isdigit() else _small(title) for title in rest)])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
