"""How often real gates are wrong on this machine: the same service against itself, and against slower ones.

    .venv/bin/python -m benchmarks.gate.run [--minutes 25] [--together 3] [--effects 0 30 0 30 5 10] [--add FILE]

Each gate measures two calibrated targets of its own, of which the second takes ``effect`` percent longer for each call,
and asks whether p95 is more than 10 % higher. Rounds last half a second. An effect that is named twice has twice as
many gates. Gates of all effects take turns in a shuffled order, and several run at the same time, so that what the
machine does meanwhile (other gates, other work) falls on all of them. It is meant for a machine that has other things
to do.

No gate begins after ``--minutes``; those under way end. ``--add`` counts the gates of an earlier result as well.
``.venv/bin/python -m benchmarks.gate.tables`` prints the table of the committed run. What a gate says of itself by
simulation is in docs/gate.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.evidence import Result, store
from benchmarks.gate.tables import PART, printed
from tests.support.targets import target_up

SERVICE_US = 10_000
CONDITION = "p95 > +10%"
NOTHING: Result = {"options": {"minutes": 0}, "gates": []}
"""The result of no minutes."""
STUDY: dict[str, Any] = {
    "workload": {
        "closed": {"users": 8, "think_time": "5ms", "duration": "500ms"},
        "request": {"path": "/bytes/100"},
    },
    "warm_up": "200ms",
    "system": {"ready": "/bytes/100"},
}


def gated(effect: float, folder: Path) -> Result:
    """Run one gate to its end: what it said, how long that took, and how busy the machine was as it began."""
    slower = round(SERVICE_US * (1 + effect / 100))
    (folder / "study.json").write_text(json.dumps(STUDY), encoding="utf-8")
    for name in ("base", "head"):
        (folder / name).mkdir()
    with (
        target_up(folder / "base", "--service-time", f"fixed:{SERVICE_US}us") as base,
        target_up(folder / "head", "--service-time", f"fixed:{slower}us") as head,
    ):
        words = ["gate", "--base", base, "--head", head, "--study", str(folder / "study.json")]
        words += ["--fail-if", CONDITION, "--out", str(folder / "run"), "--json"]
        load, begun = os.getloadavg()[0], time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "patternbench", *words], capture_output=True, text=True, check=False
        )
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return {
        "effect": effect,
        **told(json.loads(done.stdout), effect),
        "seconds": round(time.monotonic() - begun, 1),
        "load_average": round(load, 1),
    }


def told(answer: dict[str, Any], effect: float) -> Result:
    """Return what a gate said: its verdict, the change that it saw, and how often it says that it would be wrong."""
    (p95,) = [one for one in answer["differences"] if one["response"] == "p95"]
    simulated = next((one for one in answer["error_rates"] if one["effect_percent"] == effect), {})
    return {
        "outcome": answer["outcome"],
        "blocks": answer["blocks"],
        "measured_percent": round(p95["relative_percent"], 1),
        "simulated": {name: simulated[name] for name in ("failed", "passed") if simulated},
    }


def turns(effects: Sequence[float], seed: int = 1) -> Iterator[float]:
    """Yield the effect of each gate, without end: all of them in a shuffled order, and again."""
    rng = random.Random(seed)
    while True:
        yield from rng.sample(effects, len(effects))


def measured(effects: Sequence[float], minutes: float, together: int, most: int) -> list[Result]:
    """Run gates, several at the same time, until the time is over or there are `most` of them."""
    coming, lock, ends = turns(effects), threading.Lock(), time.monotonic() + 60 * minutes
    gates, begun = list[Result](), [0]

    def lane() -> None:
        while True:
            with lock:
                if time.monotonic() > ends or begun[0] >= most:
                    return
                effect, begun[0] = next(coming), begun[0] + 1
            with tempfile.TemporaryDirectory(prefix="patternbench-gates-") as folder:
                one = gated(effect, Path(folder))
            with lock:
                gates.append(one)
            print(json.dumps(one), file=sys.stderr, flush=True)

    with ThreadPoolExecutor(together) as lanes:
        for ended in [lanes.submit(lane) for _ in range(together)]:
            ended.result()
    return gates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=25, help="after which no gate begins")
    parser.add_argument("--together", type=int, default=3, help="gates at the same time")
    parser.add_argument("--most", type=int, default=1000, help="gates at most")
    parser.add_argument("--effects", type=float, nargs="+", default=[0.0, 30.0, 0.0, 30.0, 5.0, 10.0])
    parser.add_argument("--add", type=Path, help="an earlier result, whose gates are counted as well")
    parser.add_argument("--out", type=Path, help="raw results [default: those that are committed]")
    options = parser.parse_args()
    earlier = json.loads(options.add.read_text(encoding="utf-8")) if options.add else NOTHING
    gates = measured(options.effects, options.minutes, options.together, options.most)
    minutes = earlier["options"]["minutes"] + options.minutes
    noted = {"minutes": minutes, "gates at the same time": options.together}
    print(printed(store(PART, noted, options.out, gates=[*earlier["gates"], *gates])))


if __name__ == "__main__":
    main()
