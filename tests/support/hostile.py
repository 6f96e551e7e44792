"""Files that were made to hurt: whoever reads them refuses them in less than two seconds and 300 MB."""

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
for name in sys.argv[1:]:
    begin = time.process_time()
    try:
        read(Path(name))
    except InputError as error:
        pass
    else:
        print(name, "was read")
    took = time.process_time() - begin
    if took > 2:
        print(name, f"took {took:.1f} s")
if own_peak_mib() > 300:
    print(f"took {own_peak_mib():.0f} MB")
"""


def are_refused_within_bounds(reader: str, files: Iterable[Path]) -> None:
    """Have a process of its own read files, by Python that defines ``read``, and hold it to the bounds."""
    words = [sys.executable, "-c", reader + RUN, *sorted(map(str, files))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
