"""Bounds on a YAML text before it becomes values, because aliases and nesting make small texts large."""

from __future__ import annotations

import re

from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.events import AliasEvent, Event, ScalarEvent

LARGEST = 1_000_000
"""Characters of a text at most, and of all its scalars with aliases expanded."""
MOST_NODES = 100_000
DEEPEST = 40
MOST_DIGITS = 300
"""Digits of a whole number at most: it has a float then, and Python, which refuses 4,300, can read and write it."""
_WHOLE = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0?o?[0-9_]+)")
TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")} | {"!"}


class BoundsError(ComposerError):
    """A text is YAML, but exceeds the bounds of our files."""


class BoundedComposer(Composer):
    """Composes nodes and counts them with aliases expanded. Raises BoundsError beyond the bounds."""

    def __init__(self, loader: object = None) -> None:
        super().__init__(loader)
        self._nested = self._nodes = self._characters = 0
        self._sizes: dict[int, tuple[int, int]] = {}

    def compose_node(self, parent: object, index: object) -> object:
        """Return the next node, counted."""
        event: Event = self.parser.peek_event()
        self._nested += 1
        self._look_at(event)
        before = (self._nodes, self._characters)
        node = super().compose_node(parent, index)
        self._count(event, node)
        self._sizes.setdefault(id(node), (self._nodes - before[0], self._characters - before[1]))
        self._nested -= 1
        if self._nodes > MOST_NODES or self._characters > LARGEST:
            self._refuse(event, f"is too large with its aliases expanded; allowed: at most {MOST_NODES:,} values")
        return node

    def _look_at(self, event: Event) -> None:
        if self._nested > DEEPEST:
            self._refuse(event, f"is nested too deeply (more than {DEEPEST} levels)")
        tag = getattr(event, "tag", None)
        if tag is not None and str(tag) not in TAGS:
            self._refuse(event, f"the tag {_short(str(tag))} is not allowed; write plain values")
        if isinstance(event, ScalarEvent) and len(event.value) > MOST_DIGITS and _is_whole(event):
            self._refuse(event, f"a number of {len(event.value):,} digits; allowed: at most {MOST_DIGITS}")

    def _count(self, event: Event, node: object) -> None:
        if isinstance(event, AliasEvent):
            if id(node) not in self._sizes:
                self._refuse(event, f"the alias *{event.anchor} refers to a value that contains itself")
            nodes, characters = self._sizes[id(node)]
            self._nodes, self._characters = self._nodes + nodes, self._characters + characters
        else:
            self._nodes += 1
            self._characters += len(event.value) if isinstance(event, ScalarEvent) else 0

    def _refuse(self, event: Event, why: str) -> None:
        raise BoundsError(None, None, why, event.start_mark)


def _is_whole(event: ScalarEvent) -> bool:
    """Whether a scalar would be read as a whole number: a quoted one is a text."""
    return bool(event.implicit[0]) and _WHOLE.fullmatch(event.value) is not None


def _short(tag: str) -> str:
    return "!!" + tag.removeprefix("tag:yaml.org,2002:") if tag.startswith("tag:yaml.org,2002:") else tag
