"""What the run says, in plain words: every line against the baseline under the same conditions, with
intervals.

Only rounds of the same condition (client, load, fault) are compared. A change is the ratio of geometric
means, or the difference of means for a response that can be zero, averaged over the conditions. It is called
better or worse only if it holds after controlling the share of false discoveries among all comparisons of
that response at 5 % (Benjamini and Hochberg, 1995).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from patternbench.analyze.intervals import Comparison, difference, ratio
from patternbench.report.layout import Layout, item
from patternbench.report.model import RunReport
from patternbench.report.words import HEADLINES, RESPONSES, Better, number, shown

FALSE_DISCOVERIES = 0.05
_NAMED = 2
_GROUPS = {"scenario": ["scenario"], "level": ["item", "x"], "item": ["item"]}


@dataclass(frozen=True)
class Findings:
    """Every comparison with the reference line: one table a scenario, one a line and level of the axis, one a
    line.

    The tables have `item`, `response`, `relative` (whether `change` is in percent; else in the response's
    unit), `change`, `low`, `high`, `p` (adjusted), `conditions` and `verdict` (`better`, `worse`, `unclear`,
    or `unknown` with too few rounds).
    """

    reference: str
    by_scenario: pd.DataFrame
    by_level: pd.DataFrame
    by_item: pd.DataFrame


@dataclass(frozen=True)
class Headline:
    """One finding in words: what it is about, what it says, and whether it is good news, bad news or none."""

    title: str
    text: str
    verdict: str


def findings(report: RunReport, arrangement: Layout) -> Findings:
    """Compare every line with the reference under the same conditions."""
    pairs = _pairs(arrangement)
    rounds = dict(list(report.done.groupby("scenario")))
    known = [name for name in HEADLINES if name in report.rounds.columns]
    tables = {
        kind: pd.concat([_changes(pairs, by, rounds, name) for name in known], ignore_index=True)
        if known and len(pairs)
        else pd.DataFrame()
        for kind, by in _GROUPS.items()
    }
    return Findings(arrangement.reference, tables["scenario"], tables["level"], tables["item"])


def headlines(found: Findings, arrangement: Layout) -> list[Headline]:
    """Say for each headline response which line did best, what that costs, and where it holds."""
    if found.by_item.empty:
        return []
    return [
        _headline(found, name, arrangement) for name in HEADLINES if (found.by_item["response"] == name).any()
    ]


def change_text(row: Any) -> str:
    """Write a change with its interval: `−41 % (−44 to −38 %)`."""
    if np.isnan(row.change):
        return "not measured"
    if np.isnan(row.low):
        return f"{_signed(row.change)}{_unit(row)} (no interval)"
    return f"{_signed(row.change)}{_unit(row)} ({_signed(row.low)} to {_signed(row.high)}{_unit(row)})"


def _pairs(arrangement: Layout) -> pd.DataFrame:
    """Match every scenario with the reference scenario of the same condition."""
    table = arrangement.scenarios
    table = table.assign(item=[item(*pair) for pair in zip(table["client"], table["line"], strict=True)])
    own = table["strategy"] == table.loc[table["reference"], "strategy"].iloc[0] if len(table) else None
    base = table.loc[table["reference"], ["client", "condition", "x", "scenario"]]
    keys = ["client", "condition"] if arrangement.roles.x is None else ["client", "condition", "x"]
    base = base.drop_duplicates(keys)[[*keys, "scenario"]].rename(columns={"scenario": "baseline"})
    others = table[~table["reference"]] if own is not None else table
    return others.merge(base, on=keys, how="inner")


def _changes(
    pairs: pd.DataFrame, by: list[str], rounds: dict[Any, pd.DataFrame], response: str
) -> pd.DataFrame:
    """Compare the groups of pairs in one response, and adjust the p values for their number."""
    relative = _is_positive(rounds, response)
    rows = [
        {**_identity(part, by), **_change(part, rounds, response, relative)}
        for _, part in pairs.groupby(by, sort=False)
    ]
    table = pd.DataFrame(rows).assign(response=response, relative=relative)
    table["p"] = _adjusted(table["p"].to_numpy(float))
    table["verdict"] = [_verdict(row, RESPONSES[response].better) for row in table.itertuples()]
    return table


def _identity(part: pd.DataFrame, by: Sequence[str]) -> dict[str, Any]:
    first = part.iloc[0]
    names = ["item", "line", "client"]
    names += ["x", "x_text"] if "item" not in by or "x" in by else []
    names += ["scenario", "condition"] if by == ["scenario"] else []
    return {name: first[name] for name in names}


def _change(
    part: pd.DataFrame, rounds: dict[Any, pd.DataFrame], response: str, relative: bool
) -> dict[str, Any]:
    """Average the change over the conditions of a group."""
    sides = [
        (_values(rounds, row.scenario, response), _values(rounds, row.baseline, response))
        for row in part.itertuples()
    ]
    found = ratio(sides) if relative else difference(sides)
    shown_as = partial(_in_percent, relative=relative)
    return {
        "change": shown_as(found.estimate),
        "low": shown_as(found.low),
        "high": shown_as(found.high),
        "p": found.p if _measured(found) else np.nan,
        "conditions": found.conditions,
    }


def _values(rounds: dict[Any, pd.DataFrame], scenario: Any, response: str) -> list[float]:
    return list(rounds[scenario][response].dropna()) if scenario in rounds else []


def _is_positive(rounds: dict[Any, pd.DataFrame], response: str) -> bool:
    return all((part[response].dropna() > 0).all() for part in rounds.values())


def _measured(found: Comparison) -> bool:
    return not np.isnan(found.low)


def _in_percent(value: float, relative: bool) -> float:
    return 100 * (value - 1) if relative else value


def _adjusted(p: Any) -> Any:
    """Adjust p values after Benjamini and Hochberg, leaving out the unknown ones."""
    known = ~np.isnan(p)
    adjusted = np.full(len(p), np.nan)
    if known.any():
        adjusted[known] = stats.false_discovery_control(p[known])
    return adjusted


def _verdict(row: Any, better: Better) -> str:
    if np.isnan(row.p):
        return "unknown"
    if row.p > FALSE_DISCOVERIES or row.change == 0 or better is Better.NEITHER:
        return "unclear"
    return "better" if (row.change < 0) == (better is Better.LOWER) else "worse"


def _headline(found: Findings, response: str, arrangement: Layout) -> Headline:
    mine = found.by_item[found.by_item["response"] == response]
    sign = -1 if RESPONSES[response].better is Better.HIGHER else 1
    best = mine.assign(rank=sign * mine["change"]).sort_values("rank").iloc[0]
    title = RESPONSES[response].title
    if best["verdict"] == "unknown":
        text = f"Too few rounds to compare with {found.reference}: at least two of each scenario are needed."
        return Headline(title, text, "unclear")
    if best["verdict"] == "better":
        text = f"{_capital(best['item'])} is best: {_against(best, found.reference)}."
        parts = [
            text,
            _ties(mine, best),
            _where(found, best, response, arrangement),
            _cost(found, best, response),
        ]
        return Headline(title, " ".join(part for part in parts if part), "better")
    return Headline(title, *_no_gain(mine, best, found, arrangement))


def _no_gain(mine: pd.DataFrame, best: Any, found: Findings, arrangement: Layout) -> tuple[str, str]:
    """Say that nothing beat the reference, and how near the nearest came; and whether that is bad news."""
    if (mine["change"] == 0).all():
        return f"Every line is exactly like {found.reference}.", "unclear"
    worse = best["verdict"] == "worse"
    start = "Nothing beats" if worse else "Nothing is clearly better than"
    text = f"{start} {found.reference} overall. Nearest is {best['item']}: {_against(best, found.reference)}."
    where = _where(found, best, best["response"], arrangement)
    return f"{text} {where}".strip(), "worse" if worse else "unclear"


def _against(row: Any, reference: str) -> str:
    conditions = f", mean over {row['conditions']} matched conditions" if row["conditions"] > 1 else ""
    return f"{_amount(row)} {reference} (95 % interval {_span(row)}{conditions})"


def _amount(row: Any) -> str:
    side = "below" if row["change"] < 0 else "above"
    return f"{_size(row, abs(row['change']))} {side}"


def _span(row: Any) -> str:
    return f"{_signed(row['low'])} to {_signed(row['high'])}{_unit(row)}"


def _size(row: Any, value: float) -> str:
    return f"{number(value)}{_unit(row)}"


def _unit(row: Any) -> str:
    """Give the unit of a change: percent, percentage points, or the unit of the response."""
    if row.relative:
        return " %"
    return {"percent": " points", "time": " s"}.get(RESPONSES[row.response].kind, "")


def _signed(value: float) -> str:
    return number(0.0) if value == 0 else f"{'+' if value > 0 else '−'}{number(abs(value))}"


def _ties(mine: pd.DataFrame, best: Any) -> str:
    """Name the lines whose interval reaches into the best one's: the run cannot tell them apart from it."""
    others = mine[mine["item"] != best["item"]]
    near = others[(others["low"] <= best["high"]) & (others["high"] >= best["low"])]["item"].tolist()
    if not near:
        return ""
    more = f" and {len(near) - _NAMED} more" if len(near) > _NAMED else ""
    return f"Not clearly different from it: {', '.join(near[:_NAMED])}{more}."


def _where(found: Findings, best: Any, response: str, arrangement: Layout) -> str:
    """Say along the axis where the line is better, worse or neither, when that changes."""
    if arrangement.roles.x is None:
        return ""
    table = found.by_level
    mine = table[(table["response"] == response) & (table["item"] == best["item"])].sort_values("x")
    if mine["verdict"].nunique() == 1:
        return ""
    said = {"better": "better at", "worse": "worse at", "unclear": "no clear difference at"}
    parts = [
        f"{words} {', '.join(mine.loc[mine['verdict'] == verdict, 'x_text'])}"
        for verdict, words in said.items()
        if (mine["verdict"] == verdict).any()
    ]
    return f"By {arrangement.axis.title.removesuffix(' (%)').removesuffix(' (ms)')}: {'; '.join(parts)}."


def _cost(found: Findings, best: Any, response: str) -> str:
    """Name the other headline responses in which the line is clearly worse."""
    table = found.by_item
    mine = table[(table["item"] == best["item"]) & (table["response"] != response)]
    costs = [
        f"{RESPONSES[row['response']].title.lower()} {_amount(row)} ({_span(row)})"
        for _, row in mine[mine["verdict"] == "worse"].iterrows()
    ]
    return f"Its cost: {'; '.join(costs)}." if costs else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def median_text(value: float, response: str) -> str:
    """Write a response's value with its unit."""
    return shown(value, RESPONSES[response].kind)
