"""Text from outside as it may be shown: what acts on a terminal, a page or a drawing is written out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_ACTS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # which turn the direction of what follows
    "\u00ad\u180e\u200b\u2060-\u2064\u206a-\u206f\ufff9-\ufffb\U000e0000-\U000e007f"  # which no one sees
    "\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"  # line ends, and what XML or UTF-8 can't hold
)


def visible(text: str) -> str:
    """Return the text with such characters written out: ``\\x1b`` instead of an escape, ``\\u202e`` of a turn."""
    return _ACTS.sub(_written_out, text)


def visible_json(text: str) -> str:
    """Return a text of JSON with such characters as escapes of JSON, so that who reads it gets them back."""
    return _ACTS.sub(_escaped, text)


def all_visible(value: object) -> object:
    """Plain data in which every text, names too, is visible: ``<1b>`` instead of an escape.

    A backslash would be read as an escape by what draws it.
    """
    if isinstance(value, str):
        return _ACTS.sub(lambda found: f"<{ord(found[0]):02x}>", value)
    if isinstance(value, Mapping):
        return {all_visible(name): all_visible(one) for name, one in value.items()}
    return [all_visible(one) for one in value] if isinstance(value, (list, tuple)) else value


def not_utf8(text: str) -> bool:
    """Whether a text has half a character, which no file, argument or request can hold.

    It comes from a name or a variable of the system that isn't UTF-8, or from an escape such as ``"\\ud800"``.
    """
    return re.search("[\ud800-\udfff]", text) is not None


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004
