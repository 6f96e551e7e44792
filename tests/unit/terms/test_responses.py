"""Every response with what decides how it is read: its title, its unit, which direction is better, and of what it is.

``tests/golden/responses.json`` holds them; UPDATE_GOLDEN=1 rewrites it, for a person to read the difference. A
direction that is turned round would turn verdicts round.
"""

from __future__ import annotations

from tests.support.golden import is_golden

from patternbench.terms import responses
from patternbench.terms.responses import BY_NAME, UNITS


def test_every_response_is_golden() -> None:
    rows = {
        name: [one.title, one.kind, UNITS[one.kind] or one.unit, one.better.value, one.of, one.set_by]
        for name, one in BY_NAME.items()
    }
    lists = {name: list(value) for name, value in vars(responses).items() if name.isupper() and is_names(value)}
    is_golden("responses.json", {"responses": rows, "lists": lists})


def is_names(value: object) -> bool:
    """Whether a value is a list of names of responses."""
    return isinstance(value, tuple) and all(isinstance(one, str) for one in value)
