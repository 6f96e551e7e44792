"""A Python web application under gunicorn or uvicorn, in its own virtual environment or in one of the user's."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from patternbench import caches
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.config.programs import ImageName, Program, ReadySettings, Words, without_image
from patternbench.lab.containers import images
from patternbench.lab.host.launch import Launch, Preparation
from patternbench.lab.software.needs import Need
from patternbench.lab.systems import FOLDER
from patternbench.study.model.parts import misplaced
from patternbench.terms.problems import InputError, Problem

LOCK = FOLDER / "httpbin.requirements.lock"
"""The packages of an application that names none."""
HASH = "--hash="


class PythonApp(Program):
    """Settings of an application: its name (``module:name``), and how many processes and threads serve it.

    gunicorn serves WSGI, uvicorn ASGI. ``requirements`` is a file of packages with hashes, the server among them;
    ``interpreter`` is a Python that has them already. ``args`` are further words for the server. A command of
    ``prepare`` that begins with ``python`` is run by the application's own. ``image`` is the one that it runs in where
    a study wants containers: it has ``python3``, the application and its server.
    """

    kind: ClassVar[str] = "python_app"
    has_image: ClassVar[bool] = True
    app: str
    image: ImageName = ""
    server: Literal["gunicorn", "uvicorn"] = "gunicorn"
    workers: int = Field(default=2, ge=1, le=64)
    threads: int = Field(default=16, ge=1, le=1024)
    requirements: str = ""
    interpreter: str = ""
    args: Words = ()
    ready: ReadySettings = ReadySettings(path="/")

    @model_validator(mode="after")
    def _go_together(self) -> PythonApp:
        if self.server == "uvicorn" and "threads" in self.model_fields_set:
            raise misplaced("threads", "uvicorn, which serves each process by one thread", "`workers`")
        if self.requirements and self.interpreter:
            raise misplaced("requirements", "interpreter, which has its packages", "one of them")
        return self

    @staticmethod
    def needs() -> list[Need]:
        """Nothing of its kind: each has its own packages, which it says where it is described."""
        return []

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return a server that is asked for an answer: it listens before its workers have loaded the application."""
        if self.interpreter:
            return self._served(name, registry, self.program(name, "interpreter", self.interpreter, registry))
        lock = self._lock(name, registry)
        launch = self._served(name, registry, str(environment(lock) / "bin" / "python"))
        return replace(launch, needs=(self._packages(lock),))

    def in_container(self, launch: Launch, registry: ComponentRegistry) -> Launch:
        """Return the same by the Python of its image."""
        if not self._own_image:
            raise InputError(without_image(launch.name))
        served = self._served(launch.name, registry, "python3")
        return images.contained(replace(launch, command=served.command, prepare=served.prepare), self._own_image)

    @property
    def _own_image(self) -> str:
        """Its image: ours is that of the packages of an application that names none."""
        return self.image or ("" if self.requirements or self.interpreter else images.HTTPBIN)

    def _served(self, name: str, registry: ComponentRegistry, python: str) -> Launch:
        serve = self._gunicorn() if self.server == "gunicorn" else self._uvicorn()
        launch = self.launch(name, registry, (python, "-m", self.server, *serve, *self.args, self.app))
        return replace(launch, prepare=tuple(_by(python, each) for each in launch.prepare))

    def _gunicorn(self) -> tuple[str, ...]:
        sizes = ("--workers", str(self.workers), "--threads", str(self.threads))
        waits = ("--keep-alive", "60", "--timeout", "120", "--backlog", "4096")
        return ("--bind", self._address(), "--worker-class", "gthread", *waits, *sizes, "--worker-tmp-dir", OWN_FOLDER)

    def _uvicorn(self) -> tuple[str, ...]:
        host, _, port = self._address().partition(":")
        quiet = ("--no-access-log", "--log-level", "warning")
        waits = ("--timeout-keep-alive", "60", "--backlog", "4096")
        return ("--host", host, "--port", port, "--workers", str(self.workers), *waits, *quiet)

    def _address(self) -> str:
        return f"127.0.0.1:${{self.port.{next(iter(self.ports), 'http')}}}"

    def _lock(self, name: str, registry: ComponentRegistry) -> Path:
        """Return the file of its packages; raises InputError where one of them is not pinned."""
        if not self.requirements:
            return LOCK
        lock = Path(self.file(name, "requirements", self.requirements, registry))
        if HASH not in lock.read_text(encoding="utf-8", errors="replace"):
            hint = f"type `uv pip compile --generate-hashes {lock.name} -o {lock.stem}.lock`, and name that"
            raise InputError(Problem("pins no package by its hash", f"{name}.requirements", value=str(lock), hint=hint))
        return lock

    def _packages(self, lock: Path) -> Need:
        """Return a virtual environment with the packages, made from their lock file."""
        server, python = (environment(lock) / "bin" / program for program in (self.server, "python"))
        make = (sys.executable, "-m", "venv", str(environment(lock)))
        fill = (str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(lock))
        how = "type `patternbench doctor --install` in the study's folder"
        return Need(_label(lock), str(server) if server.is_file() else None, how, (make, fill))


def _by(python: str, preparation: Preparation) -> Preparation:
    """Return a preparation that calls for Python, by the application's."""
    program, *arguments = preparation.command
    return replace(preparation, command=(python, *arguments)) if program == "python" else preparation


OWN_FOLDER = "${self.folder}"


def environment(lock: Path = LOCK) -> Path:
    """Return the virtual environment of a lock file: one per content."""
    return caches.folder() / f"{_label(lock)}-{caches.short_hash(lock.read_bytes())}"


def _label(lock: Path) -> str:
    return lock.name.partition(".")[0]
