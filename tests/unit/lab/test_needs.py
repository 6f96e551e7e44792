"""What the shop behind two balancers needs is told by name, each with a way to get it, and only when it is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from patternbench.lab import bench, debian, systems


def test_every_component_of_the_shop_says_what_it_needs_and_how_to_get_it() -> None:
    needs = {need.name: need for need in bench.needs(systems.load("shop-behind-two-balancers").kinds())}
    assert needs.keys() == {"native engine", "nginx with Lua", "redis", "mariadb", "crdt-sidecar"}
    for name in needs.keys() - {"native engine"}:
        assert needs[name].install, name
        assert "type `" in needs[name].how or "install" in needs[name].how, name


def test_a_store_that_is_not_used_is_not_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(debian, "find", lambda _: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shop = systems.load("shop-behind-two-balancers")

    def lacking(*stores: str) -> list[str]:
        return [problem.message.split(": ")[1] for problem in bench.needs_problems(shop, {"store": stores})]

    assert lacking("memory") == ["nginx with Lua is missing"]
    assert lacking("memory", "redis") == ["redis is missing", "nginx with Lua is missing"]
    assert "crdt-sidecar is missing" in lacking("crdt")
