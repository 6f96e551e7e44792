"""How a form says the settings of a measured proxy: group by group, next to what its callers do.

A form has a writer for each group of fields that its product knows. What a writer leaves out is not expressible, and so
is a group in whose place a policy of the caller stands: a proxy has one of a kind for each route.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from patternbench.configurations.amounts import Level
from patternbench.configurations.fidelity import Fidelity, FieldMapping
from patternbench.configurations.form import Field
from patternbench.configurations.patterns import Patterns
from patternbench.configurations.proxies import FieldGroup, ProxyField, ProxySettings
from patternbench.configurations.statement import Statement, reasons
from patternbench.study.workload.policies import REPEATING

CALLERS_OWN = "what the caller does itself stands in its place, and a proxy has one of a kind for each route"
CALLS_ONLY = "it counts calls, and not attempts"
NO_WORD = "it has no such setting"
TAKEN_BY: Mapping[FieldGroup, Collection[str]] = {
    FieldGroup.BOUNDS: ("bulkhead", "retry_budget"),
    FieldGroup.OUTLIERS: ("circuit_breaker",),
    FieldGroup.LIMIT: ("rate_limit",),
}
"""The policies of a caller that are written where a group would be."""
AROUND_ATTEMPTS = (FieldGroup.RETRIES, FieldGroup.TIMEOUT)
"""The groups that acted within each attempt of the caller: with any policy of its own around them they would differ."""


@dataclass(frozen=True)
class GroupListing:
    """The fields of one group that have to be listed, by their names within it."""

    fields: Mapping[str, ProxyField]

    def says(self, leaf: str, field: Field, amount: Level, differs: str = "") -> Statement:
        """Write a field of the product, which says a field of the group where that is listed."""
        notation = "" if field.amount.keeps(amount) else f"it takes {field.amount.about}"
        mapped = self._mapped(leaf, field.line(amount), reasons(differs, notation))
        return Statement(field.place, field.amount.write(amount), mapped)

    def means(self, leaf: str, theirs: str = "", differs: str = "") -> Statement:
        """Say a field by what another statement writes, or by what the product does anyway."""
        return Statement(mapped=self._mapped(leaf, theirs, differs))

    def cannot(self, leaf: str, why: str) -> Statement:
        """Leave a field out that the product has no word for."""
        return Statement(mapped=self._as(Fidelity.INEXPRESSIBLE, leaf, "", why))

    def rest(self, said: Iterable[Statement], why: str) -> Iterator[Statement]:
        """Leave out whatever isn't said."""
        names = {one.mapped.ours for one in said if one.mapped}
        return (self.cannot(leaf, why) for leaf, one in self.fields.items() if one.name not in names)

    def _mapped(self, leaf: str, theirs: str, differs: str) -> FieldMapping | None:
        return self._as(Fidelity.APPROXIMATED if differs else Fidelity.EXACT, leaf, theirs, differs)

    def _as(self, fidelity: Fidelity, leaf: str, theirs: str, why: str) -> FieldMapping | None:
        """Return how a field is said; None where it isn't listed."""
        one = self.fields.get(leaf)
        return FieldMapping(one.name, one.value, fidelity, theirs, why) if one else None


Writer = Callable[[GroupListing, ProxySettings], Iterable[Statement]]


def proxy_statements(
    proxy: ProxySettings, patterns: Patterns, writers: Mapping[FieldGroup, Writer], absent: Mapping[FieldGroup, str]
) -> Iterator[Statement]:
    """Yield what a form says of a proxy; ``absent`` is why its product has no word for a group, or for a part of it."""
    repeats = any(kind in REPEATING for kind in patterns.kinds)
    proxy = replace(proxy, calls_only=CALLS_ONLY if repeats else "")
    for group in proxy.groups:
        listing, why = GroupListing(proxy.of(group)), absent.get(group, NO_WORD)
        if _is_taken(group, patterns):
            yield from listing.rest((), CALLERS_OWN)
            continue
        said = list(writers[group](listing, proxy)) if group in writers else []
        yield from said
        yield from listing.rest(said, why)


def _is_taken(group: FieldGroup, patterns: Patterns) -> bool:
    if group in AROUND_ATTEMPTS:
        return bool(patterns.stack)
    return bool({*patterns.kinds} & {*TAKEN_BY.get(group, ())})


@dataclass(frozen=True)
class FormStatements:
    """All that a form says of callers and of a proxy, and whether any of it is expressible."""

    statements: Sequence[Statement]
    expressible: bool


def statements_of(
    patterns: Patterns,
    proxy: ProxySettings,
    of_callers: Callable[[Patterns], Iterable[Statement]],
    writers: Mapping[FieldGroup, Writer],
    absent: Mapping[FieldGroup, str],
    *,
    unsaid: Collection[str] = (),
) -> FormStatements:
    """Return what a form says of callers, and then of a proxy; it has no word for policies of the kinds ``unsaid``."""
    given = callers(patterns, proxy)
    of_proxy = list(proxy_statements(proxy, given, writers, absent))
    expressible = bool({*patterns.kinds} - {*unsaid}) or express(of_proxy)
    return FormStatements([*of_callers(given), *of_proxy], expressible)


def callers(patterns: Patterns, proxy: ProxySettings) -> Patterns:
    """Return what a proxy's file says of callers: where they have no policy, nothing, not even when they give up."""
    return patterns if patterns.stack or not proxy.fields else Patterns(())


def express(statements: Sequence[Statement]) -> bool:
    """Whether any field is said, exactly or nearly."""
    return any(one.mapped and one.mapped.fidelity is not Fidelity.INEXPRESSIBLE for one in statements)
