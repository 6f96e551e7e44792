"""Values from outside: of the environment, ``${env:NAME}``, and those that the set-up of a round captured.

Those of the environment are read where a round is made; both are kept out of every message about it. The load engine
gets them as constants of its job, one per place that a text names them in. It puts a constant into a text as it is and
never looks for places in it, so each one is escaped here for its place.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from urllib.parse import quote, quote_plus

from patternbench.drivers.origins import TracedValue
from patternbench.study.model.system import System
from patternbench.study.text.places import PLACE, parts_of
from patternbench.study.workload.workloads import Workload
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.visible import not_utf8

ENVIRONMENT = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
VARIABLE = re.compile(r"(?<!\$)\$\{env:([A-Za-z_][A-Za-z0-9_]*)(\s*\|[^}]*)?\}")
SHORT = 4
"""Shorter values are hidden only where they stand alone: a 7 within a port's number isn't a secret."""
IN_PATH = "!$%&'()*+,-./:;=?@[]_~"
"""What a path keeps, besides letters and digits: as the load engine does for what it captured."""


def _without_controls(text: str) -> str:
    """A header's value, in which a line break would begin another header."""
    return "".join(one for one in text if one.isprintable() or one == "\t")


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


ESCAPES: Mapping[str, Callable[[str], str]] = {
    "path": lambda text: quote(text, safe=IN_PATH),
    "query": lambda text: quote(text, safe="-._~"),
    "form": lambda text: quote(text, safe="-._~"),
    "headers": _without_controls,
    "json": _in_json,
    "body": str,
}
"""How a value is written in each field of a request that may name it."""


def value(name: str, path: str = "") -> str:
    """A variable's value. Raises InputError, at the path of the text, if the environment lacks it or has no text."""
    if name not in os.environ:
        hint = f"type `export {name}=...` first"
        raise InputError(Problem(f"the environment has no variable {name}", path=path, hint=hint))
    if not_utf8(os.environ[name]):
        raise InputError(Problem(f"the variable {name} isn't text in UTF-8", path=path, hint="export another value"))
    return os.environ[name]


def resolved(text: str, field: str = "headers") -> str:
    """A text of a request's field with ``${env:NAME}`` replaced by values that no record ever holds."""
    return VARIABLE.sub(lambda match: ESCAPES[field](value(match[1], field)), text)


def names(node: object) -> list[str]:
    """The variables that the texts of a node name, each once."""
    return list(dict.fromkeys(match[1] for _, text in parts_of(node, "", str) for match in VARIABLE.finditer(text)))


def of(system: System, workload: Workload) -> list[str]:
    """The variables that the requests of a scenario name."""
    return list(dict.fromkeys([*names(system.sent_headers), *names(workload)]))


def constants(variables: Iterable[str]) -> dict[str, str]:
    """The constants of a job that stand for variables, escaped for each place that may name them."""
    return escaped({f"env:{name}": value(name) for name in variables})


def escaped(known: Mapping[str, str], fields: Collection[str] = ESCAPES) -> dict[str, str]:
    """Constants of values by name: as they are, and for each of the fields that may name them."""
    return {
        constant: text
        for name, plain in known.items()
        for constant, text in [
            (name, plain),
            *((f"{name}:{field}", ESCAPES[field](plain)) for field in fields),
        ]
    }


def known(node: object) -> dict[str, str]:
    """The values of the places in an expectation that name variables."""
    return {f"env:{name}": value(name) for name in names(node)}


def placed(node: object, field: str, captured: Collection[str]) -> object:
    """A request's field, in which each variable and captured value is named as the constant that is escaped for it.

    One with a kind, such as ``|number``, is a whole value and is taken as it is.
    """
    if isinstance(node, TracedValue):
        return TracedValue(placed(node.value, field, captured), node.origin)
    if isinstance(node, Mapping):
        return {placed(name, field, captured): placed(entry, field, captured) for name, entry in node.items()}
    if isinstance(node, list):
        return [placed(entry, field, captured) for entry in node]
    if not isinstance(node, str):
        return node

    def constant(match: re.Match[str]) -> str:
        known = match[1] in captured or ENVIRONMENT.fullmatch(match[1])
        return "${" + f"{match[1]}:{field}" + "}" if known else match[0]

    return PLACE.sub(constant, node)


def hidden(text: str, variables: Iterable[str], captured: Mapping[str, str] = MappingProxyType({})) -> str:
    """A text with values from outside replaced by their places, in every way in which they are written."""
    known = {f"env:{name}": os.environ.get(name, "") for name in variables} | dict(captured)
    for secret, name in sorted(_written(known), key=lambda one: -len(one[0])):
        edges = (r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])") if len(secret) < SHORT else ("", "")
        place = "${" + name + "}"  # has no backslash, so a template of re.sub it may be
        text = re.sub(re.escape(secret).join(edges), place, text)
    return text


def _written(known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, plain in known.items():
        ways = {plain, quote_plus(plain), *(escape(plain) for escape in ESCAPES.values())}
        yield from ((way, name) for way in ways if way)
