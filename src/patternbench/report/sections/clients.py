"""The finding on clients: how each differs from the first one where both do the same under the same conditions.

Rounds are compared as in ``findings``, by pairs of scenarios that differ in nothing but their client. A difference is a
mean over all such pairs. It is named if it is significant with the false discovery rate of all comparisons of this
finding at 5 %.
"""

from __future__ import annotations

from patternbench.analyze.statements.lines import Change, Pair, changes
from patternbench.analyze.statements.verdict import DIFFERS, Verdict
from patternbench.report.acting_faults import Levels
from patternbench.report.labels import RESPONSES, level_text
from patternbench.report.layout import Layout
from patternbench.report.model import RunReport
from patternbench.report.sections.findings import Headline, against_references
from patternbench.terms.responses import HEADLINES
from patternbench.terms.roles import Role

_TITLE = "Clients"
_NAMED = 4


def client_headlines(report: RunReport, arrangement: Layout) -> list[Headline]:
    """Return the finding, if several clients ran; else none."""
    client = _client(arrangement)
    pairs = _pairs(arrangement, client) if client else []
    if not client or not pairs:
        return []
    table = against_references(report.done, pairs, report.failure_limit, report.looked)["item"]
    rows = changes(table) if len(table) else []
    first = level_text(arrangement.factors[client].levels[0])
    if all(row.verdict is Verdict.TOO_FEW for row in rows):
        return []
    reported = {name: [row for row in rows if row.response == name and row.verdict in DIFFERS] for name in HEADLINES}
    lines = [_line(name, those) for name, those in reported.items() if those]
    alike = [RESPONSES[name].title for name, those in reported.items() if not those]
    lead = "\n".join([f"Compared with {first}, which does the same:", *lines])
    more = f"No clear difference: {', '.join(alike)}. " if alike else ""
    return [
        Headline(
            _TITLE,
            lead if lines else f"No client differs clearly from {first} where both do the same.",
            (f"{more if lines else ''}Means over all conditions, with 95 % intervals. Harnesses are part of them.",),
            Verdict.INCONCLUSIVE,
        )
    ]


def _client(arrangement: Layout) -> str | None:
    """Return the factor of the clients, if there are several."""
    return next((one.name for one in arrangement.factors.values() if one.role is Role.CLIENT and one.varies), None)


def _pairs(arrangement: Layout, client: str) -> list[Pair]:
    """Every scenario of another client with the first client's scenario that has the same other levels."""
    first = level_text(arrangement.factors[client].levels[0])
    placed = [(one.scenario, levels) for one, levels in zip(arrangement.scenarios, arrangement.levels, strict=True)]
    references = {
        _others(levels, client): scenario for scenario, levels in placed if level_text(levels[client]) == first
    }
    others = [(scenario, levels, level_text(levels[client])) for scenario, levels in placed]
    return [
        Pair(scenario, references[_others(levels, client)], item=name, line=name, client=name)
        for scenario, levels, name in others
        if name != first and _others(levels, client) in references
    ]


def _others(levels: Levels, client: str) -> frozenset[tuple[str, str]]:
    """Return what a scenario does, and under which conditions, without the client that does it."""
    return frozenset((name, level_text(level)) for name, level in levels.items() if name != client)


def _line(response: str, rows: list[Change]) -> str:
    """Return the clients that differ in a response, the greatest difference first."""
    ordered = sorted(rows, key=lambda row: -abs(row.change))
    named = [f"{row.item} {row.text}{row.condition}" for row in ordered[:_NAMED]]
    separator = "; " if any(row.condition for row in ordered[:_NAMED]) else ", "
    more = f", and {len(ordered) - _NAMED} more" if len(ordered) > _NAMED else ""
    return f"{RESPONSES[response].title}: {separator.join(named)}{more}."
