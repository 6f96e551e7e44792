"""Measures what two sidecars admit over a limit of 100, next to the stated bound, and a decision's latency.

    python3 bench/over_admission.py ./crdt-sidecar

Starts two sidecars on free loopback ports and sends requests to them in turn, at several rates. Bound:
limit + rate x staleness x (N - 1) / N + N - 1, the staleness being the dissemination interval (the way over loopback is
not in it, nor is the time that a busy machine keeps a sidecar waiting, so a row may pass its bound: that is said).
"""

import json
import math
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMIT, NODES, REQUESTS = 100, 2, 300
RATES = (20, 200, 1_000, 5_000, math.inf)
WINDOW_MS = 86_400_000


class Sidecar:
    """A sidecar of our own and one connection to it."""

    def __init__(self, binary: str, name: str, interval: str, join: str = "") -> None:
        command = [binary, "--name", name, "--listen", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--interval", interval]
        self.process = subprocess.Popen([*command, "--join", join], stdout=subprocess.PIPE, text=True)
        ready = json.loads(self.process.stdout.readline())["ready"]
        self.gossip = ready["gossip"]
        host, port = ready["listen"].rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines = self.socket.makefile("rb")

    def take(self, key: str, algorithm: str = "fixed_window") -> bool:
        """One decision."""
        parts = ["PB.TAKE", key, algorithm, str(LIMIT), str(WINDOW_MS), "1"]
        self.socket.sendall(b"*6\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(p), p.encode()) for p in parts))
        answer = [self.lines.readline() for _ in range(6)]
        return answer[1] == b":1\r\n"

    def stop(self) -> None:
        """End the process."""
        self.socket.close()
        self.process.terminate()
        self.process.wait()


def run(pair: list[Sidecar], key: str, rate: float) -> tuple[int, float]:
    """Send the requests in turn; give how many were admitted and the rate while there was room."""
    start, admitted, last = time.perf_counter(), 0, 0.0
    for i in range(int(max(REQUESTS, min(rate, 5_000) / 2))):
        while math.isfinite(rate) and time.perf_counter() - start < i / rate:
            time.sleep(0)
        if pair[i % NODES].take(key):
            admitted, last = admitted + 1, time.perf_counter() - start
    return admitted, (admitted - 1) / last


def over_admission(pair: list[Sidecar], interval: str, rate: float) -> str:
    """One row of the table."""
    admitted, actual = run(pair, f"client-{rate}", rate)
    staleness = float(interval.removesuffix("ms")) / 1_000
    bound = min(LIMIT + actual * staleness * (NODES - 1) / NODES + NODES - 1, NODES * LIMIT)
    within = "yes" if admitted <= bound else "no"
    return f"| {interval} | {rate:g} | {actual:.0f} | {admitted} | {bound:.0f} | {within} |"


def latency(sidecar: Sidecar) -> str:
    """Percentiles of a decision over 100 keys, one request at a time."""
    times = []
    for i in range(5_000):
        start = time.perf_counter()
        sidecar.take(f"latency-{i % 100}", "sliding_window_counter")
        times.append((time.perf_counter() - start) * 1e6)
    cuts = statistics.quantiles(times, n=100)
    return f"{cuts[49]:.0f} us at p50, {cuts[98]:.0f} us at p99"


def main() -> None:
    """Print the table, then the latencies."""
    print("| interval | offered /s | while room, /s | admitted of 100 | bound | within |\n|---|---|---|---|---|---|")
    latencies = {}
    for interval in ("1ms", "10ms", "100ms"):
        first = Sidecar(sys.argv[1], "a", interval)
        pair = [first, Sidecar(sys.argv[1], "b", interval, first.gossip)]
        time.sleep(0.5)
        for rate in RATES:
            print(over_admission(pair, interval, rate), flush=True)
        latencies[interval] = latency(first)
        for sidecar in pair:
            sidecar.stop()
    for interval, text in latencies.items():
        print(f"A decision at interval {interval}, with this client: {text}")


if __name__ == "__main__":
    if not (sys.argv[1:] and Path(sys.argv[1]).is_file()):
        sys.exit(__doc__)
    main()
