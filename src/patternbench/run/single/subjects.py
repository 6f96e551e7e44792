"""The subject of a new study: checks of a URL, a command or a Compose file before the study is written."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import httpx

from patternbench import asking
from patternbench.asking import Bounds
from patternbench.study.starters import RunningService, StartedService
from patternbench.terms.problems import LOGIN, InputError, Problem
from patternbench.terms.urls import encoded, url_mistake

ANSWERS_WITHIN_S = 10.0
LONGEST_PATH = 8000
"""Characters of a path in a study."""
MOST_PORTS = 65535
SHELL_SIGNS = ("|", "||", "&&", "&", ";", ">", ">>", "<")
"""Words that act only where a shell reads them."""
MOST_SHOWN = 200
"""How many characters of a redirect's target an error repeats."""
SYSTEMS = "systems"
"""The folder of system files, next to a study."""


def running(url: str) -> RunningService:
    """Return a service at a URL; raises InputError where it does not answer well."""
    parts = checked(url, "--url")
    status, leads_to = _requested(url)
    if not httpx.codes.is_success(status):
        hint = "name a path that it answers with success; add headers or a body to the study afterwards"
        where = f", a redirect to {leads_to}" if leads_to else ""
        raise InputError(
            Problem(f"answers {status}{where}", "--url", value=url, allowed="a status from 200 to 299", hint=hint)
        )
    path = parts.path or "/"
    resource = requested(f"{path}?{parts.query}" if parts.query else path, "--url")
    return RunningService(f"{parts.scheme}://{parts.netloc}", resource)


def requested(path: str, option: str) -> str:
    """Return a path as a study can hold it and as it is sent. Raises InputError where it can't be one."""
    sent = encoded(writable(path, option))
    if len(sent) > LONGEST_PATH:
        raise InputError(Problem("is too long", option, value=path, allowed=f"at most {LONGEST_PATH:,} characters"))
    return sent


def writable(text: str, option: str) -> str:
    """Return a text as a study and a system file can hold it; raises InputError for one with signs that act."""
    if not text.isprintable() or "${" in text:
        allowed = "letters, digits and signs, without control characters, and without ${, which a study fills in"
        raise InputError(Problem("can't be written in a study", option, value=text, allowed=allowed))
    return text


def checked(url: str, path: str) -> SplitResult:
    """Return the parts of a URL of a service.

    Raises InputError if it isn't one, or holds a login; no message repeats that.
    """
    shown = LOGIN.sub("://***@", url)
    try:
        parts = urlsplit(url)
        wrong = url_mistake(url.replace(" ", "%20")) or not httpx.URL(url).host
    except (ValueError, httpx.InvalidURL):
        wrong = True
    if wrong or parts.scheme not in ("http", "https"):
        raise InputError(Problem("isn't a URL", path, value=shown, allowed="such as http://127.0.0.1:8080/items/7"))
    if "@" in parts.netloc:
        hint = "leave it out, and add a header `Authorization: ${env:NAME}` to the study"
        raise InputError(Problem("holds a login, which is not kept in a study", path, value=shown, hint=hint))
    return parts


def _requested(url: str) -> tuple[int, str]:
    """Return the status of a URL, and where a redirect leads; no redirect is followed.

    Raises InputError without an answer.
    """
    try:
        with asking.client(Bounds(ANSWERS_WITHIN_S)) as http, http.stream("GET", url) as answer:
            return answer.status_code, answer.headers.get("location", "")[:MOST_SHOWN] if answer.is_redirect else ""
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as error:
        message = f"does not answer: {error or type(error).__name__}"
        raise InputError(Problem(message, "--url", value=url, hint=_how_to_answer(str(error)))) from None


def _how_to_answer(error: str) -> str:
    """Return what to do about a URL that doesn't answer."""
    if "certificate" in error.lower():
        return "name the authority in SSL_CERT_FILE, or write the study by hand with `system.trust`"
    return "start the service first" if "refused" in error else "see whether a service that speaks HTTP listens there"


def started(command: str, path: str, port: int | None, out: Path) -> StartedService:
    """Return a command that is to run in our folder; raises InputError where there is no such program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(Problem(f"cannot be split into words: {error}", "--command", value=command)) from None
    if not words or shutil.which(words[0]) is None:
        hint = "install it, or name it by its path, such as ./gradlew"
        raise InputError(Problem("isn't a program that can be run", "--command", value=command, hint=hint))
    if any(sign in words for sign in SHELL_SIGNS):
        hint = f"write it as `sh -c {shlex.quote(command)}`"
        raise InputError(Problem("holds a sign of a shell, which none reads", "--command", value=command, hint=hint))
    folder = writable(seen_from(out / SYSTEMS, Path.cwd()), "--out")
    settings: dict[str, object] = {"command": writable(command, "--command"), "folder": folder}
    ports, path = {"ports": {"http": port}} if port else {}, requested(path, "--path")
    return StartedService("process", {**settings, **ports, "ready": {"path": path, "status": 200}}, path)


def composed(file: str, service: str, path: str, out: Path) -> StartedService:
    """Return a Compose project, and the service of it that is asked, as ``web:8080``; raises InputError."""
    if not Path(file).is_file():
        raise InputError(Problem("there is no such file", "--compose", value=file))
    name, _, port = service.partition(":")
    if not name or not port.isdecimal() or len(port) > len("65535") or not 1 <= int(port) <= MOST_PORTS:
        allowed = "a service and the port of its container, from 1 to 65535: web:8080"
        raise InputError(Problem("names no service with its port", "--service", value=service, allowed=allowed))
    project, path = writable(seen_from(out / SYSTEMS, Path(file)), "--compose"), requested(path, "--path")
    services = {writable(name, "--service"): int(port)}
    settings: Mapping[str, object] = {"file": project, "services": services}
    return StartedService("compose", {**settings, "ready": path}, path)


def seen_from(folder: Path, path: Path) -> str:
    """Return a path as a file in a folder names it."""
    return os.path.relpath(path.resolve(), folder.resolve())
