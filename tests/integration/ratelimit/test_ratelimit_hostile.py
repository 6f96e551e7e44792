"""Clients that try to break the filter, or to get at another's limit, before a plain server and before the shop."""

import base64
import hashlib
import hmac
import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from ratelimit_fixture import Nginx, Redis, balancer, eventually, get, limit, rules_of, running

SECRET = "a shared secret"
BIG_HEADERS = "large_client_header_buffers 4 16m; client_header_buffer_size 16m; keepalive_requests 1000000;"


@pytest.fixture(scope="module")
def nginx(workshop: Path, served: Nginx, redis: Redis) -> Iterator[Nginx]:
    redis.flush()
    (workshop / "secret").write_text(SECRET + "\n", encoding="utf-8")
    token = {"from": "jwt", "claim": "sub", "secret_file": str(workshop / "secret")}
    cost = {"from": "header", "name": "X-Cost", "most": 50}
    shapes: dict[str, dict[str, Any]] = {
        "header": {},
        "redis": {"store": "redis"},
        "query": {"key": {"from": "query", "name": "token"}},
        "jwt": {"key": token, "missing_key": "reject"},
        "cost": {"cost": cost},
        "lists": {"allow": ["friend"], "deny": ["foe"], "limit": 1},
        "shadow": {"shadow": True, "limit": 1},
        "tiers": {"tiers": {"gold": {"limit": 3}}, "clients": {"rich": "gold"}, "limit": 1},
    }
    limits = [
        limit("gcra", **{"name": name, "match": {"path_prefix": f"/{name}/"}, **shape})
        for name, shape in shapes.items()
    ]
    stores = {"redis": redis.store()}
    nginx = balancer(
        workshop / f"hostile-{served.folder.name}",
        rules_of(*limits, stores=stores),
        served.port,
        extra=lambda c: c.replace("keepalive_requests 1000000;", BIG_HEADERS).replace(
            "proxy_pass", "proxy_set_header X-Api-Key ''; proxy_pass"
        ),
    )
    with running(nginx):
        yield nginx


def sent(nginx: Nginx, *lines: bytes) -> bytes:
    """Send a request as it is; return the answer's head (empty when nginx closed the connection)."""
    with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
        connection.sendall(b"\r\n".join([*lines, b"Host: x", b"Connection: close", b"", b""]))
        return connection.recv(4096)


def raw(nginx: Nginx, *lines: bytes) -> int:
    """Send a request as it is; return the status (0 when nginx closed the connection)."""
    answer = sent(nginx, *lines)
    return int(answer.split()[1]) if answer else 0


def left_to(nginx: Nginx, path: str, key: bytes) -> int:
    """Send a request with a key as it is; return how much its client has left, -1 when it did not pass."""
    found = re.match(
        rb"HTTP/1.1 200 .*\bRateLimit: [^\r]*;r=(\d+)",
        sent(nginx, b"GET /%s/ HTTP/1.1" % path.encode(), b"X-Api-Key: " + key),
        re.DOTALL,
    )
    return int(found[1]) if found else -1


@pytest.mark.parametrize("path", ["header", "redis"])
def test_a_key_of_ten_megabytes_is_one_client_like_any_other(nginx: Nginx, path: str) -> None:
    key = b"X-Api-Key: " + b"k" * 10_000_000
    request = b"GET /%s/ HTTP/1.1" % path.encode()
    statuses = [raw(nginx, request, key) for _ in range(3)]
    assert statuses == [200, 200, 200]
    assert "r=99" in get(nginx, "k" * 64, f"/{path}/").headers["RateLimit"]


@pytest.mark.parametrize("path", ["header", "redis"])
@pytest.mark.parametrize("key", [b"a\tb", b"\xff\xfe\x80", b"}{*\\r\\n", b"'; DROP TABLE x; --", b"pb:{alice}:x"])
def test_a_key_of_odd_bytes_is_one_client_like_any_other(nginx: Nginx, path: str, key: bytes) -> None:
    assert [left_to(nginx, path, key) for _ in range(3)] == [99, 98, 97]
    assert left_to(nginx, path, key + b"!") == 99, "another key is another client"


def test_escaped_control_characters_in_a_query_cannot_reach_another_clients_limit(nginx: Nginx) -> None:
    before = get(nginx, None, "/query/?token=victim").headers["RateLimit"]
    for key in ("victim%00", "victim%0d%0aDEL", "%7Bvictim%7D", "h:victim"):
        assert get(nginx, None, f"/query/?token={key}").status_code == 200
    after = get(nginx, None, "/query/?token=victim").headers["RateLimit"]
    assert ("r=99" in before, "r=98" in after) == (True, True)


def test_a_missing_key_falls_under_the_clients_address_or_is_refused(nginx: Nginx) -> None:
    assert "r=99" in get(nginx, None, "/header/").headers["RateLimit"]
    refused = get(nginx, None, "/jwt/")
    assert refused.status_code == 400
    assert refused.json()["title"] == "Missing client key"


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def jwt(claims: dict[str, object], secret: str = SECRET, algorithm: str = "HS256") -> str:
    text = part({"alg": algorithm, "typ": "JWT"}) + "." + part(claims)
    proof = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return f"Bearer {text}." + base64.urlsafe_b64encode(proof).decode().rstrip("=")


def test_only_a_token_with_a_right_signature_names_a_client(nginx: Nginx) -> None:
    def status(token: str) -> int:
        return get(nginx, None, "/jwt/", Authorization=token).status_code

    assert status(jwt({"sub": "alice"})) == 200
    assert status(jwt({"sub": "alice"}, secret="guessed")) == 400
    assert status(jwt({"sub": "alice"}, algorithm="none")) == 400
    assert status(jwt({"sub": "alice", "exp": int(time.time()) - 60})) == 400
    assert status(jwt({"other": "alice"})) == 400
    assert status("Bearer a.b.c") == 400
    assert status("Bearer " + "." * 1000) == 400


def test_a_cost_is_never_below_one_and_nonsense_costs_the_most(nginx: Nginx) -> None:
    def left(client: str, cost: str) -> int:
        answer = get(nginx, client, "/cost/", **{"X-Cost": cost})
        return int(answer.headers["RateLimit"].split("r=")[1].split(";")[0])

    assert left("c1", "1") == 99
    assert left("c2", "7") == 93
    for client, cost in [
        ("c3", "0"),
        ("c4", "-5"),
        ("c5", "1e3"),
        ("c6", "9" * 400),
        ("c7", "nan"),
        ("c8", "0x1"),
    ]:
        assert left(client, cost) == 50, cost


def test_allowed_clients_are_exempt_and_denied_ones_are_refused(nginx: Nginx) -> None:
    assert [get(nginx, "friend", "/lists/").status_code for _ in range(3)] == [200] * 3
    assert get(nginx, "foe", "/lists/").status_code == 403
    assert [get(nginx, "other", "/lists/").status_code for _ in range(2)] == [200, 429]


def test_a_shadow_limit_rejects_no_one_and_counts_whom_it_would_have(nginx: Nginx) -> None:
    answers = [get(nginx, "shadowed", "/shadow/") for _ in range(3)]
    assert [a.status_code for a in answers] == [200] * 3
    assert "RateLimit" not in answers[0].headers
    eventually(lambda: nginx.metric("ratelimit_decisions_total", limit="shadow", outcome="shadow_rejected") == 2)


def test_a_client_of_a_tier_has_the_tiers_limit(nginx: Nginx) -> None:
    assert [get(nginx, "rich", "/tiers/").status_code for _ in range(4)] == [200] * 3 + [429]
    assert [get(nginx, "poor", "/tiers/").status_code for _ in range(2)] == [200, 429]


def test_one_limit_that_rejects_takes_nothing_from_the_others(folder: Path, served: Nginx, redis: Redis) -> None:
    redis.flush()
    stores = {"redis": redis.store()}
    for store in ("memory", "redis"):
        small = limit(name=f"small-{store}", limit=1, store=store)
        large = limit("gcra", name=f"large-{store}", store=store)
        with running(nginx := balancer(folder / store, rules_of(large, small, stores=stores), served.port, workers=1)):
            first, *rest = [get(nginx, f"both-{store}") for _ in range(4)]
            assert [first.status_code, *(r.status_code for r in rest)] == [200, 429, 429, 429]
            nginx.enforce(rules_of(large, stores=stores))
            eventually(lambda nginx=nginx: "small" not in get(nginx, "other").headers["RateLimit-Policy"])
            assert "r=98" in get(nginx, f"both-{store}").headers["RateLimit"]


MILLION = """
local store = require("ratelimit.asking").nearby("memory")
local limit = require("ratelimit.in_force").current.limits[1]
local lock = require("ratelimit.stores.lock")
local asking = require("ratelimit.asking")
local refused, admitted = 0, 0
for i = 1, 1000000 do
  local key = "flood-" .. i
  local allowed = store:take(key, lock.stripe(key), limit, 1)
  if allowed then admitted = admitted + 1 elseif allowed == nil then refused = refused + 1 end
end
local found = asking.ask("memory", { { key = "flood-0", limit = limit, verb = "take", amount = 1, binding = true } })
ngx.say(admitted, " ", refused, " ", found and "found" or "refused")
"""


def test_a_flood_of_a_million_keys_resets_no_one(folder: Path, behind: Nginx) -> None:
    (folder / "million.lua").write_text(MILLION, encoding="utf-8")
    door = f"location = /million {{ content_by_lua_file {folder}/million.lua; }}\n    location / {{"
    with running(
        nginx := balancer(
            folder,
            rules_of(limit(limit=10)),
            behind.port,
            state="4m",
            workers=1,
            extra=lambda text: text.replace("location / {", door),
        )
    ):
        for _ in range(10):
            get(nginx, "victim")
        admitted, refused, last = httpx.get(nginx.url + "/million", timeout=60).text.split()
        assert int(admitted) + int(refused) == 1_000_000
        assert int(refused) > 900_000
        assert last == "refused"
        assert get(nginx, "victim").status_code == 429
        assert get(nginx, "newcomer").status_code == 429  # the policy of this limit: closed
        eventually(lambda: nginx.metric("ratelimit_refused_keys_total") >= 2)
        eventually(lambda: nginx.metric("ratelimit_decided_by_total", by="policy_closed") >= 1)


FLOOD = """
wrk.method = "GET"
local n, base = 0, %d
function request()
  n = n + 1
  return wrk.format(nil, "/header/", { ["X-Api-Key"] = ("flood-%%d-%%d"):format(base, n) })
end
"""


def test_a_flood_of_keys_is_refused_and_counted_and_resets_no_one(folder: Path, behind: Nginx) -> None:
    with running(nginx := balancer(folder, rules_of(limit(limit=10)), behind.port, state="1m", workers=1)):
        for _ in range(10):
            get(nginx, "victim")
        assert get(nginx, "victim").status_code == 429
        (folder / "flood.lua").write_text(FLOOD % 1, encoding="utf-8")
        command = ["wrk", "-t1", "-c8", "-d4s", "-s", str(folder / "flood.lua"), nginx.url]
        subprocess.run(command, check=True, capture_output=True)
        eventually(lambda: nginx.metric("ratelimit_refused_keys_total") > 0)
        assert get(nginx, "victim").status_code == 429
