"""The options of ``run`` and ``resume`` that say where rounds run: here, or on the lanes of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click

from patternbench.study.models import Order
from patternbench.terms.problems import InputError, Problem

if TYPE_CHECKING:
    from patternbench.run.lanes.places import Place

RAY = "ray"
Command = TypeVar("Command", bound=Callable[..., object])
MOST = 1000
"""More lanes than this would wait for the coordinator."""
SEND_PACKAGE = click.option(
    "--send-package", is_flag=True, help="Send this patternbench with its engine to the nodes, instead of using theirs."
)


class LaneOptions(TypedDict):
    """What a user says of lanes."""

    on: str | None
    lanes: int | None
    trust_cluster: bool
    lane_here: bool
    send_package: bool


def lane_options(command: Command) -> Command:
    """Give a command the options of lanes."""
    options = (
        click.option(
            "--on",
            metavar="ray[:ADDRESS]",
            help="Run whole blocks side by side on the nodes of a Ray cluster; without an address, on nodes of this "
            "machine, for a trial.",
        ),
        click.option("--lanes", type=click.IntRange(1, MOST), help="How many nodes at most. [default: 2]"),
        click.option("--trust-cluster", is_flag=True, help="Use a cluster that takes any token."),
        click.option("--lane-here", is_flag=True, help="Make a lane of this node of the cluster as well."),
        SEND_PACKAGE,
    )
    for option in reversed(options):
        command = option(command)
    return command


def place_of(
    order: Order, *, on: str | None, lanes: int | None, trust_cluster: bool, lane_here: bool, send_package: bool
) -> Place:
    """Return the place that the options name. Raises InputError for options or an order that don't go with it."""
    from patternbench.run.lanes.places import HERE  # noqa: PLC0415 - slow to import, and a mistake needs none of it

    if on is None:
        alone = {
            "--lanes": lanes,
            "--trust-cluster": trust_cluster,
            "--lane-here": lane_here,
            "--send-package": send_package,
        }
        option = next((option for option, value in alone.items() if value), None)
        if option:
            raise InputError(Problem(f"{option} says nothing without --on", hint="add --on ray, or leave it out"))
        return HERE
    address = cluster_of(on)
    if order == "declared":
        message = "a study with `order: declared` has no blocks, and a lane runs whole blocks"
        raise InputError(Problem(message, path="order", hint="use `order: shuffled`, or leave --on out"))
    from patternbench.run.lanes.ray_lanes import RayPlace  # noqa: PLC0415 - few runs have lanes

    return RayPlace(address, lanes or 2, trust_cluster, lane_here, send_package)


def cluster_of(on: str) -> str:
    """Return the address of the cluster that ``--on`` names; empty for one of our own. Raises InputError."""
    kind, _, address = on.partition(":")
    if kind != RAY:
        raise InputError(
            Problem("isn't a place to run at", value=on, path="--on", hint="write ray, or ray:ADDRESS:PORT")
        )
    return address
