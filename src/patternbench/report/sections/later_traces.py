"""How near a model was to later traces of its system: in words, as tables, and why nothing may rest on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from patternbench.analyze.statements.sentences import UNKNOWN, changed, listed
from patternbench.observe.section import Section, Table
from patternbench.records.later_traces import NOT_VALIDATED, KeptLaterTraces, LaterLine, LaterTraces
from patternbench.terms.data_problems import DataProblem, plural
from patternbench.terms.nearness import Nearness
from patternbench.terms.quantities import quantity

ANCHOR, TITLE = "later-traces", "The model against later traces"
MOST_NAMED = 3
_LOOKS: Mapping[str, Mapping[str, str]] = {
    "verdict": {
        Nearness.NEAR: "better",
        Nearness.FAR: "open",
        Nearness.NOT_USABLE: "worse",
        Nearness.INCONCLUSIVE: "open",
    }
}
_PER_REQUEST = "calls for each request"


def sentence(kept: KeptLaterTraces) -> str:
    """Return what the first screen of a simulated run says of later traces."""
    found = listed([f"{word} for {name}" for name, word in kept.check.verdicts.items()])
    return f"On {_size(kept.check)} the model was {found}. {_of_change(kept)}"


def _size(check: LaterTraces) -> str:
    return f"{plural(check.requests, 'request')} of later traces"


def _of_change(kept: KeptLaterTraces) -> str:
    if kept.changed:
        return f"It was changed since, and the change is {NOT_VALIDATED}."
    return f"That is the system as it was: what a study changes is {NOT_VALIDATED}."


def section(kept: KeptLaterTraces) -> Section:
    """Return the check against later traces in words and tables."""
    check = kept.check
    words = [
        f"The model was held against {_size(check)} ({', '.join(check.traces)}), in {check.blocks} blocks.",
        "The error is the change from the mean of the traced blocks to that of simulated ones, with an interval. The "
        "words are those of every check, and those of a response hold together with 95 %.",
        _of_change(kept),
        *([f"Too few requests reached {listed(check.left_out)}."] if check.left_out else []),
    ]
    return Section(ANCHOR, TITLE, words, tables(check))


def tables(check: LaterTraces) -> list[Table]:
    """Return the words for each response, and every figure."""
    summed = pd.DataFrame([{"response": name, "verdict": word} for name, word in check.verdicts.items()])
    lines = pd.DataFrame([_row(one) for one in check.lines])
    return [Table("Each response over all", summed, looks=_LOOKS), Table("Each figure", lines, looks=_LOOKS)]


def _row(one: LaterLine) -> dict[str, object]:
    return {
        "of": f"{one.name} ({one.kind})" if one.kind == "end to end" else one.name,
        "response": _PER_REQUEST if one.kind == "calls" else one.response,
        "traced": _value(one, one.traced),
        "predicted": _value(one, one.predicted),
        "error": _error(one),
        "verdict": one.verdict,
    }


def _value(one: LaterLine, value: float | None) -> str:
    return UNKNOWN if value is None else quantity(one.response, value)


def _error(one: LaterLine) -> str:
    if one.error is None:
        return UNKNOWN
    return changed(one.response, one.error, (one.low, one.high), relative=one.relative)


def problems(kept: KeptLaterTraces) -> Iterator[DataProblem]:
    """Yield where the model is no longer the system, so that nothing may be decided by it."""
    for why in list(kept.check.unusable())[:MOST_NAMED]:
        yield DataProblem(f"{why}.", "", "Calibrate the model anew, from traces of today.")


def unvalidated(kept: KeptLaterTraces) -> DataProblem:
    """Return why a model that was only held against later traces decides nothing."""
    what = f"The model was held against traces of the system as it was; the change itself is {NOT_VALIDATED}."
    return DataProblem(what, "", "Measure the change: patternbench run.")
