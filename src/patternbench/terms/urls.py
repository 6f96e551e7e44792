"""URLs, and paths of requests, as users name them: one rule for every place."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from patternbench.terms.visible import not_utf8

_UNSENDABLE = re.compile(r"[^!-~]")
"""What a path can't hold as it is: all but the visible signs of ASCII."""
_KEPT = "!#$%&'()*+,/:;=?@[]~{|}\\^`\"<>"
"""Signs of a path that stay as they are written, in addition to letters, digits and ``_.-``."""
_PLACES = re.compile(r"\$\{[^}]*\}")
"""What is filled in later, so that it isn't part of what is judged."""
HOSTS = "a host name or an address, and a port from 1 to 65535"
UNRESERVED = "-._~"
"""What every part of a URL holds as it is, besides letters and digits (RFC 3986, section 2.3)."""
_CODE = re.compile(r"(%[0-9A-Fa-f]{2})")
NO_SUCH = "has no such host or port"
PATHS = "visible signs of ASCII, all others as %XX"


def url_mistake(url: str) -> str:
    """Why a URL can't be requested over HTTP, in words; empty where it can.

    Places in it (``${gateway.url}``) are filled in later, and aren't judged.
    """
    text = _PLACES.sub("1", url)
    if not text.isprintable() or " " in text:
        return "holds a blank or a sign that acts, which a URL can't hold"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return NO_SUCH
    if not host and not text.startswith("1"):
        return "names no host"
    return NO_SUCH if port == 0 or not _is_host(host or "") else ""


def _is_host(host: str) -> bool:
    """Whether each part of a name has a length that names may have, and can be written in ASCII."""
    if ":" in host or not host:
        return True  # an address, which urlsplit has judged
    try:
        host.encode("idna").decode("idna")
    except UnicodeError:
        return False
    return re.search(r"[\s%/\\<>^`{|}\"]", host) is None


def sendable(path: str) -> bool:
    """Whether a path with its query can be sent as it is written."""
    return _UNSENDABLE.search(_PLACES.sub("", path)) is None


def encoded_value(text: str) -> str:
    """Return a text as one value of a query or a form."""
    return quote(text, safe=UNRESERVED)


def encoded_once(text: str, kept: str = UNRESERVED) -> str:
    """Encode every sign but letters, digits and those ``kept``; ``%XX`` is encoded already."""
    return "".join(
        part if _CODE.fullmatch(part) else quote(part, safe=kept.replace("%", "")) for part in _CODE.split(text)
    )


def encoded(path: str) -> str:
    """Return a path as it is sent: every sign that it can't hold as ``%XX`` in UTF-8.

    Half a character stays as it is.
    """
    return path if not_utf8(path) else quote(path, safe=_KEPT)
