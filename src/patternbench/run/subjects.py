"""The subject of a new study: checks of a URL, a command or a Compose file before the study is written."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from patternbench.study.problems import InputError, Problem
from patternbench.study.starters import RunningService, StartedService

ANSWERS_WITHIN_S = 10.0
SYSTEMS = "systems"
"""The folder of system files, next to a study."""


def running(url: str) -> RunningService:
    """A service at a URL; raises InputError where it does not answer well."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(Problem("isn't a URL", "--url", value=url, allowed="such as http://127.0.0.1:8080/items/7"))
    try:
        status = httpx.get(url, timeout=ANSWERS_WITHIN_S).status_code
    except httpx.HTTPError as error:
        message = f"does not answer: {error or type(error).__name__}"
        raise InputError(Problem(message, "--url", value=url, hint="start the service first")) from None
    if status >= httpx.codes.BAD_REQUEST:
        hint = "name a path that it answers with success; add headers or a body to the study afterwards"
        raise InputError(Problem(f"answers {status}", "--url", value=url, hint=hint))
    path = parts.path or "/"
    return RunningService(f"{parts.scheme}://{parts.netloc}", f"{path}?{parts.query}" if parts.query else path)


def started(command: str, path: str, port: int | None, out: Path) -> StartedService:
    """A command that is to run in the folder that we are in; raises InputError where there is no such program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(Problem(f"cannot be split into words: {error}", "--command", value=command)) from None
    if not words or shutil.which(words[0]) is None:
        hint = "install it, or name it by its path, such as ./gradlew"
        raise InputError(Problem("isn't a program that can be run", "--command", value=command, hint=hint))
    settings: dict[str, object] = {"command": command, "folder": seen_from(out / SYSTEMS, Path.cwd())}
    ports = {"ports": {"http": port}} if port else {}
    return StartedService("process", {**settings, **ports, "ready": {"path": path, "status": 200}}, path)


def composed(file: str, service: str, path: str, out: Path) -> StartedService:
    """A Compose project, and the service of it that is asked, as ``web:8080``; raises InputError."""
    if not Path(file).is_file():
        raise InputError(Problem("there is no such file", "--compose", value=file))
    name, _, port = service.partition(":")
    if not name or not port.isdecimal():
        allowed = "a service and the port of its container: web:8080"
        raise InputError(Problem("names no service with its port", "--service", value=service, allowed=allowed))
    settings: Mapping[str, object] = {"file": seen_from(out / SYSTEMS, Path(file)), "services": {name: int(port)}}
    return StartedService("compose", {**settings, "ready": path}, path)


def seen_from(folder: Path, path: Path) -> str:
    """A path as a file in a folder names it."""
    return os.path.relpath(path.resolve(), folder.resolve())
