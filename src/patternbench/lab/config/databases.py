"""The databases of one server: each has its own user, whose password a host makes."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from patternbench.lab.component import Component
from patternbench.lab.host.references import SELF, reference
from patternbench.study.model.parts import misplaced

OWN_USER = "patternbench"
"""Whose the only database is, where a system file names none."""
RESET_USER = "patternbench_reset"
"""The user that empties the tables of every database between rounds."""
TAKEN = (OWN_USER, RESET_USER, "root", "mysql", "mariadb", "postgres", "public", "url")
"""Names that are the server's own or mean something else in a reference."""
LOGBOOKS = (
    "flyway_schema_history",
    "databasechangelog",
    "databasechangeloglock",
    "schema_migrations",
    "alembic_version",
)
"""Tables in which migration tools note their changes. A reset keeps them, or the tools would repeat the changes."""

Identifier = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$", max_length=32)]


class Database(BaseModel):
    """One of several databases: its user, called like the database where nothing else is said."""

    model_config = {"extra": "forbid", "frozen": True}
    user: Identifier | None = None


@dataclass(frozen=True)
class OwnedDatabase:
    """A database with the user that alone may use it; the password is a secret of the user's name."""

    name: str
    user: str

    @property
    def password(self) -> str:
        """A reference to the user's password."""
        return reference(SELF, f"secret.{self.user}")

    def url(self, scheme: str, port: str) -> str:
        """Where it is reached on a port of the server."""
        address = f"127.0.0.1:{reference(SELF, f'port.{port}')}"
        return f"{scheme}://{self.user}:{self.password}@{address}/{self.name}"


class DatabaseServer(Component, ABC):
    """Settings of every server of databases: the only ``database``, or several with users of their own.

    ``keep`` names tables that ``reset: truncate`` leaves alone.
    """

    database: Identifier = "patternbench"
    databases: dict[Identifier, Database] = Field(default_factory=dict)
    keep: tuple[Identifier, ...] = LOGBOOKS
    port: int = Field(default=0, ge=0, le=65535)

    @model_validator(mode="after")
    def _one_or_several(self) -> DatabaseServer:
        if self.databases and "database" in self.model_fields_set:
            raise misplaced("database", "databases", "one of them")
        taken = [name for name in self._names() if name in TAKEN]
        if taken:
            message, others = f"the name `{taken[0]}` is reserved by the server", ", ".join(TAKEN)
            raise PydanticCustomError("taken", message, {"allowed": f"any other than {others}"})
        return self

    def _names(self) -> Iterator[str]:
        """Yield the names of several databases, and of their users."""
        for name, database in self.databases.items():
            yield from (name, database.user or name)

    @property
    def owned(self) -> list[OwnedDatabase]:
        """Its databases with their users, in the order of the system file."""
        several = [OwnedDatabase(name, database.user or name) for name, database in self.databases.items()]
        return several or [OwnedDatabase(self.database, OWN_USER)]

    @property
    def users(self) -> list[str]:
        """Its users, each once: one may have several databases."""
        return list(dict.fromkeys(database.user for database in self.owned))

    def endpoints(self, scheme: str, port: str) -> dict[str, str]:
        """Where each of several databases is reached, by its name."""
        return {database.name: database.url(scheme, port) for database in self.owned if self.databases}


def quoted(names: Iterable[str]) -> str:
    """Names as a list of texts in SQL. Without names it has an empty text, because SQL has no empty list."""
    return ", ".join(f"'{name}'" for name in names) or "''"
