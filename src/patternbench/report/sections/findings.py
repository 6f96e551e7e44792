"""The findings of a run in plain words: every line against the baseline under the same conditions, with intervals.

The comparisons are those of ``analyze.statements.lines``. A configuration is named for a gain only where it keeps the
limit on failed calls, because fast failures aren't a gain. The words name levels of the axis, because a mean over
levels depends on which levels a study happens to have.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
import pandas as pd

from patternbench.analyze.statements.lines import Change, Pair, changes, compared
from patternbench.analyze.statements.shown import IF_EVEN
from patternbench.analyze.statements.verdict import DIFFERS, Verdict
from patternbench.observe.section import Drawing, Section
from patternbench.report.labels import RESPONSES
from patternbench.report.layout import Axis, Layout, layout
from patternbench.report.model import RunReport, once
from patternbench.report.sections.agreement import Agreement
from patternbench.report.sections.construction import REJECTED, set_by_limits
from patternbench.terms.quantities import number
from patternbench.terms.responses import ALONGSIDE, HEADLINES, Better

_NAMED = 4
_REPORTED = 2
_OF_THE_KEPT = ("unclear", "worse")
"""The kinds of finding that are about the lines that keep the limits alone."""
_CHOICE = "What to choose"
_LET_THROUGH = "What the limit lets through"
_ALL_ARE = {Verdict.TOO_FEW: "unknown", Verdict.WORSE: "worse"}
"""The kind of finding where all lines have one verdict."""
_LOSSES = {"worse", "broken", "only"}
"""The kinds of finding at which nothing is gained and something is lost."""
_TOO_FEW = "Too few rounds: at least two finished rounds per scenario are needed."


@dataclass(frozen=True)
class Findings:
    """Every comparison with the reference line: a table per scenario, one per line and level of the axis, one per line.

    The tables are those of ``statements.lines.compared``, from rounds that count; ``failure_limit`` is the limit on
    failed calls.
    ``off_axis`` names the condition of each scenario without the level of the axis. ``set_by_limits`` are the responses
    of which nothing is said, because the limits of the study set them (``construction``).
    """

    reference: str
    axis: Axis
    failure_limit: float
    by_scenario: pd.DataFrame
    by_level: pd.DataFrame
    by_item: pd.DataFrame
    off_axis: Mapping[str, str] = field(default_factory=dict)
    set_by_limits: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Headline:
    """One finding in words: its title, the finding, what else to know, what kind of news it is, and maybe a picture."""

    title: str
    lead: str
    more: tuple[str, ...]
    verdict: Verdict
    picture: Drawing | None = None


@once
def findings(report: RunReport) -> Findings:
    """Compare every line with the reference under the same conditions."""
    arrangement = layout(report)
    pairs = pairs_with_reference(arrangement)
    tables = against_references(report.done, pairs, report.failure_limit, report.looked)
    names = arrangement.reference, arrangement.axis
    off_axis = {placed.scenario: placed.off_axis for placed in arrangement.scenarios}
    return Findings(
        *names,
        report.failure_limit,
        tables["scenario"],
        tables["level"],
        tables["item"],
        off_axis,
        set_by_limits(report.done),
    )


def against_references(
    rounds: pd.DataFrame, pairs: Sequence[Pair], failure_limit: float, looks: int = 1
) -> dict[str, pd.DataFrame]:
    """Return the comparisons of ``lines.compared`` in the responses that findings cover."""
    better = {name: RESPONSES[name].better for name in (*HEADLINES, *ALONGSIDE) if name in rounds.columns}
    return compared(rounds, pairs, better, failure_limit, looks)


def headlines(comparisons: Findings, arrangement: Layout, sections: Sequence[Section] = ()) -> list[Headline]:
    """Say what is a safe choice, then for each headline response which line gains where, and at what cost.

    If a section recommends a configuration, its words replace the comparison with the reference, and what contradicts
    them is left out (``agreement``).
    """
    chosen = [_chosen(section) for section in sections if section.choice]
    if comparisons.by_item.empty or any(section.choice_alone for section in sections):
        return chosen
    reported_of = set(comparisons.by_item["response"]) - comparisons.set_by_limits
    responses = [name for name in HEADLINES if name in reported_of]
    by_level = arrangement.axis.quantity and not arrangement.axis_is_chosen
    table = comparisons.by_level if by_level else comparisons.by_item.assign(x=0.0, x_text="")
    agreement = Agreement.of(sections, arrangement, by_level)
    if comparisons.set_by_limits:
        table = table[~table["response"].isin(comparisons.set_by_limits)]
        # What a limit rejects is what it is for: it takes no line out of the comparison of the calls that it let in.
        table = table.assign(keeps=True, reference_keeps=True)
    table = _without_excluded(table, agreement)
    reported = (_headline(comparisons, table, name, agreement) for name in responses)
    rejected = [Headline(_LET_THROUGH, REJECTED, (), Verdict.INCONCLUSIVE)] if comparisons.set_by_limits else []
    return [*(chosen or [_overall(comparisons, table)]), *rejected, *(one for one in reported if one)]


def _without_excluded(table: pd.DataFrame, agreement: Agreement) -> pd.DataFrame:
    """Return the table in which what breaks a limit of the choice doesn't keep the limits of a gain.

    ``barred`` is what keeps failed calls low, and breaks another limit of the choice.
    """
    broken = np.array([item in agreement.excluded(x) for item, x in zip(table["item"], table["x"], strict=True)], bool)
    kept = table["keeps"]
    return table.assign(keeps=kept & ~broken, barred=kept & broken)


def merged(reported: Sequence[Headline]) -> list[Headline]:
    """Make one headline of neighbours that say the same, under the titles of all."""
    runs = [list(run) for _, run in groupby(reported, key=lambda one: (one.lead, one.more, one.verdict))]
    return [replace(run[0], title=_titles([one.title for one in run])) for run in runs]


def pairs_with_reference(arrangement: Layout) -> list[Pair]:
    """Every scenario that has a reference scenario of the same client and condition, which is its ``baseline``."""
    return [
        Pair(one.scenario, one.baseline, one.item, one.line, one.client, one.x, one.x_text, one.condition)
        for one in arrangement.scenarios
        if one.baseline is not None and not one.reference
    ]


def _overall(comparisons: Findings, table: pd.DataFrame) -> Headline:
    """Name the lines that are clearly better somewhere, clearly worse nowhere, and keep the limit on failures."""
    if (table["verdict"] == Verdict.TOO_FEW).all():
        return Headline(_CHOICE, _TOO_FEW, (), Verdict.INCONCLUSIVE)
    every = table.groupby("item", sort=False).agg(
        better=("verdict", lambda reported: (reported == Verdict.BETTER).sum()),
        worse=("verdict", lambda reported: (reported == Verdict.WORSE).sum()),
        keeps=("keeps", "all"),
    )
    single = comparisons.by_scenario.groupby("item")["verdict"].agg(lambda reported: (reported == Verdict.WORSE).sum())
    every["worse"] += single.reindex(every.index, fill_value=0)
    safe = every[(every["better"] > 0) & (every["worse"] == 0) & every["keeps"]].sort_values("better", ascending=False)
    if len(safe):
        lead = f"Better than {comparisons.reference} in some responses, clearly worse in none: {_listed(safe.index)}."
        reported = table[table["item"].isin(safe.index)]
        return Headline(_CHOICE, lead, (*_not_excluded(reported), *_loosely_better(reported)), Verdict.BETTER)
    if (every["better"] > 0).any():
        lead = (
            f"No free gain: each configuration that beats {comparisons.reference} in one response or condition is "
            f"worse in another, or fails more than {number(comparisons.failure_limit)}\u00a0% of calls."
        )
        return Headline(_CHOICE, lead, ("Choose by the response that matters most to you.",), Verdict.INCONCLUSIVE)
    lead = f"No configuration is clearly better than {comparisons.reference} in any response."
    return Headline(_CHOICE, lead, (), Verdict.INCONCLUSIVE)


def _not_excluded(table: pd.DataFrame) -> Iterator[str]:
    """Yield the greatest loss that the intervals leave possible: clearly worse in none is not as good in all."""
    losses = [(_loss(row), row) for row in changes(table) if row.relative and not np.isnan(row.low)]
    worst, row = max(losses, key=lambda pair: pair[0], default=(0.0, None))
    if row is not None and worst > 0:
        title = _small(RESPONSES[row.response].title)
        yield f"Not excluded: {row.item} worse by up to {number(worst)}\u00a0% in {title}."


def _loosely_better(table: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of which *better* is nowhere said without the condition that rounds scatter evenly."""
    firm = table[table["verdict"] == Verdict.BETTER].groupby("item", sort=False)["firm"].any()
    if not firm.all():
        yield f"Of {_listed(firm.index[~firm])} this holds {IF_EVEN}."


def _loss(row: Change) -> float:
    return -row.low if RESPONSES[row.response].better is Better.HIGHER else row.high


def _chosen(section: Section) -> Headline:
    verdict = Verdict.BETTER if section.choice_is_clear else Verdict.INCONCLUSIVE
    return Headline(section.choice_title or _CHOICE, section.choice[0], tuple(section.choice[1:]), verdict)


@dataclass(frozen=True)
class _LevelFinding:
    """The finding on one response at one level of the axis: its kind, and the rows that it covers.

    ``alike`` says that of several lines none fails less than the others, ``barred`` that a line was left out because it
    breaks another limit of the choice than that on failed calls, ``left_out`` how many lines break any.
    """

    kind: str
    rows: pd.DataFrame
    alike: bool = False
    barred: bool = False
    left_out: int = 0

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


def _headline(comparisons: Findings, table: pd.DataFrame, response: str, agreement: Agreement) -> Headline | None:
    """Say at which levels which line gains most, at which none does, and what each gain costs; None without a level."""
    mine = table[table["response"] == response].sort_values("x", kind="stable")
    every = [_at(part, response) for _, part in mine.groupby("x", sort=True)]
    reported = [at for at in every if agreement.allows(response, at.x, at.items)]
    if not reported:
        return None
    if all(at.kind == "unknown" for at in reported):
        return Headline(RESPONSES[response].title, _TOO_FEW, (), Verdict.INCONCLUSIVE)
    phrases = [_phrase(comparisons, stretch) for stretch in _stretches(reported)]
    more = [line for at in reported for line in _beside(comparisons, table, at, agreement)]
    more += [line for at in every for line in _turning(comparisons, mine[mine["x"] == at.x])]
    kinds = {at.kind for at in reported}
    verdict = Verdict.BETTER if "gain" in kinds else Verdict.WORSE if kinds <= _LOSSES else Verdict.INCONCLUSIVE
    return Headline(RESPONSES[response].title, f"{_capital('; '.join(phrases))}.", tuple(more), verdict)


def _at(rows: pd.DataFrame, response: str) -> _LevelFinding:
    """Judge one level: the gains of lines that keep the limit, or why there are none."""
    left_out = len(rows) - int(rows.keeps.sum())
    return replace(_judged(rows, response), barred=bool(rows["barred"].any()), left_out=left_out)


def _judged(rows: pd.DataFrame, response: str) -> _LevelFinding:
    sign = -1 if RESPONSES[response].better is Better.HIGHER else 1
    ranked = rows.assign(rank=sign * rows["change"]).sort_values("rank", kind="stable")
    kept = ranked[ranked["keeps"]]
    turns = kept["turns"]
    gains = kept[(kept["verdict"] == Verdict.BETTER) & ~turns]
    if len(gains):
        return _LevelFinding("gain", gains)
    if kept.empty:
        least = rows.sort_values("failed", kind="stable").head(1)
        alike = len(rows) > 1 and rows["failed"].nunique() == 1
        return _LevelFinding("only" if least["reference_keeps"].all() else "broken", least, alike)
    if turns.any():
        return _LevelFinding("turns", kept)
    verdicts = set(kept["verdict"])
    kind = _ALL_ARE.get(next(iter(verdicts)), "unclear") if len(verdicts) == 1 else "unclear"
    return _LevelFinding(kind, kept)


def _stretches(reported: Sequence[_LevelFinding]) -> Iterator[list[_LevelFinding]]:
    """Group neighbouring levels with the same finding."""
    stretch: list[_LevelFinding] = []
    for at in reported:
        if stretch and (at.kind, at.items, at.barred) != (stretch[0].kind, stretch[0].items, stretch[0].barred):
            yield stretch
            stretch = []
        stretch.append(at)
    yield stretch


def _phrase(comparisons: Findings, stretch: Sequence[_LevelFinding]) -> str:
    where, rows = _levels([at.level for at in stretch], comparisons.axis), stretch[0].rows
    everywhere = rows["conditions"].max()
    limit = _limits(comparisons, stretch[0].barred)
    gain = f"gain{'s' if len(rows) == 1 else ''} over {_reference(comparisons, changes(rows)[0])}"
    gain += f" on average over {everywhere} conditions" if everywhere > 1 else ""
    stated = {
        "gain": f"{_listed(rows['item'])} {gain}",
        "unclear": f"no clear gain over {comparisons.reference}",
        "turns": f"what is better than {comparisons.reference} depends on the condition",
        "worse": f"every configuration is worse than {comparisons.reference}",
        "broken": f"no configuration kept {limit}{'' if where or everywhere == 1 else ' under every condition'}",
        "only": f"only {comparisons.reference} kept {limit}",
        "unknown": "too few rounds",
    }
    return stated[stretch[0].kind] + (f" {where}" if where else "") + _left_out(comparisons, stretch)


def _left_out(comparisons: Findings, stretch: Sequence[_LevelFinding]) -> str:
    """How many lines a finding on the others left out, and why."""
    counts = sorted({at.left_out for at in stretch if at.kind in _OF_THE_KEPT and at.left_out})
    if not counts:
        return ""
    several = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    why = f"more than {number(comparisons.failure_limit)}\u00a0% of their calls failed"
    why = "beyond a limit of the choice" if stretch[0].barred else why
    return f" ({several} configuration{'' if counts[-1] == 1 else 's'} left out: {why})"


def _limits(comparisons: Findings, barred: bool) -> str:
    """Name the limits that lines had to keep; failed calls are left out where a limit of the study rejected them."""
    failed = f"failed calls at {number(comparisons.failure_limit)}\u00a0% or below"
    limits = [failed] if not comparisons.set_by_limits else []
    return " and ".join([*limits, *(["the limits of the choice"] if barred else [])])


def _turning(comparisons: Findings, rows: pd.DataFrame) -> Iterator[str]:
    """Under which conditions a line is better and under which worse, where its mean over them would hide that."""
    for row in changes(rows[rows["turns"]]):
        single = _single(comparisons, rows, row)
        better, worse = (_listed(single["where"][single["verdict"] == verdict]) for verdict in DIFFERS)
        level = f"{_capital(_levels([str(rows.iloc[0]['x_text'])], comparisons.axis))}: "
        yield f"{level if rows.iloc[0]['x_text'] else ''}{row.item} is better at {better}, and worse at {worse}."


def _beside(comparisons: Findings, table: pd.DataFrame, at: _LevelFinding, agreement: Agreement) -> Iterator[str]:
    """Details of a level's finding: the size and cost of gains, or which line fails least when all break the limit."""
    where = f"{_capital(_levels([at.level], comparisons.axis))}: " if at.level else ""
    if at.kind == "gain":
        reported = [_gain(comparisons, table[table["x"] == at.x], row) for row in changes(at.rows.head(_REPORTED))]
        yield f"{where}{' '.join(reported)}"
    least = changes(at.rows)[0]
    unsaid = at.alike or at.barred or np.isnan(least.failed) or agreement.names_the_closest
    if at.kind in ("broken", "only") and least.response == HEADLINES[0] and not unsaid:
        yield f"{where}{_fails_least(comparisons, at.kind, least)}"


def _fails_least(comparisons: Findings, kind: str, least: Change) -> str:
    """Which line fails the fewest calls, of all lines or, where the reference kept the limit, of the others."""
    if kind == "broken" and least.reference_failed < least.failed:
        return f"{_reference(comparisons, least)} fails least: {_share(least.reference_failed)} of calls failed."
    return f"{least.item} fails least{' of the others' if kind == 'only' else ''}: {_calls(least)}."


def _gain(comparisons: Findings, level: pd.DataFrame, row: Change) -> str:
    alone = _alone(comparisons, level, row) if row.conditions > 1 else ""
    changed = f"{row.item} {row.text}{row.condition}"
    return f"{changed}{';' if row.condition else ','} {_calls(row)}.{alone}{_cost(level, row)}"


def _alone(comparisons: Findings, level: pd.DataFrame, row: Change) -> str:
    """Under which of the conditions of a mean the gain is clear by itself; nothing where it is under each."""
    single = _single(comparisons, level, row)
    where = single["where"][single["verdict"] == Verdict.BETTER]
    if len(where) == len(single):
        return ""
    return f" By itself clearly better {f'at {_listed(where)}' if len(where) else 'at none of them'}."


def _single(comparisons: Findings, level: pd.DataFrame, row: Change) -> pd.DataFrame:
    """Return the comparisons under single conditions that a mean is of, with each condition's name in ``where``."""
    every = comparisons.by_scenario
    mine = every[(every["item"] == row.item) & (every["response"] == row.response)]
    mine = mine[mine["x"].isin(level["x"])] if level["x_text"].iloc[0] else mine
    places = zip(mine["scenario"].astype(str), mine["condition"].astype(str), strict=True)
    return mine.assign(where=[comparisons.off_axis.get(scenario) or condition for scenario, condition in places])


def _calls(row: Change) -> str:
    return f"{_share(row.failed)} of calls failed, {_share(row.rejected)} rejected"


def _share(percent_of_calls: float) -> str:
    return "an unknown share" if np.isnan(percent_of_calls) else f"{number(percent_of_calls)}\u00a0%"


def _reference(comparisons: Findings, row: Change) -> str:
    """Name the reference; each client has its own."""
    return f"{comparisons.reference}{' of the same client' if row.client else ''}"


def _levels(texts: Sequence[str], axis: Axis) -> str:
    if not texts[0]:
        return ""
    if len(texts) == 1:
        return f"at {axis.named(texts[0])}"
    return f"from {axis.named(texts[0], first=True)} to {axis.named(texts[-1], last=True)}"


def _cost(level: pd.DataFrame, best: Change) -> str:
    """Name the other responses in which the line is clearly worse at the same level."""
    others = level[(level["item"] == best.item) & (level["response"] != best.response)]
    mine = others[others["verdict"] == Verdict.WORSE]
    costs = [f"{_small(RESPONSES[row.response].title)} {row.text}{row.condition}" for row in changes(mine)]
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
