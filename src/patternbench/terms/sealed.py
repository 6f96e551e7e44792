"""A hash of plain data within itself, by which a reader sees whether it was changed since it was written.

What an answer is read from carries one, unless the journal of its run has its hash (``records/journal``,
``records/seals``) or it is made anew for each answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

SEAL = "seal"
"""The field that holds the hash of all other fields."""


def content_hash(content: object) -> str:
    """Return the SHA-256 of plain data in hex digits, independent of the order of its keys."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(content: Mapping[str, object], of: str = "") -> dict[str, object]:
    """Return plain data with its hash; ``of`` names what it belongs to, without which it means something else."""
    return {**content, SEAL: _hash(content, of)}


def is_whole(tree: Mapping[str, object], of: str = "") -> bool | None:
    """Whether plain data is what was written, for what it belongs to; None where no hash tells."""
    if SEAL not in tree:
        return None
    try:
        return tree[SEAL] == _hash(tree, of)
    except RecursionError:  # nothing that is written here is nested so deeply
        return False


def _hash(content: Mapping[str, object], of: str) -> str:
    return content_hash([of, {name: value for name, value in content.items() if name != SEAL}])
