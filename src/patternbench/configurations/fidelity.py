"""How well the configuration of a product says what a policy of ours says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Fidelity(StrEnum):
    """How well a product's configuration says one field of ours."""

    EXACT = "exact"
    APPROXIMATED = "approximated"
    INEXPRESSIBLE = "not expressible"


@dataclass(frozen=True)
class FieldMapping:
    """One field of a policy in a product's form.

    ``ours`` is its place in the stack, such as ``retry.max_attempts``, and ``value`` its level as a study writes it.
    ``theirs`` is what stands in the product's configuration for it; empty where nothing does. ``why`` says what
    differs, and of an exact field what the reader has to do for it.
    """

    ours: str
    value: str
    fidelity: Fidelity
    theirs: str = ""
    why: str = ""

    @property
    def words(self) -> str:
        """One line: ``retry.max_attempts 3: exact, num_retries: 2``."""
        detail = f", {self.theirs}" if self.theirs else ""
        tail = f" ({self.why})" if self.why else ""
        return f"{self.ours} {self.value}: {self.fidelity}{detail}{tail}"

    def as_json(self) -> dict[str, str]:
        """Return the field as plain data."""
        return {
            "field": self.ours,
            "value": self.value,
            "fidelity": self.fidelity.value,
            "as": self.theirs,
            "why": self.why,
        }


def inexact(mapped: Iterable[FieldMapping]) -> Sequence[FieldMapping]:
    """Return the fields that are not exact, those that are left out last."""
    order = list(Fidelity)
    wrong = [one for one in mapped if one.fidelity is not Fidelity.EXACT]
    return sorted(wrong, key=lambda one: order.index(one.fidelity))
