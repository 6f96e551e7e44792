"""Redis over TLS: the certificate is verified unless the plan says not to."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ratelimit_rig import Nginx, Redis, balancer, eventually, free_port, get, limit, plan, running


class SecureRedis(Redis):
    """A Redis that also speaks TLS, with a certificate of its own making for `localhost`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.certificate, key = folder / "cert.pem", folder / "key.pem"
        name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        files = ["-keyout", str(key), "-out", str(self.certificate)]
        subprocess.run([*make, "-days", "1", *name, *files], check=True, capture_output=True)
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
        plan(*limits, stores=stores),
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
