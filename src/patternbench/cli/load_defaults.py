"""The defaults of ``load`` that its help states."""

from __future__ import annotations

from patternbench.terms.units import Duration

USERS = 50
TIMEOUT = Duration.parse("30s")
