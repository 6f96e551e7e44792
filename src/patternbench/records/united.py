"""The attempts of several generators, put together into one file, as if one had made them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from patternbench.records import attempts


def unite(files: Iterable[Path], into: Path) -> int:
    """Write the attempts of all files in the order in which they ended, and return how many there are.

    Nothing of a row changes: generators begin at one instant, and number users, calls and journeys over the whole load.
    The rows of a call, which are all in one file, keep their order. Raises OSError.
    """
    whole = pa.concat_tables([pq.read_table(file) for file in files]).unify_dictionaries()
    in_order = whole.take(pc.sort_indices(whole["end_us"]))
    attempts.write(into, in_order)
    return int(whole.num_rows)
