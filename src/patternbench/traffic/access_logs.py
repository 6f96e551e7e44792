"""Lines of access logs as requests: nginx's and Apache's combined format, Envoy's, those of AWS's ALB, and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from patternbench.study.text.files import opened
from patternbench.study.text.nodes import FileLine
from patternbench.terms.problems import InputError, Problem, shown
from patternbench.traffic.requests import METHODS, RecordedRequest, path_of

MOST_REQUESTS = 200_000
LONGEST_LINE = 65_536
MOST_PROBLEMS = 20
_REQUEST = re.compile(r"([A-Z]{3,10}) (\S+) HTTP/[0-9.]+")
_COMBINED = re.compile(
    r'(?P<ip>\S+) \S+ (?P<user>\S+) \[(?P<time>[^\]]+)\] "(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d{3}) \S+'
    r'(?: "(?P<referer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)")?.*'
)
_ENVOY = re.compile(r'\[(?P<time>\d{4}-[^\]]+)\] "(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d+) (?P<rest>.*)')
_ALB = re.compile(
    r"(?:https?|h2|wss?|grpcs?) (?P<ended>\S+) \S+ (?P<ip>\S+?)(?::\d+)? \S+ (?P<times>\S+ \S+ \S+) \S+ (?P<status>\S+)"
    r' \S+ \S+ "(?P<request>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"(?P<rest>.*)'
)
_CREATED = re.compile(r" \d+ (\d{4}-\d{2}-\d{2}T\S+Z) ")
_MONTHS = dict(
    zip(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], range(1, 13), strict=True)
)
_CLF = re.compile(r"(\d{2})/([A-Z][a-z]{2})/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})")
TIME_KEYS = ("start_time", "time_iso8601", "@timestamp", "timestamp", "time", "time_local", "msec", "ts")
METHOD_KEYS, PATH_KEYS = ("method", "request_method"), ("path", "request_uri", "uri", "url")
Fields = Mapping[str, object]


@dataclass(frozen=True)
class AccessLogLine:
    """What a line says: when, what was asked, and all of its fields by name, of which one may be a session's key."""

    at_us: int
    request: str
    fields: Fields
    whole_seconds: bool = False


@dataclass(frozen=True)
class LogRead:
    """The requests of a log in the order of their times, and how many lines held none."""

    requests: tuple[RecordedRequest, ...]
    without_request: int
    whole_seconds: bool


def read(path: Path, session: str = "") -> LogRead:
    """Return the requests of a log. Raises InputError naming the lines that aren't understood."""
    found: list[RecordedRequest] = []
    problems: list[Problem] = []
    skipped, seconds, reader = 0, False, None
    for number, text in _lines(path):
        reader = reader or _reader(text)
        line = reader(text) if reader else None
        if line is None:
            problems.append(_not_understood(path, number, text))
        else:
            request = _request(line, FileLine(str(path), number), session)
            skipped += request is None
            seconds = seconds or line.whole_seconds
            found += [request] if request else []
        _check_bounds(path, problems, found)
    if problems:
        raise InputError(problems)
    if not found:
        raise InputError(Problem("holds no request", file=str(path)))
    return LogRead(tuple(sorted(found, key=lambda one: one.at_us)), skipped, seconds)


def _check_bounds(path: Path, problems: Sequence[Problem], found: Sequence[RecordedRequest]) -> None:
    if len(problems) >= MOST_PROBLEMS:
        raise InputError(problems)
    if len(found) > MOST_REQUESTS:
        hint = f"take a part of it: `head -n {MOST_REQUESTS} {path}`"
        allowed = f"at most {MOST_REQUESTS:,} requests"
        raise InputError(Problem("is too long", file=str(path), allowed=allowed, hint=hint))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with opened(path) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                allowed = f"at most {LONGEST_LINE:,} bytes"
                raise InputError(Problem("is too long a line", file=str(path), line=number, allowed=allowed))
            text = line.decode("utf-8", "replace").strip()
            if text:
                yield number, text


def _reader(text: str) -> Callable[[str], AccessLogLine | None] | None:
    """Return how the lines of a log are read whose first line this is."""
    return next((one for one in READERS if one(text) is not None), None)


def _not_understood(path: Path, number: int, text: str) -> Problem:
    allowed = "nginx's or Apache's combined format, Envoy's, AWS's ALB, or JSON with a time, a method and a path"
    return Problem("isn't understood", file=str(path), line=number, value=shown(text), allowed=allowed)


def _request(line: AccessLogLine, place: FileLine, session: str) -> RecordedRequest | None:
    """Return the request of a line; None for anything else, such as the beginning of TLS at a plain port."""
    asked = _asked(line.request)
    if asked is None:
        return None
    if session and session not in line.fields:
        allowed = ", ".join(name for name in line.fields) or "none: this log tells no one"
        raise InputError(
            Problem("isn't in the lines of this log", "--session", place.file, place.line, session, allowed)
        )
    own = str(line.fields[session]) if session else ""
    return RecordedRequest(*asked, place, line.at_us, own)


@lru_cache(maxsize=512)  # a study takes no more different ones, and each may be as long as a line
def _asked(text: str) -> tuple[str, str] | None:
    """Return method and path of ``GET /items HTTP/1.1``: the lines of a log repeat few of them."""
    found = _REQUEST.fullmatch(text)
    return (found[1], path_of(found[2])) if found and found[1] in METHODS else None


def _combined(text: str) -> AccessLogLine | None:
    found = _COMBINED.fullmatch(text)
    at_us = _clf(found.group("time")) if found else None
    if found is None or at_us is None:
        return None
    fields = {"ip": found.group("ip"), "user": found.group("user"), "agent": found.group("agent") or ""}
    return AccessLogLine(at_us, found.group("request"), fields, whole_seconds=True)


def _envoy(text: str) -> AccessLogLine | None:
    found = _ENVOY.fullmatch(text)
    at_us = iso(found.group("time")) if found else None
    if found is None or at_us is None:
        return None
    quoted = re.findall(r'"((?:[^"\\]|\\.)*)"', found.group("rest"))
    names = ("ip", "agent", "request_id", "host")
    return AccessLogLine(at_us, found.group("request"), dict(zip(names, quoted, strict=False)))


def _alb(text: str) -> AccessLogLine | None:
    """Read a line of a load balancer, which is written when the answer has been sent."""
    found = _ALB.fullmatch(text)
    if found is None:
        return None
    created = _CREATED.search(found.group("rest"))
    ended = iso(created[1] if created else found.group("ended"))
    if ended is None:
        return None
    took = 0.0 if created else sum(max(float(time), 0.0) for time in found.group("times").split() if _is_number(time))
    return AccessLogLine(
        ended - round(took * 1e6), found.group("request"), {"ip": found.group("ip"), "agent": found.group("agent")}
    )


def _json(text: str) -> AccessLogLine | None:
    if not text.startswith("{"):
        return None
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    at_us = next((_moment(fields[key]) for key in TIME_KEYS if key in fields), None)
    request = fields.get("request") or _made_request(fields)
    if at_us is None or not isinstance(request, str):
        return None
    return AccessLogLine(
        at_us, request, {name: one for name, one in fields.items() if isinstance(one, (str, int, float))}
    )


def _made_request(fields: Mapping[str, object]) -> str | None:
    method = next((fields[key] for key in METHOD_KEYS if fields.get(key)), None)
    path = next((fields[key] for key in PATH_KEYS if fields.get(key)), None)
    return f"{method} {path} HTTP/1.1" if method and path else None


READERS: tuple[Callable[[str], AccessLogLine | None], ...] = (_json, _envoy, _alb, _combined)


def _moment(value: object) -> int | None:
    """Return a moment in microseconds since 1970: of ISO 8601, of a log's own form, or a number of seconds."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return round(value * 1e6)
    text = str(value)
    if _is_number(text):
        return round(float(text) * 1e6)
    return _clf(text) if "/" in text else iso(text)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d{1,12}(\.\d{1,9})?", text) is not None


@lru_cache(maxsize=4096)
def _clf(text: str) -> int | None:
    """Return the moment of ``10/Oct/2000:13:55:36 -0700``."""
    found = _CLF.fullmatch(text)
    if found is None or found[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(found[part]) for part in (1, 3, 4, 5, 6))
    offset = (int(found[8]) * 60 + int(found[9])) * (1 if found[7] == "+" else -1)
    try:
        moment = datetime(year, _MONTHS[found[2]], day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None
    return (round(moment.timestamp()) - offset * 60) * 1_000_000


def iso(text: str) -> int | None:
    """Return the moment of a time in ISO 8601; one without a zone is of UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1e6)


def recognises(start: str) -> bool:
    """Whether a text begins with a line of a log."""
    return _reader(start.partition("\n")[0].strip()) is not None
