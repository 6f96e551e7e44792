"""MariaDB with an empty data folder of its own: a store that load balancers share, or the databases of services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field, model_validator

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.config.databases import RESET_USER, DatabaseServer, quoted
from patternbench.lab.host.launch import File, Launch, Preparation, Reset
from patternbench.lab.host.ready import Port
from patternbench.lab.software import debian, filters
from patternbench.lab.software.needs import Need
from patternbench.study.model.parts import misplaced
from patternbench.terms.units import Duration

LOG_SIZE = "--innodb-log-file-size=16M"
LOCK_OTHERS = """\
UPDATE mysql.global_priv SET priv = json_set(priv, '$.account_locked', true) WHERE user NOT IN ({users});
FLUSH PRIVILEGES;
"""
"""Nobody logs in as root, who has no password while the data folder is made; procedures still run in its name.

It is said at every start: our own users, who are there when MariaDB starts again after a crash, stay as they are.
"""
OWNER = "UPDATE mysql.proc SET definer = 'root@localhost' WHERE db = '{}';\n"
"""Procedures created during MariaDB's set-up have no definer, and can't be called without one."""
USER = "CREATE OR REPLACE USER '{user}'@'%' IDENTIFIED BY '${{self.secret.{user}}}';\n"
GRANT = "GRANT {what} ON {database}.* TO '{user}'@'%';\n"
RESET_LOGIN = f"""\
[client]
protocol = tcp
host = 127.0.0.1
port = ${{self.port.mysql}}
user = {RESET_USER}
password = ${{self.secret.{RESET_USER}}}
"""
"""In a file, as everyone may read command lines."""
TRUNCATES = """\
SELECT 'SET foreign_key_checks = 0;';
SELECT concat('TRUNCATE TABLE `', table_schema, '`.`', table_name, '`;') FROM information_schema.tables
WHERE table_type = 'BASE TABLE' AND table_schema IN ({databases}) AND table_name NOT IN ({keep});
"""
"""Writes the statements that empty every table: MariaDB has none that does so at once."""


class MariaDB(DatabaseServer):
    """Settings of MariaDB: its databases, and how durable its commits are.

    ``script`` is the SQL file below ``filters/`` that fills the only database. ``flush_at_commit`` is InnoDB's
    ``innodb_flush_log_at_trx_commit``: 1 survives a power failure, 2 a crash of MariaDB.
    """

    kind: ClassVar[str] = "mariadb"
    script: str = ""
    flush_at_commit: int = Field(default=2, ge=0, le=2)
    max_connections: int = Field(default=500, ge=10, le=100_000)

    @model_validator(mode="after")
    def _script_fills_the_only_one(self) -> MariaDB:
        if self.script and self.databases:
            raise misplaced("script", "databases", "script with database")
        return self

    @staticmethod
    def needs() -> list[Need]:
        """MariaDB's server and the program that makes a data folder."""
        present = all(debian.find(name) for name in ("mariadbd", "mariadb-install-db"))
        return [debian.need("mariadb", present, "mariadb-server")]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return a server whose data folder is made and filled first; it serves on loopback and a Unix socket."""
        options: tuple[str, ...] = (
            "--port=${self.port.mysql}",
            "--bind-address=127.0.0.1",
            "--socket=${self.folder}/m.sock",
        )
        options += ("--pid-file=${self.folder}/pid", "--init-file=${self.folder}/users.sql", "--skip-name-resolve")
        options += (f"--innodb-flush-log-at-trx-commit={self.flush_at_commit}",)
        return Launch(
            kind=self.kind,
            name=name,
            command=(*_server(), *options, f"--max-connections={self.max_connections}"),
            files=self._files(),
            prepare=(Preparation(_install()), Preparation((*_server(), "--bootstrap"), input="tables.sql")),
            user="mysql",
            secrets=(*self.users, RESET_USER),
            ports={"mysql": self.port},
            url=self.owned[0].url("mariadb", "mysql"),
            endpoints=self.endpoints("mariadb", "mysql"),
            ready=Port("mysql", greets=True),
            within=Duration.parse("60s"),
        )

    def resets(self) -> Mapping[str, tuple[Reset, ...]]:
        """``truncate`` empties every table but those to ``keep``."""
        client = f"{debian.program('mariadb')} --defaults-file=reset.cnf"
        piped = f"{client} --skip-column-names <truncates.sql >truncate.sql && {client} <truncate.sql"
        return {"truncate": (Preparation(("sh", "-c", piped)),)}

    def _files(self) -> tuple[File, ...]:
        return (
            File("tables.sql", self._tables()),
            File("users.sql", self._lets_in()),
            File("reset.cnf", RESET_LOGIN),
            File("truncates.sql", self._truncates()),
        )

    def _tables(self) -> str:
        """Return the SQL that makes the databases, and fills the only one."""
        script = (filters.FOLDER / self.script).read_text(encoding="utf-8") if self.script else ""
        made = "".join(f"CREATE DATABASE {database.name};\n" for database in self.owned)
        first = self.owned[0].name
        return f"{made}USE {first};\n{script}\n{OWNER.format(first)}"

    def _lets_in(self) -> str:
        """Return the SQL that lets our users in, and no one else, when the server starts."""
        lock = LOCK_OTHERS.format(users=quoted(["mariadb.sys", *self.users, RESET_USER]))
        users = (USER.format(user=user) for user in (*self.users, RESET_USER))
        own = (GRANT.format(what="ALL", database=one.name, user=one.user) for one in self.owned)
        reset = (GRANT.format(what="SELECT, DROP", database=one.name, user=RESET_USER) for one in self.owned)
        return "".join([lock, *users, *own, *reset])

    def _truncates(self) -> str:
        databases = quoted(database.name for database in self.owned)
        return TRUNCATES.format(databases=databases, keep=quoted(self.keep))


def _install() -> tuple[str, ...]:
    program = debian.program("mariadb-install-db")
    options = ("--datadir=${self.folder}/data", "--user=${self.user}", "--auth-root-authentication-method=normal")
    return (program, "--no-defaults", LOG_SIZE, *options, "--skip-test-db")


def _server() -> tuple[str, ...]:
    program = debian.program("mariadbd")
    return (program, "--no-defaults", "--datadir=${self.folder}/data", "--user=${self.user}", LOG_SIZE)
