"""The report's section on calls: how many there are, where the time goes, who calls whom, what is repeated.

This file puts it together from the traced rounds of each scenario. Scenarios whose calls are alike share a diagram.
Rounds are read one after another. What tables need of them is added up; the spans themselves are kept of a bounded
number of requests, for the diagrams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from patternbench.observe.section import Drawing, Section, Table
from patternbench.records import damage, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE
from patternbench.records.stored import PlannedScenario
from patternbench.report.labels import shown
from patternbench.report.model import counting
from patternbench.report.sections.steps import scenario_name
from patternbench.terms.quantities import number
from patternbench.traces.analyze.calls import CALLS
from patternbench.traces.analyze.edges import ServiceEdge, edges
from patternbench.traces.analyze.sequence import steps, typical
from patternbench.traces.analyze.shapes import Repetition, repeated, shapes
from patternbench.traces.analyze.totals import OperationTotals, RequestTotals
from patternbench.traces.analyze.trees import TracedRequest
from patternbench.traces.observer import OBSERVER
from patternbench.traces.records.collected import SpanRecords, is_kept, kept_in
from patternbench.traces.report import at_a_glance, bars, cost
from patternbench.traces.report.sequence_diagram import sequence_diagram
from patternbench.traces.report.service_graph import service_graph

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
    "The more calls per request, the thicker the line. Times are those that the caller waits for. Calls per second are "
    "those of the whole load."
)
SEQUENCE = "The request of median duration among those of the most frequent shape. A frame is a block that is repeated."


@dataclass(frozen=True)
class TracedScenario:
    """A scenario in words, and what its traced rounds come to.

    ``counted`` are the requests of which calls are counted: of the counting pass if there was one (``passed``), else of
    all rounds. ``timed`` are the traced requests of its rounds; where there are none, those of its counting pass.
    ``edges`` say who calls whom in the first ``MOST_REQUESTS`` of these; ``requests`` has them where diagrams are drawn
    of them. ``throughput`` is that of each round, in requests per second.
    """

    name: str
    throughput: Sequence[float]
    counted: RequestTotals
    timed: RequestTotals
    passed: bool
    edges: Sequence[ServiceEdge]
    requests: Sequence[TracedRequest]

    @property
    def shape(self) -> object:
        """What makes its diagram the same as that of another scenario: who calls whom, and about how often."""
        return frozenset((edge.caller, edge.callee, f"{edge.per_request:.2g}") for edge in self.edges)


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the section, where some round was traced; none otherwise."""
    run, kept = RunFolder(path), counting(rounds) if len(rounds) else rounds
    planned = stored.plan(run).scenarios
    scenarios = list(pictured(scenarios_of(run, planned, kept)))
    return [section(scenarios, cost.tables(planned, kept))] if scenarios else []


def scenarios_of(run: RunFolder, planned: Iterable[PlannedScenario], rounds: pd.DataFrame) -> Iterator[TracedScenario]:
    """Yield the scenarios of a plan with traced rounds, in its order; each is read when it is asked for."""
    passes = {scenario: one.file for scenario, one in damage.counting_passes(run).items() if one.status == DONE}
    measured = _measured(run, rounds)
    for scenario in planned:
        passed = kept_in(_folder(run, passes[scenario.id])) if scenario.id in passes else None
        own = [one for one in measured.get(scenario.id, []) if passed or is_kept(one.folder)]
        if own:
            yield traced_scenario(scenario_name(scenario.levels), own, passed)


def _folder(run: RunFolder, round_name: str) -> Path:
    return run.observed_of(round_name) / OBSERVER.name


@dataclass(frozen=True)
class MeasuredRound:
    """A round that counts: the folder of its spans, which is not there where it was not traced, and its throughput."""

    folder: Path
    throughput: float


def _measured(run: RunFolder, rounds: pd.DataFrame) -> dict[str, list[MeasuredRound]]:
    """Return the rounds of each scenario."""
    files = damage.files_of_rounds(run)
    columns = (rounds[name].tolist() for name in ("round", "scenario", "Throughput") if len(rounds))
    measured: dict[str, list[MeasuredRound]] = {}
    for index, scenario, throughput in zip(*columns, strict=True):
        measured.setdefault(scenario, []).append(MeasuredRound(_folder(run, files[index]), throughput))
    return measured


def traced_scenario(
    name: str, rounds: Sequence[MeasuredRound], counting_pass: SpanRecords | None = None
) -> TracedScenario:
    """Return a scenario from its counting pass and its rounds, whose spans are read one round at a time."""
    own, requests = RequestTotals(), list[TracedRequest]()
    for spans in filter(None, (kept_in(one.folder) for one in rounds)):
        own.add(spans.requests)
        requests += spans.forest.requests[: MOST_REQUESTS - len(requests)]
    counted = own
    if counting_pass is not None:
        counted = RequestTotals()
        counted.add(counting_pass.requests)
        requests = requests or list(counting_pass.forest.requests[:MOST_REQUESTS])
    return TracedScenario(
        name=name,
        throughput=[one.throughput for one in rounds],
        counted=counted,
        timed=own if own.operations else counted,
        passed=counting_pass is not None,
        edges=edges(requests),
        requests=requests,
    )


def pictured(scenarios: Iterable[TracedScenario]) -> Iterator[TracedScenario]:
    """Yield the scenarios; only those of which diagrams are drawn keep their requests.

    Diagrams are drawn of the first of those alike, of few in all.
    """
    drawn: set[object] = set()
    for scenario in scenarios:
        if scenario.requests and scenario.shape not in drawn and len(drawn) < MOST_PICTURES:
            drawn.add(scenario.shape)
            yield scenario
        else:
            yield replace(scenario, requests=())


def section(scenarios: Sequence[TracedScenario], costs: Sequence[Table] = ()) -> Section:
    """Return the section of scenarios that were traced; ``costs`` say what tracing costs."""
    rows = pd.DataFrame([row for scenario in scenarios for row in _rows(scenario)])
    alike = _alike(scenarios)
    chosen = [several[0] for several in alike if several[0].requests][:MOST_PICTURES]
    tables = [Table("Calls and time per request", rows), *costs, *_repetitions(chosen), *_shapes(chosen)]
    drawings = [*map(_graph, alike[:MOST_PICTURES]), *_sequences(chosen)]
    return Section(
        ANCHOR,
        TITLE,
        _words(scenarios, chosen),
        tables,
        bars.figures(_named(chosen)),
        drawings=drawings,
        in_short=_in_short(scenarios, chosen),
        beside=at_a_glance.picture(scenarios[0].timed, {name: TIMES[name] for name in TIMES if name != "seconds"}),
    )


def _alike(scenarios: Sequence[TracedScenario]) -> list[list[TracedScenario]]:
    """Scenarios whose calls are alike, together."""
    groups: dict[object, list[TracedScenario]] = {}
    for scenario in scenarios:
        groups.setdefault(scenario.shape, []).append(scenario)
    return list(groups.values())


def _words(scenarios: Sequence[TracedScenario], chosen: Sequence[TracedScenario]) -> list[str]:
    by_pass = all(scenario.passed for scenario in scenarios)
    own = "Calls and times are from the traced requests of the measured rounds."
    passed = (
        "Calls are counted in an extra pass per scenario, in which every request is traced. Times are from the traced "
        "requests of the measured rounds, or from that pass if they have none."
    )
    exclusive = (
        "Times are exclusive: each moment of a request belongs to its innermost span, so the times in memory, in "
        "databases and between services add up. Calls are medians over requests, times are means."
    )
    reported = any(scenario.counted.are_known("in_memory_calls") for scenario in scenarios)
    in_memory = [] if reported else ["In-memory calls are unknown, because not every service reports them."]
    return [*_named_repetitions(chosen), passed if by_pass else own, exclusive, *in_memory]


def _in_short(scenarios: Sequence[TracedScenario], chosen: Sequence[TracedScenario]) -> str:
    """Return what is asked again and again at the greatest cost; without that, where the time of a request goes."""
    return next(iter(_named_repetitions(chosen)), "") or _where_time_goes(scenarios[0].timed)


def _where_time_goes(timed: RequestTotals) -> str:
    """Say how long a request of the most frequent operation takes, and in which shares; nothing if that is unknown."""
    name = next(iter(timed.frequent()), "")
    if not name or not timed.operations[name].mean("seconds") > 0:
        return ""
    means = {time: timed.operations[name].mean(time) for time in TIMES}
    whole = means.pop("seconds")
    parts = [f"{number(100 * mean / whole)} % {TIMES[time]}" for time, mean in means.items() if mean > 0]
    return f"{name} takes {shown(whole, 'time')} on average: {', '.join(parts)}."


def _named_repetitions(chosen: Sequence[TracedScenario]) -> list[str]:
    """Return what is asked again and again, in words: the costliest first, each once."""
    listed = [one for scenario in chosen for one in repeated(scenario.requests)]
    stated = {(one.operation, one.caller, one.what): one for one in sorted(listed, key=lambda one: one.seconds)}
    return [_in_words(one) for one in reversed(stated.values())][:MOST_REPETITIONS]


def _in_words(one: Repetition) -> str:
    how = "one after another" if one.at_once == 1 else f"at most {one.at_once} at once"
    return (
        f"N+1: for one {one.operation}, {one.caller} asks {one.callee} the same {number(one.times)} times, {how}: "
        f"{one.what}. That is {number(100 * one.share)} % of its time; a single call for all of them might do."
    )


def _rows(scenario: TracedScenario) -> list[Mapping[str, object]]:
    counted, timed = scenario.counted, scenario.timed.operations
    return [
        _row(scenario.name, name, counted.operations[name], timed.get(name, OperationTotals()))
        for name in counted.frequent()[:MOST_OPERATIONS]
    ]


def _row(scenario: str, operation: str, counted: OperationTotals, timed: OperationTotals) -> Mapping[str, object]:
    calls = {f"calls: {COUNTS[name]}": shown(counted.calls[name].median, "count") for name in CALLS}
    times = {f"time: {title}": shown(timed.mean(name), "time") for name, title in TIMES.items()}
    return {"scenario": scenario, "operation": operation, "counted": f"{counted.requests:,}", **calls, **times}


def _graph(alike: Sequence[TracedScenario]) -> Drawing:
    first = alike[0]
    more = f", and similarly in {len(alike) - 1} more scenarios" if len(alike) > 1 else ""
    throughput = sum(first.throughput) / len(first.throughput)
    return Drawing(f"Who calls whom: {first.name}{more}", service_graph(first.edges, throughput), GRAPH)


def _sequences(chosen: Sequence[TracedScenario]) -> Iterator[Drawing]:
    """Yield a diagram of each operation, the most frequent first; of several scenarios where their steps differ."""
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


def _named(chosen: Sequence[TracedScenario]) -> dict[str, Sequence[TracedRequest]]:
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
