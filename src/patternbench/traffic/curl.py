"""Commands of curl as requests, as browsers copy them and documentation shows them."""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from patternbench.study.text.files import read_text
from patternbench.study.text.nodes import FileLine
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.traffic.requests import METHODS, KeptParts, RecordedRequest, escaped, kept_headers, path_of
from patternbench.traffic.requests import without_secrets as hidden

LARGEST = 300_000
MOST_COMMANDS, MOST_LINES = 500, 300
"""Of a file, and of one command."""
BODIES = ("-d", "--data", "--data-ascii", "--data-raw", "--data-binary", "--data-urlencode", "--json")
WITH_VALUE = ("-X", "--request", "-H", "--header", "-A", "--user-agent", "-e", "--referer", "-b", "--cookie", "-u")
IGNORED_WITH_VALUE = ("-o", "--output", "-w", "--write-out", "-m", "--max-time", "--connect-timeout", "-c", "--retry")
SWITCHES = ("-G", "--get", "-I", "--head")
IGNORED = (
    *("-s", "--silent", "-S", "--show-error", "-k", "--insecure", "-L", "--location", "-i", "--include", "-v"),
    *("--verbose", "--compressed", "-f", "--fail", "-sS", "-fsS", "-fsSL", "-sSL", "--http1.1", "--http2", "-#", "-N"),
)
"""Options that say how curl shows an answer, or how it connects."""


@dataclass
class Command:
    """The parts of a command line that say what is asked."""

    place: FileLine
    url: str = ""
    method: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    bodies: list[str] = field(default_factory=list)
    switches: set[str] = field(default_factory=set)


def recognises(text: str) -> bool:
    """Whether a text begins with a command of curl."""
    lines = (line.strip().removeprefix("$ ") for line in text.splitlines() if line.strip())
    first = next((line for line in lines if not line.startswith("#")), "")
    return first.startswith("curl ")


def read(path: Path, keep: KeptParts) -> tuple[RecordedRequest, ...]:
    """Return the requests of the commands of a file. Raises InputError naming the lines that aren't understood."""
    commands = list(_commands(read_text(path, LARGEST), str(path)))
    if len(commands) > MOST_COMMANDS:
        raise InputError(Problem("has too many commands", file=str(path), allowed=f"at most {MOST_COMMANDS}"))
    return tuple(_request(_parsed(place, text), keep) for place, text in commands)


def _commands(text: str, file: str) -> Iterator[tuple[FileLine, str]]:
    """Yield each command with the line on which it begins; one may go on after a backslash."""
    parts: list[str] = []
    first = 1
    for number, line in enumerate(text.splitlines(), start=1):
        if not parts and (not line.strip() or line.lstrip().startswith("#")):
            continue
        first = first if parts else number
        goes_on = line.rstrip().endswith("\\")
        parts.append(line.rstrip()[:-1] if goes_on else line)
        if len(parts) > MOST_LINES:
            raise _refused(FileLine(file, first), "is too long a command", f"at most {MOST_LINES} lines")
        if not goes_on and _is_closed(parts):
            yield FileLine(file, first), "\n".join(parts)
            parts = []
    if parts:
        raise _refused(FileLine(file, first), "has a quote that isn't closed", "a command of curl")


def _is_closed(parts: list[str]) -> bool:
    try:
        shlex.split("\n".join(parts))
    except ValueError:
        return False
    return True


def _parsed(place: FileLine, text: str) -> Command:
    words = [word for word in shlex.split(text) if word not in ("$", "\n")]
    if not words or words[0] != "curl":
        raise _refused(place, f"isn't a command of curl: {' '.join(words)[:40]!r}", "curl URL, and options")
    command, rest = Command(place), iter(words[1:])
    for word in rest:
        _take(command, word, rest)
    if not command.url:
        raise _refused(place, "names no URL", "curl URL, and options")
    return command


def _take(command: Command, word: str, rest: Iterator[str]) -> None:
    name, sign, attached = word.partition("=") if word.startswith("--") else (word, "", "")
    if not word.startswith("-"):
        command.url = word
    elif name in IGNORED:
        return
    elif name in SWITCHES:
        command.switches.add(name)
    elif name in (*BODIES, *WITH_VALUE, *IGNORED_WITH_VALUE, "--user", "--url"):
        _take_value(command, name, attached if sign else _value(command, name, rest))
    else:
        known = (*BODIES, *WITH_VALUE, *IGNORED_WITH_VALUE, *SWITCHES, *IGNORED)
        hint = did_you_mean(name, known) or "leave it out if it doesn't change what is asked"
        raise _refused(command.place, f"has the option {name}, which isn't known here", "options of curl", hint)


def _value(command: Command, name: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise _refused(command.place, f"has {name} without a value", f"{name} VALUE")
    return value


def _take_value(command: Command, name: str, value: str) -> None:
    if name in ("-X", "--request"):
        command.method = value.upper()
    elif name in ("-H", "--header"):
        header, _, content = value.partition(":")
        command.headers[header.strip()] = content.strip()
    elif name in ("-b", "--cookie"):
        command.headers |= {"Cookie": value}
    elif name in ("-u", "--user"):
        command.headers |= {"Authorization": f"Basic {b64encode(value.encode()).decode()}"}
    elif name == "--url":
        command.url = value
    elif name in BODIES:
        _take_body(command, name, value)


def _take_body(command: Command, name: str, value: str) -> None:
    if value.startswith("@") and name != "--data-raw":
        raise _refused(command.place, f"takes its body from the file {value[1:]!r}", "a body in the command")
    field_name, sign, content = value.partition("=")
    if name == "--data-urlencode":
        value = f"{field_name}{sign}{quote(content)}" if sign else quote(value)
    if name == "--json":
        command.headers.setdefault("Content-Type", "application/json")
    elif command.bodies == [] and not any(header.lower() == "content-type" for header in command.headers):
        command.headers |= {"Content-Type": "application/x-www-form-urlencoded"}
    command.bodies.append(value)


def _request(command: Command, keep: KeptParts) -> RecordedRequest:
    url = command.url if "://" in command.url else f"http://{command.url}"
    body = "&".join(command.bodies)
    if command.switches & {"-G", "--get"} and body:
        url, body = f"{url}{'&' if '?' in url else '?'}{body}", ""
        command.headers.pop("Content-Type", None)
    implied = "HEAD" if command.switches & {"-I", "--head"} else "POST" if body else "GET"
    method = command.method or implied
    if method not in METHODS:
        raise _refused(command.place, f"has the method {method!r}", ", ".join(METHODS))
    headers = dict(kept_headers(command.headers, keep))
    sent = escaped(body) if keep.bodies and body else None
    return RecordedRequest(method, hidden(path_of(url), keep), command.place, headers=headers, body=sent)


def _refused(place: FileLine, message: str, allowed: str, hint: str = "") -> InputError:
    return InputError(Problem(message, file=place.file, line=place.line, allowed=allowed, hint=hint))
