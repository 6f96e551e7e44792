"""A page of a JSON Schema says of each field what it may be, in words."""

from __future__ import annotations

import pytest
from scripts.site import schemas
from scripts.site.schemas import Schema

TEXT: Schema = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "anything"),
        (TEXT, "a text"),
        ({"type": "string", "pattern": "^a|b$"}, "a text that fits `^a|b$`"),
        ({"type": "string", "pattern": "^x$", "examples": ["20ms", "3s"]}, "a text such as `20ms`, `3s`"),
        ({"type": "boolean"}, "`true` or `false`"),
        ({"const": 1}, "`1`"),
        ({"enum": ["a", "b"]}, "`a`, `b`"),
        ({"type": "integer", "minimum": 1, "maximum": 10000}, "a whole number from 1 to 10,000"),
        ({"type": "number", "exclusiveMinimum": 0}, "a number from 0 (excluded)"),
        ({"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}, "a whole number"),
        ({"type": ["number", "null"]}, "a number or nothing"),
        ({"type": "array", "items": TEXT}, "a list of texts"),
        ({"type": "array", "items": {"type": "array", "items": TEXT}}, "a list of lists of texts"),
        ({"anyOf": [TEXT, {"type": "array", "items": TEXT}]}, "a text or a list of levels"),
        ({"oneOf": [TEXT, TEXT, {"type": "null"}]}, "a text or nothing"),
        ({"type": "object", "additionalProperties": TEXT}, "a mapping of names to a text"),
        ({"type": "object", "patternProperties": {"^a": TEXT}}, "a mapping of names to a text"),
        ({"type": "object", "additionalProperties": False}, "a mapping"),
        ({"$ref": "#/$defs/SlowCall"}, "[SlowCall](#slowcall)"),
        ({"$ref": "#/$defs/retry/properties/jitter"}, "[retry.jitter](#retry)"),
    ],
)
def test_a_schema_is_reported_in_words(schema: Schema, words: str) -> None:
    assert schemas.kind(schema) == words


def test_fields_have_their_whole_paths_and_say_whether_they_may_be_left_out() -> None:
    optional: Schema = {"anyOf": [TEXT, {"type": "null"}], "default": None, "description": "what  it\nis | was"}
    inner: Schema = {"type": "object", "required": ["b"], "properties": {"b": {"type": ["string", "null"]}}}
    fields = schemas.fields(
        {"required": ["a"], "properties": {"a": inner, "c": optional, "d": {**TEXT, "default": "x"}}}
    )
    assert list(map(str, fields)) == [
        "| `a` | a mapping | required |  |",
        "| `a.b` | a text or nothing | required |  |",
        "| `c` | a text |  | what it is \\| was |",
        "| `d` | a text | `x` |  |",
    ]


def test_fields_of_the_entries_of_a_list_and_of_several_forms_are_listed() -> None:
    entries: Schema = {"type": "array", "items": {"properties": {"b": TEXT}}}
    paths = [row.path for row in schemas.fields({"anyOf": [TEXT, {"properties": {"a": entries}}]})]
    assert paths == ["`a`", "`a[].b`"]


def test_a_page_has_a_section_for_each_definition_with_its_short_forms() -> None:
    trace: Schema = {
        "anyOf": [
            {"type": "string", "description": "its file"},
            {"description": "Recorded arrivals.", "properties": {"file": TEXT}},
        ]
    }
    nothing: Schema = {"type": "object", "additionalProperties": False, "description": "No pattern."}
    page = schemas.page("Title", {"properties": {"x": TEXT}, "$defs": {"Trace": trace, "Baseline": nothing}}, "Said.")
    assert page.startswith("# Title\n\nSaid.\n\n| field | value |\n|---|---|\n| `x` | a text |\n")
    assert "\n\n## Trace\n\nRecorded arrivals.\n\nIn short: a text (its file).\n\n| field |" in page
    assert page.endswith("\n\n## Baseline\n\nNo pattern.\n\nNo fields.\n")


def test_a_table_has_no_column_that_is_empty_in_all_rows() -> None:
    whole: Schema = {"properties": {"a": {**TEXT, "default": "x"}, "b": {**TEXT, "description": "said"}}}
    assert "| field | value | default | meaning |\n|---|---|---|---|\n" in schemas.page("T", whole)
    message: Schema = {"properties": {"b": {**TEXT, "description": "said"}}}
    assert "| field | value | meaning |\n|---|---|---|\n| `b` | a text | said |\n" in schemas.page("T", message)


def test_definitions_are_written_out_and_one_within_itself_ends() -> None:
    tree: Schema = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}
    schema: Schema = {"properties": {"root": {"$ref": "#/$defs/Tree", "description": "all"}}, "$defs": {"Tree": tree}}
    assert schemas.written_out(schema) == {
        "properties": {"root": {"type": "object", "properties": {"child": {"type": "object"}}, "description": "all"}}
    }
