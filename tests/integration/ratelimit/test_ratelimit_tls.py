"""Redis and MariaDB over TLS: the certificate is verified unless the rules say not to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import (
    MariaDB,
    Nginx,
    Redis,
    balancer,
    certificate,
    eventually,
    free_port,
    get,
    limit,
    rules_of,
    running,
)


class SecureRedis(Redis):
    """A Redis that also speaks TLS, with a certificate of its own making for ``localhost``."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.certificate, key = certificate(folder)
        self.tls_port = free_port()
        tls = ["--tls-port", str(self.tls_port), "--tls-auth-clients", "no", "--requirepass", "secret"]
        super().__init__(folder, *tls, "--tls-cert-file", str(self.certificate), "--tls-key-file", str(key))

    def secure_store(self, **tls: Any) -> dict[str, Any]:
        return {
            **self.store(),
            "address": f"127.0.0.1:{self.tls_port}",
            "tls": tls,
            "password": "secret",
            "database": "1",
        }


@pytest.fixture(scope="module")
def secure(workshop: Path) -> Iterator[SecureRedis]:
    server = SecureRedis(workshop / "secure")
    with running(server):
        yield server


@pytest.fixture(scope="module")
def nginx(workshop: Path, behind: Nginx, secure: SecureRedis) -> Iterator[Nginx]:
    stores = {
        "trusted": secure.secure_store(server_name="localhost"),
        "wrong-name": secure.secure_store(server_name="example.org"),
        "unverified": secure.secure_store(verify=False),
        "wrong-password": {**secure.secure_store(verify=False), "password": "guessed"},
    }
    limits = [limit(name=s, store=s, when_store_fails="closed", match={"path_prefix": f"/{s}/"}) for s in stores]
    trust = f"lua_ssl_trusted_certificate {secure.certificate}; lua_ssl_verify_depth 2; lua_socket_log_errors"
    nginx = balancer(
        workshop / "tls",
        rules_of(*limits, stores=stores),
        behind.port,
        extra=lambda config: config.replace("lua_socket_log_errors", trust),
    )
    with running(nginx):
        yield nginx


@pytest.mark.parametrize("store", ["trusted", "unverified"])
def test_a_store_is_reached_over_tls_with_a_password(nginx: Nginx, store: str) -> None:
    assert eventually(lambda: get(nginx, path=f"/{store}/").status_code == 200)


@pytest.mark.parametrize("store", ["wrong-name", "wrong-password"])
def test_a_store_that_cannot_be_trusted_or_refuses_us_is_a_failed_store(nginx: Nginx, store: str) -> None:
    assert get(nginx, path=f"/{store}/").status_code == 429
    eventually(lambda: nginx.metric("ratelimit_store_failures_total", store=store) > 0)


def test_mariadb_is_reached_over_tls_when_its_certificate_can_be_trusted(
    folder: Path, behind: Nginx, mariadb: MariaDB
) -> None:
    mariadb.sql("CREATE USER 'secure'@'%' IDENTIFIED BY 'secret' REQUIRE SSL;")
    mariadb.sql("GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON ratelimit.* TO 'secure'@'%';")
    stores = {
        "trusted": {**mariadb.store("secure"), "tls": {"server_name": "localhost"}},
        "wrong-name": {**mariadb.store("secure"), "tls": {"server_name": "example.org"}},
        "plain": mariadb.store("secure"),
    }
    limits = [limit(name=s, store=s, when_store_fails="closed", match={"path_prefix": f"/{s}/"}) for s in stores]
    trust = f"lua_ssl_trusted_certificate {mariadb.certificate}; lua_socket_log_errors"
    nginx = balancer(
        folder,
        rules_of(*limits, stores=stores),
        behind.port,
        extra=lambda config: config.replace("lua_socket_log_errors", trust),
    )
    with running(nginx):
        assert eventually(lambda: get(nginx, path="/trusted/").status_code == 200), nginx.errors()
        assert [get(nginx, path=f"/{store}/").status_code for store in ("wrong-name", "plain")] == [429, 429]
