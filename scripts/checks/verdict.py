"""What a run of suites comes to: their counts, what was tried again, and why the run fails, if it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scripts.checks import skips
from scripts.checks.cases import FAILED, PASSED, SKIPPED, Case
from scripts.checks.suites import Suite

MOST_SECOND_TRIES = 3


@dataclass(frozen=True)
class Done:
    """What became of a suite; ``failed`` are those that failed to the end, ``again`` those that were tried twice."""

    name: str
    cases: list[Case]
    failed: list[Case]
    again: list[Case] = field(default_factory=list)
    broken: str = ""

    def count(self, outcome: str) -> int:
        """How many cases had an outcome in the first try."""
        return sum(case.outcome == outcome for case in self.cases)


def perform(suite: Suite, tries_left: int) -> Done:
    """Run a suite, and what fails once more where the suite and what is left of second tries allow it."""
    try:
        found, code = suite.start([])
    except ValueError as error:
        return Done(suite.name, [], [], broken=str(error))
    failed = [case for case in found if case.outcome == FAILED]
    broken = _broken(found, failed, code)
    if broken or not failed or not suite.again or len(failed) > tries_left or not all(case.again for case in failed):
        return Done(suite.name, found, failed, broken=broken)
    print(f"\n== {suite.name}: what failed, once more", flush=True)
    return Done(suite.name, found, _still_failing(suite, failed), failed)


def _broken(found: list[Case], failed: list[Case], code: int) -> str:
    if not found:
        return "no test ran"
    return f"ended with code {code}, though no test failed" if code and not failed else ""


def _still_failing(suite: Suite, failed: list[Case]) -> list[Case]:
    """Return what the second try did not pass, whatever its tool says, and what fails only now."""
    found, _ = suite.start([case.again for case in failed])
    passed = {case.name for case in found if case.outcome == PASSED}
    first = {case.name for case in failed}
    new = [case for case in found if case.outcome == FAILED and case.name not in first]
    return [case for case in failed if case.name not in passed] + new


def perform_all(suites: Iterable[Suite]) -> list[Done]:
    """Run suites in turn; the second tries of all of them together are bounded."""
    done: list[Done] = []
    for suite in suites:
        print(f"\n== {suite.name}", flush=True)
        done.append(perform(suite, MOST_SECOND_TRIES - sum(len(each.again) for each in done)))
    return done


def problems(done: list[Done], entries: list[skips.Allowed], is_admin: bool) -> Iterator[str]:
    """Everything that makes the run fail."""
    for suite in done:
        if suite.broken:
            yield f"{suite.name}: {suite.broken}"
        for case in suite.failed:
            yield f"{suite.name}: {case.name} failed" + (" twice" if case in suite.again else "")
        for case in skips.not_allowed(suite.name, suite.cases, entries, is_admin):
            yield f"{suite.name}: {case.name} was skipped, which {skips.LIST.name} does not allow: {case.why}"


def summary(done: list[Done], entries: list[skips.Allowed], is_admin: bool) -> Iterator[str]:
    """Yield the counts per suite, then by name what was tried again and what was skipped with leave."""
    yield f"{'':24}{'passed':>8}{'failed':>8}{'skipped':>9}{'run again':>11}"
    for suite in done:
        again = len(suite.again)
        yield f"{suite.name:24}{_passed(suite):>8}{len(suite.failed):>8}{suite.count(SKIPPED):>9}{again:>11}"
    for suite in done:
        for case in suite.again:
            yield f"run again: {suite.name}: {case.name}"
        for case in suite.cases:
            why = skips.reason(suite.name, case, entries, is_admin) if case.outcome == SKIPPED else None
            if why:
                yield f"skipped: {suite.name}: {case.name}: {why}"


def _passed(suite: Done) -> int:
    return len(suite.cases) - len(suite.failed) - suite.count(SKIPPED)
