"""Who hides what: five pathologies of the calibrated target, measured by the engine, k6, oha and wrk.

The truth needs no generator's times: the target's own log says when the operating system had taken
over each answer, the schedule says when its request was intended to be sent. The engine is held
against that three times: by its log of attempts, by its histograms and by its summary. The others
can't name their requests: their numbers stand beside the truth of the engine's run, which had the
same pathology.
Usage: python benchmarks/truth/run.py --seconds 8 [--only engine]
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import pandas as pd
import pyarrow.parquet as pq
from common import ENGINE, job, load, run, table, tool
from hdrh.histogram import HdrHistogram

PERCENTILES = (50.0, 99.0, 99.9, 100.0)


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
    Pathology("1.5 times its capacity", ("--workers", "4", "--service-time", "fixed:8ms"), rate=750),
    Pathology("resets 0.5 %", ("--workers", "8", "--service-time", "fixed:2ms", "--reset-share", "0.5%")),
)

K6 = """
import http from 'k6/http';
export const options = {{
  scenarios: {{ open: {{ executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s',
    duration: '{seconds}s',
    preAllocatedVUs: 200, maxVUs: 2000, gracefulStop: '30s' }} }},
  summaryTrendStats: ['p(50)', 'p(99)', 'p(99.9)', 'max'],
}};
export default function () {{ http.get('{url}'); }}
"""

Row = list[str]


@contextmanager
def target(pathology: Pathology, folder: Path) -> Iterator[tuple[str, Path]]:
    """Start a target; give its URL, and its log, which is complete when the target has ended."""
    log = folder / "target.csv"
    process = subprocess.Popen(
        [str(ENGINE), "target", *pathology.flags, "--log", str(log)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    timer = threading.Timer(3.0, lambda: process.send_signal(signal.SIGSTOP))
    resume = threading.Timer(4.0, lambda: process.send_signal(signal.SIGCONT))
    try:
        url = f"http://{json.loads(process.stdout.readline())['listening']}/bytes/25"
        for waiting in (timer, resume) if pathology.stop else ():
            waiting.start()
        yield url, log
    finally:
        timer.cancel()
        resume.cancel()
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait()


def percentile(times: list[float], percent: float) -> float:
    """Find the smallest time that so many percent of all times do not exceed."""
    ordered = sorted(times)
    place = max(0, -(-len(ordered) * percent // 100) - 1)
    return ordered[min(int(place), len(ordered) - 1)]


def answers(log: Path) -> pd.DataFrame:
    """Read what the target answered, by call: when it was done with the work, and when the answer was written."""
    lines = pd.read_csv(log, comment="#", skipinitialspace=True)
    lines = lines[(lines["status"] >= 200) & lines["written_us"].notna()]
    return lines.assign(call=lines["path"].str.extract(r"k=(\d+)", expand=False).astype(int)).set_index("call")


def shown(values: list[float | None]) -> Row:
    return ["–" if value is None else f"{value:,.1f}" for value in values]


def engine(pathology: Pathology, seconds: int, folder: Path) -> list[Row]:
    """Measure what the engine says, the truth of its run, and whether they agree."""
    workload = {"open": {"schedule": {"constant": {"rate": pathology.rate}}, "max_in_flight": 5000}}
    step = {"path": "/bytes/25", "query": {"k": "${call}"}, "timeout_us": 60_000_000}
    with target(pathology, folder) as (url, log):
        root = url.removesuffix("/bytes/25")
        summary, _ = load(job(root, workload, step, duration_us=seconds * 1_000_000), folder)
    answered = answers(log)
    intended = summary["generator"]["began_us"] + answered.index * 1e6 / pathology.rate
    truth = list((answered["written_us"] - intended) / 1000)
    true = [percentile(truth, percent) for percent in PERCENTILES]
    attempts = good_attempts(folder)
    said = ways_to_say(attempts, folder, summary)
    apart = {way: [abs(a - b) for a, b in zip(values, true, strict=True)] for way, values in said.items()}
    waited = who_waited(answered, attempts, summary)
    lost = f"{summary['dropped']} dropped, {summary['errors']} failed"
    note = f"{verdict(apart, true)}; lateness p99 {summary['lateness_ms']['p99']} ms"
    return [
        [pathology.name, "truth", *shown(list(true)), f"{len(truth)} answered; {waited}"],
        ["", "engine", *shown(list(said["log"])), f"{lost}; {note}"],
    ]


def good_attempts(folder: Path) -> pd.DataFrame:
    """Read the answered attempts from the log of attempts, by call."""
    rows = pq.read_table(folder / "attempts.parquet").to_pandas()
    return rows[rows["success"]].set_index("call")


def ways_to_say(attempts: pd.DataFrame, folder: Path, summary: dict[str, Any]) -> dict[str, list[float]]:
    """Collect the percentiles of good calls, in milliseconds, from each place where the engine states them."""
    logged = list((attempts["end_us"] - attempts["intended_us"]) / 1000)
    said = {
        "log": [percentile(logged, percent) for percent in PERCENTILES],
        "histograms": from_histograms(folder / "histograms.json"),
    }
    # The summary's response times hold failed calls as well: it says the same only where none has failed.
    if summary["errors"] == 0:
        said["summary"] = [summary["response_ms"][name] for name in ("p50", "p99", "p999", "max")]
    return said


def from_histograms(file: Path) -> list[float]:
    """Decode the histogram of good calls, whose values are microseconds."""
    entries = json.loads(file.read_text())["histograms"]
    entry = next(entry for entry in entries if entry["measure"] == "success_response")
    histogram = HdrHistogram.decode(entry["hdr"])
    return [histogram.get_value_at_percentile(percent) / 1000 for percent in PERCENTILES]


def verdict(apart: dict[str, list[float]], true: list[float]) -> str:
    """Say whether all ways agree with the truth, and by how much the worst of each is apart."""
    agree = all(gap <= max(1.0, 0.02 * value) for gaps in apart.values() for gap, value in zip(gaps, true, strict=True))
    worst = ", ".join(f"{way} {max(gaps):.2f}" for way, gaps in apart.items())
    return f"{'agrees' if agree else 'DIFFERS'}: at most {worst} ms apart"


def who_waited(answered: pd.DataFrame, attempts: pd.DataFrame, summary: dict[str, Any]) -> str:
    """Say how long answers lay at the target between done and written, and how long until the engine had read them."""
    writing = (answered["written_us"] - answered["finished_us"]).max() / 1000
    reading = (attempts["end_us"] + summary["generator"]["began_us"] - answered["written_us"]).quantile(0.999) / 1000
    return f"its own writing up to {writing:.1f} ms, the engine's reading p99.9 {reading:.2f} ms"


def k6(pathology: Pathology, seconds: int, folder: Path) -> list[Row]:
    with target(pathology, folder) as (url, _):
        (folder / "script.js").write_text(K6.format(rate=pathology.rate, seconds=seconds, url=url))
        flags = ["run", "--quiet", "--no-usage-report", "--summary-export", "k6.json", "script.js"]
        run([tool("k6") or "k6", *flags], folder)
    metrics = json.loads((folder / "k6.json").read_text())["metrics"]
    times = metrics["http_req_duration"]
    dropped = metrics.get("dropped_iterations", {}).get("count", 0)
    failed = metrics["http_req_failed"].get("passes", 0)
    values = [times.get(name) for name in ("p(50)", "p(99)", "p(99.9)", "max")]
    return [["", "k6", *shown(values), f"{dropped} dropped, {failed} failed"]]


def oha(pathology: Pathology, seconds: int, folder: Path, *more: str) -> list[Row]:
    flags = [
        "--no-tui",
        "--output-format",
        "json",
        "-c",
        "50",
        "-z",
        f"{seconds}s",
        "-q",
        str(pathology.rate),
        *more,
    ]
    with target(pathology, folder) as (url, _):
        said = json.loads(run([tool("oha") or "oha", *flags, url], folder).output)
    times = said["latencyPercentiles"]
    values = [times["p50"], times["p99"], times["p99.9"], said["summary"]["slowest"]]
    answered = sum(said["statusCodeDistribution"].values())
    failed = sum(said["errorDistribution"].values())
    scaled = [None if value is None else value * 1000 for value in values]
    missing = pathology.rate * seconds - answered
    name = "oha, corrected" if more else "oha"
    return [["", name, *shown(scaled), f"{missing} fewer answers than offered, {failed} failed"]]


def oha_corrected(pathology: Pathology, seconds: int, folder: Path) -> list[Row]:
    return oha(pathology, seconds, folder, "--latency-correction")


def wrk(pathology: Pathology, seconds: int, folder: Path) -> list[Row]:
    """Run wrk, which knows no schedule: four connections, as fast as they go."""
    with target(pathology, folder) as (url, _):
        output = run([tool("wrk") or "wrk", "-t1", "-c4", f"-d{seconds}s", "--latency", url], folder).output
    scale = {"us": 0.001, "ms": 1.0, "s": 1000.0}

    def time(pattern: str) -> float | None:
        found = re.search(pattern, output)
        return float(found[1]) * scale[found[2]] if found else None

    unit = r"([\d.]+)(us|ms|s)\b"
    most = time(r"Latency\s+\S+\s+\S+\s+" + unit)
    return [
        [
            "",
            "wrk",
            *shown([time(rf"50%\s+{unit}"), time(rf"99%\s+{unit}"), None, most]),
            "another load: closed, 4 connections",
        ]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--only", choices=["engine"], help="leave the other generators out")
    arguments = parser.parse_args()
    seconds = arguments.seconds
    peers = [("k6", k6), ("oha", oha), ("oha", oha_corrected), ("wrk", wrk)] if arguments.only is None else []
    tools = [engine, *(measure for name, measure in peers if tool(name))]
    rows: list[Row] = []
    for pathology in PATHOLOGIES:
        for measure in tools:
            with tempfile.TemporaryDirectory() as folder:
                rows.extend(measure(pathology, seconds, Path(folder)))
                print(rows[-1], file=sys.stderr)
    print(table(["target", "who says so", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "what else"], rows))


if __name__ == "__main__":
    main()
