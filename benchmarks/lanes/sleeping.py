"""Lanes that sleep through their rounds: what is left of the time is that of the cluster and of the coordinator."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from patternbench.records.journal import DONE, Entry
from patternbench.run.lanes.worker import LaneDelivery, LaneWorker, sha256
from patternbench.run.round.orders import RoundOrder, RoundResult

BYTES = 150_000
"""The records of each round: too many to travel with a result, so they go through the object store."""


class SleepingLane(LaneWorker):
    """Sleeps for the time limit of each order."""

    def carry_out(self, plain: Mapping[str, object]) -> LaneDelivery:
        order = RoundOrder.from_json(plain)
        time.sleep(order.time_limit.seconds)
        return delivery_of(order, os.urandom(BYTES))


def delivery_of(order: RoundOrder, content: bytes) -> LaneDelivery:
    """Return what a lane hands over of an order whose attempts are this file."""
    name, digest = f"attempts/{order.file}.parquet", sha256(content)
    known = (order.index, order.block, order.treatment.id, DONE, order.file, time.time(), order.time_limit.seconds)
    entry = Entry(*known, sha256=digest, lane=order.lane)
    result = RoundResult(entry, files=[name], order=order.id, lane=order.lane)
    return LaneDelivery(result.as_json(), {name: content}, {name: digest})
