"""Places as ``${name}`` in texts of a study that no generator fills in: what they may name there."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from patternbench.study.journeys import Expect, Request
from patternbench.study.levels import Levels
from patternbench.study.parts import written
from patternbench.study.problems import Problem, did_you_mean
from patternbench.study.workloads import Workload

PLACE = re.compile(r"(?<!\$)\$\{([^}]*)\}")
TYPED = re.compile(r"\$\{([^}|]*)\|(?:number|json)\}")
LITERAL = "$${"
"""What stands for the characters ``${`` themselves."""


def expectation_problems(workload: Workload) -> Iterator[Problem]:
    """Every place in an expectation that names no parameter: expectations hold for all calls of a round."""
    known = list(workload.parameters or {})
    for path, expect in _found(workload, "workload", Expect):
        for field, text in _texts(expect, path):
            yield from _unknown(text, field, known, "the expectations of a round")


def request_problems(workload: Workload, client: str) -> Iterator[Problem]:
    """Every place in a request that names no parameter, where a library's client sends it as it stands."""
    known = list(workload.parameters or {})
    for path, request in _found(workload, "workload", Request):
        for field, text in _texts(request, path):
            yield from _unknown(text.replace("${env:", ""), field, known, f"the requests of client {client}")


def filled(node: Any, known: Mapping[str, str]) -> Any:
    """An expectation's value with its places filled in; a text that is ``${name|number}`` becomes that number."""
    if isinstance(node, Mapping):
        return {filled(name, known): filled(value, known) for name, value in node.items()}
    if isinstance(node, list):
        return [filled(value, known) for value in node]
    if not isinstance(node, str):
        return node
    typed = TYPED.fullmatch(node)
    if typed:
        return json.loads(known[typed[1]])
    return PLACE.sub(lambda found: known[found[1]], node).replace(LITERAL, "${")


def _unknown(text: str, path: str, known: Collection[str], what: str) -> Iterator[Problem]:
    typed = TYPED.fullmatch(text)
    for name in [typed[1]] if typed else PLACE.findall(text):
        if name not in known:
            allowed = (
                f"a parameter of the workload ({', '.join(known) or 'there are none'}), or {LITERAL} for ${{ itself"
            )
            message = f"`${{{name}}}` names nothing that {what} can hold"
            yield Problem(message, path, value=text, allowed=allowed, hint=did_you_mean(name, known))


def _found(node: Any, path: str, kind: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """Every model of a kind below a node, with its place in the study."""
    if isinstance(node, kind):
        yield path, node
    elif isinstance(node, (BaseModel, list)):
        for name, part in _parts(node):
            yield from _found(part, path + name, kind)


def _texts(node: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text below a node, keys of mappings included."""
    if isinstance(node, str):
        yield path, node
    for name, part in _parts(node):
        yield from _texts(part, path + name)


def _parts(node: Any) -> Iterator[tuple[str, Any]]:
    """What a node consists of, with what each part adds to the path."""
    if isinstance(node, BaseModel):
        yield from ((f".{field.alias or written(name)}", getattr(node, name)) for name, field in _fields(node))
    elif isinstance(node, Mapping):
        yield from ((f".{key}", part) for key, value in node.items() for part in (key, value))
    elif isinstance(node, (list, tuple)):
        alone = isinstance(node, Levels) and not node.varied
        yield from (("" if alone else f"[{number}]", part) for number, part in enumerate(node))


def _fields(node: BaseModel) -> Iterable[tuple[str, FieldInfo]]:
    return type(node).model_fields.items()
