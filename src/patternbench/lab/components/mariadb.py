"""MariaDB with an empty data folder of its own, as a store that several load balancers share."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from patternbench.lab import debian, filters
from patternbench.lab.component import Component, Neighbours
from patternbench.lab.launch import File, Launch, Preparation
from patternbench.lab.needs import Need
from patternbench.lab.ready import Port
from patternbench.study.units import Duration

USER = "patternbench"
LOG_SIZE = "--innodb-log-file-size=16M"
LOCK_ROOT = (
    "UPDATE mysql.global_priv SET priv = json_set(priv, '$.account_locked', true) WHERE user <> 'mariadb.sys';\n"
    "FLUSH PRIVILEGES;\n"
)
"""Nobody logs in as root, who has no password while the data folder is made; procedures still run in its name."""


class MariaDB(Component):
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

    def describe(self, name: str, neighbours: Neighbours) -> Launch:
        """The data folder is made and filled first; then it serves on loopback and a Unix socket."""
        options: tuple[str, ...] = (
            "--port=${self.port.mysql}",
            "--bind-address=127.0.0.1",
            "--socket=${self.folder}/m.sock",
        )
        options += ("--pid-file=${self.folder}/pid", "--init-file=${self.folder}/users.sql", "--skip-name-resolve")
        options += (f"--innodb-flush-log-at-trx-commit={self.flush_at_commit}", "--max-connections=500")
        return Launch(
            kind=self.kind,
            name=name,
            command=(*_server(), *options),
            files=(File("tables.sql", self._tables()), File("users.sql", LOCK_ROOT + self._grant())),
            prepare=(Preparation(_install()), Preparation((*_server(), "--bootstrap"), input="tables.sql")),
            user="mysql",
            secrets=("password",),
            ports={"mysql": self.port},
            url=f"mariadb://{USER}:${{self.secret.password}}@127.0.0.1:${{self.port.mysql}}/{self.database}",
            ready=Port("mysql", greets=True),
            within=Duration.parse("60s"),
        )

    def _tables(self) -> str:
        """The SQL that makes the database and fills it."""
        script = (filters.FOLDER / self.script).read_text(encoding="utf-8") if self.script else ""
        # What is made while MariaDB is set up belongs to nobody, and what belongs to nobody cannot be called.
        owner = f"UPDATE mysql.proc SET definer = 'root@localhost' WHERE db = '{self.database}';\n"
        return f"CREATE DATABASE {self.database};\nUSE {self.database};\n{script}\n{owner}"

    def _grant(self) -> str:
        """The SQL that lets our user in when the server starts."""
        return f"GRANT ALL ON {self.database}.* TO '{USER}'@'%' IDENTIFIED BY '${{self.secret.password}}';\n"


def _install() -> tuple[str, ...]:
    program = debian.program("mariadb-install-db")
    options = ("--datadir=${self.folder}/data", "--user=${self.user}", "--auth-root-authentication-method=normal")
    return (program, "--no-defaults", LOG_SIZE, *options, "--skip-test-db")


def _server() -> tuple[str, ...]:
    program = debian.program("mariadbd")
    return (program, "--no-defaults", "--datadir=${self.folder}/data", "--user=${self.user}", LOG_SIZE)
