"""What ``patternbench doctor`` says, and what a shell completes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from patternbench.cli import doctor
from patternbench.lab import shipped, systems
from patternbench.lab.software.needs import Need


def test_doctor_names_each_system_and_each_need_of_it_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    needs = [Need("engine", "/x", "build it"), Need("redis", None, "type [it]"), Need("engine", "/x", "build it")]
    doctor.show({"system shop (for a-study, another-study)": needs}, [])
    message = capsys.readouterr().out
    assert [message.count(word) for word in ("system shop", "a-study", "engine", "redis")] == [1, 1, 1, 1]
    assert "missing: type [it]" in message


def test_doctor_names_three_studies_of_a_client_and_says_how_many_more_there_are() -> None:
    used = {"native": ["a", "b", "c", "d", "e"], "tower": ["a", "b", "c"], "polly": []}
    titles = [doctor.titled("client", name, studies, 3) for name, studies in used.items()]
    assert titles == ["client native (for a, b, c, 2 more)", "client tower (for a, b, c)", "client polly"]
    assert doctor.titled("client", "native", used["native"], None) == "client native (for a, b, c, d, e)"


def test_doctors_json_names_every_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "studies_using", lambda: {"native": ["a", "b", "c", "d"]})
    reported = json.loads(CliRunner().invoke(doctor.doctor, ["--json"], catch_exceptions=False).stdout)
    assert "client native (for a, b, c, d)" in {need["for"] for need in reported["needs"]}


def test_doctor_knows_the_systems_next_to_a_study_and_what_their_own_settings_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "shop.lock").write_text("gunicorn==27.0.1 --hash=sha256:00\n")
    (tmp_path / "systems" / "own.yaml").write_text(
        "patternbench-system: 1\nname: own\nabout: x\nendpoint: shop\n"
        "components: [{python_app: {name: shop, app: 'shop:app', requirements: shop.lock}}]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    needs = dict(doctor.everything())["system own"]
    assert [(need.name, need.met) for need in needs] == [("shop", False)]
    assert needs[0].install[1][-1] == str(tmp_path / "systems" / "shop.lock")


def test_doctor_of_a_study_lists_what_that_study_needs_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    for name, kind in (("own", "redis"), ("other", "rabbitmq")):
        text = f"patternbench-system: 1\nname: {name}\nabout: x\nendpoint: c\ncomponents: [{{{kind}: {{name: c}}}}]\n"
        (tmp_path / "systems" / f"{name}.yaml").write_text(text)
    study = tmp_path / "shop.yaml"
    study.write_text(
        "patternbench: 1\nname: x\nsystem: own\nworkload: {open: {rate: 1, duration: 1s}}\n"
        "strategies: [{client: native, baseline: {}}]\n"
    )
    reported = json.loads(CliRunner().invoke(doctor.doctor, [str(study), "--json"], catch_exceptions=False).stdout)
    assert {need["for"] for need in reported["needs"]} == {"system own", "client native"}
    assert list(reported) == ["needs"]
    shown = CliRunner().invoke(doctor.doctor, [str(study)], catch_exceptions=False).output
    assert "redis" in shown
    assert "rabbitmq" not in shown
    assert "disturb" not in shown


@pytest.mark.parametrize(("system", "needs"), [("{url: 'http://h:1'}", True), ("{urls: ['http://h:1']}", False)])
def test_doctor_of_a_study_of_a_url_lists_the_fault_proxy_that_is_put_before_it(
    system: str, needs: bool, tmp_path: Path
) -> None:
    study = tmp_path / "shop.yaml"
    study.write_text(f"patternbench: 1\nname: x\nsystem: {system}\nworkload: {{open: {{rate: 1, duration: 1s}}}}\n")
    reported = json.loads(CliRunner().invoke(doctor.doctor, [str(study), "--json"], catch_exceptions=False).stdout)
    proxies = {need["name"] for need in reported["needs"] if need["for"] == "fault proxy before the system"}
    assert proxies == ({"envoy"} if needs else set())


@pytest.mark.parametrize("from_wheel", [True, False])
def test_doctor_of_an_installed_package_asks_for_no_application_that_only_a_checkout_builds(
    from_wheel: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.yaml").write_text(
        "patternbench-system: 1\nname: own\nabout: x\nendpoint: shop\n"
        "components: [{jvm_app: {name: shop, jar: x.jar}}]\n"
    )
    monkeypatch.setattr(systems, "FOLDER", tmp_path)
    monkeypatch.setattr(shipped, "folder", lambda _: tmp_path)
    monkeypatch.setattr(shipped, "from_wheel", lambda: from_wheel)
    needs = dict(doctor.everything())["system own"]
    assert (str(tmp_path / "x.jar") in [need.name for need in needs]) is not from_wheel


@pytest.mark.slow
def test_a_shell_completes_the_commands() -> None:
    program = Path(sys.executable).parent / "patternbench"
    requested = {"COMP_WORDS": "patternbench re", "COMP_CWORD": "1", "_PATTERNBENCH_COMPLETE": "bash_complete"}
    done = subprocess.run([program], env={**os.environ, **requested}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["plain,resume", "plain,report", "plain,recommend"]
