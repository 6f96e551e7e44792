"""What a run of suites comes to: their counts, what was tried again, and why the run fails, if it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from scripts.checks import skips
from scripts.checks.cases import FAILED, PASSED, SKIPPED, Case
from scripts.checks.command import tell
from scripts.checks.lanes import Ended, T
from scripts.checks.suites import Suite

MOST_SECOND_TRIES = 3
SLOWEST = 20
"""How many of the slowest tests are named at the end, and of the jobs that took longest."""


@dataclass(frozen=True)
class SuiteOutcome:
    """What became of a suite; ``failed`` are those that failed to the end, ``again`` those that were tried twice."""

    name: str
    cases: list[Case]
    failed: list[Case]
    again: list[Case] = field(default_factory=list)
    broken: str = ""

    def count(self, outcome: str) -> int:
        """How many cases had an outcome in the first try."""
        return sum(case.outcome == outcome for case in self.cases)


def perform(suite: Suite) -> SuiteOutcome:
    """Run a suite once."""
    try:
        found, code = suite.start([])
    except ValueError as error:
        return SuiteOutcome(suite.name, [], [], broken=str(error))
    failed = [case for case in found if case.outcome == FAILED]
    return SuiteOutcome(suite.name, found, failed, broken=_broken(found, failed, code))


def _broken(found: list[Case], failed: list[Case], code: int) -> str:
    if not found:
        return "no test ran"
    return f"ended with code {code}, though no test failed" if code and not failed else ""


def tried_again(suites: Sequence[Suite], first: Sequence[SuiteOutcome]) -> list[SuiteOutcome]:
    """Run once more what failed, where that may be; the second tries of all suites together are bounded."""
    done: list[SuiteOutcome] = []
    for suite, once in zip(suites, first, strict=True):
        left = MOST_SECOND_TRIES - sum(len(each.again) for each in done)
        done.append(_once_more(suite, once) if _may_again(suite, once, left) else once)
    return done


def _may_again(suite: Suite, once: SuiteOutcome, tries_left: int) -> bool:
    """Whether what failed may be tried again: real parts, few, and each of them alone."""
    few = 0 < len(once.failed) <= tries_left
    return suite.again and few and not once.broken and all(case.again for case in once.failed)


def _once_more(suite: Suite, once: SuiteOutcome) -> SuiteOutcome:
    """Return what the second try did not pass, whatever its tool says, and what fails only now."""
    tell(f"\n== {suite.name}: what failed, once more\n")
    found, _ = suite.start([case.again for case in once.failed])
    passed = {case.name for case in found if case.outcome == PASSED}
    first = {case.name for case in once.failed}
    new = [case for case in found if case.outcome == FAILED and case.name not in first]
    return replace(once, failed=[case for case in once.failed if case.name not in passed] + new, again=once.failed)


def problems(done: Iterable[SuiteOutcome], entries: list[skips.Allowed], is_admin: bool) -> Iterator[str]:
    """Everything that makes the run fail."""
    for suite in done:
        if suite.broken:
            yield f"{suite.name}: {suite.broken}"
        for case in suite.failed:
            yield f"{suite.name}: {case.name} failed" + (" twice" if case in suite.again else "")
        for case in skips.not_allowed(suite.name, suite.cases, entries, is_admin):
            yield f"{suite.name}: {case.name} was skipped, which {skips.LIST.name} does not allow: {case.why}"


def longest(ended: Iterable[Ended[T]]) -> Iterator[str]:
    """Yield the jobs that took longest: where the time goes, and how much of it is waiting."""
    for one in sorted(ended, key=lambda each: each.seconds, reverse=True)[:SLOWEST]:
        yield f"longest: {one.seconds:6.0f} s {one.cpu_s:6.0f} s of CPU time  {one.name}"


def summary(done: list[SuiteOutcome], entries: list[skips.Allowed], is_admin: bool) -> Iterator[str]:
    """Yield the counts per suite, the slowest tests, then what was tried again and what was skipped with leave."""
    yield f"{'':24}{'passed':>8}{'failed':>8}{'skipped':>9}{'run again':>11}"
    for suite in done:
        again = len(suite.again)
        yield f"{suite.name:24}{_passed(suite):>8}{len(suite.failed):>8}{suite.count(SKIPPED):>9}{again:>11}"
    yield from _slowest(done)
    for suite in done:
        for case in suite.again:
            yield f"run again: {suite.name}: {case.name}"
        for case in suite.cases:
            why = skips.reason(suite.name, case, entries, is_admin) if case.outcome == SKIPPED else None
            if why:
                yield f"skipped: {suite.name}: {case.name}: {why}"


def _slowest(done: list[SuiteOutcome]) -> Iterator[str]:
    """Yield the tests that took longest, of those whose tool says how long: the first to look at for time."""
    timed = [(case.seconds, f"{suite.name}: {case.name}") for suite in done for case in suite.cases if case.seconds]
    for seconds, name in sorted(timed, reverse=True)[:SLOWEST]:
        yield f"slowest: {seconds:6.1f} s {name}"


def _passed(suite: SuiteOutcome) -> int:
    return len(suite.cases) - len(suite.failed) - suite.count(SKIPPED)
