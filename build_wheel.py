"""Puts the native parts into a wheel: the engine's binary, and the clients that have been built."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENGINE = "engine/target/release/patternbench-engine"
JAR = "clients/resilience4j/target/patternbench-client-resilience4j.jar"


class NativeParts(BuildHookInterface):
    """Includes what cargo and Maven have built; an editable install finds them where they were built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files that exist; a wheel without the engine is refused, since it could measure nothing."""
        if version == "editable":
            return
        root = Path(self.root)
        if not (root / ENGINE).is_file():
            raise FileNotFoundError(f"{ENGINE} is missing; type `make setup` first")
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
        included = build_data["force_include"]
        included[ENGINE] = "patternbench/_bin/patternbench-engine"
        if (root / JAR).is_file():
            included[JAR] = f"patternbench/_clients/resilience4j/{JAR.removeprefix('clients/resilience4j/')}"
