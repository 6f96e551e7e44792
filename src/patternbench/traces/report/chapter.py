"""The report's section on calls: how many there are, where the time goes, who calls whom, what is repeated.

This file puts it together from the traced rounds of each scenario. Scenarios whose calls are alike share a picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from patternbench.observe.section import Drawing, Section, Table
from patternbench.records import damage, journal, observed, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE
from patternbench.report.labels import number, shown
from patternbench.report.model import counting
from patternbench.report.sections.steps import scenario_name
from patternbench.traces.analyze.edges import ServiceEdge, edges
from patternbench.traces.analyze.sequence import steps, typical
from patternbench.traces.analyze.shapes import Repetition, repeated, shapes
from patternbench.traces.analyze.trees import TracedRequest
from patternbench.traces.observer import OBSERVER
from patternbench.traces.records.collected import SpanRecords, TracedRound
from patternbench.traces.report import bars
from patternbench.traces.report.sequence_diagram import sequence_diagram
from patternbench.traces.report.service_graph import service_graph
from patternbench.traces.responses import CALLS

ANCHOR, TITLE = "calls", "Calls and where the time goes"
MOST_OPERATIONS, MOST_PICTURES, MOST_REPETITIONS, MOST_REQUESTS = 20, 4, 5, 2_000
TIMES = {
    "in_memory_time": "in memory",
    "database_time": "databases",
    "distributed_time": "between services",
    "seconds": "in all",
}
COUNTS = {"in_memory_calls": "in memory", "database_calls": "databases", "distributed_calls": "services"}
GRAPH = (
    "A line is as thick as there are calls per request. Times are those that the caller waits for; calls per second "
    "are those of the whole load."
)
SEQUENCE = "One request of the most frequent shape, the one of middle duration. A frame is a block that is repeated."


@dataclass(frozen=True)
class TracedScenario:
    """A scenario in words, with its rounds that count; ``throughput`` is theirs, in requests per second."""

    name: str
    rounds: list[TracedRound] = field(default_factory=list)
    throughput: list[float] = field(default_factory=list)

    @cached_property
    def counted(self) -> pd.DataFrame:
        """The requests of which calls are counted: of the counting pass if there was one, else of all rounds."""
        return pd.concat([records.requests for records in self._counted()])

    @cached_property
    def timed(self) -> pd.DataFrame:
        """The traced requests of its rounds; where there are none, those of its counting pass."""
        own = [one.own.requests for one in self.rounds if len(one.own.requests)]
        return pd.concat(own) if own else self.counted

    @cached_property
    def requests(self) -> list[TracedRequest]:
        """What pictures are drawn of: traced requests of its rounds, else those of the counting pass."""
        own = [request for one in self.rounds for request in one.own.forest.requests]
        return (own or [request for one in self._counted() for request in one.forest.requests])[:MOST_REQUESTS]

    @cached_property
    def edges(self) -> list[ServiceEdge]:
        """Who calls whom."""
        return edges(self.requests)

    @property
    def shape(self) -> object:
        """What makes its picture the same as that of another scenario: who calls whom, and about how often."""
        return frozenset((edge.caller, edge.callee, f"{edge.per_request:.2g}") for edge in self.edges)

    def _counted(self) -> list[SpanRecords]:
        passes = [one.counting for one in self.rounds[:1] if one.counting]
        return passes or [one.own for one in self.rounds]


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """The section, where some round was traced; none otherwise."""
    scenarios = traced_scenarios(RunFolder(path), counting(rounds) if len(rounds) else rounds)
    return [section(scenarios)] if scenarios else []


def traced_scenarios(run: RunFolder, rounds: pd.DataFrame) -> list[TracedScenario]:
    """The scenarios of a run with traced rounds, in the order of the plan."""
    files = journal.files_of_rounds(run.journal)
    passes = {scenario: one.file for scenario, one in damage.counting_passes(run).items() if one.status == DONE}
    scenarios = {one.id: TracedScenario(scenario_name(one.levels)) for one in stored.plan(run).scenarios}
    columns = (rounds[name].tolist() for name in ("round", "scenario", "Throughput") if len(rounds))
    for index, scenario, throughput in zip(*columns, strict=True):
        seen = observed.read(run, files[index], OBSERVER, passes.get(scenario, ""))
        if seen is not None:
            scenarios[scenario].rounds.append(seen)
            scenarios[scenario].throughput.append(throughput)
    return [one for one in scenarios.values() if one.rounds]


def section(scenarios: Sequence[TracedScenario]) -> Section:
    """The section of scenarios that were traced."""
    rows = pd.DataFrame([row for scenario in scenarios for row in _rows(scenario)])
    alike = _alike(scenarios)
    chosen = [several[0] for several in alike if several[0].requests][:MOST_PICTURES]
    tables = [Table("Calls and time per request", rows), *_repetitions(chosen), *_shapes(chosen)]
    drawings = [*map(_graph, alike[:MOST_PICTURES]), *_sequences(chosen)]
    return Section(ANCHOR, TITLE, _words(scenarios, chosen), tables, bars.figures(_named(chosen)), drawings=drawings)


def _alike(scenarios: Sequence[TracedScenario]) -> list[list[TracedScenario]]:
    """Scenarios whose calls are alike, together."""
    groups: dict[object, list[TracedScenario]] = {}
    for scenario in scenarios:
        groups.setdefault(scenario.shape, []).append(scenario)
    return list(groups.values())


def _words(scenarios: Sequence[TracedScenario], chosen: Sequence[TracedScenario]) -> list[str]:
    by_pass = all(scenario.rounds[0].counting for scenario in scenarios)
    own = "Calls are counted, and times taken, in the traced requests of the measured rounds."
    passed = (
        "Calls are counted in a pass of its own for each scenario, in which every request is traced; times are those "
        "of the traced requests of the measured rounds, or of that pass where there are none."
    )
    exclusive = (
        "Times are exclusive: each moment of a request belongs to what is innermost then, so that in memory, databases "
        "and between services add up. Calls are medians over requests, times are means."
    )
    unknown = all(scenario.counted["in_memory_calls"].isna().all() for scenario in scenarios)
    in_memory = ["In-memory calls are not known: not every service tells them."] if unknown else []
    return [*_named_repetitions(chosen), passed if by_pass else own, exclusive, *in_memory]


def _named_repetitions(chosen: Sequence[TracedScenario]) -> list[str]:
    """What is asked again and again, in words: the costliest first, each once."""
    listed = [one for scenario in chosen for one in repeated(scenario.requests)]
    said = {(one.operation, one.caller, one.what): one for one in sorted(listed, key=lambda one: one.seconds)}
    return [_in_words(one) for one in reversed(said.values())][:MOST_REPETITIONS]


def _in_words(one: Repetition) -> str:
    how = "one after another" if one.at_once == 1 else f"at most {one.at_once} at once"
    return (
        f"N+1: for one {one.operation}, {one.caller} asks {one.callee} the same {number(one.times)} times, {how}: "
        f"{one.what}. That is {number(100 * one.share)} % of its time; one call for all of them might do."
    )


def _rows(scenario: TracedScenario) -> list[Mapping[str, object]]:
    counted, timed = scenario.counted, scenario.timed
    operations = counted["operation"].value_counts().index[:MOST_OPERATIONS]
    return [_row(scenario.name, name, _of(counted, name), _of(timed, name)) for name in operations]


def _of(requests: pd.DataFrame, operation: str) -> pd.DataFrame:
    return requests[requests["operation"] == operation]


def _row(scenario: str, operation: str, counted: pd.DataFrame, timed: pd.DataFrame) -> Mapping[str, object]:
    calls = {f"calls: {COUNTS[name]}": shown(float(counted[name].median(skipna=False)), "count") for name in CALLS}
    times = {f"time: {title}": shown(float(timed[name].mean()), "time") for name, title in TIMES.items()}
    return {"scenario": scenario, "operation": operation, "counted": f"{len(counted):,}", **calls, **times}


def _graph(alike: Sequence[TracedScenario]) -> Drawing:
    first = alike[0]
    more = f", and in {len(alike) - 1} more scenarios about alike" if len(alike) > 1 else ""
    throughput = sum(first.throughput) / len(first.throughput)
    return Drawing(f"Who calls whom: {first.name}{more}", service_graph(first.edges, throughput), GRAPH)


def _sequences(chosen: Sequence[TracedScenario]) -> Iterator[Drawing]:
    """A diagram of each operation, the most frequent first; of several scenarios where their steps differ."""
    drawn: dict[object, Drawing] = {}
    for scenario in chosen:
        for operation, requests in _operations(scenario.requests).items():
            request = typical(requests)
            parts = steps(request)
            title = f"Step by step: {operation}" + (f" ({scenario.name})" if len(chosen) > 1 else "")
            service, seconds = request.root.service, request.root.duration / 1e9
            svg = sequence_diagram(operation, service, seconds, parts)
            drawn.setdefault((operation, tuple(part.shape for part in parts)), Drawing(title, svg, SEQUENCE))
    yield from list(drawn.values())[:MOST_PICTURES]


def _operations(requests: Sequence[TracedRequest]) -> dict[str, list[TracedRequest]]:
    groups: dict[str, list[TracedRequest]] = {}
    for request in requests:
        groups.setdefault(request.operation, []).append(request)
    return dict(sorted(groups.items(), key=lambda group: -len(group[1]))[:MOST_PICTURES])


def _named(chosen: Sequence[TracedScenario]) -> dict[str, list[TracedRequest]]:
    return {scenario.name: scenario.requests for scenario in chosen}


def _repetitions(chosen: Sequence[TracedScenario]) -> Iterator[Table]:
    rows = [
        {
            **_where(scenario, chosen),
            "operation": one.operation,
            "caller": one.caller,
            "callee": one.callee,
            "what": one.what,
            "times per request": number(one.times),
            "time": shown(one.seconds, "time"),
            "share of its time": f"{number(100 * one.share)} %",
            "at once": str(one.at_once),
        }
        for scenario in chosen
        for one in repeated(scenario.requests)
    ]
    if rows:
        yield Table("Asked again and again for one request (N+1)", pd.DataFrame(rows))


def _shapes(chosen: Sequence[TracedScenario]) -> Iterator[Table]:
    rows = [
        {
            **_where(scenario, chosen),
            "operation": shape.operation,
            "calls per request": number(shape.calls),
            "services": str(shape.services),
            "calls deep": str(shape.depth),
            "widest fan": f"{shape.widest} by {shape.widest_caller}",
            "at once": str(shape.at_once),
        }
        for scenario in chosen
        for shape in shapes(scenario.requests)[:MOST_OPERATIONS]
    ]
    if rows:
        yield Table("How chatty, deep and wide each operation is", pd.DataFrame(rows))


def _where(scenario: TracedScenario, chosen: Sequence[TracedScenario]) -> dict[str, str]:
    return {"scenario": scenario.name} if len(chosen) > 1 else {}
