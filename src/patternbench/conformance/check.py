"""Runs the client contract's tests against any client: `check_client` is the entrance."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

import httpx

from patternbench import asking
from patternbench.asking import Bounds
from patternbench.conformance import rules  # noqa: F401 - importing them registers the rules
from patternbench.conformance.bench import (
    RULES,
    ClientTrial,
    ContractRule,
    InconclusiveError,
    NotApplicableError,
    RuleBrokenError,
    TooLateError,
    require,
)
from patternbench.conformance.cases import ClientDescription
from patternbench.conformance.scripted_target import ScriptedTarget

Status = Literal["passed", "failed", "inconclusive", "not applicable"]

TRIES = 3
TIMEOUT_S = 15.0
"""How long the first answer of a client may take."""
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
    url: str, on_finding: Callable[[Finding], None] | None = None, only: Collection[str] | None = None
) -> list[Finding]:
    """Run every rule of the contract against the client at a URL, and say what became of each.

    It takes about half a minute and sends a few thousand requests, all to a target on loopback that it starts
    itself. `on_finding` gets each finding as it comes. `only` names the rules to check in addition to the description.
    Raises `ClientUnreachableError`.
    """
    with ScriptedTarget() as target, asking.client(Bounds(ROUND_S, ROUND_BYTES), base_url=url) as client:
        _require_answer(url)
        bench = ClientTrial(client, target)
        findings = [_told(_finding(RULES[0], bench), on_finding)]
        if findings[0].status == "failed":
            return findings
        bench.description = ClientDescription.model_validate_json(client.get("/client").content)
        findings += [
            _told(_finding(rule, bench), on_finding) for rule in RULES[1:] if only is None or rule.name in only
        ]
        return findings


def _require_answer(url: str) -> None:
    try:
        with asking.client(Bounds(TIMEOUT_S), base_url=url) as client:
            client.get("/client")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = str(error) or type(error).__name__
        raise ClientUnreachableError(f"no client answers at {url}: {why}") from None


def _told(finding: Finding, on_finding: Callable[[Finding], None] | None) -> Finding:
    if on_finding is not None:
        on_finding(finding)
    return finding


def _finding(rule: ContractRule, bench: ClientTrial) -> Finding:
    """Try a rule; a client that was late gets another try, since the machine may have been busy.

    If the machine is known to have been busy in one of the tries, they accuse nobody.
    """
    busy = None
    for last_try in [False] * (TRIES - 1) + [True]:
        try:
            return Finding(rule.name, "passed", rule.expected, _check(rule, bench))
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


def _check(rule: ContractRule, bench: ClientTrial) -> str:
    if bench.description:
        require(rule.needs, bench)
    return rule.check(bench)
