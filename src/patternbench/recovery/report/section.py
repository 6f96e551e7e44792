"""The report's section on recovery: how rounds went on after a fault, per scenario, and the early signs of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import pandas as pd

from patternbench.analyze.over_time import over_time, width_for
from patternbench.analyze.separation import Separation, separation
from patternbench.observe.section import Figure, Section, Table
from patternbench.records import attempts, damage, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.recovery.responses import EARLY, RECOVERED, RESPONSES
from patternbench.report.figures import over_time as figure
from patternbench.report.labels import shown
from patternbench.report.model import counting
from patternbench.report.sections.faults import bands
from patternbench.report.sections.means import means_by_scenario
from patternbench.report.sections.steps import scenario_name
from patternbench.terms.quantities import number

WORDS = (
    "How rounds went on after the fault's measured end. A call is as before when it succeeded and took at most three "
    "times what 95 of 100 good ones took before the fault. A second is disturbed when fewer than four fifths as many "
    "of its calls were as before as usual. A round has recovered when its last second is not disturbed. The recovery "
    "time is a restricted mean: a round that did not recover counts with all the time that was left, so that it is too "
    "short wherever not all rounds recovered.",
)
_PAIR = "A round that recovered and one that did not"
_CAPTION = "Two single rounds, in steps of {width:g} s. Bands show when the fault acted."
_EARLY = (
    "Which sign, one second after the fault's end, tells rounds that will not recover from those that will. The "
    "separation is the chance that a lost round has the greater number: 0.5 is a coin, 1 is certain. An alert above "
    "the threshold would have caught and misjudged as many of these rounds."
)
_CLEAR = 0.5
_NO = 50.0
"""Below it a round has not recovered."""
_ALL = 100.0


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the section, where a fault ended within a round that counts; none otherwise."""
    means = means_by_scenario(path, rounds, RESPONSES)
    if not len(means):
        return []
    table = Table("How rounds went on", means)
    return [Section("recovery", "Recovery", WORDS, [table], _pair(RunFolder(path), rounds)), *_early(rounds)]


# --- a recovered and a lost round


def _pair(run: RunFolder, rounds: pd.DataFrame) -> list[Figure]:
    """Return the figure of two rounds that are as alike as any, of which one recovered; none where all or none did."""
    entries = {entry.round: entry for entry in damage.rounds(run)}
    levels = {one.id: one.levels for one in stored.plan(run).scenarios}
    judged = counting(rounds).dropna(subset=[RECOVERED.name])
    well, lost = (
        [entries[int(one)] for one in judged.loc[kind, "round"] if int(one) in entries]
        for kind in (judged[RECOVERED.name] > _NO, judged[RECOVERED.name] <= _NO)
    )
    if not well or not lost:
        return []

    def apart(pair: Sequence[Entry]) -> tuple[int, int]:
        one, other = (levels[entry.scenario] for entry in pair)
        return sum(one.get(name) != other.get(name) for name in {*one, *other}), abs(pair[0].round - pair[1].round)

    return [_drawn(run, min(product(well, lost), key=apart), levels)]


def _drawn(run: RunFolder, pair: Sequence[Entry], levels: Mapping[str, Mapping[str, object]]) -> Figure:
    width = width_for(max(entry.seconds for entry in pair))
    ends = zip(pair, ("recovered", "did not recover"), strict=True)
    names = {entry.file: f"{scenario_name(levels[entry.scenario])}: {end}" for entry, end in ends}
    steps = {names[entry.file]: over_time(attempts.of_round(run.attempts_of(entry.file)), width) for entry in pair}
    drawn = [band for entry in pair for band in bands([entry], {entry.scenario: names[entry.file]})]
    return Figure(_PAIR, figure.spec(steps, drawn), _CAPTION.format(width=width))


# --- early signs


def _early(rounds: pd.DataFrame) -> list[Section]:
    """Return the section on early signs, where enough rounds of both kinds have them."""
    judged = counting(rounds)
    lost = judged[RECOVERED.name] <= _NO
    well = judged[RECOVERED.name] > _NO
    found = {
        sign: separation(judged.loc[lost, sign.name].to_numpy(float), judged.loc[well, sign.name].to_numpy(float))
        for sign in EARLY
        if sign.name in judged
    }
    rows = [_row(sign.title, one, sign.kind) for sign, one in found.items() if one is not None]
    if not rows:
        return []
    words = [_EARLY, _best([(sign.title, one, sign.kind) for sign, one in found.items() if one is not None])]
    return [Section("early-warning", "Early warning", words, [Table("Signs one second after", pd.DataFrame(rows))])]


def _row(title: str, found: Separation, kind: str) -> dict[str, str]:
    return {
        "sign": title,
        "separation": f"{number(found.area)} [{number(found.low)}, {number(found.high)}]",
        "alert above": shown(found.threshold, kind),
        "lost rounds caught": f"{number(_ALL * found.caught)} %",
        "false alarms": f"{number(_ALL * found.false)} %",
    }


def _best(found: Sequence[tuple[str, Separation, str]]) -> str:
    """Name the sign that separates best, if any clearly does."""
    title, one, kind = max(found, key=lambda each: each[1].low)
    if one.low <= _CLEAR:
        return "None of them is clearly better than a coin."
    return f"The clearest sign: {title.lower()} above {shown(one.threshold, kind)}."
