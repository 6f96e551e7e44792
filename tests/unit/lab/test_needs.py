"""What the shop behind two balancers needs is reported by name, each with a way to get it, and only when it is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from patternbench.lab import startable, systems
from patternbench.lab.components import KINDS, nginx
from patternbench.lab.config.nginx_config import LUA_FILES
from patternbench.lab.software import debian, filters


def test_every_component_of_the_shop_says_what_it_needs_and_how_to_get_it() -> None:
    needs = {need.name: need for need in startable.needs(systems.load("shop-behind-two-balancers"))}
    assert needs.keys() == {"native engine", "nginx with Lua", "redis", "mariadb", "crdt-sidecar"}
    for name in needs.keys() - {"native engine"}:
        assert needs[name].install, name
        assert "type `" in needs[name].how or "install" in needs[name].how, name


@pytest.mark.parametrize("lacking", LUA_FILES)
def test_nginx_with_lua_is_not_there_without_what_the_filter_requires_in_lua(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lacking: str
) -> None:
    monkeypatch.setattr(debian, "find", lambda program: f"/usr/sbin/{program}")
    monkeypatch.setattr(debian, "exists", lambda *_: True)
    monkeypatch.setattr(debian, "LUA", (str(tmp_path / "*" / "5.1"),))
    for file in LUA_FILES:
        place = tmp_path / "machine" / "5.1" / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    assert nginx.Nginx.needs()[0].met
    (tmp_path / "machine" / "5.1" / lacking).unlink()
    need = nginx.Nginx.needs()[0]
    assert not need.met
    assert "lua-cjson" in need.how
    assert "lua-resty-core" in need.how


def test_every_module_that_a_filter_requires_is_its_own_or_looked_for() -> None:
    required = set()
    for file in filters.FOLDER.glob("nginx-*/lua/**/*.lua"):
        required |= set(re.findall(r'require\("([\w.]+)"\)', file.read_text(encoding="utf-8")))
    foreign = {name.split(".")[0] for name in required if not name.startswith(("ratelimit", "bundle"))}
    assert foreign - {"bit", "ffi", "jit"} == {Path(file).parts[0].removesuffix(".so") for file in LUA_FILES}


def test_a_store_that_is_not_used_is_not_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(debian, "find", lambda _: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shop = systems.load("shop-behind-two-balancers")

    def lacking(*stores: str) -> list[str]:
        return [problem.message.split(": ")[1] for problem in startable.needs_problems(shop, {"store": stores})]

    assert lacking("memory") == ["nginx with Lua is missing"]
    assert lacking("memory", "redis") == ["redis is missing", "nginx with Lua is missing"]
    assert "crdt-sidecar is missing" in lacking("crdt")


@pytest.mark.parametrize(
    ("kind", "package"),
    [
        ("mariadb", "mariadb-server"),
        ("postgres", "postgresql"),
        ("rabbitmq", "rabbitmq-server"),
        ("prometheus", "prometheus"),
        ("node_exporter", "prometheus-node-exporter"),
    ],
)
def test_a_server_that_is_not_installed_is_reported_with_its_package(
    monkeypatch: pytest.MonkeyPatch, kind: str, package: str
) -> None:
    monkeypatch.setattr(debian, "find", lambda *_: None)
    monkeypatch.setattr(debian, "exists", lambda *_: False)
    (need,) = KINDS[kind].needs()
    assert not need.met
    assert need.install[0][-1] == package
    assert "`patternbench doctor --install`" in need.how


def test_a_program_of_a_folder_that_debian_keeps_apart_comes_before_a_wrapper_on_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("path", "postgresql/14/bin", "postgresql/15/bin"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "psql").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert debian.find("psql") == str(tmp_path / "path" / "psql")
    apart = str(tmp_path / "postgresql" / "*" / "bin")
    assert debian.find("psql", apart) == str(tmp_path / "postgresql/15/bin/psql")
    assert debian.program("nothing-like-it", apart) == "nothing-like-it"
