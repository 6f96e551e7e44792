"""The observer of rate limiting: it reads and judges logged decisions, and simulates those of other limiters."""

from __future__ import annotations

from operator import attrgetter
from types import MappingProxyType

from patternbench.observe.seam import Observer, RoundFiles, Settings
from patternbench.observe.warning import RoundWarning
from patternbench.ratelimit.records import decisions
from patternbench.ratelimit.records.decisions import Decisions
from patternbench.ratelimit.responses import AIM, RESPONSES, of_decisions

MOST_WITHOUT_STORE = 0.01
"""Above this share of decisions without the store, the round isn't one of the store."""


class RateLimits(Observer[Decisions]):
    """Watches every balancer that logs its decisions. The component writes the log, so nothing is started."""

    name = "rate-limits"
    responses = RESPONSES
    aim = AIM
    tables = MappingProxyType({"decisions": attrgetter("table")})

    def read(self, kept: RoundFiles) -> Decisions | None:
        """Return the decisions of a round, if a balancer logged any."""
        return decisions.read(kept)

    def warnings(self, seen: Decisions) -> list[RoundWarning]:
        """Return a warning if too many decisions were made without the store."""
        return store_warnings(len(seen.table), seen.without_store)

    def measured(self, seen: Decisions, settings: Settings) -> dict[str, float]:
        """How accurate the limit was."""
        return of_decisions(seen, settings)


def store_warnings(made: int, without_store: int) -> list[RoundWarning]:
    """Return the warnings about a rate limit, from the numbers of decisions with and without an answer of the store."""
    if not without_store:
        return []
    text = f"{without_store:,} of {made:,} decisions were made without the store, which failed or was too slow"
    remedy = "see the store's log, and raise `store_timeout`"
    return [RoundWarning("store_missing", text, remedy, without_store > MOST_WITHOUT_STORE * made)]


OBSERVER = RateLimits()
