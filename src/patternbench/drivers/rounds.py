"""From a scenario to the round that a client is given: the same configuration in the contract's units."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from patternbench.study.problems import InputError, Problem
from patternbench.study.units import Duration

CONTRACT = 1
VARIABLE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


def body(config: Mapping[str, Any], target: str, time_limit: Duration, seed: int) -> dict[str, Any]:
    """The body of ``POST /rounds`` for a scenario's configuration (contracts/client/round.schema.json)."""
    closed, request = config["workload"]["closed"], config["workload"]["request"]
    place = urlsplit(target)
    headers = {**config["system"].get("headers", {}), **request["headers"]}
    return {
        "contract": CONTRACT,
        "target": f"{place.scheme}://{place.netloc}",
        "request": _request(
            {**request, "path": place.path.rstrip("/") + request["path"]}, headers, parameters(config["workload"])
        ),
        **in_us({name: closed.get(name) for name in ("users", "think_time", "rejected_pause")}),
        "successes": closed.get("successes"),
        "max_attempts": closed.get("max_attempts"),
        "time_limit_us": (closed.get("duration") or time_limit).us,
        "seed": seed,
        "strategy": in_us(config["strategy"]),
    }


def parameters(workload: Mapping[str, Any]) -> dict[str, str]:
    """The workload's parameters as the texts that ``${NAME}`` stands for."""
    return {name: as_text(value) for name, value in workload.get("parameters", {}).items()}


def as_text(value: Any) -> str:
    """A level as it is written into a request."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _request(request: Mapping[str, Any], headers: Mapping[str, str], known: Mapping[str, str]) -> dict[str, Any]:
    """The request of a library's client, which knows neither queries nor places: they are filled in here."""
    query = {name: _filled(as_text(value), known) for name, value in request.get("query", {}).items()}
    path = _filled(request["path"], known)
    made: dict[str, Any] = in_us({name: part for name, part in request.items() if name != "query"})
    return made | {
        "path": f"{path}{'&' if '?' in path else '?'}{urlencode(query, quote_via=quote)}" if query else path,
        "headers": {name: _filled(resolved(text), known) for name, text in headers.items()},
        "body": request["body"] and _filled(request["body"], known),
    }


def _filled(text: str, known: Mapping[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(f"${{{name}}}", value)
    return text


def in_us(node: Any) -> Any:
    """The same tree with every duration a whole number of microseconds under a name that ends in ``_us``."""
    if not isinstance(node, dict):
        return node
    return {_name(key, value): value.us if isinstance(value, Duration) else in_us(value) for key, value in node.items()}


def _name(key: str, value: Any) -> str:
    # `max` is the one duration that may be left open, and null has no type to tell it by.
    return f"{key}_us" if isinstance(value, Duration) or (key == "max" and value is None) else key


def resolved(text: str) -> str:
    """The text with ``${env:NAME}`` replaced by the environment's value, which no record ever holds."""
    missing = [name for name in VARIABLE.findall(text) if name not in os.environ]
    if missing:
        hint = f"type `export {missing[0]}=...` first"
        raise InputError(Problem(f"the environment has no variable {missing[0]}", path="headers", hint=hint))
    return VARIABLE.sub(lambda match: os.environ[match[1]], text)
