"""``scripts/test lint|fast|all|licences|advisories``: continues after a failure, and ends with all of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from scripts.checks import licences, lint, skips, suites, verdict
from scripts.checks.steps import Step


def main(words: list[str]) -> int:
    """Run the checks of a name; return 0 when all passed."""
    jobs = {
        "lint": ([*lint.QUICK, *lint.SLOW], ()),
        "fast": (lint.QUICK, (suites.UNIT,)),
        "all": ([*lint.QUICK, *lint.SLOW], suites.ALL),
        "licences": (licences.LICENCES, ()),
        "advisories": (licences.ADVISORIES, ()),
    }
    if len(words) != 1 or words[0] not in jobs:
        print(f"usage: scripts/test {'|'.join(jobs)}", file=sys.stderr)
        return 2
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
    os.chdir(skips.ROOT)
    return carry_out(*jobs[words[0]])


def carry_out(steps: Iterable[Step], expected: Iterable[suites.Suite]) -> int:
    """Run lints and suites, and print what came of them."""
    wrong = [f"{step.name} failed" for step in steps if not step.passes()]
    done, entries, is_admin = verdict.perform_all(expected), skips.allowed(), skips.administers()
    print("", *verdict.summary(done, entries, is_admin), sep="\n")
    wrong += verdict.problems(done, entries, is_admin)
    print("", *(wrong or ["all checks passed"]), sep="\n", file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
