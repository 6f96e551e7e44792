"""The rules of the bundling filter: which single requests it collects, how many, and how long the first one waits.

Held equal to contracts/bundle/rules.schema.json by a test.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from patternbench.terms.units import Duration

SHORTEST = Duration.parse("1ms")
LONGEST_WAIT, LONGEST_TIMEOUT = Duration.parse("10s"), Duration.parse("1h")


def _listed(value: object) -> object:
    return value.replace(" ", "").split(",") if isinstance(value, str) else value


def _within(longest: Duration) -> AfterValidator:
    def check(length: Duration) -> Duration:
        if not SHORTEST.us <= length.us <= longest.us:
            allowed = {"allowed": f"{SHORTEST} to {longest}"}
            raise PydanticCustomError("duration", "is outside the filter's range", allowed)
        return length

    return AfterValidator(check)


Wait = Annotated[Duration, _within(LONGEST_WAIT)]
Timeout = Annotated[Duration, _within(LONGEST_TIMEOUT)]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]


class BundledRoute(BaseModel):
    """Single requests that are bundled: ``single`` is the path of one thing, ``bundle`` that of several.

    At most ``size`` different things are in a bundle, and its first request waits no longer than ``wait``. ``per``
    names headers by which the service distinguishes callers, in addition to those that always count (Authorization,
    Cookie, Host, Accept, Accept-Charset, Accept-Language, Origin, what proxies say of the client, and the address).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    single: Annotated[str, Field(pattern=r"^/[^{}\s?#]*\{id\}[^{}\s?#]*$")]
    bundle: Annotated[str, Field(pattern=r"^/[^{}\s#]*\{ids\}[^{}\s#]*$")]
    size: Annotated[int, Field(ge=2, le=1000)]
    wait: Wait
    per: Annotated[list[HeaderName], BeforeValidator(_listed), Field(min_length=1)] = ["Authorization"]

    def rules(self) -> dict[str, object]:
        """Return the route as the filter reads it."""
        return self.model_dump() | {"wait": f"{self.wait.us}us"}
