"""``scripts/test lint|fast|all|licences|advisories``: continues after a failure, and ends with all of them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from scripts.checks import command, lanes, licences, lint, skips, suites, verdict
from scripts.checks.lanes import Ended, Job
from scripts.checks.steps import Step
from scripts.checks.suites import Suite
from scripts.checks.verdict import SuiteOutcome

Outcome = bool | SuiteOutcome
"""What comes of a step, and of a suite."""


def main(words: list[str]) -> int:
    """Run the checks of a name; return 0 when all passed."""
    jobs: Mapping[str, tuple[Sequence[Step], Sequence[Suite]]] = {
        "lint": ([*lint.SLOW, *lint.QUICK], ()),
        "fast": (lint.QUICK, (suites.UNIT,)),
        "all": ([*suites.BUILDS, *lint.SLOW, *lint.QUICK], suites.ALL),
        "licences": (licences.LICENCES, ()),
        "advisories": (licences.ADVISORIES, ()),
    }
    if len(words) != 1 or words[0] not in jobs:
        print(f"usage: scripts/test {'|'.join(jobs)}", file=sys.stderr)
        return 2
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
    os.chdir(skips.ROOT)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what a CI sends that gives up: all ends as by Ctrl-C
    return carry_out(*jobs[words[0]])


def carry_out(steps: Sequence[Step], expected: Sequence[Suite]) -> int:
    """Run lints and suites, and print what came of them."""
    jobs = [*map(_of_step, steps), *map(_of_suite, expected)]
    ended = {one.name: one for one in lanes.carry_out(jobs)}
    done = _with_second_tries([suite for suite in expected if suite.name in ended], ended)
    entries, is_admin = skips.allowed(), skips.administers()
    print("", *verdict.longest(ended.values()), *verdict.summary(done, entries, is_admin), sep="\n")
    wrong = [f"{step.name} failed" for step in steps if step.name in ended and not ended[step.name].result]
    wrong += verdict.problems(done, entries, is_admin)
    wrong += [f"{job.name} did not end: all was interrupted" for job in jobs if job.name not in ended]
    print("", *(wrong or ["all checks passed"]), sep="\n", file=sys.stderr if wrong else sys.stdout)
    return command.INTERRUPTED if command.stopped() else int(bool(wrong))


def _of_step(step: Step) -> Job[Outcome]:
    return Job(step.name, step.passes, step.tool)


def _of_suite(suite: Suite) -> Job[Outcome]:
    return Job(suite.name, partial(verdict.perform, suite), suite.tool, suite.alone)


def _with_second_tries(ran: Sequence[Suite], ended: Mapping[str, Ended[Outcome]]) -> list[SuiteOutcome]:
    """Return what became of suites, after the second tries, unless all was interrupted."""
    first = [one.result for one in ended.values() if isinstance(one.result, SuiteOutcome)]
    try:
        return first if command.stopped() else verdict.tried_again(ran, first)
    except KeyboardInterrupt:
        command.stop()
        return first


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
