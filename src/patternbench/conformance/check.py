"""Runs the client contract's tests against any client: ``check_client`` is the entrance."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import httpx

from patternbench import asking
from patternbench.asking import Bounds
from patternbench.conformance import rules  # noqa: F401 - importing them registers the rules
from patternbench.conformance.scripted_target import ScriptedTarget
from patternbench.conformance.trial import (
    RULES,
    ClientTrial,
    ContractRule,
    InconclusiveError,
    NotApplicableError,
    RuleBrokenError,
    TooLateError,
    require,
)

Status = Literal["passed", "failed", "inconclusive", "not applicable"]

TRIES = 3
TIMEOUT_S = 15.0
"""How long the first answer of a client may take."""
ALL_S = 300.0
"""How long all rules may take together: about half a minute is usual. The answer under way is then given up."""
LONGEST_SEEN = 500
"""Characters that a finding shows of what a client said."""
ROUND_S = 60.0
"""How long any other may take, a round with all its attempts included."""
ROUND_BYTES = 1 << 27
"""How long any may be, in bytes: three times the flood of rows that the quickest client makes."""


class ClientUnreachableError(Exception):
    """Nothing that speaks HTTP answers at the address."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one rule: its name, the verdict, what was expected and what was seen."""

    rule: str
    status: Status
    expected: str
    seen: str


def check_client(
    url: str,
    on_finding: Callable[[Finding], None] | None = None,
    only: Collection[str] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Finding]:
    """Run every rule of the contract against the client at a URL, and say what became of each.

    It takes about half a minute and sends a few thousand requests, all to a target on loopback that it starts
    itself. ``on_finding`` gets each finding as it comes. ``only`` names the rules to check in addition to the
    description. ``clock`` counts seconds.
    Raises ``ClientUnreachableError``.
    """
    begun = clock()

    def is_over() -> bool:
        return clock() - begun > ALL_S

    _require_answer(url)
    bounds = Bounds(ROUND_S, ROUND_BYTES)
    with ScriptedTarget() as target, asking.client(bounds, base_url=url, given_up=is_over) as client:
        trial = ClientTrial(client, target)
        findings = [_reported(_finding(RULES[0], trial), on_finding)]
        if findings[0].status == "failed":
            return findings
        expected = [rule for rule in RULES[1:] if only is None or rule.name in only]
        findings += [_reported(finding, on_finding) for finding in _in_time(expected, trial, is_over)]
        return findings


def _in_time(expected: Iterable[ContractRule], trial: ClientTrial, is_over: Callable[[], bool]) -> Iterator[Finding]:
    """Yield a finding for each rule; those whose turn comes too late are not tried, and so failed."""
    for rule in expected:
        if is_over():
            yield Finding(rule.name, "failed", rule.expected, f"not tried: the rules before it took {ALL_S / 60:g} min")
        else:
            yield _told_why(_finding(rule, trial), is_over)


def _told_why(finding: Finding, is_over: Callable[[], bool]) -> Finding:
    """Add to a failure that came with the end of the time for all rules that it did: its answers were given up."""
    if finding.status != "failed" or not is_over():
        return finding
    return replace(finding, seen=f"{finding.seen}; by then all rules together took more than {ALL_S / 60:g} min")


def _require_answer(url: str) -> None:
    try:
        with asking.client(Bounds(TIMEOUT_S), base_url=url) as client:
            client.get("/client")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = str(error) or type(error).__name__
        raise ClientUnreachableError(f"no client answers at {url}: {why}") from None


def _reported(finding: Finding, on_finding: Callable[[Finding], None] | None) -> Finding:
    if on_finding is not None:
        on_finding(finding)
    return finding


def _finding(rule: ContractRule, trial: ClientTrial) -> Finding:
    """Try a rule, and say what was seen in a length that can be read."""
    finding = _tried(rule, trial)
    seen = finding.seen
    return finding if len(seen) <= LONGEST_SEEN else replace(finding, seen=f"{seen[: LONGEST_SEEN - 1]}…")


def _tried(rule: ContractRule, trial: ClientTrial) -> Finding:
    """Try a rule; a client that was late gets another try, since the machine may have been busy.

    If the machine is known to have been busy in one of the tries, they accuse no one.
    """
    busy = None
    for last_try in [False] * (TRIES - 1) + [True]:
        try:
            return Finding(rule.name, "passed", rule.expected, _check(rule, trial))
        except NotApplicableError as reason:
            return Finding(rule.name, "not applicable", rule.expected, str(reason))
        except InconclusiveError as error:
            busy = error
        except TooLateError as error:
            if last_try and not busy:
                return Finding(rule.name, "failed", rule.expected, f"{error}, in each of {TRIES} tries")
        except RuleBrokenError as error:
            return Finding(rule.name, "failed", rule.expected, str(error))
        except httpx.HTTPError as error:
            return Finding(rule.name, "failed", rule.expected, f"{type(error).__name__}: {error}")
    return Finding(rule.name, "inconclusive", rule.expected, f"{busy}; the machine is busy: try again when it is not")


def _check(rule: ContractRule, trial: ClientTrial) -> str:
    if trial.description:
        require(rule.needs, trial)
    return rule.check(trial)
