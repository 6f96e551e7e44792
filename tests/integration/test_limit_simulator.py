"""The simulator of limits runs the filter's own code, and its judge is the judge."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from click.testing import CliRunner

from patternbench.cli.simulate_limits import simulate_limits
from patternbench.ratelimit.analyze.throttling import LimitRule, summarize, summarize_with_scale
from patternbench.ratelimit.plan.accuracy_map import ARRIVALS, ClientGroup, Map, scenarios
from patternbench.ratelimit.simulate import simulator
from patternbench.ratelimit.simulate.simulator import SimulatorError, simulate
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("luajit") is None, reason="needs luajit2 and lua-cjson"),
]

SMALL = Map(
    balancers=(3,),
    staleness=(Duration.parse("0ms"), Duration.parse("500ms")),
    arrivals=ARRIVALS,
    clients=(ClientGroup(2, 120), ClientGroup(3, 40)),
    duration=Duration.parse("3m"),
    seed=11,
)
"""Small, but with every algorithm, way of sharing, staleness and kind of arrivals."""


def test_its_judge_agrees_with_the_judge_on_every_decision(tmp_path: Path) -> None:
    rule = LimitRule(SMALL.window.us, SMALL.limit, SMALL.tolerance.us)
    planned = [{**each, "decisions": str(tmp_path / f"{each['id']}.csv")} for each in scenarios(SMALL)]
    for scenario, answer in zip(planned, simulate(planned), strict=True):
        decisions = pd.read_csv(scenario["decisions"])
        assert_same(answer.measured.model_dump(), summarize(decisions, rule))


def test_the_ends_of_its_scale_are_those_of_the_judge(tmp_path: Path) -> None:
    scenario = {**scenarios(SMALL)[0], "decisions": str(tmp_path / "decisions.csv")}
    (answer,) = simulate([scenario])
    scale = summarize_with_scale(
        pd.read_csv(scenario["decisions"]), LimitRule(SMALL.window.us, SMALL.limit, SMALL.tolerance.us)
    )
    for end in ("no limiter", "exact log"):
        assert_same(answer.scale[end].model_dump(), scale.loc[end])


def test_recorded_requests_are_decided_as_they_were_when_they_were_made(tmp_path: Path) -> None:
    for scenario in [
        {**each, "balancers": 1, "decisions": str(tmp_path / "made.csv")} for each in scenarios(SMALL)[::9]
    ]:
        (made,) = simulate([scenario])
        decisions = pd.read_csv(scenario["decisions"]).sort_values("time_us", kind="stable")
        decisions.assign(holder=1)[["client", "time_us", "cost", "holder"]].to_csv(
            tmp_path / "recorded.tsv", sep="\t", header=False, index=False
        )
        (again,) = simulate([{**scenario, "recorded": str(tmp_path / "recorded.tsv")}])
        assert again.measured.model_dump() == pytest.approx(made.measured.model_dump())
        ends = [answer.scale["no limiter"].model_dump() for answer in (again, made)]
        assert ends[0] == pytest.approx(ends[1])


def assert_same(simulated: dict[str, Any], judged: pd.Series) -> None:
    assert {name: simulated[name] for name in judged.index} == pytest.approx(judged.to_dict())


def test_the_same_seed_gives_the_same_answers_by_one_worker_or_two() -> None:
    planned = scenarios(SMALL)[:12]
    assert [answer.measured for answer in simulate(planned, 1)] == [answer.measured for answer in simulate(planned, 2)]


def test_the_published_workload_lands_near_the_published_ends() -> None:
    """Without a limiter the paper's authors measured a mean over clients of 4.55 %; with the log 0.01 %."""
    paper = Map(
        algorithms=("sliding_window_log",),
        synchronisations=("request",),
        balancers=(2,),
        staleness=(Duration.parse("0ms"),),
        arrivals=("steady",),
    )
    (answer,) = simulate(scenarios(paper))
    assert answer.scale["no limiter"].client_mean == pytest.approx(4.55, abs=0.05)
    assert answer.measured.client_mean == pytest.approx(0.01, abs=0.02)


def test_a_scenario_that_makes_no_sense_is_an_error_that_names_it() -> None:
    with pytest.raises(SimulatorError, match="scenario 7: "):
        simulate([{"id": 7, "algorithm": "none"}])


def test_a_simulator_that_ends_early_is_an_error_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "simulate.lua"
    broken.write_text("error('out of luck', 0)")
    monkeypatch.setattr(simulator, "_script", lambda: broken)
    with pytest.raises(SimulatorError, match="out of luck"):
        simulate(scenarios(SMALL)[:3])


def test_the_simulator_ends_with_whoever_started_it_even_after_a_kill(tmp_path: Path) -> None:
    """The worker computes for much longer than this test waits."""
    endless = {**scenarios(SMALL)[0], "duration_us": 10**13}
    script = f"from patternbench.ratelimit.simulate.simulator import simulate; simulate([{endless!r}])"
    parent = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        wait_until(lambda: any("simulate.lua" in line for line in mentioning(str(tmp_path))))
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not mentioning(str(tmp_path)))


def mentioning(mark: str) -> list[str]:
    """The command lines that name a path."""
    lines = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            lines.append(" ".join(process.cmdline()))
    return [line for line in lines if mark in line]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_without_luajit_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator.shutil, "which", lambda _name: None)
    with pytest.raises(InputError, match="apt-get install luajit2 lua-cjson"):
        simulate(scenarios(SMALL)[:1])


def run(*arguments: str) -> str:
    result = CliRunner().invoke(simulate_limits, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_verb_prints_a_map_between_the_ends_of_the_scale() -> None:
    printed = run(
        "--algorithm", "gcra", "--balancers", "2", "--duration", "1m", "--arrivals", "bursty", "--clients", "3x120"
    )
    for word in ("bursty arrivals", "no limiter", "exact log", "request", "share", "1s", "scenarios"):
        assert word in printed
    assert "Left out: leaky_bucket" not in printed


def test_the_verb_prints_json_that_names_everything() -> None:
    printed = json.loads(run("--json", "--algorithm", "fixed_window", "--balancers", "2", "--duration", "1m"))
    first = printed["scenarios"][0]
    assert {"algorithm", "seed", "clients", "measured", "scale", "cpu_s"} <= set(first)


def test_a_bad_list_is_reported_with_an_example() -> None:
    result = CliRunner().invoke(simulate_limits, ["--staleness", "5"])
    assert result.exit_code == 2
    assert "write for example 0ms,10ms,1s" in result.output
