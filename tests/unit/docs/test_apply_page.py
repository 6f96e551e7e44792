"""The page on applying a recommendation shows what its files hold."""

from __future__ import annotations

import difflib
import re

from ruamel.yaml import YAML
from tests.support.studies import ROOT
from tests.support.system_cases import written

from patternbench.configurations.form import GuardedService
from patternbench.configurations.patterns import of_strategy
from patternbench.configurations.registry import MODULES, form
from patternbench.plan.expand import expand
from patternbench.study.load import loads

PAGE = (ROOT / "docs" / "apply.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "docs" / "examples" / "apply"


def text(name: str) -> str:
    return (EXAMPLE / name).read_text(encoding="utf-8")


def shown(language: str) -> list[str]:
    """The blocks of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def body(configuration: str) -> str:
    """A file without the comment at its top."""
    return "".join(line for line in configuration.splitlines(keepends=True) if not line.startswith("#")).lstrip()


def test_the_page_shows_todays_file_the_written_one_and_the_difference_between_them() -> None:
    assert text("application.yml") in shown("yaml")
    assert text("better.yml") in shown("yaml")
    today, better = (body(text(name)).splitlines(keepends=True) for name in ("application.yml", "better.yml"))
    assert "".join(difflib.unified_diff(today, better, "application.yml", "better.yml")) in shown("diff")


def test_the_written_file_is_what_apply_writes_of_the_strategy_that_it_names() -> None:
    """Its comment has the scenario's id, by which the study of the page is asked."""
    written = text("better.yml")
    (name,) = re.findall(r"scenarios: \[(\w+)\]", written)
    scenarios = {one.id: one for one in expand(loads(text("orders.yaml"), "orders.yaml")).scenarios}
    strategy = scenarios[name].strategy
    assert form("spring").write(of_strategy(strategy), GuardedService("orders")).body == body(written)


def test_todays_retry_is_a_strategy_of_the_study() -> None:
    today = YAML(typ="safe").load(text("application.yml"))["resilience4j"]["retry"]["instances"]["orders"]
    retries = [one.retry for one in loads(text("orders.yaml"), "orders.yaml").strategies if one.retry]
    assert any(
        str(one.backoff.fixed.delay.level) == today["waitDuration"] and one.max_attempts.level == today["maxAttempts"]
        for one in retries
        if one.backoff.fixed
    )


def test_the_page_names_every_form() -> None:
    rows = re.findall(r"^\| `(\w[\w-]*)` \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(MODULES)


def test_the_files_of_the_example_are_linked() -> None:
    linked = {*re.findall(r"\(examples/apply/([\w.]+)\)", PAGE)}
    assert linked >= {"application.yml", "orders.yaml"}


def test_the_page_shows_the_settings_of_a_sidecar_as_a_form_says_them() -> None:
    made = written("istio", "system retries and time-outs of a sidecar")
    listed = "".join(f"# - {one.words}\n" for one in made.mapped)
    assert f"# fields:\n{listed}" in shown("")
