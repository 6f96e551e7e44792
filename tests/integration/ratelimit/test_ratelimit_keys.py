"""Requests that tell a key twice, or in another's words, to get at a second limit or at another client's."""

import base64
import hashlib
import hmac
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import Nginx, Redis, balancer, eventually, get, limit, rules_of, running

SECRET = "a shared secret"


@pytest.fixture(scope="module")
def nginx(workshop: Path, behind: Nginx, redis: Redis) -> Iterator[Nginx]:
    (workshop / "secret").write_text(SECRET + "\n", encoding="utf-8")
    token = {"from": "jwt", "claim": "sub", "secret_file": str(workshop / "secret")}
    query = {"from": "query", "name": "token"}
    shapes: dict[str, dict[str, Any]] = {
        "header": {},
        "query": {"key": query},
        "any-case": {"key": {**query, "ignore_case": True}},
        "argument": {"key": {"from": "variable", "name": "arg_token"}},
        "cookie": {"key": {"from": "cookie", "name": "session"}},
        "cookie-variable": {"key": {"from": "variable", "name": "cookie_session"}},
        "header-variable": {"key": {"from": "variable", "name": "http_x_api_key"}},
        "jwt": {"key": token, "missing_key": "reject"},
        "strict": {"key": token, "invalid_token": "reject"},
        "host": {"key": {"from": "header", "name": "Host"}},
        "binary": {"key": {"from": "variable", "name": "binary_remote_addr"}},
        "php": {"key": {"from": "query", "name": "api_key"}, "missing_key": "skip"},
        "both": {"key": [query, {"from": "header", "name": "X-Api-Key"}]},
        "first": {"key": query, "ambiguous_key": "first"},
        "last": {"key": query, "ambiguous_key": "last"},
        "shadow": {"shadow": True, "deny": ["foe"]},
        "few": {"limit": 3, "burst": 3},
        "few-in-redis": {"limit": 3, "burst": 3, "store": "redis"},
        "listed": {
            "allow": ["127.0.0.1", "no-key@127.0.0.1"],
            "clients": {"127.0.0.1": "none"},
            "tiers": {"none": {"limit": 1}},
        },
        "cost": {"cost": {"from": "header", "name": "X-Cost", "most": 50}},
        "cost-variable": {"cost": {"from": "variable", "name": "http_x_cost", "most": 50}},
        "tier": {"tier": {"from": "query", "name": "tier"}, "tiers": {"gold": {"limit": 1000}}},
    }
    limits = [limit("gcra", **{"name": n, "match": {"path_prefix": f"/{n}/"}, **shape}) for n, shape in shapes.items()]
    limits.append(limit(name="by-get", match={"path_prefix": "/by-get/", "methods": ["GET", "DELETE"]}))
    limits.append(limit(name="login", match={"path_prefix": "/login"}, limit=7))
    stores = {"redis": {**redis.store(), "timeout": "1s"}}
    nginx = balancer(workshop / "keys", rules_of(*limits, stores=stores), behind.port)
    with running(nginx):
        yield nginx


def raw(nginx: Nginx, target: str, *fields: str) -> tuple[int, str]:
    """Send a request with these header fields as they are; return status and RateLimit field."""
    lines = [f"GET {target} HTTP/1.1", "Host: x", "Connection: close", *fields, "", ""]
    with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode())
        answer = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    reported = [line.split(": ", 1)[1] for line in answer.split("\r\n") if line.lower().startswith("ratelimit:")]
    return int(answer.split()[1]), reported[0] if reported else ""


def left(nginx: Nginx, target: str, *fields: str) -> int:
    """Send a request that is allowed; return what remains after it."""
    status, reported = raw(nginx, target, *fields)
    assert status == 200, (target, fields, status)
    return int(reported.split("r=")[1].split(";")[0])


SAID_TWICE = [
    ("/query/?token=a&token=real", ()),
    ("/query/?token=a&%74oken=real", ()),
    ("/query/?token=a;token=real", ()),
    ("/query/?token=a&token[]=real", ()),
    ("/any-case/?TOKEN=a&token=real", ()),
    ("/argument/?token=a&token=real", ()),
    ("/argument/?TOKEN=a&token=real", ()),
    ("/header/", ("X-Api-Key: a", "X-Api-Key: real")),
    ("/header/", ("X-Api-Key: a", "x-api-key: real")),
    ("/header-variable/", ("X-Api-Key: a", "X-Api-Key: real")),
    ("/cookie/", ("Cookie: session=a; session=real",)),
    ("/cookie/", ("Cookie: session=a", "Cookie: session=real")),
    ("/cookie-variable/", ("Cookie: session=a; SESSION=real",)),
    ("/both/?token=a&token=real", ("X-Api-Key: a",)),
    ("/both/?token=a", ("X-Api-Key: a", "X-Api-Key: real")),
    ("/tier/?tier=gold&tier=none", ("X-Api-Key: a",)),
]


@pytest.mark.parametrize(("target", "fields"), SAID_TWICE, ids=str)
def test_a_request_that_says_two_keys_is_answered_400(nginx: Nginx, target: str, fields: tuple[str, ...]) -> None:
    assert raw(nginx, target, *fields)[0] == 400


@pytest.mark.parametrize("before", [0, 21, 22, 23, 24, 60])
def test_a_key_is_found_and_missed_twice_among_however_many_headers(nginx: Nginx, before: int) -> None:
    others = [f"X-Other-{i}: {i}" for i in range(before)]
    client = f"X-Api-Key: behind-{before}"
    assert left(nginx, "/header/", *others, client) == 99
    assert left(nginx, "/header/", client, *others) == 98
    assert raw(nginx, "/header/", client, *others, "X-Api-Key: other")[0] == 400
    assert raw(nginx, "/header/", *others, client, "X-Api-Key: other", "X-Last: 1")[0] == 400


def test_an_ambiguous_key_is_explained_and_counted(nginx: Nginx) -> None:
    answer = get(nginx, None, "/query/?token=a&token=b")
    assert answer.json()["title"] == "Ambiguous client key"
    assert "query" in answer.json()["detail"]
    eventually(lambda: nginx.metric("ratelimit_ambiguous_keys_total", limit="query") >= 1)


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        ("/query/?token={}", ()),
        ("/query/?TOKEN=decoy&token={}", ()),
        ("/query/?%74oken={}", ()),
        ("/query/?token={}&token={}", ()),
        ("/argument/?token={}", ()),
        ("/any-case/?Token={}", ()),
        ("/cookie/", ("Cookie: a=b; session={}; SESSION=decoy",)),
        ("/cookie/", ('Cookie: session="{}"',)),
        ("/header/", ("X-API-KEY: {}",)),
        ("/header/", ("X-Api-Key: {}", "X-Api-Key: {}")),
        ("/first/?token={}&token=decoy", ()),
        ("/last/?token=decoy&token={}", ()),
    ],
)
def test_however_the_same_key_is_said_it_is_the_same_client(nginx: Nginx, target: str, fields: tuple[str, ...]) -> None:
    client = hashlib.sha256((target + str(fields)).encode()).hexdigest()[:12]
    place = target.partition("?")[0]
    plain = {
        "/header/": ("/header/", f"X-Api-Key: {client}"),
        "/cookie/": ("/cookie/", f"Cookie: session={client}"),
    }.get(place, (f"{place}?token={client}",))
    before = left(nginx, *plain)
    message = [field.replace("{}", client) for field in fields]
    assert left(nginx, target.replace("{}", client), *message) == before - 1


@pytest.mark.parametrize("place", ["few", "few-in-redis"])
def test_no_key_of_a_client_takes_from_the_limit_of_an_address(nginx: Nginx, place: str) -> None:
    for key in ("no-key@127.0.0.1", "no-key=127.0.0.1", "127.0.0.1", "address=127.0.0.1"):
        statuses = [get(nginx, key, f"/{place}/").status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429], key
    assert [get(nginx, None, f"/{place}/").status_code for _ in range(4)] == [200, 200, 200, 429]


def test_a_client_without_a_key_is_in_no_list(nginx: Nginx) -> None:
    answer = get(nginx, None, "/listed/")
    assert "q=100" in answer.headers["RateLimit-Policy"]


def test_a_shadow_limit_refuses_neither_two_keys_nor_a_denied_one(nginx: Nginx) -> None:
    assert raw(nginx, "/shadow/", "X-Api-Key: a", "X-Api-Key: b")[0] == 200
    assert raw(nginx, "/shadow/", "X-Api-Key: foe")[0] == 200


def test_a_cost_that_is_said_twice_costs_the_most_and_a_client_never_asks_for_less_than_one(nginx: Nginx) -> None:
    assert left(nginx, "/cost/", "X-Api-Key: twice", "X-Cost: 1", "X-Cost: 2") == 50
    assert left(nginx, "/cost-variable/", "X-Api-Key: none", "X-Cost: 0") == 50


def test_a_prefix_ends_where_a_segment_ends(nginx: Nginx) -> None:
    for path in ("/login", "/login/", "/login/x", "/login?a=b", "/login;v=1", "/;v=1/login", "/login;v=1/x"):
        assert "RateLimit" in get(nginx, f"client-{path}", path).headers, path
    for path in ("/loginx", "/login.html", "/log", "/login-help/", "/x/login", "/loginx;v=1"):
        assert "RateLimit" not in get(nginx, "client", path).headers, path


def part(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def bearer(claims: str, header: str = '{"alg":"HS256","typ":"JWT"}') -> str:
    text = part(header) + "." + part(claims)
    proof = hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).digest()
    return f"Authorization: Bearer {text}." + base64.urlsafe_b64encode(proof).decode().rstrip("=")


@pytest.mark.parametrize("number", ["123456789012345", "1234567890123456", "9007199254740993", "12345678901234567890"])
def test_two_clients_whose_numbers_differ_in_the_last_digit_are_two(nginx: Nginx, number: str) -> None:
    other = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert left(nginx, "/jwt/", bearer(f'{{"sub":{number}}}')) == 99
    assert left(nginx, "/jwt/", bearer(f'{{"sub":{other}}}')) == 99
    assert left(nginx, "/jwt/", bearer(f'{{"sub":{number}}}')) == 98
    assert left(nginx, "/jwt/", bearer(json.dumps({"sub": number}))) == 97


def test_a_token_that_is_over_or_not_yet_valid_or_does_not_say_when_names_no_one(nginx: Nginx) -> None:
    now = int(time.time())
    for claims in ({"exp": now - 120}, {"exp": str(now + 600)}, {"exp": None}, {"nbf": now + 600}, {"nbf": str(now)}):
        assert raw(nginx, "/jwt/", bearer(json.dumps({"sub": "a", **claims})))[0] == 400, claims
    assert raw(nginx, "/jwt/", bearer(json.dumps({"sub": "a", "exp": now + 600, "nbf": now - 1})))[0] == 200
    assert raw(nginx, "/jwt/", bearer('{"sub":"a"}', '{"alg":"HS256","crit":["b64"]}'))[0] == 400


def test_a_token_is_its_users_however_a_server_lets_it_be_written(nginx: Nginx) -> None:
    now = time.time()
    plain = bearer('{"sub":"spelt"}').removeprefix("Authorization: Bearer ")
    spellings = [f"Bearer {plain}", f"JWT {plain}", f"Bearer\t{plain}", f"\tBearer {plain}\t", f'Bearer "{plain}"']
    spellings += [f"bearer {plain}=", f"Bearer {plain}!", plain, f"Bearer {plain} more"]
    for claims in ({"exp": now + 3600.123456789}, {"nbf": now - 0.5}, {"exp": now - 1}, {"nbf": now + 1}):
        spellings.append(bearer(json.dumps({"sub": "spelt", **claims})).removeprefix("Authorization: "))
    counted = [left(nginx, "/jwt/", f"Authorization: {text}") for text in spellings]
    assert counted == [99 - i for i in range(len(spellings))]


def test_a_token_that_does_not_hold_is_refused_where_the_rules_say_so(nginx: Nginx) -> None:
    other = bearer('{"sub":"a"}')[:-6] + "AAAAAA"
    assert raw(nginx, "/strict/", other)[0] == 400
    assert raw(nginx, "/strict/", bearer('{"sub":"a","exp":1}'))[0] == 400
    assert raw(nginx, "/strict/", "Authorization: Basic YTpi")[0] == 200
    assert raw(nginx, "/strict/", bearer('{"sub":"a"}'))[0] == 200


def test_a_name_that_php_mends_into_the_keys_is_ambiguous(nginx: Nginx) -> None:
    for query in ("api[key=x", "api.key=x", "api%5bkey=x"):
        assert raw(nginx, f"/php/?{query}")[0] == 400, query


def test_a_limit_on_get_counts_head_and_what_a_post_says_it_is(nginx: Nginx) -> None:
    def counted(method: str, *fields: str, query: str = "") -> bool:
        lines = [f"{method} /by-get/{query} HTTP/1.1", "Host: x", "Connection: close", "X-Api-Key: k", *fields, "", ""]
        with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
            connection.sendall("\r\n".join(lines).encode())
            return b"RateLimit:" in connection.recv(4096)

    assert counted("HEAD")
    assert counted("POST", "Content-Length: 0", "X-HTTP-Method-Override: delete")
    assert counted("POST", "Content-Length: 0", "X-HTTP-Method-Override: DELETE, PUT")
    assert counted("POST", "Content-Length: 0", query="?a=1&_method=delete")
    assert not counted("POST", "Content-Length: 0")
    assert not counted("POST", "Content-Length: 0", query="?method=DELETE")
    assert not counted("PUT", "Content-Length: 0", "X-HTTP-Method-Override: DELETE")


def test_a_host_is_one_client_in_any_case_and_with_any_port(nginx: Nginx) -> None:
    reported = []
    for host in ("shop.example", "SHOP.example", "shop.example:80", "shop.example."):
        lines = ["GET /host/ HTTP/1.1", f"Host: {host}", "Connection: close", "", ""]
        with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
            connection.sendall("\r\n".join(lines).encode())
            reported.append(connection.recv(4096).decode().split(";r=")[1].split(";")[0])
    assert reported == ["99", "98", "97", "96"]


def test_a_target_that_names_another_host_than_the_header_is_refused_where_the_host_is_the_key(nginx: Nginx) -> None:
    def status(target: str) -> int:
        with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: two.example\r\nConnection: close\r\n\r\n".encode())
            return int(connection.recv(4096).split()[1])

    assert status("http://TWO.example:80/host/") == 200
    assert [status(f"http://{name}/host/") for name in ("other.example", "a1.example")] == [400, 400]


def test_a_request_that_is_rejected_is_never_told_to_send_its_body(nginx: Nginx) -> None:
    for _ in range(3):
        get(nginx, "expects", "/few/")
    lines = ["POST /few/ HTTP/1.1", "Host: x", "X-Api-Key: expects", "Content-Length: 9", "Expect: 100-continue"]
    with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    assert answer.startswith("HTTP/1.1 429 ")
    assert "Connection: close" in answer


def test_two_tokens_in_one_request_name_no_one(nginx: Nginx) -> None:
    one, other = bearer('{"sub":"one"}'), bearer('{"sub":"other"}')
    assert raw(nginx, "/jwt/", one, other)[0] == 400
