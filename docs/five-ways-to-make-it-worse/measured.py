"""Prints what the studies anti-patterns-* measured, for the page five-ways-to-make-it-worse.md.

    .venv/bin/python docs/five-ways-to-make-it-worse/measured.py [RUN ...] [--write]

RUN are folders of runs of those studies, in any order. With `--write` their rounds are kept next to this file and the
parts are put into the page and into the catalogue of patterns. Without RUN the rounds that are kept are taken.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "reproductions"))

import comparisons
from ways import WAYS

PAGE = Path(__file__).parent.with_suffix(".md")

PATTERNS = {
    "retry.md": [f"anti-patterns-{name}" for name in ("layers", "no-jitter", "long-timeout", "retry-budget")],
    "circuit-breaker.md": ["anti-patterns-small-window"],
}
"""The pages of the catalogue that show main claims, and of which studies."""

if __name__ == "__main__":
    comparisons.main(PAGE, WAYS, PATTERNS)
