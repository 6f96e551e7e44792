"""Rounds driven by a resilience-library client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from patternbench.drivers.client import Client, ClientError
from patternbench.drivers.driver import DrivenRound, Task
from patternbench.drivers.rounds import ClientRound, client_round
from patternbench.records import attempts
from patternbench.terms.units import Duration


@dataclass(frozen=True)
class LibraryDriver:
    """A client that is up, as a driver."""

    client: Client

    def drive(self, task: Task, into: Path) -> DrivenRound:
        """Drive one round and write its attempts; raises ClientError when what was delivered is not the whole round."""
        body = client_round(task.treatment, task.targets[0].url, task.time_limit, task.seed)
        try:
            delivery = self.client.run(body, task.died, task.time_limit, task.begun)
        except ClientError as error:
            _keep(error, into)
            raise
        table = attempts.from_batches(delivery.batches, warm_up=False)
        attempts.write(into, table)
        cpu_s, (calls, good) = delivery.end.cpu_us / 1e6, calls_of(table)
        began = delivery.began_ns
        missing = shortfall(table, body)
        return DrivenRound(table.num_rows, cpu_s, missing, None, calls, good, began_ns=began, measured_from_ns=began)

    def warm_up(self, task: Task, into: Path) -> DrivenRound:
        """Let the client run for the warm-up's length or good calls, without a pattern; every attempt is marked."""
        body = client_round(task.treatment, task.targets[0].url, task.warm_up, task.seed)
        # Rounded up, so that all users together do at least what is asked for.
        share = -(-task.warm_up_requests // body.users) if task.warm_up_requests else None
        without_end = {"successes": share, "max_attempts": None, "time_limit_us": task.warm_up.us}
        bare = body.model_copy(update={**without_end, "strategy": {"baseline": {}}})
        delivery = self.client.run(bare, limit=task.time_limit)
        table = attempts.from_batches(delivery.batches, warm_up=True)
        attempts.write(into, table)
        return DrivenRound(table.num_rows, delivery.end.cpu_us / 1e6)


def calls_of(table: pa.Table) -> tuple[int, int]:
    """How many calls there were, and how many of them succeeded."""
    calls = table.group_by(["user", "call"]).aggregate([("success", "max")])
    return calls.num_rows, int(pc.sum(calls["success_max"]).as_py() or 0)


def _keep(error: ClientError, into: Path) -> None:
    """Write what a client had delivered before it failed; a disk that does not take it is a part of the cause."""
    table = attempts.from_batches(error.batches, warm_up=False)
    try:
        attempts.write(into, table)
        error.rows = table.num_rows
    except OSError as failure:
        error.args = (f"{error}; its attempts could not be written: {failure.strerror}",)


def shortfall(table: pa.Table, body: ClientRound) -> str | None:
    """Why a round cannot count: not every user got what it was asked for within the time."""
    if body.successes is None:
        return None
    unfinished = body.users - finished_users(table, body.users, body.successes, body.max_attempts)
    limit = Duration(body.time_limit_us)
    return f"over its time limit of {limit}: {unfinished} users were not finished" if unfinished else None


def finished_users(table: pa.Table, users: int, successes: int | None, max_attempts: int | None) -> int:
    """How many users reached their successes or their limit of attempts; a table of what was measured."""
    user = table["user"].to_numpy()
    made = np.bincount(user[table["attempt"].to_numpy() > 0], minlength=users)
    good = np.bincount(user[table["success"].to_numpy(zero_copy_only=False)], minlength=users)
    never = np.iinfo(np.int64).max
    return int(((good >= (successes or never)) | (made >= (max_attempts or never))).sum())
