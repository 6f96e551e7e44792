"""Secrets in the text of a study: where they can be, and how they are kept out of files that others read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from patternbench.study.text.document import Document, Path

CARRIERS = re.compile(
    r"^(proxy-)?authorization$|^cookie$|^set-cookie$|^x-.*-token$|^(x-)?(access|auth|csrf|session)-?token$"
    r"|^(x-)?api[-_]?key$|password|passwd|secret",
    re.IGNORECASE,
)
"""Names of headers, query values and fields that carry a secret."""
FILLED_IN = re.compile(r"\$\{[^}]*\}")
HIDDEN = "[hidden]"
SCHEME = re.compile(r"^(bearer|basic|digest|token)\s+", re.IGNORECASE)


def literal(document: Document) -> Iterator[Path]:
    """Places of a text that isn't taken from the environment, under a name that carries secrets."""
    for path in document.lines:
        if path and CARRIERS.search(str(path[-1])) and _written_out(document.at(path)):
            yield path


def blanked(text: str, document: Document) -> str:
    """Return the text of a study with every secret that is written out in it hidden."""
    lines = text.split("\n")
    for path in literal(document):
        secret, start = _secret(str(document.at(path))), (document.line(path) or 1) - 1
        within = [number for number in range(start, len(lines)) if secret in lines[number]]
        for number in within[:1]:
            lines[number] = lines[number].replace(secret, HIDDEN)
    return "\n".join(lines)


def _written_out(value: object) -> bool:
    return isinstance(value, str) and bool(_secret(value))


def _secret(value: str) -> str:
    """Return the secret of a value; nothing where it is filled in from elsewhere."""
    return "" if FILLED_IN.search(value) else SCHEME.sub("", value.strip())
