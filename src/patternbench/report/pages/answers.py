"""The first section of a page that compares: what got better and what worse, in sentences, with the largest changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

import pandas as pd

from patternbench.analyze.compare.comparison import Comparison, Difference
from patternbench.analyze.compare.gate import GateVerdict
from patternbench.analyze.compare.words import change, interval, ranked
from patternbench.analyze.statements.verdict import Verdict
from patternbench.observe.section import Drawing, Section, Table
from patternbench.report.first_screen import PERCENT, Contender, DrawnChange, widest
from patternbench.report.interval_pictures import rows, with_words
from patternbench.report.labels import RESPONSES, looks_of_changes
from patternbench.terms.data_problems import plural

ANCHOR, TITLE, SHOWN = "answer", "In short", "shown to be"
MOST_NAMED = 3
"""Responses that a sentence names."""
MOST_OF_A_RESPONSE = 3
"""Scenarios of a response that the figure shows, those that changed most."""
_LOOKS = {Verdict.FAIL: "worse", Verdict.PASS: "better"}


def answer(comparison: Comparison, verdicts: Sequence[GateVerdict] = (), named: Sequence[str] = ()) -> Section:
    """Return the section; ``named`` says which runs A and B are."""
    sentences = [*map(_of_gate, verdicts), *_directions(comparison)]
    return Section(
        ANCHOR,
        TITLE,
        named,
        answers=sentences,
        look=_look(comparison, verdicts),
        warnings=[note.text for note in comparison.notes],
        tables=list(_tables(comparison)),
        drawings=list(_drawings(comparison)),
    )


def _tables(comparison: Comparison) -> Iterator[Table]:
    """Yield the table of the largest change of each response, and what is shown of it."""
    largest = _largest(comparison.differences)
    drawn = [_drawn(d).change for d in largest]
    reach = {one.unit: widest([other for other in drawn if other.unit == one.unit]) for one in drawn}
    several = len({d.scenario for d in comparison.differences}) > 1
    listed = [
        {
            "response": _title(d),
            "largest change": with_words(one, reach[one.unit]),
            **({"at": d.scenario} if several else {}),
            SHOWN: _side(d) or str(d.verdict),
        }
        for d, one in zip(largest, drawn, strict=True)
    ]
    if listed:
        yield Table(
            "Each response", pd.DataFrame(listed, dtype=object), looks={SHOWN: {"better": "better", "worse": "worse"}}
        )


def _largest(these: Sequence[Difference], most: int = 1) -> list[Difference]:
    """Return the largest changes of each response, at most ``most`` of one."""
    groups = (group for _, group in groupby(_by_response(these), key=lambda d: d.response))
    return [one for group in groups for one in islice(group, most)]


def _of_gate(verdict: GateVerdict) -> str:
    """Say what a gate decided, and where."""
    text, checked = verdict.condition.text, plural(verdict.checked, "scenario")
    if verdict.outcome is Verdict.FAIL:
        return f"FAIL: {text} {_where(verdict.failing)}."
    if verdict.outcome is Verdict.PASS:
        return f"PASS: {text} in none of {checked}." if verdict.checked > 1 else f"PASS: not {text}."
    return f"INCONCLUSIVE: whether {text} {_where(verdict.undecided)} can't be told from these rounds."


def _where(differences: Sequence[Difference]) -> str:
    more = f" and {len(differences) - 1} more" if len(differences) > 1 else ""
    return f"at {differences[0].scenario}{more}" if differences else "anywhere"


def _directions(comparison: Comparison) -> Iterator[str]:
    """Say what is shown to be worse, and what better; that nothing is shown does not show that nothing changed."""
    start = "In these two runs B is" if comparison.two_runs else "B is"
    several = len({d.scenario for d in comparison.differences}) > 1
    found = {look: [d for d in comparison.differences if _side(d) == look] for look in ("worse", "better")}
    for look, these in found.items():
        if these:
            yield f"{start} {look} than A: {_most(these, several)}."
    if not any(found.values()):
        yield "No response is shown to be better or worse in B than in A."


def _side(d: Difference) -> str:
    """Return whether a shown change of a response is better or worse; nothing where that isn't known or shown."""
    return looks_of_changes(d.response).get(str(d.verdict), "")


def _most(these: Sequence[Difference], several: bool) -> str:
    """Return the largest change of each response, the first few of them."""
    largest = _largest(these)
    stated = [f"{_title(d)} {_text(d)}{f' at {d.scenario}' if several else ''}" for d in largest[:MOST_NAMED]]
    more = f" and {len(largest) - MOST_NAMED} more" if len(largest) > MOST_NAMED else ""
    return f"{'; '.join(stated)}{more}"


def _by_response(these: Sequence[Difference]) -> list[Difference]:
    """Return differences ranked within their responses, the responses in their order."""
    names = list(dict.fromkeys(d.response for d in these))
    return [d for name in names for d in ranked([one for one in these if one.response == name])]


def _title(d: Difference) -> str:
    return RESPONSES[d.response].title if d.response in RESPONSES else d.response


def _text(d: Difference) -> str:
    return f"{change(d)} ({interval(d)})"


def _look(comparison: Comparison, verdicts: Sequence[GateVerdict]) -> str:
    """Return the look of the answer: that of the gate if there is one, else of what is shown."""
    looks = {_LOOKS.get(one.outcome, "open") for one in verdicts} or {_side(d) for d in comparison.differences} - {""}
    return "worse" if "worse" in looks else looks.pop() if len(looks) == 1 else "open"


def _drawings(comparison: Comparison) -> Iterator[Drawing]:
    """Yield a figure for each unit, with the scenarios of each response that changed most."""
    drawn = [_drawn(d) for d in _largest(comparison.differences, MOST_OF_A_RESPONSE)]
    for unit in dict.fromkeys(one.change.unit for one in drawn):
        mine = [one for one in drawn if one.change.unit == unit]
        lines = f"Lines are {100 * comparison.level:.0f} % intervals."
        caption = f"{lines} A dot is shown to be better, a diamond worse, a ring neither."
        title = f"Largest changes, B against A{', in percent' if unit == PERCENT else ''}"
        yield Drawing(title, rows(mine, title), caption)


def _drawn(d: Difference) -> Contender:
    value, ends = (d.relative, d.relative_interval.ends) if d.in_percent else (d.difference, d.interval.ends)
    known = value if value is not None and math.isfinite(value) else None
    look = _side(d) or "open"
    low, high = (_finite(end) for end in ends)
    shown = DrawnChange(_text(d), PERCENT if d.in_percent else d.response, known, low, high, look)
    return Contender(_title(d), d.scenario, shown, chosen=False)


def _finite(end: float | None) -> float | None:
    return end if end is not None and math.isfinite(end) else None
