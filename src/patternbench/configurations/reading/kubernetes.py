"""Objects of Kubernetes in files: their kind, their name, and what they are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patternbench.study.text.nodes import FileNode


@dataclass(frozen=True)
class KubernetesObject:
    """One object: ``networking.istio.io``, ``VirtualService``, ``reviews``."""

    group: str
    kind: str
    name: str
    node: FileNode

    @property
    def spec(self) -> FileNode:
        """What it says; an empty mapping where it says nothing."""
        return self.node.at("spec") or FileNode({}, self.node.place)


def objects(roots: Sequence[FileNode]) -> Iterator[KubernetesObject]:
    """Yield the objects of documents, those of lists too."""
    for root in roots:
        items = root.at("items")
        if items and str(_text(root, "kind")).endswith("List"):
            yield from objects(items.entries)
        elif root.at("kind"):
            group = _text(root, "apiVersion").partition("/")[0]
            yield KubernetesObject(group, _text(root, "kind"), _text(root, "metadata", "name"), root)


def _text(node: FileNode, *names: str) -> str:
    found = node.at(*names)
    return str(found.scalar or "") if found else ""
