"""``python -m scripts.checks.long_tests REPORT.xml``: which files of unit tests ``make check`` leaves out.

Those that take longest by a report in JUnit's form of all of them, until the rest fits the time of the fast subset.
``make test`` runs every file.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

BUDGET_S = 150.0
"""What the tests of the files that stay may take together, on one of the two processors that share them."""
FILE = Path("tests/long.txt")


def main(report: str) -> None:
    """Write the list anew."""
    seconds = seconds_of(Path(report).read_text(encoding="utf-8"))
    found = long(seconds, BUDGET_S)
    FILE.write_text("".join(f"{file}\n" for file in sorted(found)), encoding="utf-8")
    left_out, every = sum(seconds[file] for file in found), sum(seconds.values())
    print(f"{len(found)} of {len(seconds)} files, which take {left_out:.0f} of {every:.0f} s")


def seconds_of(report: str) -> Mapping[str, float]:
    """Return how long the tests of each file took together, with what they set up."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in ElementTree.fromstring(report).iter("testcase"):
        seconds[case.get("file", "")] += float(case.get("time", 0))
    return seconds


def long(seconds: Mapping[str, float], budget_s: float) -> set[str]:
    """Return the files without which the others take no longer than a time: as few as can be, so the longest."""
    left, found = sum(seconds.values()), set[str]()
    for file in sorted(seconds, key=lambda one: (-seconds[one], one)):
        if left <= budget_s:
            break
        left -= seconds[file]
        found.add(file)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
