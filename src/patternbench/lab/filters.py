"""Where the filters are that are useful on their own."""

from __future__ import annotations

from patternbench.lab.engine import CHECKOUT, PACKAGE

FOLDER = next((place for place in (PACKAGE / "_filters", CHECKOUT / "filters") if place.is_dir()), PACKAGE / "_filters")
"""In the wheel, or in the checkout."""
