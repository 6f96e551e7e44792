"""The extension of the Java agent that counts calls between an application's own classes (``agents/jvm-calls``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from patternbench.lab import shipped
from patternbench.lab.host.launch import Launch
from patternbench.lab.software.needs import Need

PACKAGES = "PATTERNBENCH_CALLS_PACKAGES"
EXTENSIONS = "OTEL_JAVAAGENT_EXTENSIONS"


def counted(launch: Launch, packages: Sequence[str]) -> Launch:
    """Return a JVM whose own classes are those of the packages; one that names none is as it was."""
    return replace(launch, env={PACKAGES: ",".join(packages), **launch.env}) if packages else launch


def attached(launch: Launch) -> Launch:
    """Return a JVM with the built extension in its agent; unchanged where it has not said its packages."""
    if PACKAGES not in launch.env:
        return launch
    extensions = ",".join(filter(None, (launch.env.get(EXTENSIONS), str(jar()))))
    return replace(launch, env={**launch.env, EXTENSIONS: extensions}, needs=(*launch.needs, need()))


def need() -> Need:
    """Return the extension, built by make or carried by the wheel."""
    return Need("patternbench-jvm-calls", str(jar()) if jar().is_file() else None, shipped.how_to_build("agents"))


def jar() -> Path:
    """Where the extension is."""
    return shipped.folder("agents") / "jvm-calls" / "target" / "patternbench-jvm-calls.jar"
