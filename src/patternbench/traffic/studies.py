"""Studies that send what was recorded: their text, and the files of arrivals and values that they name."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from patternbench.study.text.flow import flow
from patternbench.terms.units import NS_PER_S, Duration
from patternbench.terms.visible import visible
from patternbench.traffic.arrivals import RecordedArrivals
from patternbench.traffic.requests import RecordedRequest

LONG_US = 10_000_000
"""From this length on a trace has a warm-up, which is its own beginning."""
BEYOND = Duration.parse("1m")
S_US = NS_PER_S // 1000


def of_arrivals(name: str, url: str, recorded: RecordedArrivals, about: Sequence[str]) -> dict[str, str]:
    """Return the files of a study that replays arrivals, by their names; the study is the first."""
    arrivals, values = f"{name}-arrivals.csv", f"{name}-values.csv"
    feeder = f"  feeder: {values}\n" if recorded.columns else ""
    limit = Duration((recorded.lasts_us // S_US + 1) * S_US + BEYOND.us)
    journeys = "".join(f"    - [{_step(one.name, one.method, one.template, {}, None)}]\n" for one in recorded.patterns)
    opened = f"open: {{schedule: {{trace: {arrivals}}}, users: {recorded.users}}}"
    warm_up = "2s" if recorded.lasts_us > LONG_US else "0ms"
    body = f"workload:\n  {opened}\n{feeder}  journeys:\n{journeys}"
    text = f"{_head(name, url, about)}time_limit: {limit}\nwarm_up: {warm_up}\n{body}"
    files = {f"{name}.yaml": text, arrivals: _csv(("at_us", "user", "step"), recorded.lines)}
    return {**files, values: _csv(recorded.columns, recorded.values)} if recorded.columns else files


def of_journey(name: str, url: str, requests: Sequence[RecordedRequest], about: Sequence[str]) -> dict[str, str]:
    """Return a study whose users go through requests one after another."""
    steps = "".join(f"    - {_of(one)}\n" for one in requests)
    return {f"{name}.yaml": f"{_head(name, url, about)}{_users()}  journey:\n{steps}"}


def of_operations(name: str, url: str, requests: Sequence[RecordedRequest], about: Sequence[str]) -> dict[str, str]:
    """Return a study whose users take one operation after another, each as often as the others."""
    journeys = "".join(f"    - [{_of(one)}]\n" for one in requests)
    return {f"{name}.yaml": f"{_head(name, url, about)}{_users()}  journeys:\n{journeys}"}


def _head(name: str, url: str, about: Sequence[str]) -> str:
    comments = "".join(f"# {visible(line)}\n" for line in about)
    return f"{comments}patternbench: 1\nname: {name}\nsystem: {{url: {flow(url)}}}\nrounds: 6\n"


def _users() -> str:
    return "warm_up: 1s\nworkload:\n  closed: {users: 10, duration: 10s}   # not in the file: choose them\n"


def _of(one: RecordedRequest) -> str:
    name = one.name or f"{one.method} {one.target.partition('?')[0]}"
    pause = Duration(one.pause_us) if one.pause_us else None
    return _step(name[:190], one.method, one.target, one.headers, one.body, pause=pause)


def _step(
    name: str, method: str, path: str, headers: object, body: str | None, *, pause: Duration | None = None
) -> str:
    given = {"headers": headers or None, "body": body, "pause": str(pause) if pause else None}
    return flow({"name": name, "method": method, "path": path, **{key: one for key, one in given.items() if one}})


def _csv(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return text.getvalue()
