"""PostgreSQL with an empty data folder of its own, for the databases of services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.config.databases import DatabaseServer, OwnedDatabase, quoted
from patternbench.lab.host.launch import File, Launch, Preparation, Reset
from patternbench.lab.host.ready import SuccessfulCommand
from patternbench.lab.software import debian
from patternbench.lab.software.needs import Need
from patternbench.terms.units import Duration

BINARIES = "/usr/lib/postgresql/*/bin"
"""Where Debian keeps the programs of the server, one folder for each version."""
USER = "postgres"
NOT_AS_ROOT = (
    'test "$(id -u)" != 0 || { echo "PostgreSQL does not run as root, and the user postgres cannot reach $PWD: '
    'begin the run in a folder that this user can reach (--out /tmp/...), or as another user than root"; exit 1; }'
)
INITDB = ("--pgdata=${self.folder}/data", "--encoding=UTF8", "--locale=C.UTF-8", "--auth=reject", "--no-sync")
WHO_MAY = "host all all 127.0.0.1/32 scram-sha-256\n"
"""By TCP on loopback and with a password, or not at all."""
DATABASE = "CREATE DATABASE {name} OWNER {user};\nREVOKE ALL ON DATABASE {name} FROM PUBLIC;\n"
LOGIN = "127.0.0.1:*:*:{user}:${{self.secret.{user}}}\n"
ROLE = "CREATE ROLE {user} LOGIN PASSWORD '${{self.secret.{user}}}';\n"
TRUNCATE = """\
\\connect "host=127.0.0.1 port=${{self.port.postgres}} user={user} dbname={name}"
SET lock_timeout = '10s';
DO $$ DECLARE every text; BEGIN
  SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') INTO every FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND tablename NOT IN ({keep});
  IF every IS NOT NULL THEN EXECUTE 'TRUNCATE ' || every || ' RESTART IDENTITY CASCADE'; END IF;
END $$;
"""


class Postgres(DatabaseServer):
    """Settings of PostgreSQL: its databases, and how durable its commits are.

    ``synchronous_commit`` is PostgreSQL's own: without it a crash may lose the last transactions.
    """

    kind: ClassVar[str] = "postgres"
    synchronous_commit: bool = True
    max_connections: int = Field(default=500, ge=10, le=100_000)

    @staticmethod
    def needs() -> list[Need]:
        """PostgreSQL's server."""
        return [debian.need("postgres", debian.find("postgres", BINARIES) is not None, "postgresql")]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return a server whose data folder, with databases and users, is made first; it serves on loopback alone."""
        return Launch(
            kind=self.kind,
            name=name,
            command=(*_server(), *self._options()),
            files=self._files(),
            env={"PGPASSFILE": "${self.folder}/logins"},
            prepare=(
                Preparation(("sh", "-c", NOT_AS_ROOT)),
                Preparation((_program("initdb"), f"--username={USER}", *INITDB)),
                Preparation(
                    (_program("postgres"), "--single", "-F", "-D", "${self.folder}/data", USER), "databases.sql"
                ),
            ),
            user=USER,
            secrets=tuple(self.users),
            ports={"postgres": self.port},
            url=self.owned[0].url("postgresql", "postgres"),
            endpoints=self.endpoints("postgresql", "postgres"),
            ready=SuccessfulCommand(
                (_program("pg_isready"), "--quiet", "--host=127.0.0.1", "--port=${self.port.postgres}")
            ),
            within=Duration.parse("60s"),
        )

    def resets(self) -> Mapping[str, tuple[Reset, ...]]:
        """``truncate`` empties every table but those to ``keep``."""
        psql = (_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1")
        first = self.owned[0]
        at = f"host=127.0.0.1 port=${{self.port.postgres}} user={first.user} dbname={first.name}"
        return {"truncate": (Preparation((*psql, "--file=truncate.sql", at)),)}

    def _options(self) -> tuple[str, ...]:
        settings = {
            "port": "${self.port.postgres}",
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "hba_file": "${self.folder}/who_may.conf",
            "max_connections": str(self.max_connections),
            "synchronous_commit": "on" if self.synchronous_commit else "off",
            "dynamic_shared_memory_type": "mmap",
        }
        return tuple(word for key, value in settings.items() for word in ("-c", f"{key}={value}"))

    def _files(self) -> tuple[File, ...]:
        return (
            File("who_may.conf", WHO_MAY),
            File("databases.sql", self._databases()),
            File("logins", "".join(LOGIN.format(user=user) for user in self.users)),
            File("truncate.sql", "".join(map(self._truncate, self.owned))),
        )

    def _databases(self) -> str:
        """Return the SQL that makes users and databases, a statement a line.

        No one logs in as the one who makes them.
        """
        roles = "".join(ROLE.format(user=user) for user in self.users)
        databases = "".join(DATABASE.format(name=one.name, user=one.user) for one in self.owned)
        return f"{roles}{databases}ALTER ROLE {USER} NOLOGIN;\n"

    def _truncate(self, database: OwnedDatabase) -> str:
        return TRUNCATE.format(name=database.name, user=database.user, keep=quoted(self.keep))


def _program(name: str) -> str:
    return debian.program(name, BINARIES)


def _server() -> tuple[str, ...]:
    return (_program("postgres"), "-D", "${self.folder}/data")
