"""Stores and a backend that the tests of the filter share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from ratelimit_fixture import MariaDB, Nginx, Redis, ShopService, backend, build_sidecar, missing_programs, quiet_folder

STORES = ("redis-server", "redis-cli", "mariadbd", "mariadb-install-db", "mariadb")
NEEDED = ("nginx", *STORES, "hey", "wrk", "luajit", "openssl")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = missing_programs(*NEEDED)
    skip = pytest.mark.skip(reason=f"install {', '.join(missing)} (apt-get install)")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.integration)
            if missing:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def workshop() -> Iterator[Path]:
    """Give a short path: a Unix socket's name has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="rl-", dir=quiet_folder()) as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="session")
def behind(workshop: Path) -> Iterator[Nginx]:
    server = backend(workshop / "backend")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def shop(workshop: Path) -> Iterator[Nginx]:
    """Give a service of the shop that answers under any path."""
    if missing_programs("java") or not ShopService.JAR.is_file():
        pytest.skip("needs a JDK 17, and the shop (make apps)")
    service = ShopService(workshop / "image")
    try:
        server = service.start().front(workshop / "shop")
        yield server
        server.stop()
    finally:
        service.stop()


@pytest.fixture(scope="module", params=["behind", "shop"], ids=["plain", "shop"])
def served(request: pytest.FixtureRequest) -> Nginx:
    """Give what a balancer stands before: a server that answers at once, then a service of the shop."""
    server: Nginx = request.getfixturevalue(request.param)
    return server


@pytest.fixture(scope="session")
def redis(workshop: Path) -> Iterator[Redis]:
    server = Redis(workshop / "redis").start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mariadb(workshop: Path) -> Iterator[MariaDB]:
    server = MariaDB(workshop / "mariadb").install()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def sidecar_binary(workshop: Path) -> Path:
    built = build_sidecar(workshop / "crdt-sidecar")
    if not built:
        pytest.skip("needs Go, or CRDT_SIDECAR=/path/to/the/sidecar")
    return built


@pytest.fixture
def folder(workshop: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="t-", dir=workshop) as name:
        Path(name).chmod(0o755)
        yield Path(name)
