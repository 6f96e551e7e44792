"""The texts of a caller's configuration: which product each is of, and the layers that they make together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from patternbench.configurations.reading import dotnet, envoy, gateway_api, istio, nginx, spring
from patternbench.configurations.reading.layer import Layer, LayerCandidate, chosen
from patternbench.configurations.reading.nginx_text import Directive, directives
from patternbench.configurations.reading.properties_text import property_nodes
from patternbench.study.text.document import without_comments
from patternbench.study.text.json_nodes import json_node
from patternbench.study.text.nodes import FileNode
from patternbench.study.text.yaml_nodes import yaml_nodes
from patternbench.terms.problems import InputError, Problem

KNOWN = (
    "Resilience4j's application.yml or .properties, appsettings.json with .NET's standard resilience handler, Istio's "
    "VirtualService and DestinationRule, routes of the Gateway API, Envoy's /config_dump or bootstrap, nginx.conf"
)
MOST_LISTED = 20
_OF_NGINX = re.compile(r"^[ \t]*(?:http|server|upstream\s+\S+|location\s[^{}\n:]*)\s*\{", re.MULTILINE)
JSON, TREES = "json", ("json", "yml", "yaml")


@dataclass(frozen=True)
class TreeReader:
    """How a product is recognised in a YAML or JSON document, and where documents of it say that calls are guarded."""

    recognises: Callable[[FileNode], bool]
    candidates: Callable[[Sequence[FileNode]], list[LayerCandidate]]


OF_TREES: Mapping[str, TreeReader] = {
    istio.PRODUCT: TreeReader(istio.recognises, istio.candidates),
    gateway_api.PRODUCT: TreeReader(gateway_api.recognises, gateway_api.candidates),
    envoy.PRODUCT: TreeReader(envoy.recognises, envoy.candidates),
    dotnet.PRODUCT: TreeReader(dotnet.recognises, dotnet.candidates),
}
"""The products whose files are trees; the keys of Resilience4j's are taken apart first."""


@dataclass
class Configurations:
    """What the files hold, by product in the order in which they are named: callers first, then what they call."""

    products: dict[str, list[str]] = field(default_factory=dict)  # with the names of the files of each
    properties: list[spring.Pairs] = field(default_factory=list)
    directives: list[Directive] = field(default_factory=list)
    trees: dict[str, list[FileNode]] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        """Add the text of a file. Raises InputError where it can't be read, or is of no product that is known."""
        ending = name.rpartition(".")[2]
        if ending == "properties":
            self._found(spring.PRODUCT, name)
            self.properties.append([(spring.split(key), node) for key, node in property_nodes(text, name)])
        elif ending == "conf" or (ending not in TREES and _OF_NGINX.search(text)):
            self._found(nginx.PRODUCT, name)
            self.directives += directives(text, name)
        else:
            self._add_trees(_trees(name, text), name)

    def _add_trees(self, roots: Sequence[FileNode], name: str) -> None:
        known = [self._add_tree(root, name) for root in roots]
        if not any(known):
            hint = "leave the file out, or write what it says as a `stack` of a study"
            raise InputError(Problem("isn't a known configuration", file=name, allowed=KNOWN, hint=hint))

    def _add_tree(self, root: FileNode, name: str) -> bool:
        """Add a document to every product that it is of; returns whether there is one."""
        ours = spring.recognises(root)
        if ours:
            self._found(spring.PRODUCT, name)
            self.properties.append(list(spring.flat(root)))
        fitting = [product for product, reader in OF_TREES.items() if reader.recognises(root)]
        for product in fitting:
            self._found(product, name)
            self.trees.setdefault(product, []).append(root)
        return ours or bool(fitting)

    def _found(self, product: str, name: str) -> None:
        files = self.products.setdefault(product, [])
        if name not in files:
            files.append(name)

    def candidates(self, of: Sequence[str]) -> Mapping[str, list[LayerCandidate]]:
        """Return, for each product, the places where it guards calls."""
        return {product: self._candidates(product, of) for product in self.products}

    def _candidates(self, product: str, of: Sequence[str]) -> list[LayerCandidate]:
        if product == spring.PRODUCT:
            return spring.candidates(self.properties, of)
        if product == nginx.PRODUCT:
            return nginx.candidates(self.directives)
        return OF_TREES[product].candidates(self.trees[product])

    def layers(self, of: Sequence[str]) -> list[Layer]:
        """Return what was read, outermost first: for each product the only place, or the one that ``of`` names.

        Raises InputError where it has to be said which is meant, and where a name of ``of`` is that of none.
        """
        every = self.candidates(of)
        named = [*(one.name for found in every.values() for one in found), *spring.names(self.properties)]
        unknown = [name for name in of if name not in named]
        if unknown:
            allowed = ", ".join(dict.fromkeys(named[:MOST_LISTED])) or "none"
            files = ", ".join(dict.fromkeys(file for own in self.products.values() for file in own))
            raise InputError(Problem("isn't in these files", "--of", files, value=unknown[0], allowed=allowed))
        for product, found in every.items():
            if not found:
                files = ", ".join(self.products[product])
                raise InputError(Problem(f"says nothing of calls that {product} guards", file=files))
        return [chosen(found, product, of).read() for product, found in every.items()]


def _trees(name: str, text: str) -> Sequence[FileNode]:
    """Return the documents of a file in JSON or in YAML, whatever its name says."""
    bare = text.removeprefix("\ufeff")
    if name.endswith(f".{JSON}") or bare.lstrip()[:1] in ("{", "["):
        return [json_node(without_comments(bare), name)]
    return yaml_nodes(bare, name)
