"""A JSON Schema as a page: a table of fields for the whole, and one for each of its definitions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"
Schema: TypeAlias = Mapping[str, Json]
DEFINITION = "#/$defs/"
HEAD = ("field", "value", "default", "meaning")
OR_NOTHING = " or nothing"
"""What may be left out may be nothing, too, which goes without saying."""
ARTICLE = re.compile(r"\ban? (text|whole number|number|mapping|list)\b")
SIMPLE = {"boolean": "`true` or `false`", "null": "nothing", "object": "a mapping"}


@dataclass(frozen=True)
class Row:
    """One field: its path from the part that has it, what may stand there, its default, and what it says."""

    path: str
    kind: str
    default: str
    about: str

    @property
    def cells(self) -> list[str]:
        """Its parts as cells of a table, which hold no bar and no end of a line."""
        return [_cell(text) for text in (self.path, self.kind, self.default, self.about)]

    def __str__(self) -> str:
        """As a row of a table."""
        return _line(self.cells)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def page(title: str, schema: Schema, stated: str = "") -> str:
    """Return the page of a schema: its own words, its fields, and a section for each definition that it uses."""
    parts = [f"# {title}", stated, part("", schema)]
    parts += [part(f"## {name}", definition) for name, definition in _children(schema, "$defs")]
    return "\n\n".join(text for text in parts if text) + "\n"


def part(heading: str, schema: Schema) -> str:
    """Return a schema or a definition: its heading, its words, its fields; one that has none in a sentence."""
    rows = list(fields(schema))
    reported = _table(rows) if rows else f"{_capital(_without_fields(schema))}."
    return "\n\n".join(text for text in (heading, _words(schema), *_short_forms(schema), reported) if text)


def _table(rows: Sequence[Row]) -> str:
    """Return the rows below a head, without the columns that are empty in all of them."""
    columns = zip(HEAD, *(row.cells for row in rows), strict=True)
    head, *body = zip(*(column for column in columns if any(column[1:])), strict=True)
    return "\n".join([_line(head), "|---" * len(head) + "|", *map(_line, body)])


def written_out(schema: Schema) -> Schema:
    """Return a schema without definitions: each stands where it is used; one within itself is a mapping there."""
    filled = _filled(schema, dict(_children(schema, "$defs")), frozenset())
    assert isinstance(filled, Mapping)
    return filled


def _filled(part: Json, definitions: Mapping[str, Schema], within: frozenset[str]) -> Json:
    if isinstance(part, Mapping):
        own = {key: _filled(value, definitions, within) for key, value in part.items() if key not in ("$defs", "$ref")}
        name = _text(part, "$ref").removeprefix(DEFINITION)
        if not name:
            return own
        used = {"type": "object"} if name in within else _filled(definitions[name], definitions, within | {name})
        return {**used, **own} if isinstance(used, Mapping) else own
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [_filled(entry, definitions, within) for entry in part]
    return part


def _words(schema: Schema) -> str:
    """Return what a schema says of itself; of one with short forms, what the whole form says."""
    whole = [choice for choice in _choices_of(schema) if "properties" in choice]
    stated = [_text(one, "description") for one in (schema, *whole)]
    return " ".join(next((text for text in stated if text), "").split())


def _short_forms(schema: Schema) -> Iterator[str]:
    """Yield what may be written instead of a mapping, such as a text alone."""
    choices = _choices_of(schema)
    if any("properties" in choice for choice in choices):
        for choice in choices:
            if "properties" not in choice:
                about = _text(choice, "description")
                yield f"In short: {kind(choice)}" + (f" ({about})." if about else ".")


def _without_fields(schema: Schema) -> str:
    return "no fields" if schema.get("additionalProperties") is False else kind(schema)


def fields(schema: Schema, path: str = "") -> Iterator[Row]:
    """Yield the fields of a schema in their order, those of nested mappings with their whole paths."""
    required = _list(schema, "required")
    for name, field in _children(schema, "properties"):
        whole = f"{path}{name}"
        default = "required" if name in required else _default(field)
        words = kind(field) if name in required else kind(field).removesuffix(OR_NOTHING)
        yield Row(f"`{whole}`", words, default, _text(field, "description"))
        yield from fields(field, f"{whole}.")
        yield from fields(_child(field, "items"), f"{whole}[].")
    for choice in _choices_of(schema):
        yield from fields(choice, path)


def kind(schema: Schema) -> str:
    """Return what may stand where a schema is, in words."""
    for tell in (_reference, _constants, _choices, _typed):
        words = tell(schema)
        if words:
            return words
    return "anything"


def _reference(schema: Schema) -> str:
    names = [name for name in _text(schema, "$ref").removeprefix(DEFINITION).split("/") if name != "properties"]
    return f"[{'.'.join(names)}](#{names[0].lower()})" if names[0] else ""


def _constants(schema: Schema) -> str:
    values = [schema["const"]] if "const" in schema else _list(schema, "enum")
    return ", ".join(f"`{_written(value)}`" for value in values)


def _choices(schema: Schema) -> str:
    """One of several; a list whose entries are what may stand alone is a list of levels."""
    words = [kind(choice) for choice in _choices_of(schema)]
    levels = {_list_of(word) for word in words}
    return " or ".join(dict.fromkeys("a list of levels" if word in levels else word for word in words))


def _choices_of(schema: Schema) -> list[Schema]:
    choices = [*_list(schema, "anyOf"), *_list(schema, "oneOf")]
    return [choice for choice in choices if isinstance(choice, Mapping)]


def _list_of(words: str) -> str:
    """Return a list of what words describe: ``a list of texts``."""
    return f"a list of {ARTICLE.sub(lambda noun: noun[1] + 's', words)}"


def _typed(schema: Schema) -> str:
    types = _list(schema, "type") or [schema.get("type")]
    return " or ".join(_of_type(schema, str(name)) for name in types if name is not None)


def _of_type(schema: Schema, name: str) -> str:
    if name in ("integer", "number"):
        return _number(schema, "a whole number" if name == "integer" else "a number")
    if name == "string":
        return _string(schema)
    if name == "array":
        return _list_of(kind(_child(schema, "items")))
    return _mapping(schema) if name == "object" else SIMPLE.get(name, name)


def _mapping(schema: Schema) -> str:
    """Return a mapping, and what it holds where its names are free."""
    free = [_child(schema, "additionalProperties"), *(field for _, field in _children(schema, "patternProperties"))]
    held = next((field for field in free if field), None)
    return f"a mapping of names to {kind(held)}" if held else SIMPLE["object"]


def _number(schema: Schema, words: str) -> str:
    low, high = _bound(schema, "minimum", "exclusiveMinimum"), _bound(schema, "maximum", "exclusiveMaximum")
    return " ".join([words, *([f"from {low}"] if low else []), *([f"to {high}"] if high else [])])


def _bound(schema: Schema, including: str, excluding: str) -> str:
    """Return a bound in words; one of 64-bit integers bounds nothing that a reader has."""
    value, above = schema.get(including), schema.get(excluding)
    if isinstance(value, int | float) and abs(value) < 2**62:
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return f"{above} (excluded)" if isinstance(above, int | float) else ""


def _string(schema: Schema) -> str:
    examples = ", ".join(f"`{_written(value)}`" for value in _list(schema, "examples"))
    if examples:
        return f"a text such as {examples}"
    pattern = _text(schema, "pattern")
    return f"a text that fits `{pattern}`" if pattern else "a text"


def _default(schema: Schema) -> str:
    value = schema.get("default")
    return "" if value in (None, "", [], {}) else f"`{_written(value)}`"


def _written(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _text(schema: Schema, key: str) -> str:
    value = schema.get(key)
    return value if isinstance(value, str) else ""


def _list(schema: Schema, key: str) -> list[Json]:
    value = schema.get(key)
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []


def _child(schema: Schema, key: str) -> Schema:
    value = schema.get(key)
    return value if isinstance(value, Mapping) else {}


def _children(schema: Schema, key: str) -> list[tuple[str, Schema]]:
    """Return the named parts of a schema; a part that is ``true`` allows anything."""
    return [(name, child if isinstance(child, Mapping) else {}) for name, child in _child(schema, key).items()]
