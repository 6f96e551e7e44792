"""What is known to go wrong with a configuration is said with its lines and with the page that measured it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.studies import ROOT

from patternbench.cli import configured
from patternbench.configurations.reading import lint
from patternbench.configurations.reading.lint import Caution

RETRY = """\
resilience4j:
  retry:
    instances:
      a: {maxAttempts: 3, waitDuration: 1s, enableRandomizedWait: true}
"""
MESH = """\
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a}
spec:
  http:
  - route: [{destination: {host: a}}]
    timeout: 3s
    retries: {attempts: 2, perTryTimeout: 1s, retryOn: 5xx}
"""


def cautions(tmp_path: Path, *texts: str, of: tuple[str, ...] = ()) -> dict[str, Caution]:
    paths = []
    for number, text in enumerate(texts):
        suffix = ".conf" if "server {" in text else ".yml"
        paths.append(tmp_path / f"{number}{suffix}")
        paths[-1].write_text(text)
    return {one.rule: one for one in lint.cautions(configured.read(paths).layers(of))}


def at(caution: Caution) -> list[tuple[str, int]]:
    return [(Path(place.file).name, place.line) for place in caution.places]


def test_attempts_that_multiply_over_layers_are_counted(tmp_path: Path) -> None:
    found = cautions(tmp_path, RETRY, MESH)["attempts-multiply"]
    assert "3 x 3 = 9 attempts" in found.message
    assert at(found) == [("0.yml", 4), ("1.yml", 8)]
    assert "attempts-multiply" not in cautions(tmp_path, RETRY)
    assert "attempts-multiply" not in cautions(tmp_path, RETRY, MESH.replace("attempts: 2", "attempts: 0"))


def test_an_outer_time_out_that_is_shorter_than_an_inner_one_is_said(tmp_path: Path) -> None:
    outer = "resilience4j.timelimiter.instances.a.timeoutDuration: 2s\n"
    found = cautions(tmp_path, outer, MESH)["outer-timeout-shorter"]
    assert "2s is shorter than the inner one of 3s" in found.message
    assert at(found) == [("0.yml", 1), ("1.yml", 7)]
    assert "outer-timeout-shorter" not in cautions(tmp_path, outer.replace("2s", "4s"), MESH)


def test_a_time_out_that_leaves_no_time_for_a_second_attempt_is_said(tmp_path: Path) -> None:
    assert at(cautions(tmp_path, MESH.replace("timeout: 3s", "timeout: 1s"))["no-time-to-retry"]) == [
        *(("0.yml", 7), ("0.yml", 8), ("0.yml", 8))
    ]
    assert "no-time-to-retry" not in cautions(tmp_path, MESH)


def test_a_retry_without_jitter_or_budget_is_said(tmp_path: Path) -> None:
    assert {*cautions(tmp_path, RETRY)} == {"no-retry-budget"}
    assert {*cautions(tmp_path, RETRY.replace(", enableRandomizedWait: true", ""))} == {"no-retry-budget", "no-jitter"}
    assert cautions(tmp_path, RETRY.replace("maxAttempts: 3", "maxAttempts: 1")) == {}


@pytest.mark.parametrize(("size", "small"), [(2, True), (9, True), (10, False), (100, False)])
def test_a_breaker_that_judges_by_few_calls_is_said(tmp_path: Path, size: int, small: bool) -> None:
    text = f"resilience4j.circuitbreaker.instances.a: {{slidingWindowSize: {size}}}\n"
    assert ("small-window" in cautions(tmp_path, text)) == small


def test_a_breaker_over_time_that_judges_by_few_calls_is_said(tmp_path: Path) -> None:
    text = "resilience4j.circuitbreaker.instances.a: {slidingWindowType: TIME_BASED, minimumNumberOfCalls: 5}\n"
    assert "by 5 calls" in cautions(tmp_path, text)["small-window"].message


def test_a_host_that_is_left_out_after_one_failure_is_said(tmp_path: Path) -> None:
    rule = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nspec:\n  host: a\n  trafficPolicy:\n"
    assert "few-failures-eject" in cautions(tmp_path, f"{rule}    outlierDetection: {{consecutive5xxErrors: 1}}\n")
    assert "few-failures-eject" not in cautions(tmp_path, f"{rule}    outlierDetection: {{consecutive5xxErrors: 5}}\n")


def test_retries_of_every_method_are_said(tmp_path: Path) -> None:
    assert at(cautions(tmp_path, MESH)["repeats-any-method"]) == [("0.yml", 8)]
    assert "repeats-any-method" not in cautions(tmp_path, MESH.replace("5xx", "connect-failure"))
    proxy = "upstream a { server b; server c; }\n"
    proxy += "server { location / { proxy_next_upstream error%s; proxy_pass http://a; } }"
    assert "repeats-any-method" not in cautions(tmp_path, proxy % " timeout")
    assert "repeats-any-method" in cautions(tmp_path, proxy % " timeout non_idempotent")


def test_every_page_that_a_caution_names_has_that_section() -> None:
    pages = set(re.findall(r'f"\{WORSE\}(#[a-z0-9-]+)"', Path(lint.__file__).read_text()))
    named = {f"{lint.WORSE}{anchor}" for anchor in pages} | {"docs/patterns/retry.md#when"}
    assert len(named) == 6
    for page in named:
        name, _, anchor = page.partition("#")
        headings = re.findall(r"^#+ (.*)$", (ROOT / name).read_text(), re.MULTILINE)
        slugs = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert anchor in slugs, page
