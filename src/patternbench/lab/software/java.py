"""Where Java is on this machine, and which."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from patternbench.lab.software import debian
from patternbench.lab.software.needs import Need

OLDEST = 17
"""From Java 13 on the classes of an application can be archived as it ends; 17 is the release after it that lasts."""
PACKAGE = "openjdk-17-jre-headless"


def find() -> str | None:
    """Return the program ``java`` of JAVA_HOME, or that on PATH."""
    home = os.environ.get("JAVA_HOME")
    own = Path(home) / "bin" / "java" if home else None
    return str(own) if own and own.is_file() else debian.find("java")


def version(java: str) -> str:
    """Return the version of a Java, as its folder says it (``17.0.15``); nothing where that says none."""
    with suppress(OSError):
        release = (Path(java).resolve().parent.parent / "release").read_text(encoding="utf-8")
        match = re.search(r'^JAVA_VERSION="([^"]+)"', release, re.MULTILINE)
        return match[1] if match else ""
    return ""


def need() -> Need:
    """Return a Java that is new enough."""
    java = find()
    present = java is not None and _number(version(java)) >= OLDEST
    return debian.need(f"Java {OLDEST} or newer", present, PACKAGE)


def _number(text: str) -> int:
    """Return the first number of a version: 17 of ``17.0.15``; up to 8 it was the second one."""
    numbers = [int(number) for number in re.findall(r"\d+", text)] + [0, 0]
    return numbers[1] if numbers[0] == 1 else numbers[0]
