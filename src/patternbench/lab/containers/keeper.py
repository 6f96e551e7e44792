"""Keeps a Compose project up: brings it up, says where its services are, watches its containers, takes it down.

A process of its own under the guard, so that the project goes down, with its data, however patternbench ends.
Everything about the project is asked of the engine itself: nothing here reads a Compose file. It ends, and says why,
as soon as the containers are not those any more that were brought up.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NoReturn

import httpx

from patternbench import asking
from patternbench.asking import Bounds
from patternbench.lab.containers import engine
from patternbench.lab.containers.engine import ProjectFailed
from patternbench.lab.containers.project import GLANCE_S, ComposeProject, project_name
from patternbench.lab.containers.states import ContainerState
from patternbench.lab.host.contained import ALSO, COUNTERS, NOTE, counters_of
from patternbench.lab.host.ready import ANSWER_S

END_S = 2.0
READY = "ready"
"""The key under which it is announced that all services are up."""


class ProjectEnded(Exception):  # noqa: N818 - named after what happened, as its siblings are
    """A signal asks us to take the project down."""


def answers(url: str) -> bool:
    """Whether a URL answers with a status below 500."""
    try:
        with asking.client(Bounds(ANSWER_S)) as http, http.stream("GET", url) as answer:
            return not answer.is_server_error
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


def keep(project: ComposeProject, path: str, within_s: int) -> None:
    """Keep a project up until a signal to end, or until its containers are not as they were."""
    printed = project.check()
    for exposure in printed.exposures():
        announce({NOTE: exposure})
    begun = int(time.time())
    there = project.up(printed, within_s)
    addresses = project.addresses(there)
    first, *also = next(iter(addresses.values()))
    while path and not all(answers(f"http://{place}{path}") for place in (first, *also)):
        time.sleep(GLANCE_S)  # the host gives up when the time is up
    with ExitStack() as following:
        _following(following, project.logs())
        events = _following(following, project.events(begun))
        announce({READY: True, **_reached(addresses), ALSO: also, COUNTERS: counters(there)})
        watch(project, there, events)


def counters(there: Sequence[ContainerState]) -> list[str]:
    """Return the counters of what containers cost."""
    return counters_of([one.pid for one in there], [port for one in there for port in one.ports.values()])


def _following(stack: ExitStack, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """Return a process that is ended with a stack."""
    stack.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process of the engine, which may hang at a container that stands still."""
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def watch(project: ComposeProject, there: Sequence[ContainerState], events: subprocess.Popen[bytes]) -> NoReturn:
    """Look at the containers after each event; raise ProjectFailed as soon as they are not as they were."""
    noted: set[str] = set()
    for _ in _lines(events.stdout):
        found = project.changed(there)
        for note in found.notes:
            if note not in noted:
                noted.add(note)
                announce({NOTE: note})
        if found.broken:
            raise ProjectFailed(found.broken)
    raise ProjectFailed("the container engine has ended")


def _lines(stream: IO[bytes] | None) -> Iterable[bytes]:
    return stream or ()


def _reached(addresses: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the first place of each service."""
    return {service: places[0] for service, places in addresses.items()}


def announce(stated: Mapping[str, object]) -> None:
    """Print a line that the host reads."""
    print(json.dumps(stated), flush=True)


def main() -> int:
    """Keep the project up that the command line names; the end of all that is that it is down."""
    words = _arguments()
    found = engine.find()
    if found is None:
        return _refused(f"{engine.need().name} is not installed: {engine.need().how}")
    services = {name: int(port) for name, _, port in (text.rpartition(":") for text in words.service)}
    name, folder = project_name(words.name, words.folder), Path(words.folder)
    project = ComposeProject(found, words.file, name, services, folder, words.profile, words.grace)
    signal.signal(signal.SIGTERM, _ended)
    why = ""
    try:
        keep(project, words.ready, words.within)
    except ProjectFailed as error:
        why = str(error)
    except ProjectEnded:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        left = _removed(project)
    return _refused("; ".join(filter(None, (why, left)))) if why or left else 0


def _removed(project: ComposeProject) -> str:
    """Take down what is there of a project; return why that could not be, which the end of a run must not hide."""
    try:
        project.remove()
    except ProjectFailed as error:
        return f"the project {project.name} could not be taken down: {error}"
    return ""


def _ended(*_: object) -> NoReturn:
    raise ProjectEnded


def _refused(why: str) -> int:
    print(why, file=sys.stderr, flush=True)
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--service", action="append", required=True)
    parser.add_argument("--profile", action="append", default=[])
    parser.add_argument("--ready", default="")
    parser.add_argument("--within", type=int, required=True)
    parser.add_argument("--grace", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
