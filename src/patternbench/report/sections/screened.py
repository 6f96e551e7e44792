"""What a screen kept of a study's scenarios, and what measuring corrected of what the model had said of them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from patternbench.analyze.rounds import label
from patternbench.observe.section import Section, Table
from patternbench.records import screened
from patternbench.records.folder import RunFolder
from patternbench.records.screened import ScreenRecord
from patternbench.report.labels import RESPONSES, units_of_observers
from patternbench.report.model import RunReport
from patternbench.terms.data_problems import plural
from patternbench.terms.quantities import SHARES, number, quantity, signed

ANCHOR, TITLE = "screen", "What the screen kept, and what measuring corrected"


def sections(run: RunFolder, report: RunReport) -> list[Section]:
    """Return the section of a run whose scenarios a model chose; nothing for any other."""
    record = screened.read(run)
    return [section(record, report)] if record else []


def section(record: ScreenRecord, report: RunReport) -> Section:
    """Return what was kept, each with what the model had said of it and what was measured."""
    predicted = {one.scenario: one.predicted.get(record.objective) for one in record.kept}
    measured = _measured(record.objective, report)
    names = {one.id: _name(one.levels) for one in report.scenarios}
    rows = [
        {
            "scenario": names[scenario],
            "predicted": _value(record.objective, value),
            "measured": _value(record.objective, measured.get(scenario)),
            "measuring changed it by": _change(record.objective, value, measured.get(scenario)),
        }
        for scenario, value in predicted.items()
        if scenario in names
    ]
    words = _words(record, predicted, measured, names)
    return Section(ANCHOR, TITLE, words, [Table("What was kept", pd.DataFrame(rows))])


def _words(
    record: ScreenRecord, predicted: Mapping[str, float | None], measured: Mapping[str, float], names: Mapping[str, str]
) -> list[str]:
    kept = f"Of {plural(record.scenarios, 'scenario')} all were simulated with the model {record.model}"
    words = [
        f"{kept}, {plural(record.rounds, 'round')} each, and {len(record.kept)} were measured: under each condition "
        f"those that it ranked first by {_title(record.objective)}, and the baseline.",
        "The model only chose where to look. Everything else on this page rests on measured rounds.",
    ]
    both = {one: value for one, value in predicted.items() if value is not None and one in measured and one in names}
    if len(both) > 1:
        pick = min if record.minimise else max
        first, best = pick(both, key=lambda one: both[one]), pick(both, key=lambda one: measured[one])
        same = f"Measured, {names[best]} came first over all, as the model had said."
        other = f"Over all the model had put {names[first]} first; measured, it is {names[best]}."
        words.append(same if first == best else other)
    return words


def _measured(response: str, report: RunReport) -> dict[str, float]:
    if response not in report.done.columns:
        return {}
    means = report.done.groupby("scenario")[response].mean()
    return {str(scenario): float(value) for scenario, value in means.items() if pd.notna(value)}


def _name(levels: Mapping[str, object]) -> str:
    return label({name: level for name, level in levels.items() if level is not None})


def _title(response: str) -> str:
    return RESPONSES[response].title.lower() if response in RESPONSES else response


def _value(response: str, value: float | None) -> str:
    return "–" if value is None else quantity(response, value, units_of_observers().get(response, ""))


def _change(response: str, predicted: float | None, measured: float | None) -> str:
    """Return the change from what was predicted to what was measured; of means, without an interval."""
    if predicted is None or measured is None:
        return "–"
    if response in SHARES:
        return f"{signed(measured - predicted)} points"
    return f"{signed(100 * (measured / predicted - 1))} %" if predicted else number(measured)
