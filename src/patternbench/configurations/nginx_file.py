"""The file of an nginx server while it is written: its lines, and how well they say what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from patternbench.configurations import mesh
from patternbench.configurations.amounts import NGINX, S_US
from patternbench.configurations.failures import Failures
from patternbench.configurations.form import GuardedService
from patternbench.configurations.statement import Statement, roughly
from patternbench.terms.units import Duration

TOLD_STATUSES = (403, 404, 429, 500, 502, 503, 504)
"""Those that ``proxy_next_upstream`` knows."""
MOST_ATTEMPTS = 20
READS = "it bounds the time between two reads, and not an attempt"
LONGEST = "24h"
LONGEST_CONNECT = Duration.parse("75s")
PORT = 8080
ZONE = "1m"


@dataclass
class NginxFile:
    """The lines of a file while it is written: of the whole, of the upstream, of the location, and what is said."""

    around: list[str] = field(default_factory=list)
    upstream: list[str] = field(default_factory=list)
    location: list[str] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    def text(self, target: GuardedService) -> str:
        """Return the file."""
        lines = [
            *self.around,
            f"upstream {target.name} {{",
            *(f"    {line}" for line in self.upstream),
            "}",
            "server {",
            f"    listen 127.0.0.1:{PORT};",
            "    location / {",
            *(f"        {line}" for line in self.location),
            f"        proxy_pass http://{target.name};",
            f"        proxy_set_header Host {target.host};",
            "    }",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def attempts(self, attempts: int, target: GuardedService) -> str:
        """Write how often is tried; return the line.

        nginx tries each server of an upstream once, so that the service stands there once per attempt.
        """
        setting = min(attempts, MOST_ATTEMPTS)
        self.upstream += [f"server {target.host}:{target.port} max_fails=0;"] * setting
        self.location.append(f"proxy_next_upstream_tries {setting};")
        return f"proxy_next_upstream_tries {setting}"

    def next_upstream(self, chosen: Failures) -> str:
        """Write which failures are tried again; return the line."""
        lost = [*(["error", "invalid_header"] if chosen.connections else []), *(["timeout"] if chosen.timeouts else [])]
        codes = [f"http_{status}" for status in TOLD_STATUSES if status in chosen.statuses]
        setting = f"proxy_next_upstream {' '.join([*lost, *codes, 'non_idempotent'] if lost or codes else ['off'])}"
        self.location.append(f"{setting};")
        return setting

    def at_once(self, most: int, target: GuardedService) -> str:
        """Write how many requests may be under way; return the line."""
        zone = f"{target.name}_at_once"
        self.around.append(f"limit_conn_zone {target.name} zone={zone}:{ZONE};")
        self.location += [f"limit_conn {zone} {most};", "limit_conn_status 503;"]
        return f"limit_conn {zone} {most}"

    def times(self, lengths: mesh.TimeBounds, again: bool) -> None:
        """Write the times of attempts and of calls; where nothing is tried again, a call is an attempt."""
        attempt, call = dict(lengths.attempt), dict(lengths.call)
        if not again:
            attempt, call = {**attempt, **call}, {}
        self._of_attempts(attempt)
        shortest = NGINX.write(min(call.values())) if call else "0"
        setting = f"proxy_next_upstream_timeout {shortest}"
        self.location.append(f"{setting};")
        late = "no attempt begins later, and the one under way goes on"
        self.statements += [roughly(ours, length, setting, late) for ours, length in call.items()]

    def _of_attempts(self, lengths: Mapping[str, Duration]) -> None:
        shortest = min(lengths.values(), default=None)
        written = NGINX.write(shortest) if shortest else LONGEST
        connect = NGINX.write(min(shortest, LONGEST_CONNECT)) if shortest else "75s"
        self.location += [f"proxy_connect_timeout {connect};"]
        self.location += [f"proxy_{way}_timeout {written};" for way in ("send", "read")]
        self.statements += [
            roughly(ours, length, f"proxy_read_timeout {written}", READS) for ours, length in lengths.items()
        ]


def untold(chosen: Failures) -> str:
    """Return which failures ``proxy_next_upstream`` can't name; empty if it can all."""
    rest = len(chosen.statuses - {*TOLD_STATUSES})
    return f"it knows {', '.join(map(str, TOLD_STATUSES))} alone, and not the other {rest} statuses" if rest else ""


@dataclass(frozen=True)
class Rate:
    """A rate as nginx holds it: a whole number per second or minute, counted in thousandths of a request a second."""

    text: str
    exact: bool


def rate(calls: int, per: Duration) -> Rate:
    """Return a rate in nginx's words, and whether it is the same rate."""
    for unit, length in (("s", S_US), ("m", 60 * S_US)):
        number, rest = divmod(calls * length, per.us)
        if number and not rest and number * S_US * 1000 % length == 0:
            return Rate(f"{number}r/{unit}", exact=True)
    return Rate(f"{max(1, round(calls * 60 * S_US / per.us))}r/m", exact=False)


WHOLE_RATES = "it takes whole numbers per second or minute, and keeps them to a thousandth of a request per second"
