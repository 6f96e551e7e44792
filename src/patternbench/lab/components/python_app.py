"""A Python web application under gunicorn, in a virtual environment of its own."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from patternbench.lab.component import Component, Neighbours
from patternbench.lab.launch import Launch
from patternbench.lab.needs import Need
from patternbench.lab.processes import absolute
from patternbench.lab.ready import Http
from patternbench.lab.systems import FOLDER

LOCK = FOLDER / "httpbin.requirements.lock"


class PythonApp(Component):
    """Settings of a WSGI application: which, and how many processes and threads serve it."""

    kind: ClassVar[str] = "python_app"
    app: str
    workers: int = Field(default=2, ge=1, le=64)
    threads: int = Field(default=16, ge=1, le=1024)

    @staticmethod
    def needs() -> list[Need]:
        """A virtual environment with the application, made from its lock file."""
        gunicorn = environment() / "bin" / "gunicorn"
        make = (sys.executable, "-m", "venv", str(environment()))
        fill = (str(environment() / "bin/pip"), "install", "--quiet", "--require-hashes", "-r", str(LOCK))
        installed = str(gunicorn) if gunicorn.is_file() else None
        return [Need("httpbin", installed, "type `patternbench doctor --install`", (make, fill))]

    def describe(self, name: str, neighbours: Neighbours) -> Launch:
        """Gunicorn listens before its workers have loaded the application, so it is asked for an answer."""
        command: tuple[str, ...] = (str(environment() / "bin" / "gunicorn"), "--bind", "127.0.0.1:${self.port.http}")
        command += ("--worker-class", "gthread", "--keep-alive", "60", "--timeout", "120", "--backlog", "4096")
        command += ("--workers", str(self.workers), "--threads", str(self.threads))
        return Launch(
            kind=self.kind,
            name=name,
            command=(*command, "--worker-tmp-dir", "${self.folder}", self.app),
            ports={"http": 0},
            url="http://127.0.0.1:${self.port.http}",
            ready=Http("http"),
        )


def environment() -> Path:
    """The application's virtual environment: one per content of its lock file."""
    home = Path(absolute(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"))
    return home / "patternbench" / f"httpbin-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
