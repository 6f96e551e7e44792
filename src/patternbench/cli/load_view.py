"""How load looks in a terminal: while it runs, and when it has ended. Pure functions of what the engine says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from patternbench.records.load_summaries import LoadProgress, LoadSummary, Percentiles, StepSummary
from patternbench.terms.data_problems import plural
from patternbench.watch.bars import sparkline

WIDTH = 48
"""How many of the engine's quarter seconds a sparkline shows."""
PERCENTILES = ("p50", "p90", "p99", "p999", "max")
TIMES = {
    "response_ms": ("response", "from intended start"),
    "service_ms": ("service", "from the send"),
    "lateness_ms": ("lateness", "of the generator"),
}
STATUS_STYLES = {"2xx": "green", "3xx": "cyan", "4xx": "yellow", "5xx": "red"}
MILLI, THOUSAND = 1.0, 1000.0


@dataclass
class History:
    """The last progress lines of the engine, newest at the end."""

    lines: deque[LoadProgress] = field(default_factory=lambda: deque(maxlen=WIDTH))

    def add(self, progress: LoadProgress) -> None:
        """Take the next line."""
        self.lines.append(progress)

    @property
    def last(self) -> LoadProgress:
        """The newest line, or nothing yet."""
        return self.lines[-1] if self.lines else LoadProgress()

    def of(self, value: Callable[[LoadProgress], float | None]) -> list[float | None]:
        """One value over time; None where there was none."""
        return [value(line) for line in self.lines]


def live(history: History, urls: Sequence[str], length_s: float | None) -> RenderableType:
    """Return the view while load runs; ``length_s`` is how long it will, when that is known."""
    last = history.last
    title = Text(urls[0] + (f" and {len(urls) - 1} more" if len(urls) > 1 else ""), overflow="ellipsis", no_wrap=True)
    elapsed = last.elapsed_us / 1e6
    return Panel(
        Group(_clock(elapsed, length_s), _charts(history), _counts(last)),
        title=title,
        title_align="left",
        box=box.ROUNDED,
        width=78,
        padding=(0, 1),
    )


def _clock(elapsed: float, length_s: float | None) -> RenderableType:
    if length_s is None:
        return Text(f"{elapsed:5.1f} s")
    grid = Table.grid(padding=(0, 1))
    over = elapsed > length_s
    words = "waiting for the last answers" if over else f"{elapsed:5.1f} of {length_s:g} s"
    grid.add_row(ProgressBar(total=length_s, completed=min(elapsed, length_s), width=40), words)
    return grid


def _charts(history: History) -> RenderableType:
    last = history.last
    times, late = last.response_ms, last.lateness_ms
    grid = Table.grid(padding=(0, 1))
    grid.add_column(min_width=9)
    grid.add_column(justify="right", min_width=10, no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_row("rate", f"{last.rate_per_s:,.0f}/s", _over_time(history, lambda line: line.rate_per_s, "cyan"))
    grid.add_row("in flight", f"{last.in_flight:,}", _over_time(history, lambda line: line.in_flight, "blue"))
    grid.add_row("p50", milliseconds(times.p50), _over_time(history, lambda line: line.response_ms.p50, "green"))
    grid.add_row("p99", milliseconds(times.p99), _over_time(history, lambda line: line.response_ms.p99, "yellow"))
    if late:
        grid.add_row("late p99", milliseconds(late.p99), _over_time(history, _late_p99, "magenta"))
    return grid


def _over_time(history: History, value: Callable[[LoadProgress], float | None], style: str) -> Text:
    return Text(sparkline(history.of(value), WIDTH), style)


def _late_p99(line: LoadProgress) -> float | None:
    return line.lateness_ms.p99 if line.lateness_ms else None


def _counts(last: LoadProgress) -> Text:
    """Return the counts so far: what went out, and below it by class of status what came back."""
    text = Text(f"sent {last.requests:,}")
    for name, count in (("errors", last.errors), ("dropped", last.dropped)):
        text.append("   ").append(f"{name} {count:,}", "bold red" if count else "")
    for number, (name, count) in enumerate(last.statuses.items()):
        text.append("   " if number else "\n").append(f"{name} {count:,}", STATUS_STYLES.get(name, ""))
    return text


def in_a_line(progress: LoadProgress) -> str:
    """Return the state of a round in a line: requests, answers, response times, lateness of the generator."""
    failures = {"errors": progress.errors, "dropped": progress.dropped}
    counts = {**progress.statuses, **{name: count for name, count in failures.items() if count}}
    parts = [f"sent {progress.requests:,}", *(f"{name} {count:,}" for name, count in counts.items())]
    late = [f"late p99 {milliseconds(_late_p99(progress))}"] if progress.lateness_ms else []
    return "  ".join([*parts, f"p99 {milliseconds(progress.response_ms.p99)}", *late])


def milliseconds(value: float | None) -> str:
    """Return a time in milliseconds for people: ``850 µs``, ``3.42 ms``, ``1.20 s``."""
    if value is None:
        return "–"
    if value < MILLI:
        return f"{value * THOUSAND:.0f} µs"
    return f"{value:.3g} ms" if value < THOUSAND else f"{value / THOUSAND:.2f} s"


def ending(summary: LoadSummary) -> RenderableType:
    """Return the summary after the load."""
    return Group(_totals(summary), _times(summary), *_by_step(summary.steps))


def _totals(summary: LoadSummary) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_row("sent", f"{summary.requests:,} in {summary.duration_s:.2f} s, {summary.rate_per_s:,.1f}/s")
    grid.add_row("answered", _counted({**summary.statuses, **_failures(summary)}) or "nothing")
    grid.add_row("errors", Text(f"{summary.errors:,} of {summary.calls:,} calls", _red(summary.errors)))
    grid.add_row("dropped", Text(f"{summary.dropped:,}", _red(summary.dropped)))
    if summary.policies:
        acted = [f"{one.policy.replace('_', ' ')} {one.acted:,}" for one in summary.policies]
        grid.add_row("policies", f"acted: {', '.join(acted)}")
    opened = summary.generator.connections
    grid.add_row("generator", f"{summary.generator_cpu_s:.2f} s of CPU, {plural(opened, 'connection')}")
    return grid


def _failures(summary: LoadSummary) -> dict[str, int]:
    """Outcomes without an answer."""
    return {name: count for name, count in summary.outcomes.items() if name not in ("answered", "dropped")}


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items() if count)


def _red(count: int) -> str:
    return "bold red" if count else ""


def _times(summary: LoadSummary) -> Table:
    table = Table("time", *PERCENTILES, "", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in table.columns[1:-1]:
        column.justify, column.no_wrap = "right", True
    for name, (word, meaning) in TIMES.items():
        table.add_row(word, *_cells(getattr(summary, name)), Text(meaning, "dim"))
    return table


def _cells(times: Percentiles) -> Iterable[str]:
    return (milliseconds(getattr(times, name)) for name in PERCENTILES)


def _by_step(steps: list[StepSummary]) -> list[Table]:
    """Return a table of steps where there are several."""
    if len(steps) <= 1:
        return []
    table = Table("group", "step", "calls", "good", "p50", "p99", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for step in steps:
        times = step.response_ms
        counts = (f"{step.calls:,}", f"{step.successes:,}")
        table.add_row(step.group, step.step, *counts, milliseconds(times.p50), milliseconds(times.p99))
    return [table]
