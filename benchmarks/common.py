"""What the benchmarks of the engine share: starting processes, counting their CPU time, finding tools."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ENGINE = Path(os.environ.get("PATTERNBENCH_ENGINE", ROOT / "engine" / "target" / "release" / "patternbench-engine"))


@dataclass(frozen=True)
class ProcessOutput:
    """The output of a process, and the CPU time (user and system) that it took, in seconds."""

    output: str
    cpu: float
    elapsed: float
    peak_kib: int


LAUNCHER = """
import json, os, sys, time
begun = time.monotonic()
child = os.fork()
if not child:
    os.execvp(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
counted = {"code": os.waitstatus_to_exitcode(status), "cpu": usage.ru_utime + usage.ru_stime,
           "elapsed": time.monotonic() - begun, "peak_kib": usage.ru_maxrss}
with open(sys.argv[1], "w") as file:
    json.dump(counted, file)
"""
"""Runs a command and writes what the kernel counted. Its own process: the peak memory of a child holds what its
parent had when it was forked, which for a Python with pandas is more than the whole engine takes."""


def own_peak_mib() -> float:
    """Return the most memory that this process held at once.

    ``getrusage`` begins with what the process held that started this one, which may be more.
    """
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(peak) / 1024


def run(command: list[str], folder: Path, **environment: str) -> ProcessOutput:
    """Run a command to its end; its CPU time and peak memory come from the kernel, not from itself."""
    counted = folder / "counted.json"
    launch = [sys.executable, "-I", "-S", "-c", LAUNCHER, str(counted), *command]
    with (folder / "stdout").open("w+") as out, (folder / "stderr").open("w+") as errors:
        subprocess.run(launch, stdout=out, stderr=errors, cwd=folder, env={**os.environ, **environment}, check=True)
        reported = json.loads(counted.read_text())
        out.seek(0)
        errors.seek(0)
        # k6 says with 99 that a threshold was missed, which isn't our business.
        if reported["code"] not in (0, 99):
            sys.exit(f"{command[0]} has failed with {reported['code']}: {errors.read()[-2000:]}")
        return ProcessOutput(out.read(), reported["cpu"], reported["elapsed"], reported["peak_kib"])


def tool(name: str) -> str | None:
    """Where a tool is: an environment variable as ``K6=/path/to/k6`` comes before PATH."""
    return os.environ.get(name.upper()) or shutil.which(name)


def free_port() -> int:
    """Find a port of loopback that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(port: int) -> None:
    """Wait until someone listens at a port."""
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    sys.exit(f"nobody listens at port {port} after 10 s")


NGINX = """
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 20000; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600;
  server {{
    listen 127.0.0.1:{port} backlog=16384;
    {tls}
    location / {{ default_type text/plain; return 200 "0123456789012345678901234"; }}
    location /large {{ default_type text/plain; return 200 "{large}"; }}
  }}
}}
"""
TLS = """listen 127.0.0.1:{port} ssl backlog=16384;
    ssl_certificate {certificate}; ssl_certificate_key {key}; ssl_protocols TLSv1.3;"""


@contextmanager
def nginx(folder: Path, certificate: tuple[Path, Path] | None = None) -> Iterator[tuple[str, str]]:
    """Start an nginx with one worker; give its URL, and the one for TLS (empty without a certificate and its key).

    It answers with 25 bytes, and below ``large`` with 1,000.
    """
    port, secure = free_port(), free_port()
    tls = TLS.format(port=secure, certificate=certificate[0], key=certificate[1]) if certificate else ""
    config = NGINX.format(folder=folder, port=port, tls=tls, large="x" * 1000)
    (folder / "nginx.conf").write_text(config)
    process = subprocess.Popen(
        ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}/", f"https://127.0.0.1:{secure}/" if certificate else ""
    finally:
        process.terminate()
        process.wait()


def load(job: dict[str, Any], folder: Path) -> tuple[dict[str, Any], ProcessOutput]:
    """Run the engine on a job; give its summary."""
    (folder / "job.json").write_text(json.dumps(job))
    command = [str(ENGINE), "load", "--job", str(folder / "job.json"), "--out", str(folder)]
    ran = run(command, folder)
    return json.loads((folder / "summary.json").read_text()), ran


def job(url: str, workload: dict[str, Any], step: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Make a job against one target with one step."""
    group = {"workload": workload, "journeys": [{"steps": [step or {}]}]}
    return {"contract": 1, "seed": 1, "targets": [{"url": url}], "groups": [group], **more}


def table(header: list[str], rows: list[list[str]]) -> str:
    """Lay out a Markdown table whose columns are aligned."""
    lines = [header, ["-" * len(name) for name in header], *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    fill = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in fill)
