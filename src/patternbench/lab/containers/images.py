"""Our own images, which ``make images`` builds: their names, whether they are here, and components that run in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from patternbench.lab import shipped
from patternbench.lab.containers import engine
from patternbench.lab.containers.engine import ProjectFailed, asked
from patternbench.lab.host.launch import Launch, OwnContainer
from patternbench.lab.host.ready import ContainerReadiness
from patternbench.lab.software.needs import Need

FOLDER = "/app"
"""Where an image has what is ours."""
TARGET, ENVOY, HTTPBIN = "patternbench-target", "patternbench-envoy", "patternbench-httpbin"


def contained(launch: Launch, image: str, reads: Iterable[str] = (), needs: Iterable[Need] = ()) -> Launch:
    """Return a launch whose command is one of an image, in a container of it."""
    return replace(
        launch,
        container=OwnContainer(image, tuple(reads)),
        ready=ContainerReadiness(launch.ready),
        needs=(engine.runner_need(), need(image), *needs),
    )


def need(image: str) -> Need:
    """Return an image, which is here or must be built."""
    ours = image.startswith("patternbench-")
    how = _how_to_build() if ours else f"build or pull it first: `docker pull {image}`"
    return Need(f"image {image}", identity(image), how, obtainable=not (ours and shipped.from_wheel()))


def _how_to_build() -> str:
    if shipped.from_wheel():
        return "images are not part of the installed package: type `make images` in a checkout"
    return "type `make images`"


@cache
def identity(image: str) -> str | None:
    """Return the content hash of an image; None where it is not here, or no one can tell."""
    program = engine.runner()
    if program is None:
        return None
    try:
        return asked([program, "image", "inspect", "--format", "{{.Id}}", image]).strip() or None
    except ProjectFailed:
        return None
