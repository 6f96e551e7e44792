"""The response time of every call of a round, which the product only sums up."""

from __future__ import annotations

import numpy as np
import pandas as pd

from patternbench.analyze.blocks import in_blocks
from patternbench.analyze.round_sums import MICRO, add_up
from patternbench.terms.arrays import Floats


def call_seconds(attempts: pd.DataFrame) -> Floats:
    """Give the response time of every measured call that reached the wire, in seconds, in order."""
    ordered = add_up(in_blocks(attempts)).sent_calls.ordered()
    return ordered.at(np.arange(len(ordered))) * MICRO
