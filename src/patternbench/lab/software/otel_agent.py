"""The Java agent of OpenTelemetry, which makes the spans of a JVM: one pinned version, from Maven Central."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

from patternbench import caches
from patternbench.lab.host.launch import Launch
from patternbench.lab.software import class_data
from patternbench.lab.software.needs import Need

VERSION = "2.20.1"
SHA256 = "d94e9fc648cab37e540571352937acc06b8014182ddbd2d93a6c08641c84e48e"
ARTIFACT = f"io.opentelemetry.javaagent:opentelemetry-javaagent:{VERSION}"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
OPTIONS = "JAVA_TOOL_OPTIONS"


def attached(launch: Launch) -> Launch:
    """Return a JVM with the agent in it, which must be installed."""
    options = f"{launch.env.get(OPTIONS, '')} -javaagent:{jar()}".strip()
    reported = replace(launch, env={**launch.env, OPTIONS: options}, needs=(*launch.needs, need()))
    return class_data.without_beside_an_agent(reported)


def need() -> Need:
    """Return the agent, fetched by Maven."""
    how = "type `patternbench doctor --install`" if shutil.which("mvn") else "install Maven, then type the same"
    fetch = ("mvn", "-q", "-B", COPY, f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={jar().parent}")
    return Need("opentelemetry-javaagent", str(jar()) if _is_ours(jar()) else None, how, (fetch,))


def jar() -> Path:
    """Where the agent is."""
    return caches.folder() / "otel" / f"opentelemetry-javaagent-{VERSION}.jar"


def _is_ours(path: Path) -> bool:
    """Whether a file is there with the content of the version that we know."""
    return path.is_file() and _digest(path, path.stat().st_mtime_ns) == SHA256


@cache
def _digest(path: Path, _changed_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
