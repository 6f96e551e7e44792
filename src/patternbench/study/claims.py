"""What a study expects of its results: claims, which the report holds against the rounds.

Their texts are only texts here. The analysis checks what they mean (``analyze/statements/claims.py``).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from patternbench.study.evidence import Text
from patternbench.study.model.parts import Model

ClaimedLevel = str | int | float | bool | None
"""A level as a study writes it; null is that of a factor that does not apply."""
ClaimedLevels = Annotated[list[ClaimedLevel], Field(min_length=1)]


class DeclaredClaim(Model):
    """An expected change of ``response``, from scenarios with some levels to those with others.

    ``change`` is ``higher``, ``lower``, ``same`` within ``margin``, or a bound such as ``> +10 %``. ``where`` restricts
    the scenarios; the claim is made of each pair of them, or with ``over: mean`` of the mean over all pairs, or with
    ``over: [users]`` of the mean over users under each of the other levels. ``than`` compares the change with the same
    change under other levels than those of ``where``. Each factor has one level, or a list of those that it may have.
    """

    says: Text
    response: Text
    change: Text
    margin: Text | None = None
    from_: Annotated[dict[str, ClaimedLevel | ClaimedLevels], Field(alias="from", min_length=1)]
    to: Annotated[dict[str, ClaimedLevel | ClaimedLevels], Field(min_length=1)]
    where: dict[str, ClaimedLevel | ClaimedLevels] = Field(default_factory=dict)
    than: dict[str, ClaimedLevel | ClaimedLevels] = Field(default_factory=dict)
    over: Literal["mean"] | Annotated[list[Text], Field(min_length=1)] | None = None
    published: Text | None = None
