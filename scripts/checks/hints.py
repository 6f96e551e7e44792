"""What the annotations of a module say of its expressions, as far as a reader of that one file can tell."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

UNTYPED = re.compile(r"^(?:dict|Mapping|MutableMapping)\[str, (?:Any|object|JsonValue)\]")
LISTED = r"(?:list|Sequence|Iterable|Iterator|Collection|tuple)\["
KEYED = r"(?:dict|Mapping)\[[^,\[\]]+, "
CONTAINER = re.compile(rf"^(?:{LISTED}|{KEYED})(.+?)(?:, \.\.\.)?\]$")
ANY = "Any"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Annotations:
    """The annotations of a package: of what functions return and attributes hold, and aliases of types."""

    results: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    attributes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    aliases: dict[str, str] = field(default_factory=dict)

    def meaning(self, annotation: str) -> str:
        """Return an annotation with its alias, if it is one, written out."""
        return self.aliases.get(annotation, annotation)


def declared(modules: Iterable[ast.Module]) -> Annotations:
    """Return the annotations of a package."""
    stated = Annotations()
    for module in modules:
        for node in ast.walk(module):
            if isinstance(node, Function) and node.returns:
                stated.results[node.name].add(ast.unparse(node.returns))
            if isinstance(node, ast.ClassDef):
                for name, annotation in (pair for part in node.body for pair in annotated(part)):
                    stated.attributes[name].add(ast.unparse(annotation))
        for part in module.body:
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                stated.aliases[part.targets[0].id] = ast.unparse(part.value)
    return stated


def annotated(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a node annotates itself: a function's parameters and result, or a variable."""
    if isinstance(node, ast.AnnAssign):
        yield ast.unparse(node.target), node.annotation
    elif isinstance(node, Function):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        yield from ((each.arg, each.annotation) for each in every if each and each.annotation)
        if node.returns:
            yield f"{node.name}()", node.returns


def untyped_lookups(module: ast.Module, stated: Annotations) -> Iterator[ast.Subscript]:
    """Yield the subscripts that ask an untyped mapping for a text."""
    yield from _lookups(module, {}, stated)


def _lookups(scope: ast.AST, outer: Mapping[str, str], stated: Annotations) -> Iterator[ast.Subscript]:
    types = {**outer, **_types(scope, outer, stated)}
    for node in _own(scope):
        if isinstance(node, Function):
            yield from _lookups(node, types, stated)
        elif isinstance(node, ast.Subscript) and _asks(node) and _is_untyped(_type(node.value, types, stated)):
            yield node


def _asks(node: ast.Subscript) -> bool:
    """Whether a subscript reads what stands under a text."""
    text = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    return text and isinstance(node.ctx, ast.Load)


def _is_untyped(kind: str) -> bool:
    return kind == ANY or UNTYPED.match(kind) is not None


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, down to the functions in it and no further."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, Function):
            yield from _own(node)


def _types(scope: ast.AST, outer: Mapping[str, str], stated: Annotations) -> dict[str, str]:
    """Return what the names that a scope binds are annotated with, or take from what is."""
    types = {name: stated.meaning(ast.unparse(kind)) for name, kind in annotated(scope)}
    for node in _own(scope):
        types |= {name: stated.meaning(ast.unparse(kind)) for name, kind in annotated(node) if name.isidentifier()}
    for _ in range(2):  # a name may be bound from one that is bound further down, as in a comprehension
        for node in _own(scope):
            types = {**dict(_bound(node, {**outer, **types}, stated)), **types}
    return types


def _bound(node: ast.AST, types: Mapping[str, str], stated: Annotations) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        yield node.targets[0].id, _type(node.value, types, stated)
    if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, ast.Name):
        yield node.target.id, _element(_type(node.iter, types, stated), stated)


def _element(container: str, stated: Annotations) -> str:
    match = CONTAINER.match(container)
    return stated.meaning(match[1]) if match else (ANY if container == ANY else "")


def _type(node: ast.expr, types: Mapping[str, str], stated: Annotations) -> str:
    """Return the annotation that an expression has, empty where none is stated."""
    if isinstance(node, ast.Name):
        return types.get(node.id, "")
    if isinstance(node, ast.Attribute):
        return _agreed(stated.attributes.get(node.attr), stated)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return _agreed(stated.results.get(name), stated)
    if isinstance(node, ast.Subscript):
        whole = _type(node.value, types, stated)
        return ANY if _is_untyped(whole) else _element(whole, stated)
    return ""


def _agreed(kinds: set[str] | None, stated: Annotations) -> str:
    """Return the one annotation of a name; nothing where several things of that name are not alike."""
    return stated.meaning(next(iter(kinds))) if kinds and len(kinds) == 1 else ""
