"""The forms of configuration that there are, by the names that ``--as`` takes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patternbench.configurations.form import Form

MODULES: Mapping[str, str] = {
    "resilience4j": "resilience4j",
    "spring": "spring",
    "polly": "polly",
    "failsafe-go": "failsafe_go",
    "envoy": "envoy",
    "istio": "istio",
    "gateway-api": "gateway_api",
    "nginx": "nginx",
}
"""The module in ``forms`` of each form."""


def form(name: str) -> Form:
    """Return the form of a name that ``MODULES`` has."""
    found: Form = importlib.import_module(f"patternbench.configurations.forms.{MODULES[name]}").FORM
    return found
