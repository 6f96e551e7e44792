"""Files that were made to hurt: whoever reads them refuses them in less than two seconds and 300 MB.

The seconds are those of a machine that takes 0.12 s for two million steps of Python, which are timed beside the work:
the bound moves with the machine.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + chr(ord(name) - 1)] * 10)}]\n" for name in "bcdefghi"
)
"""YAML whose aliases stand for a billion values."""
RUN = """
import sys, time
from pathlib import Path
from benchmarks.common import own_peak_mib
from patternbench.terms.problems import InputError
def cpu_s(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin
def steps():
    left = 0
    for number in range(2_000_000):
        left += number * number % 7
def refused(name):
    try:
        read(Path(name))
    except InputError as error:
        if Path(name).name not in str(error):
            print(name, "is not named")
    else:
        print(name, "was read")
def over(name):
    took = cpu_s(lambda: refused(name))
    yardstick = cpu_s(steps) if took > 2 else 0
    return f"{took:.1f} s, {took / yardstick:.0f} yardsticks" if yardstick and took > 2 * yardstick / 0.12 else ""
for name in sys.argv[1:]:
    tries = 3  # what else runs on a core only ever makes the work longer
    while (took := over(name)) and (tries := tries - 1):
        pass
    if took:
        print(name, "took", took)
if own_peak_mib() > 300:
    print(f"took {own_peak_mib():.0f} MB")
"""


def are_refused_within_bounds(reader: str, files: Iterable[Path]) -> None:
    """Have a process of its own read files, by Python that defines ``read``, and hold it to the bounds."""
    words = [sys.executable, "-c", reader + RUN, *sorted(map(str, files))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.returncode) == ("", 0), done.stdout + done.stderr
