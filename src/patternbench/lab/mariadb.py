"""MariaDB with an empty data folder of its own, as a store that several load balancers share."""

from __future__ import annotations

import secrets
import socket
import subprocess
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from patternbench.lab import accounts, debian, filters
from patternbench.lab.accounts import Account
from patternbench.lab.component import Place, Running, Settings
from patternbench.lab.needs import Need
from patternbench.lab.processes import Process, StartError, free_port

USER = "patternbench"
SYSTEM_USER = "mysql"
LOG_SIZE = "--innodb-log-file-size=16M"
ANSWERS_WITHIN_S = 30.0
LOCK_ROOT = (
    "UPDATE mysql.global_priv SET priv = json_set(priv, '$.account_locked', true) WHERE user <> 'mariadb.sys';\n"
    "FLUSH PRIVILEGES;\n"
)
"""Nobody logs in as root, who has no password while the data folder is made; procedures still run in its name."""


class MariaDB(Settings):
    """Settings of MariaDB: the database, the SQL file below ``filters/`` that fills it, and how it keeps its word.

    ``flush_at_commit`` is InnoDB's ``innodb_flush_log_at_trx_commit``: 1 survives a power failure, 2 a crash of
    MariaDB.
    """

    kind: ClassVar[str] = "mariadb"
    database: str = Field(default="patternbench", pattern=r"^[a-z_]+$")
    script: str = ""
    flush_at_commit: int = Field(default=2, ge=0, le=2)
    port: int = Field(default=0, ge=0, le=65535)

    @staticmethod
    def needs() -> list[Need]:
        """MariaDB's server and the program that makes a data folder."""
        present = all(debian.find(name) for name in ("mariadbd", "mariadb-install-db"))
        return [debian.need("mariadb", present, "mariadb-server")]

    def start(self, name: str, place: Place) -> Running:
        """Make the data folder, fill it, start MariaDB on loopback and a Unix socket, and wait until it answers."""
        debian.required(self.needs()[0])
        folder, port = place.folder / name, self.port or free_port()
        password = secrets.token_hex(16)
        account = accounts.owner_of_new(folder, SYSTEM_USER)  # who alone has its socket, its data and the password
        self._prepare(folder, account, password)
        command = [*_server(folder, account), f"--port={port}", "--bind-address=127.0.0.1"]
        command += [f"--socket={folder / 'm.sock'}", f"--pid-file={folder / 'pid'}"]
        command += [f"--init-file={folder / 'users.sql'}", "--skip-name-resolve"]
        command += [f"--innodb-flush-log-at-trx-commit={self.flush_at_commit}", "--max-connections=500"]
        process = Process(name, command, place.folder)
        try:
            process.wait_for_port(port)
            _wait_for_greeting(port, process)
        except BaseException:
            process.close()
            raise
        url = f"mariadb://{USER}:{password}@127.0.0.1:{port}/{self.database}"
        return Running(process, url, account=str(account))

    def _prepare(self, folder: Path, account: Account, password: str) -> None:
        """Make the data folder with the database, and the file that lets our user in when the server starts."""
        install = account.command(debian.program("mariadb-install-db"), "--no-defaults", LOG_SIZE)
        install += [f"--datadir={folder / 'data'}", f"--user={account.user}"]
        _done([*install, "--auth-root-authentication-method=normal", "--skip-test-db"], folder)
        script = (filters.FOLDER / self.script).read_text(encoding="utf-8") if self.script else ""
        tables = f"CREATE DATABASE {self.database};\nUSE {self.database};\n{script}"
        # What is made while MariaDB is set up belongs to nobody, and what belongs to nobody cannot be called.
        owner = f"\nUPDATE mysql.proc SET definer = 'root@localhost' WHERE db = '{self.database}';\n"
        _done([*_server(folder, account), "--bootstrap"], folder, tables + owner)
        grant = f"GRANT ALL ON {self.database}.* TO '{USER}'@'%' IDENTIFIED BY '{password}';\n"
        (folder / "users.sql").write_text(LOCK_ROOT + grant, encoding="utf-8")


def _server(folder: Path, account: Account) -> list[str]:
    data = f"--datadir={folder / 'data'}"
    return account.command(debian.program("mariadbd"), "--no-defaults", data, f"--user={account.user}", LOG_SIZE)


def _done(command: list[str], folder: Path, text: str = "") -> None:
    """Carry a command out in a folder, to its end; raise StartError with its last lines when it fails."""
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        last = " | ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
        raise StartError(f"{Path(command[0]).name} ended with code {done.returncode}: {last}")


def _wait_for_greeting(port: int, process: Process) -> None:
    """A port that accepts is not yet a server that answers: MariaDB speaks first, once it serves."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=ANSWERS_WITHIN_S) as probe:
            answered = bool(probe.recv(1))
    except OSError:
        answered = False
    if not answered:
        raise StartError(process.why_not())
