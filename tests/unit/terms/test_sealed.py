"""Plain data that carries its own hash: any change of it is seen, none that is only one of form."""

from __future__ import annotations

import json

import pytest

from patternbench.terms.sealed import SEAL, content_hash, is_whole, sealed

CONTENT = {"b": [1, 2.5, None, "x"], "a": {"nested": True, "small": 1e-300}}


def test_data_that_was_written_is_whole_in_any_order_and_after_any_reader() -> None:
    tree = json.loads(json.dumps(sealed(CONTENT)))
    assert is_whole(dict(reversed(tree.items()))) is True
    assert {name: value for name, value in tree.items() if name != SEAL} == CONTENT


@pytest.mark.parametrize("change", [{"b": [1, 2.5, None, "y"]}, {"c": 1}, {"b": [1.0, 2.5, None, "x"]}, {SEAL: "0"}])
def test_data_that_was_changed_is_not(change: dict[str, object]) -> None:
    assert is_whole({**sealed(CONTENT), **change}) is False


def test_a_part_that_is_gone_is_seen_and_data_without_a_hash_is_of_before() -> None:
    tree = sealed(CONTENT)
    tree.pop("a")
    assert is_whole(tree) is False
    assert is_whole(CONTENT) is None


def test_data_of_one_thing_is_not_that_of_another() -> None:
    tree = sealed(CONTENT, of="one run")
    assert (is_whole(tree, of="one run"), is_whole(tree, of="another")) == (True, False)


def test_what_is_nested_without_end_is_not_what_was_written() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    assert is_whole({"a": nested, SEAL: content_hash("")}) is False
