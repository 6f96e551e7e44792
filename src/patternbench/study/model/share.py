"""A rate as a share of the capacity of what is measured, which the run knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic_core import PydanticCustomError

from patternbench.study.model.amounts import Amount

SHARE = "share"
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s?%")
_ALL = 100
_MOST = 1000


class ShareOfCapacity(Amount):
    """A share of the capacity, in percent: ``70 %``."""

    __slots__ = ()
    what: ClassVar[str] = "a share of the capacity"
    allowed: ClassVar[str] = f"a share above 0 and up to {_MOST} %, such as `70 %`"
    schema: ClassVar[Mapping[str, object]] = {"pattern": r"^\d+(\.\d+)? ?%$", "examples": ["70 %"]}

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the share that a text writes; raises ValueError when it writes none."""
        match = _PERCENT.fullmatch(text.strip())
        if match is None or not 0 < float(match[1]) <= _MOST:
            raise ValueError(f"{text!r} isn't a share of the capacity")
        return cls(f"{float(match[1]):.10g} %")

    def of(self, capacity: float) -> float:
        """Return the rate that it is of a capacity."""
        return float(self.removesuffix("%")) / _ALL * capacity


def from_share(value: object) -> object:
    """Return the shares of ``{share: 70 %}`` as levels; any other value as it is."""
    if not isinstance(value, Mapping):
        return value
    if set(value) != {SHARE}:
        allowed = "a rate, or `{share: 70 %}` of the capacity"
        raise PydanticCustomError("share", "is neither a rate nor a share", {"allowed": allowed})
    shares = value[SHARE]
    return [_share(one) for one in shares] if isinstance(shares, list) else _share(shares)


def _share(value: object) -> ShareOfCapacity:
    try:
        return ShareOfCapacity.parse(value if isinstance(value, str) else "")
    except ValueError:
        allowed = {"allowed": ShareOfCapacity.allowed}
        raise PydanticCustomError("share", f"is not {ShareOfCapacity.what}", allowed) from None
