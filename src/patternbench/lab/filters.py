"""Where the filters are that are useful on their own."""

from __future__ import annotations

from patternbench.lab import shipped

FOLDER = shipped.folder("filters")
