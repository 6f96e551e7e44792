"""The page of libraries tells what check-client found, of every client, and nothing that it did not."""

from __future__ import annotations

import re
from pathlib import Path

from reproductions.libraries import page as table

from patternbench.drivers import registry

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "libraries.md"


def test_every_client_that_can_be_measured_has_findings_for_every_rule_and_breaks_none() -> None:
    measured = {one.client: one.verdicts for one in table.measured()}
    assert set(measured) == set(registry.names())
    for client, verdicts in measured.items():
        assert set(verdicts) == {rule.name for rule in table.RULES}, client
        assert {status for status, _ in verdicts.values()} <= {"passed", "not applicable"}, client


def test_a_refusal_is_reported_with_its_reason_once_for_all_who_have_it() -> None:
    reasons: list[str] = []
    refusing = table.Measured("a", "A 1", "Java 17", {"r": ("not applicable", "strategy.retry.jitter: no such jitter")})
    able = table.Measured("b", "B 1", "Java 17", {"r": ("passed", "")})
    cells = [table.cell(one, "r", reasons) for one in (refusing, able, refusing)]
    assert cells == ["refused (1)", "yes", "refused (1)"]
    assert reasons == ["no such jitter"]


def test_what_a_rule_saw_is_reported_where_it_says_more_than_yes() -> None:
    verdicts = {"r": ("passed", "2 attempts"), "s": ("passed", ""), "t": ("not applicable", "strategy: no")}
    one = table.Measured("a", "A 1", "Java 17", verdicts)
    assert [table.sight(one, rule) for rule in "rst"] == ["2 attempts", "yes", "refused"]
    assert set(table.SHOWN) <= {rule.name for rule in table.RULES}


def test_the_table_of_differences_has_a_column_for_each_library() -> None:
    (head,) = re.findall(r"^\| \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    libraries = {one.library.rpartition(" ")[0] for one in table.measured() if one.client != "native"}
    assert set(head.split(" | ")) == libraries


def test_a_client_that_has_not_been_measured_is_named_as_that() -> None:
    assert "Not measured yet: [" not in table.tables(_with_verdicts(registry.names()))
    (reported,) = re.findall(r"^Not measured yet: .*$", table.tables(_with_verdicts(["native"])), re.MULTILINE)
    assert "[polly](../clients/polly/client.yaml)" in reported
    assert "[native]" not in reported


def _with_verdicts(names: list[str]) -> list[object]:
    verdicts = {rule.name: ("passed", "") for rule in table.RULES}
    return [table.Measured(name, "A 1", "Go 1", verdicts) for name in names]
