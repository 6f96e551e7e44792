"""The report's section on the machines that ran the blocks of a run, where it had several lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from patternbench.analyze.statements.lanes import (
    MARGIN_PERCENT,
    MARGIN_POINTS,
    Heterogeneity,
    LaneComparison,
    Sameness,
    compared_between_lanes,
)
from patternbench.analyze.statements.sentences import listed
from patternbench.observe.section import Section, Table
from patternbench.records.journal import VOIDED, Entry, standing
from patternbench.report.labels import RESPONSES
from patternbench.report.layout import layout
from patternbench.report.model import RunReport
from patternbench.report.sections.findings import pairs_with_reference
from patternbench.terms.data_problems import plural
from patternbench.terms.quantities import number
from patternbench.terms.responses import HEADLINES

_WORDS = (
    "Each lane ran whole blocks on a machine of its own, and every comparison stays within blocks. What differs "
    "between machines therefore falls on all configurations alike."
)
_SHARED = (
    "Several lanes shared a machine and took each other's CPUs: measure with one lane for each machine, and use these "
    "rounds only as a trial."
)
_ALIKE = {
    "cpu": "processors",
    "cores": "numbers of CPUs",
    "kernel": "kernels",
    "governor": "frequency governors",
    "python": "versions of Python",
    "libraries": "versions of libraries",
}
"""What of two machines should be alike, and how a warning calls it."""
_HERE = "without a lane"
"""Where the blocks ran that were begun before the run had lanes."""
_TWO = 2
_NAMED = 4
_HOW_TO_READ = (
    f"A change is the same on all lanes where each two lanes differ by less than {number(MARGIN_PERCENT)} % (shares: "
    f"{number(MARGIN_POINTS)} point); it differs where chance explains it in 5 of 100 runs at most, corrected for all "
    "rows. I2 is the part of the scatter between lanes that is more than chance."
)


def sections(
    lanes: Mapping[str, Mapping[str, object]], entries: Sequence[Entry], report: RunReport
) -> Sequence[Section]:
    """Return the section, if any round ran on a lane. ``lanes`` has the facts of each machine, by the lane's name."""
    rounds = [replace(entry, lane=entry.lane or _HERE) for entry in standing(entries)]
    if all(entry.lane == _HERE for entry in rounds):
        return []
    tables = [Table("Blocks of each lane", _blocks(lanes, rounds, entries))]
    words = [_WORDS, *_lost(entries), *sentences(lanes), *_refused(report.manifest.get("refused_lanes"))]
    compared = _changes_on_lanes(report, rounds)
    if compared:
        tables.append(Table("Changes against the reference on each lane", _changes(compared)))
        words += [*_how_many_agree(compared), _HOW_TO_READ]
    return [Section("lanes", "The lanes that ran the blocks", words, tables)]


def _blocks(
    lanes: Mapping[str, Mapping[str, object]], rounds: Sequence[Entry], entries: Sequence[Entry]
) -> pd.DataFrame:
    voided = Counter(entry.lane for entry in entries if entry.status == VOIDED)
    rows = [
        {
            "lane": lane,
            "processor": lanes.get(lane, {}).get("cpu", "unknown"),
            "blocks": len({entry.block for entry in rounds if entry.lane == lane}),
            "voided": voided[lane],
            "rounds": sum(entry.lane == lane for entry in rounds),
        }
        for lane in _lanes_of(rounds)
    ]
    return pd.DataFrame(rows)


def sentences(lanes: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Return the warnings about a run's lanes: what they share, and what is not alike."""
    boots = Counter(str(facts.get("boot", name)) for name, facts in lanes.items())
    shared = [_SHARED] if any(count > 1 for count in boots.values()) else []
    unlike = [words for fact, words in _ALIKE.items() if len({str(facts.get(fact)) for facts in lanes.values()}) > 1]
    if not unlike:
        return shared
    differing = f"Lanes had different {listed(unlike)}. Changes in percent may hold on one of them only."
    return [*shared, differing]


def _lanes_of(rounds: Sequence[Entry]) -> list[str]:
    return sorted({entry.lane for entry in rounds})


def _lost(entries: Sequence[Entry]) -> list[str]:
    """Which blocks were run again, and why."""
    voided = [entry for entry in entries if entry.status == VOIDED]
    if not voided:
        return []
    first = voided[0]
    return [
        f"{plural(len(voided), 'block')} of a lane that was lost did not count and ran again; the first: block "
        f"{first.block} of {first.lane or 'a machine without lanes'} ({first.cause})."
    ]


def _refused(refused: object) -> Iterator[str]:
    """Say which machines were refused as lanes, and why."""
    for name, why in (refused if isinstance(refused, Mapping) else {}).items():
        yield f"{name} was refused as a lane: it {why}."


def _changes_on_lanes(report: RunReport, rounds: Sequence[Entry]) -> list[LaneComparison]:
    """Return the change of every configuration on each lane, in the responses that findings lead with."""
    lane_of = {entry.block: entry.lane for entry in rounds}
    responses = [name for name in HEADLINES if name in report.done.columns]
    if len(set(lane_of.values())) < _TWO or not responses:
        return []
    return compared_between_lanes(report.done, pairs_with_reference(layout(report)), responses, lane_of)


def _changes(compared: Sequence[LaneComparison]) -> pd.DataFrame:
    lanes = sorted({lane for one in compared for lane in one.found.on})
    rows = [
        {
            "configuration": one.item,
            "response": RESPONSES[one.response].title,
            **{lane: str(one.text_on(lane)) for lane in lanes},
            "I2": _i2(one.found),
            "on all lanes": f"{one.verdict}{one.condition}",
        }
        for one in compared
    ]
    return pd.DataFrame(rows)


def _i2(found: Heterogeneity) -> str:
    if np.isnan(found.i2):
        return "unknown"
    value, low, high = (f"{100 * part:.0f}" for part in (found.i2, *found.i2_ends))
    return f"{value}\u00a0% ({low} to {high}\u00a0%)"


def _how_many_agree(compared: Sequence[LaneComparison]) -> Iterator[str]:
    """Yield the changes that differ between lanes, then how many are the same on all of them."""
    differing = [one for one in compared if one.verdict is Sameness.DIFFERS]
    for one in differing[:_NAMED]:
        on = listed([f"{one.text_on(lane).change} on {lane}" for lane in one.found.on])
        title = RESPONSES[one.response].title
        yield f"{title}, {one.item}: the change {one.verdict}{one.condition} ({on})."
    if len(differing) > _NAMED:
        yield f"So do {len(differing) - _NAMED} others (see the table)."
    same = sum(one.verdict is Sameness.SAME for one in compared)
    rest = len(compared) - same - len(differing)
    open_ = f"; {rest} inconclusive, which more blocks on each lane decide" if rest else ""
    yield f"Of {plural(len(compared), 'change')}, {same} {'is' if same == 1 else 'are'} {Sameness.SAME}{open_}."
