"""Headers of a request, said at several places: a name is the same however it is spelled (RFC 9110, 5.1)."""

from __future__ import annotations

from collections.abc import Mapping


def merged(*parts: Mapping[str, str] | None) -> dict[str, str]:
    """Headers out of those of the system, the group and the request: of one name, the last one that says it holds."""
    last: dict[str, tuple[str, str]] = {}
    for headers in parts:
        for name, text in (headers or {}).items():
            last.pop(name.lower(), None)
            last[name.lower()] = (name, text)
    return dict(last.values())
