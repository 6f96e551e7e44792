"""Real nginx, Redis and MariaDB on loopback for the tests of the filter, each in its own folder."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[3]
FILTER = ROOT / "filters" / "nginx-ratelimit"
VECTORS = ROOT / "contracts" / "ratelimit" / "vectors"
MODULES = "/usr/lib/nginx/modules"
DOOR = Path(__file__).parent / "decide.lua"
ALGORITHMS = [
    "fixed_window",
    "sliding_window_log",
    "sliding_window_counter",
    "token_bucket",
    "leaky_bucket",
    "gcra",
]


def quiet_folder() -> str | None:
    """Return a folder in memory when there is one: a busy disk would stall MariaDB for seconds."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > 10**9 else None


def missing_programs(*names: str) -> list[str]:
    """Return the programs that are not on PATH."""
    return [name for name in names if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None]


def free_port() -> int:
    """Return a loopback port that no one listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(check: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Return the first true answer of ``check``; fail when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        answer = check()
        if answer:
            return answer
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def listens(port: int) -> bool:
    """Say whether a loopback port accepts connections."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Component:
    """One process that is started, stopped, frozen and killed by its id."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.command, self.log = command, log
        self.process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, start_new_session=True)

    def send(self, number: int) -> None:
        assert self.process
        os.kill(self.process.pid, number)

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.process and self.process.poll() is None:
            self.send(signal.SIGCONT)
            self.send(number)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for ``localhost`` and its key."""
    pem, key = folder / "cert.pem", folder / "key.pem"
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    subprocess.run([*make, "-keyout", str(key), "-out", str(pem), *name], check=True, capture_output=True)
    return pem, key


class Redis(Component):
    """A Redis without persistence."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port, self.socket = free_port(), folder / "redis.sock"
        folder.mkdir(parents=True, exist_ok=True)
        command = ["redis-server", "--port", str(self.port), "--unixsocket", str(self.socket)]
        command += ["--unixsocketperm", "777", "--save", "", "--appendonly", "no", "--dir", str(folder)]
        super().__init__([*command, *options], folder / "redis.log")

    def start(self) -> "Redis":
        self.launch()
        eventually(lambda: listens(self.port))
        return self

    def ask(self, *words: str) -> str:
        command = ["redis-cli", "-p", str(self.port), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def flush(self) -> None:
        self.ask("FLUSHALL")

    def store(self) -> dict[str, Any]:
        return {"kind": "redis", "address": f"127.0.0.1:{self.port}", "timeout": "1s"}


class MariaDB(Component):
    """A MariaDB with the filter's schema, a certificate, and one user for each way to log in."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port, self.socket = folder, free_port(), folder / "m.sock"
        command = ["mariadbd", "--no-defaults", f"--datadir={folder / 'data'}", f"--socket={self.socket}"]
        command += [f"--port={self.port}", "--bind-address=127.0.0.1", "--user=root", "--skip-name-resolve"]
        command += ["--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=64M"]
        command += [f"--pid-file={folder / 'pid'}", "--max-connections=300"]
        self.certificate, key = certificate(folder)
        command += [f"--ssl-cert={self.certificate}", f"--ssl-key={key}"]
        super().__init__(command, folder / "mariadb.log")

    def install(self) -> "MariaDB":
        data = f"--datadir={self.folder / 'data'}"
        command = ["mariadb-install-db", "--no-defaults", data, "--user=root", "--skip-test-db"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        self.start()
        self.sql("CREATE DATABASE ratelimit; INSTALL SONAME 'auth_ed25519';")
        schema = (FILTER / "sql" / "schema.sql").read_text(encoding="utf-8")
        self.sql(schema, "ratelimit")
        for user, plugin in (("native", "mysql_native_password"), ("edward", "ed25519")):
            proof = "PASSWORD('secret')"
            self.sql(f"CREATE USER '{user}'@'%' IDENTIFIED VIA {plugin} USING {proof};")
            self.sql(f"GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON ratelimit.* TO '{user}'@'%';")
        return self

    def start(self) -> "MariaDB":
        self.launch()
        eventually(self.answers, 60)
        return self

    def answers(self) -> bool:
        command = ["mariadb-admin", "--no-defaults", f"--socket={self.socket}", "-uroot", "ping"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def sql(self, text: str, database: str = "") -> str:
        command = ["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-N", "-B", database]
        done = subprocess.run(
            [word for word in command if word], input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def flush(self) -> None:
        self.sql("DELETE FROM ratelimit_state", "ratelimit")

    def store(self, user: str = "native") -> dict[str, Any]:
        where = {"kind": "mariadb", "address": f"127.0.0.1:{self.port}", "database": "ratelimit"}
        return {**where, "user": user, "password": "secret", "timeout": "1s", "pool": 2}


def build_sidecar(target: Path) -> Path | None:
    """Return the sidecar's binary: CRDT_SIDECAR, or built with Go; None when there is no Go."""
    given = os.environ.get("CRDT_SIDECAR")
    go = shutil.which("go", path=os.environ["PATH"] + ":/usr/local/go/bin")
    if given or not go:
        return Path(given) if given else None
    source = ROOT / "filters" / "crdt-sidecar"
    subprocess.run([go, "build", "-p", "2", "-o", str(target), "."], cwd=source, check=True)
    return target


class Sidecar(Component):
    """One gossiping sidecar."""

    def __init__(self, binary: Path, folder: Path, name: str, join: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port, self.gossip = free_port(), f"127.0.0.1:{free_port()}"
        command = [str(binary), "-name", name, "-listen", f"127.0.0.1:{self.port}", "-gossip", self.gossip]
        super().__init__([*command, "-interval", "10ms", *(["-join", join] if join else [])], folder / "log")

    def start(self) -> "Sidecar":
        before = self.announced()
        self.launch()
        eventually(lambda: self.announced() > before)
        return self

    def announced(self) -> int:
        """Return how often a start has come to its end: until then a sidecar answers LOADING."""
        return self.log.read_bytes().count(b'"ready"') if self.log.exists() else 0

    def store(self) -> dict[str, Any]:
        return {"kind": "crdt", "address": f"127.0.0.1:{self.port}", "timeout": "1s"}


class Nginx(Component):
    """A load balancer with the filter and rules, or a plain server behind it."""

    def __init__(self, folder: Path, config: str, port: int) -> None:
        for name in ("", "log"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.folder, self.port, self.config = folder, port, folder / "nginx.conf"
        self.url, self.metrics_port = f"http://127.0.0.1:{port}", free_port()
        self.config.write_text(config.replace("@METRICS@", f"127.0.0.1:{self.metrics_port}"), encoding="utf-8")
        command = ["nginx", "-p", str(folder), "-c", str(self.config), "-e", str(folder / "error.log")]
        super().__init__(command, folder / "nginx.log")

    def start(self) -> "Nginx":
        self.launch()
        eventually(lambda: listens(self.port) or (self.process and self.process.poll() is not None))
        assert self.process and self.process.poll() is None, self.errors() + self.log.read_text()
        return self

    def stop(self, number: int = signal.SIGTERM) -> None:
        workers = self.workers() if self.process and self.process.poll() is None else []
        super().stop(number)
        for pid in workers:
            eventually(lambda pid=pid: not Path(f"/proc/{pid}").exists())

    def workers(self) -> list[int]:
        assert self.process
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    def errors(self) -> str:
        path = self.folder / "error.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def enforce(self, rules: dict[str, Any] | str) -> None:
        text = rules if isinstance(rules, str) else json.dumps(rules)
        (self.folder / "rules.new").write_text(text, encoding="utf-8")
        (self.folder / "rules.new").rename(self.folder / "plan.json")

    def metrics(self) -> str:
        """Return the page for Prometheus, which is served apart from the clients' port."""
        return httpx.get(f"http://127.0.0.1:{self.metrics_port}/metrics").text

    def metric(self, name: str, **labels: str) -> float:
        total = 0.0
        for line in self.metrics().splitlines():
            found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if found and found[1] == name:
                have = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2] or ""))
                if labels.items() <= have.items():
                    total += float(found[3])
        return total

    def decisions(self) -> list[dict[str, str]]:
        rows = []
        for path in sorted((self.folder / "log").glob("decisions-*.tsv")):
            heading, *lines = path.read_text(encoding="utf-8").splitlines()
            rows += [dict(zip(heading.split("\t"), line.split("\t"), strict=True)) for line in lines]
        return rows


BACKEND = """
user root; worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_max_body_size 64m; large_client_header_buffers 8 64k;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  {around}
  server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000; location / {{ {answer} }} }}
}}
"""
AT_ONCE = 'return 200 "ok\\n";'
FROM_THE_SHOP = """
  rewrite ^ /tools.descartes.teastore.image/rest/image/getWebImages? break;
  proxy_method POST; proxy_set_header Content-Type application/json; proxy_set_body '{"icon": "64x64"}';
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://image;
"""


def backend(folder: Path, answer: str = AT_ONCE, around: str = "") -> Nginx:
    """Return a server that answers everything with 200, at once or by asking someone."""
    port = free_port()
    return Nginx(folder, BACKEND.format(folder=folder, port=port, answer=answer, around=around), port).start()


class ShopService(Component):
    """The shop's service of pictures, which asks no one."""

    JAR = ROOT / "apps" / "shop" / "image" / "target" / "image-app.jar"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port, self.admin = free_port(), free_port()
        java = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(self.JAR)]
        super().__init__(["env", f"PORT={self.port}", f"ADMIN_PORT={self.admin}", *java], folder / "service.log")

    def start(self) -> "ShopService":
        self.launch()
        eventually(self.is_ready, 120)
        return self

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.admin}/actuator/health/readiness").status_code == 200
        except httpx.TransportError:
            return False

    def front(self, folder: Path) -> Nginx:
        """Return a server that asks it for the icon, whatever it is asked itself."""
        return backend(folder, FROM_THE_SHOP, f"upstream image {{ server 127.0.0.1:{self.port}; keepalive 64; }}")


def render(**values: object) -> str:
    """Fill the filter's own nginx.conf.template."""
    text = (FILTER / "nginx.conf.template").read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def balancer(
    folder: Path,
    rules: dict[str, Any],
    behind: int,
    *,
    workers: int = 2,
    state: str = "16m",
    extra: Callable[[str], str] = lambda text: text,
) -> Nginx:
    """Return a load balancer that is not started yet; its decision log goes to ``folder``/log."""
    port = free_port()
    config = render(
        MODULES=MODULES,
        LUA=FILTER / "lua",
        USER="root",
        WORKERS=workers,
        PREFIX=folder,
        LISTEN=f"127.0.0.1:{port}",
        PLAN=folder / "plan.json",
        SCHEME="http",
        TLS="",
        BASE="",
        HOST="$http_host",
        STATE=state,
        UPSTREAM=f"server 127.0.0.1:{behind};",
        FILTER="",
    )
    nginx = Nginx(folder, extra(config), port)
    nginx.enforce({"decision_log": {"folder": str(folder / "log")}, **rules})
    return nginx


@contextmanager
def running(*components: Any) -> Iterator[None]:
    """Start components, and stop them whatever happens."""
    try:
        for component in components:
            component.start()
        yield
    finally:
        for component in components:
            component.stop()


def limit(algorithm: str = "fixed_window", **changes: Any) -> dict[str, Any]:
    """Return a limit of 100 a day for each X-Api-Key (a minute for the leaky bucket, which waits)."""
    window = "1m" if algorithm == "leaky_bucket" else "1d"
    base = {
        "name": "per_client",
        "key": {"from": "header", "name": "X-Api-Key"},
        "algorithm": algorithm,
        "limit": 100,
        "window": window,
    }
    return {**base, **changes}


def rules_of(*limits: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """Return rules with these limits."""
    return {"version": 1, "limits": list(limits), **rest}


def get(nginx: Nginx, key: str | None = "alice", path: str = "/", **headers: str) -> httpx.Response:
    """Send one request as a client."""
    all_headers = {**headers, **({"X-Api-Key": key} if key is not None else {})}
    return httpx.get(nginx.url + path, headers=all_headers, timeout=30)


def burst(
    nginxes: list[Nginx], count: int, key: str = "alice", *, users: int = 32, path: str = "/", wait: int = 10
) -> Counter[int]:
    """Send ``count`` requests at full speed, spread over load balancers; return how often each status came."""
    each = count // len(nginxes)
    users = max(n for n in range(1, min(users, each) + 1) if each % n == 0)  # hey sends whole rounds only
    runs = [
        subprocess.Popen(
            [
                "hey",
                "-n",
                str(each),
                "-c",
                str(users),
                "-t",
                str(wait),
                "-H",
                f"X-Api-Key: {key}",
                n.url + path,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for n in nginxes
    ]
    statuses: Counter[int] = Counter()
    for run in runs:
        text = run.communicate(timeout=120)[0]
        for status, number in re.findall(r"\[(\d{3})\]\s+(\d+) responses", text):
            statuses[int(status)] += int(number)
    return statuses


def with_door(config: str) -> str:
    """Add a door to a configuration by which a test decides requests at its own times."""
    door = f"client_body_buffer_size 1m; location = /decide {{ content_by_lua_file {DOOR}; }}\n    location / {{"
    return config.replace("location / {", door)


def decide(nginx: Nginx, **ask: Any) -> list[list[Any]]:
    """Decide requests behind the door of ``with_door``; return the answers of the store."""
    answer = httpx.post(nginx.url + "/decide", content=json.dumps(ask), timeout=60)
    assert answer.status_code == 200, answer.text + nginx.errors()
    decoded: list[list[Any]] = answer.json()
    return decoded


class Server(threading.Thread):
    """A server on loopback that treats each connection in its own thread."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def run(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self.treat, args=(self.listener.accept()[0],), daemon=True).start()

    def treat(self, connection: socket.socket) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        self.listener.close()


class Way(Server):
    """A way to a store: its answers may come late, it may lead elsewhere from now on, for new connections only.

    To port 0 it is cut for all.
    """

    def __init__(self, port: int, late_s: float = 0) -> None:
        super().__init__()
        self.leads_to, self.late_s, self.under_way = port, late_s, list[socket.socket]()

    def cut(self) -> None:
        self.leads_to = 0
        for each in self.under_way:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def treat(self, connection: socket.socket) -> None:
        with connection:
            if not self.leads_to:
                return
            with socket.create_connection(("127.0.0.1", self.leads_to)) as store:
                self.under_way += [connection, store]
                back = threading.Thread(target=self.carry, args=(store, connection, True), daemon=True)
                back.start()
                self.carry(connection, store)
                back.join()

    def carry(self, source: socket.socket, to: socket.socket, is_answer: bool = False) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                time.sleep(self.late_s if is_answer else 0)
                to.sendall(part)
        for each in (source, to):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
