"""The report's section on the machines that ran the blocks of a run, where it had several lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from patternbench.analyze.statements.sentences import listed
from patternbench.observe.section import Section, Table
from patternbench.records.journal import VOIDED, Entry, standing
from patternbench.terms.data_problems import plural

_WORDS = (
    "Each lane ran whole blocks on a machine of its own, and every comparison stays within blocks. What differs "
    "between machines therefore falls on all configurations alike."
)
_SHARED = (
    "Several lanes shared a machine and took each other's CPUs: measure with one lane for each machine, and use these "
    "rounds only as a trial."
)
_ALIKE = {"cpu": "processors", "cores": "numbers of CPUs", "kernel": "kernels", "governor": "frequency governors"}
"""What of two machines should be alike, and how a warning calls it."""


def sections(lanes: Mapping[str, Mapping[str, object]], entries: Sequence[Entry]) -> Sequence[Section]:
    """The section, if any round ran on a lane. ``lanes`` has the facts of each machine, by the lane's name."""
    rounds = [entry for entry in standing(entries) if entry.lane]
    if not rounds:
        return []
    blocks = {lane: {entry.block for entry in rounds if entry.lane == lane} for lane in _lanes_of(rounds)}
    voided = Counter(entry.lane for entry in entries if entry.status == VOIDED)
    rows = [
        {
            "lane": lane,
            "processor": lanes.get(lane, {}).get("cpu", "unknown"),
            "blocks": len(of_lane),
            "voided": voided[lane],
            "rounds": sum(entry.lane == lane for entry in rounds),
        }
        for lane, of_lane in blocks.items()
    ]
    table = Table("Blocks of each lane", pd.DataFrame(rows))
    return [Section("lanes", "The lanes that ran the blocks", [_WORDS, *_lost(entries), *sentences(lanes)], [table])]


def sentences(lanes: Mapping[str, Mapping[str, object]]) -> list[str]:
    """The warnings about a run's lanes: what they share, and what is not alike."""
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
    """Which blocks were run anew, and why."""
    voided = [entry for entry in entries if entry.status == VOIDED]
    if not voided:
        return []
    first = voided[0]
    return [
        f"{plural(len(voided), 'block')} of a lane that was lost did not count and ran anew; the first: block "
        f"{first.block} of {first.lane or 'a machine without lanes'} ({first.cause})."
    ]
