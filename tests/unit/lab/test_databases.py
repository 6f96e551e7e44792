"""Servers of databases: one database as ever, or several with users of their own."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import ValidationError

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.mariadb import MariaDB
from patternbench.lab.components.postgres import Postgres
from patternbench.lab.config.databases import DatabaseServer
from patternbench.lab.host.launch import Launch, Preparation
from patternbench.lab.host.references import part_of

SERVERS = pytest.mark.parametrize("server", [MariaDB, Postgres])
SEVERAL = {"core": {}, "crm": {"user": "sales"}, "old_crm": {"user": "sales"}}


def launch(server: type[DatabaseServer], settings: Mapping[str, object]) -> Launch:
    return server.model_validate(settings).describe("db", ComponentRegistry())


def written(server: type[DatabaseServer], settings: Mapping[str, object]) -> str:
    return "\n".join(str(file.content) for file in launch(server, settings).files)


@SERVERS
def test_the_only_database_belongs_to_the_same_user_as_ever(server: type[DatabaseServer]) -> None:
    only = launch(server, {"database": "ratelimit"})
    assert part_of(only.url, "user") == "patternbench"
    assert part_of(only.url, "database") == "ratelimit"
    assert only.endpoints == {}


@SERVERS
def test_each_of_several_databases_is_an_endpoint_with_its_own_user_and_password(server: type[DatabaseServer]) -> None:
    several = launch(server, {"databases": SEVERAL})
    logins = {name: (part_of(url, "user"), part_of(url, "password")) for name, url in several.endpoints.items()}
    sales = ("sales", "${self.secret.sales}")
    assert logins == {"core": ("core", "${self.secret.core}"), "crm": sales, "old_crm": sales}
    assert several.url == several.endpoints["core"]
    assert {"core", "sales"} <= set(several.secrets)


@SERVERS
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"database": "one", "databases": {"core": {}}}, "database does not go with databases"),
        ({"databases": {"root": {}}}, "the name `root` is reserved by the server"),
        ({"databases": {"core": {"user": "postgres"}}}, "the name `postgres` is reserved by the server"),
        ({"databases": {"core; DROP": {}}}, "pattern"),
        ({"databases": {"core": {"password": "x"}}}, "Extra inputs are not permitted"),
        ({"keep": ["a'b"]}, "pattern"),
    ],
)
def test_databases_that_make_no_sense_are_refused(
    server: type[DatabaseServer], settings: Mapping[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        server.model_validate(settings)


def test_a_script_does_not_say_which_of_several_databases_it_fills() -> None:
    with pytest.raises(ValidationError, match="script does not go with databases"):
        MariaDB.model_validate({"script": "nginx-ratelimit/sql/schema.sql", "databases": {"core": {}}})


@SERVERS
def test_no_command_of_a_server_of_databases_holds_a_password(server: type[DatabaseServer]) -> None:
    described = launch(server, {"databases": SEVERAL})
    resets = [made for words in server.model_validate({}).resets().values() for made in words]
    preparations = [*described.prepare, *(made for made in resets if isinstance(made, Preparation))]
    commands = [described.command, *(preparation.command for preparation in preparations)]
    assert not [word for command in commands for word in command if "secret" in word]


@SERVERS
def test_a_truncate_leaves_the_tables_that_a_system_file_names(server: type[DatabaseServer]) -> None:
    assert "'flyway_schema_history'" in written(server, {})
    kept = written(server, {"keep": ["prices"]})
    assert "NOT IN ('prices')" in kept
    assert "flyway" not in kept
    assert "NOT IN ('')" in written(server, {"keep": []})


def test_a_truncate_empties_each_database_by_its_own_name_whatever_its_users_name() -> None:
    assert "table_schema IN ('core', 'crm', 'old_crm')" in written(MariaDB, {"databases": SEVERAL})
