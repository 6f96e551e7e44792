"""A Python web application under gunicorn, in a virtual environment of its own."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from patternbench.lab.component import Place, Running, Settings
from patternbench.lab.needs import Need
from patternbench.lab.processes import Process, StartError, absolute, free_port
from patternbench.lab.systems import FOLDER

LOCK = FOLDER / "httpbin.requirements.lock"


class PythonApp(Settings):
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
        found = str(gunicorn) if gunicorn.is_file() else None
        return [Need("httpbin", found, "type `patternbench doctor --install`", (make, fill))]

    def start(self, name: str, place: Place) -> Running:
        """Start gunicorn on a free port and wait until it accepts."""
        gunicorn = environment() / "bin" / "gunicorn"
        if not gunicorn.is_file():
            raise StartError("httpbin is not installed; type `patternbench doctor --install`")
        port = free_port()
        command = [str(gunicorn), "--bind", f"127.0.0.1:{port}", "--worker-class", "gthread", "--keep-alive", "60"]
        command += ["--workers", str(self.workers), "--threads", str(self.threads), "--timeout", "120"]
        command += ["--worker-tmp-dir", str(place.folder), "--backlog", "4096", self.app]
        process = Process(name, command, place.folder)
        try:
            process.wait_for_port(port)
        except BaseException:
            process.close()
            raise
        return Running(process, f"http://127.0.0.1:{port}")


def environment() -> Path:
    """The application's virtual environment: one per content of its lock file."""
    home = Path(absolute(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"))
    return home / "patternbench" / f"httpbin-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
