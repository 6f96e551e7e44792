"""What a client key costs in Redis: bytes per key of every algorithm, and a million keys of one.

``.venv/bin/python -m benchmarks.ratelimit.memory`` drives the filter's own script. Each key takes ``--requests`` units
one by one: a sliding window log remembers each of them.
"""

import argparse
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration" / "ratelimit"))

from benchmarks.common import table  # noqa: E402 - after the path, as above
from benchmarks.evidence import NOT_MEASURED, Result, store, stored  # noqa: E402
from ratelimit_fixture import ALGORITHMS, FILTER, Redis, quiet_folder  # noqa: E402 - found over the path above

PART = "ratelimit/memory"
BUILD = (
    f"package.path='{FILTER}/lua/?.lua;{FILTER}/lua/?/init.lua;'..package.path;"
    "io.write(require('ratelimit.stores.script').build(require('ratelimit.core').names))"
)


def encode(*words: object) -> bytes:
    """Return a RESP command."""
    texts = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(texts) + b"".join(b"$%d\r\n%s\r\n" % (len(t), t) for t in texts)


class Pipe:
    """A connection that sends commands in batches and drops the replies."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rb")

    def reply(self) -> bytes:
        line: bytes = self.file.readline()
        if line[:1] == b"*":
            return b" ".join(self.reply() for _ in range(int(line[1:])))
        if line[:1] == b"$":
            return self.file.read(int(line[1:]) + 2)
        assert line[:1] != b"-", line
        return line

    def run(self, commands: list[bytes]) -> list[bytes]:
        self.socket.sendall(b"".join(commands))
        return [self.reply() for _ in commands]


def take(digest: str, algorithm: str, key: int) -> bytes:
    """Return the call that takes one unit of a limit of 100 a minute."""
    name = f"pb:{{header=client-{key:07d}}}:per_client:{algorithm}:60000000"
    return encode("EVALSHA", digest, 1, name, -1, -1, "take", algorithm, 100, 60_000_000, 100, 5, 1, 0, 0, 1)


def used(redis: Redis) -> int:
    """Return the bytes that Redis has allocated."""
    return int(next(x for x in redis.ask("INFO", "memory").splitlines() if x.startswith("used_memory:"))[12:])


def fill(redis: Redis, algorithm: str, keys: int, requests: int) -> float:
    """Return bytes per key."""
    redis.flush()
    source = subprocess.run(["luajit", "-e", BUILD], capture_output=True, text=True, check=True).stdout
    digest = subprocess.run(
        ["redis-cli", "-p", str(redis.port), "-x", "SCRIPT", "LOAD"],
        input=source,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    pipe, before = Pipe(redis.port), used(redis)
    for first in range(0, keys, 500):
        for _ in range(requests):
            pipe.run([take(digest, algorithm, key) for key in range(first, min(first + 500, keys))])
    return (used(redis) - before) / keys


def printed(result: Result) -> str:
    """Return the table of a result."""
    rows = [
        [row["algorithm"], f"{row['keys']:,}", str(row["requests"]), f"{row['bytes_per_key']:.0f}"]
        for row in result["rows"]
    ]
    return table(["algorithm", "keys", "requests each", "bytes per key"], rows)


def committed() -> str:
    """Return the table of the committed result."""
    result = stored(PART)
    return printed(result) if result else NOT_MEASURED


def main() -> None:
    """Measure, store the raw results, and print their table."""
    parser = argparse.ArgumentParser(description="What a client key costs in Redis.")
    parser.add_argument("--keys", type=int, default=2_000)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--million", action="store_true", help="also a million keys of gcra, one request each")
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rlm-", dir=quiet_folder()) as name:
        redis = Redis(Path(name)).start()
        try:
            fill(redis, ALGORITHMS[0], 1, 1)  # the script's own memory isn't a key's
            cases = [(a, options.keys, options.requests) for a in ALGORITHMS]
            cases += [("gcra", 1_000_000, 1)] * options.million
            rows = [
                {"algorithm": a, "keys": keys, "requests": requests, "bytes_per_key": fill(redis, a, keys, requests)}
                for a, keys, requests in cases
            ]
        finally:
            redis.stop()
    print(printed(store(PART, {"keys": options.keys, "requests": options.requests}, options.out, rows=rows)))


if __name__ == "__main__":
    main()
