"""The texts of configurations are read with the line of every value."""

from __future__ import annotations

from patternbench.configurations.reading.failures import EVERY, listed
from patternbench.configurations.reading.nginx_text import directives
from patternbench.configurations.reading.properties_text import property_nodes
from patternbench.configurations.reading.spring import split
from patternbench.study.text.json_nodes import json_node
from patternbench.study.text.nodes import canonical
from patternbench.study.text.yaml_nodes import yaml_nodes


def test_each_document_of_yaml_keeps_the_lines_of_its_file() -> None:
    text = "# first\na: 1\n---\n# nothing\n--- # third\nb:\n  c: [1,\n    2]\n...\n"
    documents = yaml_nodes(text, "f.yml")
    assert [(one.place.line, list(one.fields)) for one in documents] == [(1, ["a"]), (5, ["b"])]
    listed_there = documents[1].at("b", "c")
    assert listed_there is not None
    assert [one.place.line for one in listed_there.entries] == [7, 8]
    assert listed_there.entries[1].path == "b.c[1]"


def test_json_has_the_line_of_every_value() -> None:
    root = json_node('{\n "a": {"b": [true,\n  null, -1.5e3]},\n "c": "\\u00e4\\n",}', "f.json")
    inner = root.at("a", "b")
    assert inner is not None
    assert [(one.scalar, one.place.line) for one in inner.entries] == [(True, 2), (None, 3), (-1500.0, 3)]
    named = root.at("c")
    assert named is not None
    assert (named.scalar, named.place.line) == ("ä\n", 4)


def test_properties_are_read_as_java_reads_them() -> None:
    text = "# no\na.b = 1 \nc:two\n  d e f\n\n!no\ng\\:h=\\\n   \\u00e4x\ni\n"
    found = [(key, node.scalar, node.place.line) for key, node in property_nodes(text, "f.properties")]
    assert found == [("a.b", "1 ", 2), ("c", "two", 3), ("d", "e f", 4), ("g:h", "äx", 7), ("i", "", 9)]


def test_directives_of_nginx_have_their_lines() -> None:
    text = "a 'x y';\nhttp { # {\n  b ${c}d \\;;\n  init_by_lua_block { local t = {} }\n}\n"
    first, block = directives(text, "f.conf")
    assert (first.words, first.place.line) == (("x y",), 1)
    assert [(one.name, one.words, one.place.line) for one in block.block or ()] == [
        ("b", ("${c}d", "\\;"), 3),
        ("init_by_lua_block", (), 4),
    ]


def test_keys_of_spring_are_taken_apart_at_dots_and_brackets() -> None:
    assert split("resilience4j.retry.instances[my.service].retryExceptions[0]") == (
        *("resilience4j", "retry", "instances", "my.service", "retryExceptions", "0"),
    )


def test_relaxed_spellings_are_one_name() -> None:
    assert len({canonical(name) for name in ("maxAttempts", "max-attempts", "max_attempts", "MAX_ATTEMPTS")}) == 1


def test_failures_are_listed_as_a_study_lists_them() -> None:
    assert listed(EVERY) is None
    assert listed(frozenset({"timeout", 500, 502, 503, 504, 429})) == ["timeout", 429, 500, "502-504"]
