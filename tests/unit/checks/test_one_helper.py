"""One module opens URLs: ``asking``, whose answers are bounded in time and in bytes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.studies import ROOT

SOURCES = ROOT / "src" / "patternbench"
HELPER = SOURCES / "asking.py"
OTHERS = frozenset({"urllib.request", "urllib3", "http.client", "requests", "aiohttp", "ftplib", "websockets"})
OPENERS = frozenset(
    {"Client", "AsyncClient", "get", "post", "put", "patch", "delete", "head", "options", "request", "stream"}
)
SOCKETS = frozenset(
    {
        "lab/faults/admin.py",  # our own fault proxy, in lines of JSON
        "lab/faults/cache.py",  # a cache, in Redis's protocol
        "lab/host/ready.py",  # whether a port is open
        "lab/software/ray_cluster.py",  # whether a port is open
    }
)


def opened(tree: ast.AST) -> Iterator[str]:
    """What a module opens by itself: another library that asks, httpx by its own functions, or a socket."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in OTHERS)
        if isinstance(node, ast.ImportFrom):
            full = {f"{node.module}.{name.name}" for name in node.names} | {str(node.module)}
            yield from full & (OTHERS | {f"httpx.{name}" for name in OPENERS})
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            called = f"{node.func.value.id}.{node.func.attr}"
            if called == "socket.create_connection" or called in {f"httpx.{name}" for name in OPENERS}:
                yield called


def test_nothing_but_the_one_helper_opens_a_url() -> None:
    found = {
        str(path.relative_to(SOURCES)): sorted(what)
        for path in SOURCES.rglob("*.py")
        if path != HELPER and (what := set(opened(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert found == {name: ["socket.create_connection"] for name in SOCKETS}


def test_each_way_to_open_a_url_by_oneself_is_found() -> None:
    lines = [
        "import urllib.request",
        "from urllib import request",
        "from http.client import HTTPConnection",
        "import requests",
        "from httpx import Client",
        "httpx.get('http://x')",
        "with httpx.Client() as c: pass",
        "socket.create_connection(('x', 1))",
    ]
    assert [line for line in lines if not list(opened(ast.parse(line)))] == []
