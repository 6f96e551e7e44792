"""The shapes that texts of a study have, in words: what a message says instead of a regular expression."""

from __future__ import annotations

SHAPES = {
    r"^[a-z0-9][a-z0-9._-]*$": "small letters, digits, `.`, `_` and `-`, with a letter or digit first",
    r"^[a-z][a-z0-9_]*$": "small letters, digits and `_`, with a letter first",
    r"^[A-Za-z][A-Za-z0-9_]*$": "letters, digits and `_`, with a letter first",
    r"^[A-Za-z0-9._~-]+$": "letters, digits, `.`, `_`, `~` and `-`",
    r"^1/([2-9]|[1-9][0-9])$": "a part from `1/2` to `1/99`",
    r"^[0-9]+(\.[0-9]+)? ?(%|us|ms|s|m)?$": "a share or an amount: `5%`, `20ms`, or `3`",
    r"^(/|\$\{)\S*$": "a path that begins with `/` or `${`, without spaces",
    r"^\$\{[a-z][A-Za-z0-9_.-]*\}$": "a place such as `${size}` or `${setting.size}`",
    r"^[A-Za-z0-9_]+$": "letters, digits and `_`",
    r"^/\S*$": "a path that begins with `/`, without spaces",
    r"^/": "a path that begins with `/`",
    r"^[1-9][0-9]{2}-[1-9][0-9]{2}$": "a status, or a range such as `200-399`",
    r"^(https?://[^\s/]+|unix:/[^\s:]+)": "`http://HOST`, `https://HOST` or `unix:/PATH`",
    r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:->\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*)?$": "`edge`, a component or `A -> B`",
    r"^http://[^\s/]+": "`http://HOST:PORT`",
    r"^https?://[^\s/]+": "`http://HOST:PORT` or `https://HOST:PORT`",
}


def in_words(pattern: str) -> str:
    """Return a description of the texts that match a pattern."""
    return SHAPES.get(pattern, f"text that matches {pattern}")
