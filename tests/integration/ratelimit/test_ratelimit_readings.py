"""A table of spellings and servers: whatever a server behind takes for /login is counted by the limit on /login."""

import os
import shutil
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest
from ratelimit_fixture import (
    Component,
    Nginx,
    ShopService,
    balancer,
    eventually,
    free_port,
    limit,
    listens,
    missing_programs,
    rules_of,
    running,
)

SERVERS = Path(__file__).parent / "servers"
NAMES = ("go", "go-unresolved", "node", "node-standard", "tomcat", "flask")

PATHS = [
    "/login",
    "/login/",
    "/login/x",
    "/LOGIN",
    "/Login/x",
    "/%6cogin",
    "/%4Cogin",
    "//login",
    "///login",
    "/./login",
    "/x/../login",
    "/x/%2e%2e/login",
    "/x/.%2E/login",
    "/x/..%2flogin",
    "/login;v=1",
    "/login;v=1/x",
    "/;v=1/login",
    "/x/..;/login",
    "/x/..;a=b/login",
    "/.;/login",
    "/%2e;/login",
    "/x/%2e%2e;/login",
    "/a/b/..;/..;/login",
    "/x;/..;/login",
    "/x/;a/../login",
    "/x/%2e%2e;a=b;c/login",
    "/;/;/login",
    "/x/..%3b/login",
    "/login/../x",
    "/login/%2e%2e/x",
    "/login/./x",
    "/login/..;/x",
    "/login\\",
    "/login\\x",
    "\\login",
    "/\\login",
    "/x\\..\\login",
    "/x/..\\login",
    "//x/login",
    "///x/login",
    "/\\x/login",
    "//x/LOGIN",
    "/x#/../login",
    "/login#x",
    "/login?x=/..",
    "/x?/../login",
    "/login\xa0",
    "/x/../login\x85",
    "http://x/login",
    "http://other/x/..;/login",
]
NOT_LOGIN = ["/loginx", "/login.html", "/x/login", "/loginx;v=1", "/x/..;/loginx", "/log/..;/in", "/x/%6cogin"]
QUERIES = [
    "token=real",
    "x#&token=real",
    "#&token=real",
    "#?token=real",
    "x=1;token=real",
    "%74oken=real",
    "a&token=real#",
    "token=a&token=real",
    "token=real\xa0",
]
VALUES = ["{}", "{}\t", "\t{}", " {} ", "\t \t{}\t \t", "{}  ", " \t{}"]


@dataclass
class Read:
    """What became of a request: its status, what the filter counted, and what the server behind read."""

    status: int
    counted: str
    reached: str
    token: str
    key: str


class Served(Component):
    """A server behind, which listens on one port or several."""

    def __init__(self, folder: Path, ports: list[int], command: list[str]) -> None:
        super().__init__(command, folder / f"{ports[0]}.log")
        self.ports = ports

    def start(self) -> None:
        self.launch()
        eventually(lambda: all(map(listens, self.ports)), 60)


def go_servers(folder: Path, ports: list[int]) -> Served:
    """Build the servers of Go's own library: with its router, and without."""
    go = shutil.which("go", path=os.environ["PATH"] + ":/usr/local/go/bin")
    if not go:
        pytest.skip("needs Go")
    subprocess.run([go, "build", "-o", str(folder / "login"), "."], cwd=SERVERS / "go", check=True)
    return Served(folder, ports, [str(folder / "login"), *map(str, ports)])


def tomcat_server(folder: Path, port: int) -> Served:
    """Start the Tomcat that the shop's services bring."""
    if missing_programs("java") or not ShopService.JAR.is_file():
        pytest.skip("needs a JDK 17, and the shop (make apps)")
    with zipfile.ZipFile(ShopService.JAR) as jar:
        for name in jar.namelist():
            if Path(name).name.startswith(("tomcat-embed", "jakarta.annotation")):
                (folder / Path(name).name).write_bytes(jar.read(name))
    java = ["java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}/*", str(SERVERS / "tomcat" / "Login.java")]
    return Served(folder, [port], [*java, str(port), str(folder)])


@pytest.fixture(scope="module")
def nginx(workshop: Path) -> Iterator[Nginx]:
    """Give a balancer that asks the server which the request names in X-Server."""
    folder = workshop / "readings"
    folder.mkdir()
    ports = {name: free_port() for name in NAMES}
    servers = [
        go_servers(folder, [ports["go"], ports["go-unresolved"]]),
        Served(
            folder,
            [ports["node"], ports["node-standard"]],
            ["node", str(SERVERS / "node.mjs"), str(ports["node"]), str(ports["node-standard"])],
        ),
        tomcat_server(folder, ports["tomcat"]),
        Served(folder, [ports["flask"]], [sys.executable, str(SERVERS / "flask_login.py"), str(ports["flask"])]),
    ]
    behind = "".join(f"{name} 127.0.0.1:{port}; " for name, port in ports.items())
    limits = [
        limit(name="login", match={"path_prefix": "/login"}, key={"from": "everyone"}, limit=1_000_000),
        limit(name="token", match={"path_prefix": "/q"}, key={"from": "query", "name": "token"}, missing_key="skip"),
        limit(name="key", match={"path_prefix": "/key"}),
    ]
    nginx = balancer(
        folder / "nginx",
        rules_of(*limits),
        ports["go"],
        workers=1,
        extra=lambda text: text.replace("http://service", "http://$behind").replace(
            "upstream service", f"map $http_x_server $behind {{ {behind} }} upstream service"
        ),
    )
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.stop)
            server.launch()
        for server in servers:
            eventually(lambda server=server: all(map(listens, server.ports)), 60)
        stack.enter_context(running(nginx))
        yield nginx


def ask(nginx: Nginx, server: str, target: str, *fields: str) -> Read:
    """Send a target and header fields as they are."""
    lines = [f"GET {target} HTTP/1.1", "Host: x", "Connection: close", f"X-Server: {server}", *fields, "", ""]
    with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        answer = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    head = answer.split("\r\n\r\n")[0].split("\r\n")
    reported = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
    return Read(
        int(head[0].split()[1]),
        reported.get("ratelimit", ""),
        reported.get("x-reached", ""),
        reported.get("x-read-token", ""),
        unquote(reported.get("x-read-key", "")),
    )


@pytest.mark.parametrize("server", NAMES)
def test_whatever_a_server_routes_to_login_is_counted_there(nginx: Nginx, server: str) -> None:
    reported = {path: ask(nginx, server, path) for path in PATHS}
    assert [path for path, read in reported.items() if read.reached == "login" and not read.counted] == []
    assert reported["/login"].reached == "login"


@pytest.mark.parametrize("server", NAMES)
def test_what_no_server_routes_to_login_is_not_counted_there(nginx: Nginx, server: str) -> None:
    assert [path for path in NOT_LOGIN if ask(nginx, server, path).counted] == []


@pytest.mark.parametrize("server", NAMES)
def test_a_key_that_a_server_reads_in_a_query_is_counted_or_refused(nginx: Nginx, server: str) -> None:
    reported = {query: ask(nginx, server, f"/q?{query}") for query in QUERIES}
    reported["#?token=real"] = ask(nginx, server, "/q#?token=real")
    assert [query for query, read in reported.items() if read.token == "real" and not read.counted] == []
    assert reported["token=real"].token == "real"


@pytest.mark.parametrize("server", NAMES)
def test_blanks_around_a_header_make_no_second_client(nginx: Nginx, server: str) -> None:
    client = f"ann-of-{server}"
    reported = [ask(nginx, server, "/key", "X-Api-Key:" + value.format(client)) for value in VALUES]
    assert [f"r={99 - i};" in read.counted for i, read in enumerate(reported)] == [True] * len(VALUES)


def test_a_target_with_a_fragment_is_refused_and_told_how_to_write_it(nginx: Nginx) -> None:
    assert ask(nginx, "go", "/anything#x").status == 400
    assert ask(nginx, "go", "/anything%23x").status == 200
