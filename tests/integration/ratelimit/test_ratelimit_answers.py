"""What a client sees of the filter."""

from pathlib import Path

from ratelimit_fixture import Nginx, balancer, eventually, get, limit, rules_of, running


def test_a_request_within_the_limit_passes_and_is_told_what_remains(folder: Path, behind: Nginx) -> None:
    nginx = balancer(folder, rules_of(limit(limit=2)), behind.port)
    with running(nginx):
        answer = get(nginx)
        assert answer.status_code == 200, nginx.errors()
        assert answer.text == "ok\n"
        assert answer.headers["RateLimit-Policy"] == '"per_client";q=2;w=86400'
        assert answer.headers["RateLimit"].startswith('"per_client";r=1;t=')


def test_the_metrics_page_is_not_served_where_clients_come_in(folder: Path, behind: Nginx) -> None:
    with running(nginx := balancer(folder, rules_of(limit()), behind.port)):
        for path in ("/metrics", "/ratelimit/metrics"):
            assert get(nginx, path=path).text == "ok\n"
        assert "ratelimit_decisions_total" in eventually(nginx.metrics)


INTERNAL = """location /sent-on/ {
      access_by_lua_block { require("ratelimit").access() }
      try_files /nothing /elsewhere;
    }
    location /unguarded/ { try_files /nothing /elsewhere; }
    location / {"""


def test_a_request_that_nginx_sends_on_internally_is_decided_once(folder: Path, behind: Nginx) -> None:
    nginx = balancer(
        folder, rules_of(limit(limit=10)), behind.port, extra=lambda text: text.replace("location / {", INTERNAL)
    )
    with running(nginx):
        fields = [get(nginx, path=path).headers["RateLimit"] for path in ("/", "/sent-on/x", "/unguarded/x")]
    assert [field.split(";")[1] for field in fields] == ["r=9", "r=8", "r=7"]
