"""What a run in simulated time says of itself: that it is one, how far its model was off, and what may not rest on it.

Whoever shows simulated rounds takes the words from here, so that no page, table or choice passes for a measured one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from patternbench.analyze.rounds import label
from patternbench.analyze.statements.sentences import UNKNOWN, changed
from patternbench.observe.section import Section, Table
from patternbench.plan.scenarios import Scenario
from patternbench.plan.shares import at_capacity
from patternbench.records import held_out, stored
from patternbench.records import later_traces as kept_later
from patternbench.records.folder import RunFolder
from patternbench.records.held_out import HeldOut, PredictedResponse, PredictedScenario
from patternbench.records.later_traces import KeptLaterTraces
from patternbench.records.stored import PlannedScenario
from patternbench.report.labels import RESPONSES, units_of_observers
from patternbench.report.model import SIMULATED_COLUMN, RunReport
from patternbench.report.sections import capacity, later_traces
from patternbench.terms.data_problems import DataError, DataProblem, Note, plural, raise_if_any
from patternbench.terms.nearness import Nearness
from patternbench.terms.quantities import quantity

ANCHOR, TITLE = "predicted", "Predicted against measured"
SENTENCE = "These rounds were simulated, not measured."
NEVER_CHECKED = "The model was never held against measured rounds, so no one knows how far it is off."
MOST_NAMED = 3
_WORDS: Mapping[str, str] = {
    Nearness.NEAR: "better",
    Nearness.FAR: "open",
    Nearness.NOT_USABLE: "worse",
    Nearness.INCONCLUSIVE: "open",
}
_LOOKS = {"verdict": _WORDS}


def notice(report: RunReport) -> str:
    """Return what the first screen of a simulated run says; empty for a measured one."""
    if not report.simulated:
        return ""
    return notice_of(report.held_out, report.later)


def notice_of(checked: HeldOut | None, later: KeptLaterTraces | None = None) -> str:
    """Return how far a model was off where it was checked, in sentences."""
    on_later = [later_traces.sentence(later)] if later else []
    return " ".join([*([_on_rounds(checked)] if checked or not later else []), *on_later])


def _on_rounds(checked: HeldOut | None) -> str:
    if checked is None:
        return NEVER_CHECKED
    scenarios = plural(len(checked.scenarios), "scenario")
    return f"On {scenarios} that the model did not rest on, predictions were {_counted(checked)}."


def _counted(checked: HeldOut) -> str:
    """Say of which responses predictions were how near: ``within 10 % for p50; not usable for p99``."""
    words = Counter(checked.verdicts.values())
    names = {word: [name for name, verdict in checked.verdicts.items() if verdict is word] for word in words}
    order = [word for word in Nearness if word in names]
    return "; ".join(f"{word} for {', '.join(map(_title, names[word]))}" for word in order)


def _title(response: str) -> str:
    return RESPONSES[response].title if response in RESPONSES else response


def sections(report: RunReport) -> list[Section]:
    """Return the tables of predicted against measured of a simulated run; nothing for a measured one."""
    if not report.simulated:
        return []
    on_later = [later_traces.section(report.later)] if report.later else []
    if report.held_out is not None:
        return [section(report.held_out), *on_later]
    return on_later or [Section(ANCHOR, TITLE, [SENTENCE, NEVER_CHECKED])]


def section(checked: HeldOut) -> Section:
    """Return the check of a model in words and tables."""
    words = [
        f"The model was held against rounds that it did not rest on: {checked.rule}.",
        "The error is the change from the mean of the measured rounds to that of as many simulated ones, with an "
        "interval. Within 10 % or 25 %: the whole interval lies there. Not usable: the whole interval lies beyond. "
        "Inconclusive: neither. All words of a response hold together with 95 %.",
    ]
    rows = pd.DataFrame([_row(scenario, one) for scenario in checked.scenarios for one in scenario.responses])
    summed = pd.DataFrame([{"response": _title(name), "verdict": word} for name, word in checked.verdicts.items()])
    tables = [Table("Each response over all scenarios", summed, looks=_LOOKS)]
    return Section(ANCHOR, TITLE, words, [*tables, Table("Each scenario", rows, looks=_LOOKS)])


def _row(scenario: PredictedScenario, one: PredictedResponse) -> dict[str, object]:
    known = {name: level for name, level in scenario.levels.items() if level is not None}
    return {
        "scenario": label(known) if known else scenario.scenario,
        "response": _title(one.response),
        "measured": _value(one.response, one.measured),
        "predicted": _value(one.response, one.predicted),
        "error": _error(one),
        "verdict": one.verdict,
    }


def _value(response: str, value: float | None) -> str:
    return UNKNOWN if value is None else quantity(response, value, units_of_observers().get(response, ""))


def _error(one: PredictedResponse) -> str:
    """Return the error with its interval."""
    if one.error is None:
        return UNKNOWN
    unit = units_of_observers().get(one.response, "")
    return changed(one.response, one.error, (one.low, one.high), relative=one.relative, unit=unit)


def marked(of_it: Section) -> Section:
    """Return a section of simulated rounds, which says so first."""
    return replace(of_it, words=[SENTENCE, *of_it.words])


def is_simulated(path: Path) -> bool:
    """Whether a path is the folder of a run in simulated time."""
    run = RunFolder(path)
    return run.plan.is_file() and run.manifest.is_file() and stored.manifest(run).simulated is not None


def simulated_rows(rounds: pd.DataFrame) -> bool:
    """Whether a table of rounds holds simulated ones."""
    return SIMULATED_COLUMN in rounds.columns and bool(rounds[SIMULATED_COLUMN].fillna(value=False).astype(bool).any())


def notes(rounds: pd.DataFrame, name: str = "") -> list[Note]:
    """Return the note that rounds, possibly those of a name, were simulated; nothing for measured ones."""
    text = f"The rounds of {name} were simulated, not measured." if name else SENTENCE
    return [Note("simulated", text)] if simulated_rows(rounds) else []


def check(path: Path, rounds: pd.DataFrame, responses: Collection[str]) -> None:
    """Raise DataError where simulated rounds may not decide about these responses; nothing for measured ones."""
    if not simulated_rows(rounds):
        return
    if not is_simulated(path):
        problem = "holds simulated rounds, without the check of their model."
        raise DataError(DataProblem(problem, str(path), "Give the folder of their run, which has it."))
    run = RunFolder(path)
    known = capacity.rate_of(stored.manifest(run).as_json())
    refuse(held_out.read(run), stored.plan(run).scenarios, responses, known, kept_later.read(run))


def refuse_run(report: RunReport, responses: Collection[str]) -> None:
    """Raise DataError where the predictions of a simulated run may not decide about these responses."""
    refuse(report.held_out, report.scenarios, responses, capacity.rate_of(report.manifest), report.later)


def unchecked(report: RunReport, responses: Collection[str]) -> list[str]:
    """Return why predictions of a simulated run may not decide about these responses; nothing if they may."""
    try:
        refuse_run(report, responses)
    except DataError as error:
        return [problem.what for problem in error.problems]
    return []


def refuse(
    checked: HeldOut | None,
    scenarios: Iterable[PlannedScenario],
    responses: Collection[str],
    known: float | None = None,
    later: KeptLaterTraces | None = None,
) -> None:
    """Raise DataError naming each response, and the scenarios, about which a model's predictions may not decide.

    Shares are of the capacity that is ``known``.
    """
    on_later = list(later_traces.problems(later)) if later else []
    if checked is None and later is not None:
        raise_if_any([*on_later, later_traces.unvalidated(later)])
    if checked is None:
        raise DataError(DataProblem(NEVER_CHECKED, "", "Calibrate a model: patternbench calibrate RUN --out FILE."))
    driven = [_driven(one, known) for one in scenarios]
    raise_if_any([*on_later, *_unusable(checked, responses), *_outside(checked, driven)])


def _driven(one: PlannedScenario, known: float | None) -> Mapping[str, object]:
    """Return the configuration of a scenario, with rates instead of shares of the capacity that is known."""
    if known is None:
        return one.config.model_dump(exclude_unset=True, by_alias=True)
    return at_capacity(Scenario.of(one.config, dict(one.levels)), known).configuration


def _unusable(checked: HeldOut, responses: Collection[str]) -> Iterator[DataProblem]:
    for why in checked.unusable(list(responses)):
        yield DataProblem(f"{why}.", "", "Measure it: patternbench run.")


def _outside(checked: HeldOut, driven: Sequence[Mapping[str, object]]) -> Iterator[DataProblem]:
    found = Counter(filter(None, map(checked.outside, driven)))
    for why, count in found.most_common(MOST_NAMED):
        lie = "lies" if count == 1 else "lie"
        where = f"{count} of {plural(len(driven), 'scenario')} {lie} outside what was checked"
        yield DataProblem(f"{where}: {why}.", "", "Measure such rounds, and calibrate with them.")
