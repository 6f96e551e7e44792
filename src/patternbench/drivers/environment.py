"""Values from outside: of the environment, ``${env:NAME}``, and those that the set-up of a round captured.

Those of the environment are read where a round is made; both are kept out of every message about it. The load engine
gets them as values of its job and escapes each for its place. The requests of a library's client are filled in here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from urllib.parse import quote_plus

from patternbench.study.model.system import System
from patternbench.study.text.places import LITERAL, parts_of
from patternbench.study.workload.workloads import Workload
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.urls import encoded_once, encoded_value
from patternbench.terms.visible import not_utf8

PLACE = re.compile(r"\$\$\{|\$\{([^}]*)\}")
"""A place with its name, or the escape of the characters that begin one."""
ENVIRONMENT = "env:"
VARIABLE = re.compile(r"(?<!\$)\$\{env:([A-Za-z_][A-Za-z0-9_]*)(\s*\|[^}]*)?\}")
SHORT = 4
"""Shorter values are hidden only where they stand alone: a 7 within a port's number isn't a secret."""
IN_PATH = "!$%&'()*+,-./:;=?@[]_~"
"""What a path keeps, besides letters and digits: as the load engine does for what it captured."""


def _without_controls(text: str) -> str:
    """Return a header's value, in which a line break would begin another header."""
    return "".join(one for one in text if one.isprintable() or one == "\t")


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


ESCAPES: Mapping[str, Callable[[str], str]] = {
    "path": lambda text: encoded_once(text, IN_PATH),
    "query": encoded_value,
    "form": encoded_value,
    "headers": _without_controls,
    "json": _in_json,
    "body": str,
}
"""How a value is written in each field of a request that may name it."""


def value(name: str, path: str = "") -> str:
    """Return a variable's value.

    Raises InputError, at the path of the text, if the environment lacks it or has no text.
    """
    if name not in os.environ:
        hint = f"type `export {name}=...` first"
        raise InputError(Problem(f"the environment has no variable {name}", path=path, hint=hint))
    if not_utf8(os.environ[name]):
        raise InputError(Problem(f"the variable {name} isn't text in UTF-8", path=path, hint="export another value"))
    return os.environ[name]


def resolved(text: str, field: str = "headers") -> str:
    """Return a text of a request's field with ``${env:NAME}`` replaced by values that no record ever holds."""
    return VARIABLE.sub(lambda match: ESCAPES[field](value(match[1], field)), text)


def names(node: object) -> list[str]:
    """Return the variables that the texts of a node name, each once."""
    return list(dict.fromkeys(match[1] for _, text in parts_of(node, "", str) for match in VARIABLE.finditer(text)))


def of(system: System, workload: Workload) -> list[str]:
    """Return the variables that the requests of a scenario name."""
    return list(dict.fromkeys([*names(system.sent_headers), *names(workload)]))


def values(variables: Iterable[str]) -> dict[str, str]:
    """Return the values of a job that stand for variables."""
    return {f"env:{name}": value(name) for name in variables}


def put_in(text: str, known: Mapping[str, str], field: str) -> str:
    """Fill in the places of a request's field: variables, and values by name, each escaped for the field.

    In a query the text itself is a value as well; what it has encoded already stays.
    """
    own = encoded_once if field == "query" else str
    made, end = "", 0
    for place in PLACE.finditer(text):
        filled = own(LITERAL[1:]) if place[1] is None else ESCAPES[field](_named(place[1], known, field))
        made, end = made + own(text[end : place.start()]) + filled, place.end()
    return made + own(text[end:])


def _named(name: str, known: Mapping[str, str], field: str) -> str:
    plain = name.partition("|")[0].strip()  # its kind, as in ``${size|number}``, matters in JSON only
    return value(plain.removeprefix(ENVIRONMENT), field) if plain.startswith(ENVIRONMENT) else known[plain]


def known(node: object) -> dict[str, str]:
    """Return the values of the places in an expectation that name variables."""
    return {f"env:{name}": value(name) for name in names(node)}


def hidden(text: str, variables: Iterable[str], captured: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a text with values from outside replaced by their places, in every way in which they are written."""
    known = {f"env:{name}": os.environ.get(name, "") for name in variables} | dict(captured)
    for secret, name in sorted(_written(known), key=lambda one: -len(one[0])):
        edges = (r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])") if len(secret) < SHORT else ("", "")
        place = "${" + name + "}"  # has no backslash, so a template of re.sub it may be
        text = re.sub(re.escape(secret).join(edges), place, text)
    return text


def _written(known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, plain in known.items():
        forms = {plain, quote_plus(plain), *(escape(plain) for escape in ESCAPES.values())}
        yield from ((form, name) for form in forms if form)
