"""``import-config`` writes what is run today as a strategy of a study, and ``init --today`` a study of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.support.studies import ROOT

from patternbench.cli.main import cli
from patternbench.study.load import load, loads
from patternbench.terms.problems import InputError

CORPUS = ROOT / "tests" / "data" / "configurations"
SPRING, MESH = CORPUS / "spring" / "kebab.yml", CORPUS / "istio" / "several-services.yaml"
STUDY = (
    "patternbench: 1\nname: mine\nsystem: {url: 'http://127.0.0.1:8080'}\nworkload: {closed: {users: 1, calls: 9}}\n"
)


def done(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)


def refused(*words: object) -> str:
    with pytest.raises(InputError) as caught:
        done(*words)
    return str(caught.value)


def test_the_strategy_that_is_written_can_be_put_into_a_study() -> None:
    printed = done("import-config", SPRING, "--of", "grows")
    assert printed.exit_code == 0
    (strategy,) = loads(STUDY + printed.stdout, "study.yaml").strategies
    assert (strategy.known_as, [policy.kind for policy in strategy.stack or ()]) == ("today", ["retry", "timeout"])
    assert f"# {SPRING}:10" in printed.stdout


def test_comments_say_what_was_not_understood_and_the_exit_code_too() -> None:
    file = CORPUS / "spring" / "ring-buffers.yml"
    printed = done("import-config", file, "--of", "stock")
    assert printed.exit_code == 1
    assert f"#   {file}:31: ignoreExceptions: com.example.BusinessException: which failures" in printed.stdout
    assert "# Beware, each as the page named shows:" in printed.stdout
    assert "docs/five-ways-to-make-it-worse.md#2-retry-without-jitter" in printed.stdout


def test_several_files_make_layers_outermost_first() -> None:
    printed = json.loads(done("import-config", SPRING, MESH, "--of", "grows", "--of", "pricing", "--json").stdout)
    assert [one["product"] for one in printed["layers"]] == ["Resilience4j", "Istio"]
    kinds = [next(iter(policy)) for policy in printed["strategy"]["stack"]]
    assert kinds == ["retry", "timeout", "timeout", "retry", "timeout"]
    assert printed["complete"]
    assert {"attempts-multiply", "outer-timeout-shorter"} <= {one["rule"] for one in printed["cautions"]}


def test_which_of_several_is_read_has_to_be_said() -> None:
    told = refused("import-config", SPRING)
    assert "`grows`" in told and "--of grows" in told
    assert refused("import-config", SPRING, "--of", "nobody").startswith(f"{SPRING}: --of: isn't in these files")
    assert "grows" in done("import-config", SPRING, "--list").stdout
    assert len(json.loads(done("import-config", SPRING, "--list", "--json").stdout)["names"]) == 6


def test_settings_of_the_mesh_are_written_where_they_are_asked_for() -> None:
    printed = done("import-config", MESH, "--of", "pricing", "--as", "settings").stdout
    text = STUDY.replace("system: {url: 'http://127.0.0.1:8080'}\n", "") + printed
    assert loads(text, "study.yaml").system.setting_levels["retry_wait"] == "25ms"
    assert "no setting" in refused("import-config", SPRING, "--of", "grows", "--as", "settings")


def test_a_file_is_written_once(tmp_path: Path) -> None:
    out = tmp_path / "today.yaml"
    assert done("import-config", SPRING, "--of", "grows", "--out", out).stdout == f"wrote {out}\n"
    assert "name: today" in out.read_text()
    assert "already there" in refused("import-config", SPRING, "--of", "grows", "--out", out)
    assert "is read by this command" in refused("import-config", SPRING, "--out", SPRING, "--force")


def test_nothing_that_a_study_says_is_said_as_such(tmp_path: Path) -> None:
    rule = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nspec: {host: a, trafficPolicy: {tls: {}}}\n"
    (tmp_path / "rule.yaml").write_text(rule)
    assert "say nothing of calls" in refused("import-config", tmp_path / "rule.yaml")
    assert json.loads(done("import-config", tmp_path / "rule.yaml", "--json").stdout)["strategy"] is None


@pytest.fixture
def subject(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[str, ...]:
    monkeypatch.chdir(tmp_path)
    return ("init", "--command", "true", "--yes")


def test_init_writes_the_study_of_today_against_none_and_four_alternatives(subject: tuple[str, ...]) -> None:
    printed = done(*subject, "--today", SPRING, "--of", "grows")
    assert "patternbench run today.yaml" in printed.stdout
    study = load("today.yaml")
    assert [one.known_as for one in study.strategies][:2] == ["baseline", "today"]
    assert len(study.strategies) == 6
    assert len({str(one.stack) for one in study.strategies}) == 6


@pytest.mark.parametrize(
    ("file", "of"),
    [
        (CORPUS / "dotnet" / "per-client.json", ()),
        (CORPUS / "envoy" / "clusters.json", ()),
        (CORPUS / "gateway-api" / "retries.yaml", ()),
        (CORPUS / "nginx" / "discourse.conf", ("forum.example /",)),
        (CORPUS / "spring" / "aspects.yaml", ()),
    ],
)
def test_every_form_makes_a_study_that_can_be_planned(
    subject: tuple[str, ...], file: Path, of: tuple[str, ...]
) -> None:
    named = [word for one in of for word in ("--of", one)]
    assert done(*subject, "--today", file, *named).exit_code == 0
    planned = json.loads(done("plan", "today.yaml", "--json").stdout)
    assert len(planned["scenarios"]) == 12


def test_init_asks_one_question_only(subject: tuple[str, ...]) -> None:
    assert "asks another question" in refused(*subject, "--today", SPRING, "--find-out", "retry")
    assert "needs --today" in refused(*subject, "--of", "grows")


def test_init_says_that_today_lacks_what_was_not_understood(subject: tuple[str, ...]) -> None:
    printed = done(*subject, "--today", CORPUS / "spring" / "ring-buffers.yml", "--of", "stock")
    assert "lacks what was not understood" in printed.stderr


def test_a_refusal_names_the_file_also_where_it_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("resilience4j.a=\n")
    (tmp_path / "b.properties").write_text("other=1\n")
    assert refused("import-config", tmp_path / "a.properties", tmp_path / "b.properties").startswith(
        f"{tmp_path}/a.properties, {tmp_path}/b.properties: says nothing of calls"
    )
