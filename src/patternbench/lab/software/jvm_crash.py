"""The words of a Java virtual machine that crashed: its signal and where it was, out of the frame of ``#`` around them.

The report is that of HotSpot, to standard output before it ends with SIGABRT.
"""

from __future__ import annotations

from collections.abc import Sequence

FATAL = "# A fatal error has been detected by the Java Runtime Environment:"
FRAME_FOLLOWS = "# Problematic frame:"
FIRST_WORDS = ("SIG", "Internal Error", "Out of Memory Error", "EXCEPTION_")


def crash_lines(lines: Sequence[str]) -> list[str]:
    """Return what a log says of a crash: what happened, and the frame in which it did; nothing where there was none."""
    if FATAL not in lines:
        return []
    report = lines[lines.index(FATAL) :]
    what = [plain for line in report if (plain := line.strip("# ")).startswith(FIRST_WORDS)][:1]
    frame = report[report.index(FRAME_FOLLOWS) + 1].strip("# ") if FRAME_FOLLOWS in report[:-1] else ""
    return [*what, *([f"in {frame}"] if frame else [])]
