"""What the run says, in plain words: every line against the baseline under the same conditions, with
intervals.

Only rounds of the same condition (client, load, fault) are compared. A change is the ratio of geometric
means, or the difference of means for a response that can be zero, averaged over the conditions. It is called
better or worse only if it holds after controlling the share of false discoveries among all comparisons of
that response at 5 % (Benjamini and Hochberg, 1995).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from patternbench.analyze.intervals import Comparison, difference, ratio
from patternbench.report.layout import Layout, item
from patternbench.report.model import RunReport, Section
from patternbench.report.words import HEADLINES, RESPONSES, Better

_Floats: TypeAlias = npt.NDArray[np.float64]

FALSE_DISCOVERIES = 0.05
_NAMED = 4
_CHOICE = "What to choose"
_NO_DECIMAL = 100
_TOO_FEW = "Too few rounds to say: at least two finished rounds of each scenario are needed."
_SAID = {"better": "better", "worse": "worse", "unclear": "no clear difference", "unknown": "not known"}
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
    """One finding in words: its title, the finding, what else to know, and what kind of news it is."""

    title: str
    lead: str
    more: tuple[str, ...]
    verdict: str


def findings(report: RunReport, arrangement: Layout) -> Findings:
    """Compare every line with the reference under the same conditions."""
    pairs = _pairs(arrangement)
    known = [name for name in HEADLINES if name in report.rounds.columns] if len(pairs) else []
    values = {name: _values(report.done, name) for name in known}
    tables = {
        kind: _joined([_changes(pairs, by, values[name], name) for name in known]) for kind, by in _GROUPS.items()
    }
    return Findings(arrangement.reference, tables["scenario"], tables["level"], tables["item"])


def headlines(found: Findings, arrangement: Layout, sections: Sequence[Section] = ()) -> list[Headline]:
    """Say what is a safe choice, then for each headline response which line did best, at what cost, where.

    A section that says what to choose has the word in place of the comparison with the reference.
    """
    if found.by_item.empty:
        return []
    chosen = [_chosen(section.choice) for section in sections if section.choice]
    known = [name for name in HEADLINES if (found.by_item["response"] == name).any()]
    return [*(chosen or [_overall(found)]), *(_headline(found, name, arrangement) for name in known)]


def change_text(row: Any) -> str:
    """Write a change: `−41.2 %`."""
    return "–" if np.isnan(row.change) else f"{_signed(row.change)}{_unit(row)}"


def interval_text(row: Any) -> str:
    """Write the interval of a change: `−44.0 to −38.1 %`."""
    return "no interval" if np.isnan(row.low) else f"{_signed(row.low)} to {_signed(row.high)}{_unit(row)}"


def _pairs(arrangement: Layout) -> pd.DataFrame:
    """Match every scenario with the reference scenario of the same client and condition."""
    keys = ["client", "condition"]
    table = arrangement.scenarios
    table = table.assign(item=[item(*pair) for pair in zip(table["client"], table["line"], strict=True)])
    base = table.loc[table["reference"], [*keys, "scenario"]].drop_duplicates(keys)
    return table[~table["reference"]].merge(base.rename(columns={"scenario": "baseline"}), on=keys)


def _values(rounds: pd.DataFrame, response: str) -> dict[Any, _Floats]:
    """Give each scenario's values of a response, one a finished round in which it is defined."""
    known = rounds[["scenario", response]].dropna()
    return {key: part.to_numpy(float) for key, part in known.groupby("scenario")[response]}


def _changes(pairs: pd.DataFrame, by: list[str], values: dict[Any, _Floats], response: str) -> pd.DataFrame:
    """Compare the groups of pairs in one response, and adjust the p values for their number."""
    relative = all((found > 0).all() for found in values.values())
    rows = [{**_identity(part, by), **_change(part, values, relative)} for _, part in pairs.groupby(by, sort=False)]
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


def _change(part: pd.DataFrame, values: dict[Any, _Floats], relative: bool) -> dict[str, Any]:
    """Average the change over the conditions of a group."""
    none = np.array([])
    matched = zip(part["scenario"], part["baseline"], strict=True)
    sides = [(values.get(mine, none), values.get(base, none)) for mine, base in matched]
    found = ratio(sides) if relative else difference(sides)
    return {
        "change": _in_percent(found.estimate, relative),
        "low": _in_percent(found.low, relative),
        "high": _in_percent(found.high, relative),
        "p": found.p if _measured(found) else np.nan,
        "conditions": found.conditions,
    }


def _joined(tables: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


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


def _overall(found: Findings) -> Headline:
    """Name the lines that are clearly better in something and clearly worse in nothing."""
    counts = found.by_item.groupby("item", sort=False)["verdict"].value_counts().unstack(fill_value=0)
    counts = counts.reindex(columns=["better", "worse", "unclear", "unknown"], fill_value=0)
    if (counts["unknown"] > 0).all():
        return Headline(_CHOICE, _TOO_FEW, (), "unclear")
    safe = counts[(counts["better"] > 0) & (counts["worse"] == 0)].sort_values("better", ascending=False)
    if len(safe):
        lead = f"Better than {found.reference} in something, clearly worse in nothing: {_listed(safe.index)}."
        return Headline(_CHOICE, lead, (), "better")
    if (counts["better"] > 0).any():
        lead = f"No free gain: whatever beats {found.reference} in one response is worse in another."
        return Headline(_CHOICE, lead, ("Choose by what matters most to you.",), "unclear")
    return Headline(
        _CHOICE,
        f"No configuration is clearly better than {found.reference} in anything.",
        (),
        "unclear",
    )


def _chosen(words: Sequence[str]) -> Headline:
    return Headline(_CHOICE, words[0], tuple(words[1:]), "better")


def _headline(found: Findings, response: str, arrangement: Layout) -> Headline:
    mine = found.by_item[found.by_item["response"] == response]
    sign = -1 if RESPONSES[response].better is Better.HIGHER else 1
    best = mine.assign(rank=sign * mine["change"]).sort_values("rank").iloc[0]
    title = RESPONSES[response].title
    where = _where(found, best, arrangement)
    if best["verdict"] == "better":
        lead = f"{_capital(best['item'])} is best: {_against(best, found.reference)}."
        more = (_basis(best), _ties(mine, best), _cost(found, best), where)
        return Headline(title, lead, tuple(part for part in more if part), "better")
    lead, verdict = _no_gain(mine, best, found.reference)
    return Headline(title, lead, tuple(part for part in (_basis(best), where) if part), verdict)


def _no_gain(mine: pd.DataFrame, best: Any, reference: str) -> tuple[str, str]:
    """Say that nothing beat the reference, and how near the nearest came; and whether that is bad news."""
    if best["verdict"] == "unknown":
        return _TOO_FEW, "unclear"
    if (mine["change"] == 0).all():
        return f"Every configuration is exactly like {reference}.", "unclear"
    worse = best["verdict"] == "worse"
    start = "Nothing beats" if worse else "Nothing is clearly better than"
    text = f"{start} {reference} overall. Nearest is {best['item']}: {_against(best, reference)}."
    return text, "worse" if worse else "unclear"


def _against(row: Any, reference: str) -> str:
    """Say how far a line is from the reference, which is that of its own client."""
    return f"{_amount(row)} {reference}{' of the same client' if row['client'] else ''}"


def _basis(row: Any) -> str:
    """Say what an estimate rests on."""
    if np.isnan(row["low"]):
        return ""
    over = f", mean over {row['conditions']} matched conditions" if row["conditions"] > 1 else ""
    return f"95\u00a0% interval {interval_text(row)}{over}."


def _amount(row: Any) -> str:
    side = "below" if row["change"] < 0 else "above"
    return f"{_signed(abs(row['change'])).lstrip('+')}{_unit(row)} {side}"


def _unit(row: Any) -> str:
    """Give the unit of a change: percent, percentage points, or the unit of the response."""
    if row.relative:
        return "\u00a0%"
    return {"percent": " points", "time": "\u00a0s"}.get(RESPONSES[row.response].kind, "")


def _signed(value: float) -> str:
    """Write a change with its sign and one decimal, or none from a hundred on."""
    text = f"{abs(value):,.0f}" if abs(value) >= _NO_DECIMAL else f"{abs(value):.1f}"
    return text if float(text.replace(",", "")) == 0 else f"{'+' if value > 0 else '−'}{text}"


def _ties(mine: pd.DataFrame, best: Any) -> str:
    """Name the lines whose interval reaches into the best one's: the run cannot tell them apart from it."""
    others = mine[mine["item"] != best["item"]]
    near = others[(others["low"] <= best["high"]) & (others["high"] >= best["low"])]["item"]
    return f"Not clearly different from it: {_listed(near)}." if len(near) else ""


def _where(found: Findings, best: Any, arrangement: Layout) -> str:
    """Say along the axis where the line is better, worse or neither, when that changes."""
    if not arrangement.axis.quantity:
        return ""
    table = found.by_level
    mine = table[(table["response"] == best["response"]) & (table["item"] == best["item"])].sort_values("x")
    if mine["verdict"].nunique() == 1:
        return ""
    parts = [f"{_SAID[verdict]} {_levels(part['x_text'].tolist())}" for verdict, part in _stretches(mine)]
    return f"By {arrangement.axis.title.rsplit(' (', 1)[0]}: {', '.join(parts)}."


def _stretches(mine: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Split the levels of the axis into stretches of one verdict."""
    changed = (mine["verdict"] != mine["verdict"].shift()).cumsum()
    return [(str(part["verdict"].iloc[0]), part) for _, part in mine.groupby(changed, sort=True)]


def _levels(texts: Sequence[str]) -> str:
    return f"at {texts[0]}" if len(texts) == 1 else f"from {texts[0]} to {texts[-1]}"


def _cost(found: Findings, best: Any) -> str:
    """Name the other headline responses in which the line is clearly worse."""
    table = found.by_item
    mine = table[(table["item"] == best["item"]) & (table["response"] != best["response"])]
    costs = [
        f"{_small(RESPONSES[row['response']].title)} {_amount(row)} ({interval_text(row)})"
        for _, row in mine[mine["verdict"] == "worse"].iterrows()
    ]
    return f"Its cost: {'; '.join(costs)}." if costs else ""


def _listed(names: Iterable[str]) -> str:
    """Name the first few, and count the rest."""
    every = list(names)
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return f"{', '.join(every[:_NAMED])}{more}"


def _small(title: str) -> str:
    return title[:1].lower() + title[1:]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
