"""Operations of an OpenAPI (or Swagger 2) description as requests, made of its examples and of nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from patternbench.study.text.nodes import FileNode, Scalar
from patternbench.terms.problems import InputError, Problem
from patternbench.traffic.requests import METHODS, KeptParts, RecordedRequest, escaped, path_of

MOST_REFERENCES = 20
"""How often a reference may lead to another one."""
_PLACE = re.compile(r"\{([^{}]*)\}")
JSON = "application/json"


@dataclass
class Operations:
    """The requests that examples make, and why other operations make none."""

    requests: list[RecordedRequest] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)


def recognises(root: FileNode) -> bool:
    """Whether a document is such a description."""
    return (root.at("openapi") or root.at("swagger")) is not None and root.at("paths") is not None


def read(root: FileNode, keep: KeptParts) -> Operations:
    """Return what the examples of a description ask. Raises InputError for a reference that leads nowhere."""
    found, base = Operations(), _base(root)
    paths = root.at("paths")
    for path, item in (paths.fields if paths else {}).items():
        whole = _resolved(item, root)
        shared = whole.at("parameters")
        for method, node in whole.fields.items():
            if method.upper() in METHODS:
                operation = _Operation(root, keep, node, [*_entries(shared), *_entries(node.at("parameters"))])
                operation.add_to(found, method.upper(), base, path)
    return found


@dataclass(frozen=True)
class _Operation:
    root: FileNode
    keep: KeptParts
    node: FileNode
    parameters: list[FileNode]

    def add_to(self, found: Operations, method: str, base: str, path: str) -> None:
        """Add its request, or why there is none."""
        lacking: list[str] = []
        places, query = self._values(lacking)
        filled = _PLACE.sub(lambda place: _path_value(place[1], places, lacking), path)
        body, kind = self._body(lacking)
        if lacking:
            message = f"{method} {path} is left out: there is no example for {', '.join(lacking)}"
            found.left_out.append(Problem(message, file=self.node.place.file, line=self.node.place.line))
            return
        target = f"{base}{filled}" + (f"?{'&'.join(query)}" if query else "")
        headers = {"Content-Type": kind} if body is not None else {}
        name = f"{method} {path}"
        made = RecordedRequest(method, escaped(path_of(target)), self.node.place, headers=headers, body=body, name=name)
        found.requests.append(made)

    def _values(self, lacking: list[str]) -> tuple[Mapping[str, str], list[str]]:
        """Return the values of a path's places, and the parts of the query; what lacks an example is noted."""
        places: dict[str, str] = {}
        query: list[str] = []
        for parameter in (_resolved(one, self.root) for one in self.parameters):
            name, kind = _text(parameter.at("name")), _text(parameter.at("in"))
            value = self._example(parameter)
            if kind == "path" and value is not None:
                places[name] = value
            elif kind == "query" and value is not None:
                query.append(f"{quote(name)}={quote(value)}")
            elif kind == "query" and _is_true(parameter.at("required")):
                lacking.append(f"the query's `{name}`")
        return places, query

    def _example(self, parameter: FileNode) -> str | None:
        node = self._example_node(parameter) or self._example_node(self._schema(parameter))
        return None if node is None else _as_text(node)

    def _schema(self, parameter: FileNode) -> FileNode | None:
        schema = parameter.at("schema")
        return _resolved(schema, self.root) if schema else parameter

    def _example_node(self, node: FileNode | None) -> FileNode | None:
        if node is None:
            return None
        examples = node.at("examples")
        first = next(iter(examples.fields.values()), None) if examples else None
        named = _resolved(first, self.root).at("value") if first else None
        return node.at("example") or named or (examples.entries[0] if examples and examples.entries else None)

    def _body(self, lacking: list[str]) -> tuple[str | None, str]:
        """Return the example of a body, if bodies are asked for and there is one."""
        request = self.node.at("requestBody")
        if request is None:
            return None, ""
        whole = _resolved(request, self.root)
        content = whole.at("content")
        kinds = content.fields if content else {}
        for kind, node in kinds.items():
            example = self._example_node(node) or self._example_node(self._schema(node))
            if example and self.keep.bodies:
                text = _as_text(example) if isinstance(example.scalar, str) else json.dumps(_plain(example))
                return escaped(text), kind
        if _is_true(whole.at("required")) and self.keep.bodies:
            lacking.append("its body")
        return None, ""


def _base(root: FileNode) -> str:
    servers = root.at("servers")
    url = _text(servers.entries[0].at("url")) if servers and servers.entries else _text(root.at("basePath"))
    path = re.sub(r"^[a-z]+://[^/]*", "", url)
    return "" if _PLACE.search(path) else path.rstrip("/")


def _resolved(node: FileNode, root: FileNode) -> FileNode:
    """Return what a reference stands for. Raises InputError for one to another file, to nothing, or in a circle."""
    for _ in range(MOST_REFERENCES):
        reference = node.fields.get("$ref")
        if reference is None:
            return node
        target = _text(reference)
        found = _pointed(target, root) if target.startswith("#/") else None
        if found is None:
            raise _refused(reference, f"refers to {target!r}", "a place in the same file: #/components/...")
        node = found
    raise _refused(node, "refers to itself", f"at most {MOST_REFERENCES} references in a row")


def _pointed(reference: str, root: FileNode) -> FileNode | None:
    node: FileNode | None = root
    for part in reference.removeprefix("#/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        node = node.fields.get(name) if node else None
    return node


def _entries(node: FileNode | None) -> Iterator[FileNode]:
    yield from (node.entries if node else ())


def _path_value(name: str, places: Mapping[str, str], lacking: list[str]) -> str:
    if name not in places:
        lacking.append(f"the path's `{name}`")
    return quote(places.get(name, ""), safe="")


def _as_text(node: FileNode) -> str:
    scalar = node.scalar
    if isinstance(scalar, bool):
        return str(scalar).lower()
    return ",".join(map(_as_text, node.entries)) if node.entries else str(scalar)


def _plain(node: FileNode) -> Scalar | dict[str, object] | list[object]:
    if node.fields:
        return {name: _plain(one) for name, one in node.fields.items()}
    return [_plain(one) for one in node.entries] if isinstance(node.value, tuple) else node.scalar


def _text(node: FileNode | None) -> str:
    return str(node.scalar) if node and node.scalar is not None else ""


def _is_true(node: FileNode | None) -> bool:
    return node is not None and node.scalar is True


def _refused(node: FileNode, message: str, allowed: str) -> InputError:
    return InputError(Problem(message, node.path, node.place.file, node.place.line, allowed=allowed))
