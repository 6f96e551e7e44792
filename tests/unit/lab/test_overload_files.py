"""The files of the two services whose overloads may not end: settings that they read, and what their page says."""

from __future__ import annotations

import pytest
from tests.support.studies import ROOT

from patternbench.lab import systems, topologies
from patternbench.lab.topology import Topology

README = (ROOT / "apps" / "overload" / "README.md").read_text(encoding="utf-8")
NAMES = ("items", "heap")


def topology(name: str, **settings: object) -> Topology:
    return topologies.of_file(systems.load(name), settings)


@pytest.mark.parametrize("name", NAMES)
def test_no_service_is_given_a_variable_that_its_page_does_not_have(name: str) -> None:
    service = next(one for one in topology(name).launches if one.kind == "jvm_app")
    own = set(service.env) - {"PATTERNBENCH_CALLS_PACKAGES"}
    assert {variable for variable in own if f"`{variable}`" not in README} == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_that_a_service_reads_is_on_its_page(name: str) -> None:
    text = (ROOT / "apps" / "overload" / name / "src/main/resources/application.yaml").read_text(encoding="utf-8")
    read = {part.partition(":")[0] for part in text.split("${")[1:]}
    assert {variable for variable in read if f"`{variable}`" not in README} == set()


@pytest.mark.parametrize(
    ("settings", "components"),
    [
        ({}, ["cache", "db", "items"]),
        ({"cache": "none"}, ["db", "items"]),
        ({"database": "postgres"}, ["cache", "db", "items"]),
        ({"database": "postgres", "cache": "none"}, ["db", "items"]),
    ],
)
def test_each_database_with_and_without_a_cache_has_its_parts(settings: dict[str, str], components: list[str]) -> None:
    found = {launch.name: launch for launch in topology("items", **settings).launches}
    assert sorted(found) == components
    assert found["db"].kind == settings.get("database", "mariadb")
    assert ("CACHE_URL", "") in found["items"].env.items() or "cache" in found
    assert settings.get("database", "mariadb") in found["items"].env["DATABASE_URL"].replace("postgresql", "postgres")
