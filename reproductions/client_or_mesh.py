"""What patterns do in the sidecar and in the client: the page on the study ``mesh``."""

from __future__ import annotations

from reproductions.comparisons import page, read

COMPARISONS = read("client_or_mesh.yaml")
PAGE = page("client-or-mesh.md", COMPARISONS, {})
