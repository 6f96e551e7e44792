"""The anti-patterns of the page, in its order."""

from __future__ import annotations

from reproductions.comparisons import page, read

WAYS = read("five_ways.yaml")
PATTERNS = {
    "retry.md": [f"anti-patterns-{name}" for name in ("layers", "no-jitter", "long-timeout", "retry-budget")],
    "circuit-breaker.md": ["anti-patterns-small-window"],
}
"""The pages of the catalogue that show main claims, and of which studies."""
PAGE = page("five-ways-to-make-it-worse.md", WAYS, PATTERNS)
