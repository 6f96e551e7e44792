"""A YAML or JSON text as plain values, with the line of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from patternbench.study.text.bounds import LARGEST, BoundedComposer, BoundsError
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.visible import not_utf8

Path = tuple[str | int, ...]


@dataclass
class Document:
    """Plain values (dict, list, str, int, float, bool, None) with the line of every path."""

    file: str
    value: object
    lines: dict[Path, int] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, object]:
        """Its values by key; nothing if it isn't a mapping."""
        return self.value if isinstance(self.value, dict) else {}

    def line(self, path: Path) -> int | None:
        """Return the line of the path, or of the nearest thing around it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None

    def at(self, path: Path) -> object:
        """Return the value at the path, or None where there is none."""
        node = self.value
        for step in path:
            node = _below(node, step)
        return node


def _below(node: object, step: str | int) -> object:
    if isinstance(node, dict):
        return node.get(step)
    if isinstance(node, list) and isinstance(step, int) and step < len(node):
        return node[step]
    return None


def parse(text: str, file: str) -> Document:
    """Return the document that the text holds; raises InputError naming the line where it cannot be read."""
    if len(text) > LARGEST:
        raise InputError(Problem("is too large to be a study", file=file, allowed=f"at most {LARGEST} characters"))
    yaml = YAML(typ="rt", pure=True)
    yaml.Composer = BoundedComposer
    try:
        tree = yaml.load(text)
    except MarkedYAMLError as error:
        raise InputError(_broken(error, file)) from None
    except (YAMLError, ValueError, LookupError, TypeError, AttributeError) as error:  # the parser trips over "-_"
        stated = str(error).splitlines() or [type(error).__name__]
        raise InputError(Problem(f"is not YAML: {stated[0]}", file=file)) from None
    document = Document(file, None, {(): 1})
    document.value = _plain(tree, (), document)
    _check_characters(document)
    return document


def _check_characters(document: Document) -> None:
    """Raise InputError for every text with half a character: neither a file nor a request can hold it."""
    places = {(): document.value} if not document.lines.keys() - {()} else {p: document.at(p) for p in document.lines}
    halved = [path for path, value in places.items() if _halved(value) or (path and _halved(path[-1]))]
    if halved:
        message, allowed = "holds half a character", "whole characters: an emoji as it is, or `\\U0001F600`"
        lines = [document.line(path) for path in halved]
        raise InputError([Problem(message, file=document.file, line=line, allowed=allowed) for line in lines])


def _halved(value: object) -> bool:
    return isinstance(value, str) and not_utf8(value)


def without_comments(text: str) -> str:
    """JSON text with //, /* */ and # comments blanked out, every line kept in its place.

    A comment that is never closed runs to the end of the text, so that the scan stays linear.
    """
    token = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
    return token.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0]), text)


def _broken(error: MarkedYAMLError, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    first = str(error.problem or error.context or "cannot be read").splitlines()[0]
    head = "cannot be taken" if isinstance(error, BoundsError) else "is not YAML"
    return Problem(f"{head}: {first}", file=file, line=mark.line + 1 if mark else None)


def _plain(node: object, path: Path, document: Document) -> object:
    if isinstance(node, CommentedMap):
        places = {key: (*path, _joined(str(key))) for key in node}
        _check_keys(node, places, document)
        return {at[-1]: _child(node[key], _place(node, key), at, document) for key, at in places.items()}
    if isinstance(node, CommentedSeq):
        return [_child(node[i], node.lc.item(i), (*path, i), document) for i in range(len(node))]
    return _scalar(node)


def _check_keys(node: CommentedMap, places: Mapping[object, Path], document: Document) -> None:
    """Raise InputError for keys that YAML tells apart by their types and that are one text: ``1`` and ``'1'``."""
    names = Counter(at[-1] for at in places.values())
    twice = [key for key, at in places.items() if names[at[-1]] > 1]
    if twice:
        message, hint = f"has the key {twice[-1]} twice, as a text and as something else", "leave one of them out"
        line = _place(node, twice[-1])[0] + 1
        raise InputError(Problem(message, file=document.file, line=line, hint=hint))


def _place(node: CommentedMap, key: object) -> tuple[int, int]:
    """Return the line of a key. A key from a merge (``<<``) has the line on which the merging map begins."""
    own = node.lc.data is not None and key in node.lc.data
    line, column = node.lc.key(key) if own else (node.lc.line, node.lc.col)
    return int(line), int(column)


def _child(node: object, position: tuple[int, int], path: Path, document: Document) -> object:
    document.lines[path] = position[0] + 1
    return _plain(node, path, document)


def _scalar(node: object) -> object:
    if node is None or isinstance(node, bool):
        return node
    for kind in (int, float, str):
        if isinstance(node, kind):
            value = kind(node)
            return _joined(value) if isinstance(value, str) else value
    return str(node)


def _joined(text: str) -> str:
    """Return a text whose characters are whole: JSON may write one beyond 16 bits as a pair of escapes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") if not_utf8(text) else text
