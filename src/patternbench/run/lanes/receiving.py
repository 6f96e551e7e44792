"""What a lane hands over, checked before any of it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from pydantic import ValidationError

from patternbench.records.folder import RunFolder, write_bytes
from patternbench.run.lanes.worker import LaneDelivery, sha256
from patternbench.run.round.orders import RoundOrder, RoundResult


class UnusableError(Exception):
    """A delivery that is refused; ``of_open_order`` tells whether it is the one that was waited for."""

    def __init__(self, why: str, of_open_order: bool) -> None:
        super().__init__(why)
        self.of_open_order = of_open_order


def checked(delivery: LaneDelivery, expected: RoundOrder | None) -> RoundResult:
    """Return the result of the expected order. Raises UnusableError for anything else."""
    try:
        result = RoundResult.from_json(delivery.result)
    except ValidationError as error:
        raise UnusableError(f"its result can't be read: {error}", expected is not None) from None
    if expected is None or (result.order, result.lane) != (expected.id, expected.lane):
        raise UnusableError(f"no one waits for the result of order {result.order}", of_open_order=False)
    if (result.entry.round, result.entry.scenario, result.entry.file) != _of(expected):
        raise UnusableError(f"the result of order {result.order} tells of another round", of_open_order=True)
    _refuse_altered(delivery, result, expected)
    return result


def keep(delivery: LaneDelivery, folder: RunFolder) -> None:
    """Write the records of a delivery that was checked into the run's folder, and return when they are on the disk."""
    for name, content in delivery.files.items():
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)


def _of(order: RoundOrder) -> tuple[int, str, str]:
    return order.index, order.treatment.id, order.file


def _refuse_altered(delivery: LaneDelivery, result: RoundResult, order: RoundOrder) -> None:
    for name, content in delivery.files.items():
        if sha256(content) != delivery.sha256.get(name):
            raise UnusableError(f"{name} was damaged on its way", of_open_order=True)
        if not _names_this(name, order):
            raise UnusableError(f"{name} isn't a record of order {order.id}", of_open_order=True)
    attempts = f"attempts/{order.file}.parquet"
    if result.entry.sha256 and _hash_of(delivery, attempts) != result.entry.sha256:
        raise UnusableError(f"{attempts} is not the file that its round tells of", of_open_order=True)


def _hash_of(delivery: LaneDelivery, name: str) -> str:
    hashes: Mapping[str, str] = delivery.sha256
    return hashes.get(name, "")


def _names_this(name: str, order: RoundOrder) -> bool:
    """Whether a record belongs to an order, by its name in a run's folder: nothing else may be written there."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or len(path.parts) < 2:  # noqa: PLR2004 - a folder, and a name in it
        return False
    owner = path.parts[1].removesuffix(".parquet")
    return path.parts[0] in FOLDERS and owner in (order.file, order.warm_up_file)


FOLDERS = {"attempts", "load", "component-logs", "observed"}
"""The folders of a run that hold records of rounds."""
