"""Who hides what: five pathologies of the calibrated target, measured by the engine, k6, oha and wrk2 on equal terms.

Every generator gets the same rate, the same bound of calls in flight, the same priority, and as many runs. The truth
of each run comes from the target's own log, by one rule for all: the i-th request that arrived was the i-th of the
schedule, which began as late as it can have (no request arrives before it is due), and its answer was there when the
operating system had taken it over. What a generator did not send can't be compared: it is counted.

wrk2 gives each connection its own schedule, so that this truth isn't that of its arrivals: it is held against the
truth of the engine's run in the same round. It measures from 10 s and 5 ms per connection after its start, so its run
is that much longer; under overload it would begin to measure with a backlog, and is left out.

    .venv/bin/python -m benchmarks.truth.run [--runs 4] [--seconds 5] [--only engine]

``.venv/bin/python -m benchmarks.truth.tables`` prints the table of the committed run.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
from benchmarks.common import ENGINE, job, load, run, tool
from benchmarks.evidence import store
from benchmarks.truth.tables import PART, printed
from hdrh.histogram import HdrHistogram

PERCENTILES = {"p50": 50.0, "p99": 99.0, "p999": 99.9, "max": 100.0}
IN_FLIGHT = 600
"""What every generator may have in flight; the backlog of each pathology stays below it."""
STOP_AT, STOP_FOR = 2.0, 1.0
"""When in the measured part the target stands still, in seconds."""
WRK2_CALIBRATES = 10 + 0.005 * IN_FLIGHT
"""What wrk2 leaves out at the start of a run, in seconds: 10 s and 5 ms per connection (its src/wrk.c)."""

Times = dict[str, float | None]


@dataclass(frozen=True)
class Pathology:
    """What is wrong with the target, and how much load it gets."""

    name: str
    flags: tuple[str, ...]
    rate: int = 500
    stop: bool = False


PATHOLOGIES = (
    Pathology("stands still for 1 s", ("--workers", "8", "--service-time", "fixed:2ms"), stop=True),
    Pathology(
        "pauses 100 ms every second",
        ("--workers", "8", "--service-time", "fixed:2ms", "--pause", "100ms", "--pause-every", "1s"),
    ),
    Pathology("1 % is 50 times slower", ("--workers", "8", "--service-time", "fixed:2ms", "--slow-share", "1%")),
    Pathology("1.2 times its capacity", ("--workers", "4", "--service-time", "fixed:8ms"), rate=600),
    Pathology("resets 0.5 %", ("--workers", "8", "--service-time", "fixed:2ms", "--reset-share", "0.5%")),
)

K6 = """
import http from 'k6/http';
export const options = {{
  scenarios: {{ open: {{ executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s',
    duration: '{seconds}s',
    preAllocatedVUs: {users}, maxVUs: {users}, gracefulStop: '30s' }} }},
  summaryTrendStats: ['p(50)', 'p(99)', 'p(99.9)', 'max'],
}};
export default function () {{ http.get('{url}'); }}
"""


@dataclass(frozen=True)
class GeneratorReport:
    """What a generator says of its run: percentiles in milliseconds by who says so, and what it counted."""

    stated: dict[str, Times]
    counted: dict[str, float]


@contextmanager
def target(pathology: Pathology, log: Path, lead: float) -> Iterator[str]:
    """Start a target; give its URL. Its log is complete when the target has ended."""
    process = subprocess.Popen(
        [str(ENGINE), "target", *pathology.flags, "--log", str(log)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    begin = lead + STOP_AT
    timers = [
        threading.Timer(begin, lambda: process.send_signal(signal.SIGSTOP)),
        threading.Timer(begin + STOP_FOR, lambda: process.send_signal(signal.SIGCONT)),
    ]
    try:
        url = f"http://{json.loads(process.stdout.readline())['listening']}/bytes/25"
        for timer in timers if pathology.stop else ():
            timer.start()
        yield url
    finally:
        for timer in timers:
            timer.cancel()
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait()


def percentile(times: list[float], percent: float) -> float:
    """Find the smallest time that ``percent`` % of all times do not exceed."""
    ordered = sorted(times)
    place = max(0, -(-len(ordered) * percent // 100) - 1)
    return ordered[min(int(place), len(ordered) - 1)]


def percentiles(times: list[float]) -> Times:
    """Return the percentiles that are compared, of times in milliseconds."""
    return {name: percentile(times, percent) for name, percent in PERCENTILES.items()}


def truth(log: Path, rate: int) -> tuple[Times, int]:
    """Return the true response times of a run in milliseconds, and how many requests arrived."""
    lines = pd.read_csv(log, comment="#", skipinitialspace=True).sort_values("received_us", ignore_index=True)
    due = lines.index * 1e6 / rate
    lines["intended_us"] = (lines["received_us"] - due).min() + due
    answered = lines[(lines["status"] >= 200) & lines["written_us"].notna()]
    return percentiles(list((answered["written_us"] - answered["intended_us"]) / 1000)), len(lines)


def engine(url: str, rate: int, seconds: int, folder: Path) -> GeneratorReport:
    workload = {"open": {"schedule": {"constant": {"rate": rate}}, "max_in_flight": IN_FLIGHT}}
    root = url.removesuffix("/bytes/25")
    summary, _ = load(
        job(
            root,
            workload,
            {"path": "/bytes/25", "timeout_us": 60_000_000},
            duration_us=seconds * 1_000_000,
            priority=False,
        ),
        folder,
    )
    rows = pq.read_table(folder / "attempts.parquet").to_pandas()
    good = rows[rows["success"]]
    stated = {
        "engine": percentiles(list((good["end_us"] - good["intended_us"]) / 1000)),
        "engine, histograms": from_histograms(folder / "histograms.json"),
    }
    # The summary's response times hold failed calls as well: it says the same only where none has failed.
    if summary["errors"] == 0:
        stated["engine, summary"] = {name: summary["response_ms"][name] for name in PERCENTILES}
    return GeneratorReport(stated, {"dropped": summary["dropped"], "failed": summary["errors"]})


def from_histograms(file: Path) -> Times:
    """Decode the histogram of good calls, whose values are microseconds."""
    entries = json.loads(file.read_text())["histograms"]
    entry = next(entry for entry in entries if entry["measure"] == "success_response")
    histogram = HdrHistogram.decode(entry["hdr"])
    return {name: histogram.get_value_at_percentile(percent) / 1000 for name, percent in PERCENTILES.items()}


def k6(url: str, rate: int, seconds: int, folder: Path) -> GeneratorReport:
    (folder / "script.js").write_text(K6.format(rate=rate, seconds=seconds, url=url, users=IN_FLIGHT))
    flags = ["run", "--quiet", "--no-usage-report", "--summary-export", "k6.json", "script.js"]
    run([tool("k6") or "k6", *flags], folder)
    metrics = json.loads((folder / "k6.json").read_text())["metrics"]
    names = zip(PERCENTILES, ("p(50)", "p(99)", "p(99.9)", "max"), strict=True)
    stated = {name: metrics["http_req_duration"].get(theirs) for name, theirs in names}
    dropped = metrics.get("dropped_iterations", {}).get("count", 0)
    return GeneratorReport({"k6": stated}, {"dropped": dropped, "failed": metrics["http_req_failed"].get("passes", 0)})


def oha(url: str, rate: int, seconds: int, folder: Path, *more: str) -> GeneratorReport:
    flags = [
        "--no-tui",
        "--output-format",
        "json",
        "-c",
        str(IN_FLIGHT),
        "-z",
        f"{seconds}s",
        "-q",
        str(rate),
        "-w",
        *more,
    ]
    stated = json.loads(run([tool("oha") or "oha", *flags, url], folder).output)
    times = stated["latencyPercentiles"]
    values = [times["p50"], times["p99"], times["p99.9"], stated["summary"]["slowest"]]
    scaled = [None if value is None else value * 1000 for value in values]
    name = "oha, corrected" if more else "oha"
    failed = sum(stated["errorDistribution"].values())
    return GeneratorReport({name: dict(zip(PERCENTILES, scaled, strict=True))}, {"dropped": 0, "failed": failed})


def oha_corrected(url: str, rate: int, seconds: int, folder: Path) -> GeneratorReport:
    return oha(url, rate, seconds, folder, "--latency-correction")


def wrk2(url: str, rate: int, seconds: int, folder: Path) -> GeneratorReport:
    whole = int(WRK2_CALIBRATES + seconds)
    flags = ["-t1", f"-c{IN_FLIGHT}", f"-d{whole}s", f"-R{rate}", "--timeout", "60s", "-L", "-U", url]
    output = run([tool("wrk2") or "wrk2", *flags], folder).output
    corrected, _, plain = output.partition("Uncorrected Latency")
    failed = sum(map(int, re.findall(r"(?:connect|read|write|timeout) (\d+)", output)))
    stated = {"wrk2": from_wrk2(corrected), "wrk2, uncorrected": from_wrk2(plain)}
    return GeneratorReport(stated, {"dropped": 0, "failed": failed})


def from_wrk2(text: str) -> Times:
    """Read the first distribution of latencies in a part of wrk2's output, in milliseconds."""
    scale = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
    found = {
        line[0]: float(line[1]) * scale[line[2]] for line in re.findall(r"([\d.]+)%\s+([\d.]+)(us|ms|s|m)\b", text)
    }
    return {name: found.get(f"{percent:.3f}") for name, percent in PERCENTILES.items()}


GENERATORS: dict[str, Callable[[str, int, int, Path], GeneratorReport]] = {
    "engine": engine,
    "k6": k6,
    "oha": oha,
    "oha, corrected": oha_corrected,
    "wrk2": wrk2,
}


LEFT_OUT = {("1.2 times its capacity", "wrk2")}
"""wrk2 would begin to measure with a backlog."""


def visit(pathology: Pathology, generator: str, seconds: int) -> dict[str, Any]:
    """Measure one pathology with one generator once."""
    lead = WRK2_CALIBRATES if generator == "wrk2" else 0.0
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name), Path(name) / "target.csv"
        with target(pathology, log, lead) as url:
            reported = GENERATORS[generator](url, pathology.rate, seconds, folder)
        if generator == "wrk2":
            return {"said": reported.stated, **reported.counted}
        true, arrived = truth(log, pathology.rate)
    scheduled = pathology.rate * seconds
    missing = max(0, scheduled - arrived)
    return {"truth": true, "said": reported.stated, "scheduled": scheduled, "missing": missing, **reported.counted}


def measure(names: list[str], runs: int, seconds: int) -> list[dict[str, Any]]:
    """Visit every pathology with every generator once per run, the generators in changing order."""
    rows = []
    for number in range(runs):
        for pathology in PATHOLOGIES:
            able = [name for name in names if (pathology.name, name) not in LEFT_OUT]
            turn = number % len(able)
            for generator in able[turn:] + able[:turn]:
                row = visit(pathology, generator, seconds)
                rows.append({"round": number, "pathology": pathology.name, "generator": generator, **row})
                print(f"run {number + 1}: {pathology.name}: {generator}: {row['said']}", file=sys.stderr)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--only", choices=["engine"], help="leave the other generators out")
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    names = [name for name in GENERATORS if name == "engine" or (not arguments.only and tool(name.split(",")[0]))]
    absent = sorted({"k6", "oha", "wrk2"} - set(names))
    rows = measure(names, arguments.runs, arguments.seconds)
    options = {"runs": arguments.runs, "seconds": arguments.seconds, "calls in flight": IN_FLIGHT}
    print(printed(store(PART, options, arguments.out, absent=absent, rounds=rows)))


if __name__ == "__main__":
    main()
