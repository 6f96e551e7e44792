"""What a client costs by itself: CPU time and latency per attempt of every client that is there, without faults.

    .venv/bin/python -m benchmarks.clients.run [--rounds 5] [--seconds 2] [--users 4]

Every client gets the same closed rounds against one nginx: once the baseline, which is the harness alone, and once a
retry that never has to retry, which is the harness and the library. Rounds of all clients take turns. CPU time is what
each client says of its process; a client whose runtime compiles while it runs has had a round before that counts.

``.venv/bin/python -m benchmarks.clients.tables`` prints the table of the committed run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np
from benchmarks.clients.tables import BASELINE, PART, RETRY, printed
from benchmarks.common import nginx
from benchmarks.evidence import Result, store

from patternbench.drivers import registry
from patternbench.drivers.client import Client
from patternbench.drivers.registry import ClientSpec
from patternbench.drivers.rounds import ClientRequest, ClientRound
from patternbench.terms.problems import Problem

STRATEGIES: dict[str, dict[str, object]] = {
    BASELINE: {"baseline": {}},
    RETRY: {"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 10_000}}, "jitter": "none"}},
}
WARM_UP_S = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(description="What each client costs by itself.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    specs, absent = there()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as up:
        url, _ = up.enter_context(nginx(Path(folder)))
        clients = {spec.name: started(spec, Path(folder), up) for spec in specs}
        rows = list(measured(clients, url, arguments))
    settings = {"rounds": arguments.rounds, "seconds": arguments.seconds, "users": arguments.users}
    print(printed(store(PART, settings, arguments.out, rounds=rows, absent=absent)))


def there() -> tuple[list[ClientSpec], list[str]]:
    """Return the clients that can be started here, and the names of the others."""
    specs = [spec for name in registry.names() if not isinstance(spec := registry.find(name, {}), Problem)]
    return [spec for spec in specs if not registry.missing(spec)], [s.name for s in specs if registry.missing(s)]


def started(spec: ClientSpec, folder: Path, up: ExitStack) -> Client:
    """Return a client that is up until the end."""
    client = Client(spec, folder / spec.name)
    up.callback(client.close)
    return client


def measured(clients: dict[str, Client], url: str, arguments: argparse.Namespace) -> Iterator[Result]:
    """Yield the rounds of all clients in turn; one of each goes before that does not count."""
    for client in clients.values():
        driven(client, round_of(url, STRATEGIES[RETRY], arguments.users, WARM_UP_S))
    for number in range(arguments.rounds):
        for name, client in clients.items():
            for strategy, pattern in STRATEGIES.items():
                reported = driven(client, round_of(url, pattern, arguments.users, arguments.seconds))
                yield {"round": number, "client": name, "language": language(client), "strategy": strategy, **reported}


def language(client: Client) -> str:
    """Return the runtime that a client says it runs on."""
    return str(client.description["language"])


def driven(client: Client, body: ClientRound) -> Result:
    """One round, and what an attempt of it cost."""
    delivery = client.run(body)
    durations = np.concatenate([batch.duration_us for batch in delivery.batches])
    return {
        "attempts": len(durations),
        "cpu_us": delivery.end.cpu_us / len(durations),
        "p50_us": median(durations.tolist()),
    }


def round_of(url: str, strategy: dict[str, object], users: int, seconds: float) -> ClientRound:
    """Return a closed round without an end but its time."""
    request = ClientRequest(method="GET", path="/", headers={}, body=None, timeout_us=5_000_000)
    return ClientRound(
        target=url.rstrip("/"),
        request=request,
        users=users,
        think_time_us=0,
        rejected_pause_us=1000,
        successes=None,
        max_attempts=None,
        time_limit_us=round(seconds * 1e6),
        seed=1,
        strategy=strategy,
    )


if __name__ == "__main__":
    main()
