"""CPU time and memory of components: what a study asks for, what is measured, kept and shown."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from tests.support.studies import changed, problems

from patternbench.observe.seam import RoundFiles, Watched
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.run.before import evidence, watch_problems
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.study.watching import Watch, counting_watch
from patternbench.terms.problems import InputError
from patternbench.usage.observer import OBSERVER, UsageObserver
from patternbench.usage.report.section import sections
from patternbench.usage.responses import names_in, responses

WORK_S = 0.1
CHILD = f"""
import sys, time
print("up", flush=True)
for line in sys.stdin:
    until = time.process_time() + {WORK_S}
    while time.process_time() < until:
        pass
    print("done", flush=True)
"""
GUARD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"


class Component:
    """A process that works when it is asked to, started by another one, as a guard starts a component."""

    def __init__(self, guard: subprocess.Popen[str]) -> None:
        self.guard = guard

    def works(self) -> None:
        """Have it work."""
        assert self.guard.stdin and self.guard.stdout
        self.guard.stdin.write("\n")
        self.guard.stdin.flush()
        assert self.guard.stdout.readline() == "done\n"

    def ends(self) -> None:
        """Have it end, and its guard with it."""
        assert self.guard.stdin
        self.guard.stdin.close()
        self.guard.wait()


@contextmanager
def component() -> Iterator[Component]:
    """A component that is up."""
    with subprocess.Popen(
        [sys.executable, "-c", GUARD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as guard:
        assert guard.stdout and guard.stdout.readline() == "up\n"
        one = Component(guard)
        yield one
        if guard.poll() is None:
            one.ends()


def watched(folder: Path, processes: dict[str, tuple[int, ...]], **usage: tuple[str, ...]) -> Watched:
    return Watched(
        {}, folder / "usage", Watch(usage={name: list(own) for name, own in usage.items()}), processes=processes
    )


def seen_in(folder: Path) -> pd.DataFrame:
    seen = OBSERVER.read(RoundFiles({}, folder / "usage"))
    assert seen is not None
    return seen


def test_what_a_component_works_during_the_load_is_its_cpu_time(tmp_path: Path) -> None:
    with component() as shop, component() as idle:
        shop.works()
        processes = {"shop": (shop.guard.pid,), "redis": (idle.guard.pid,)}
        with OBSERVER.watch(watched(tmp_path, processes, service=("shop",), both=("shop", "redis"))):
            shop.works()
        used = OBSERVER.measured(seen_in(tmp_path), {})
    assert WORK_S / 2 < used["usage.service.cpu_s"] < 3 * WORK_S
    assert used["usage.service.cpu_s"] <= used["usage.both.cpu_s"] < used["usage.service.cpu_s"] + WORK_S / 2
    assert 1 < used["usage.service.memory_mib"] < used["usage.both.memory_mib"]


def test_all_replicas_of_an_entry_count_together(tmp_path: Path) -> None:
    with component() as one, component() as other:
        processes = {"balancer": (one.guard.pid, other.guard.pid)}
        with OBSERVER.watch(watched(tmp_path, processes, balancers=("balancer",))):
            one.works()
            other.works()
    assert OBSERVER.measured(seen_in(tmp_path), {})["usage.balancers.cpu_s"] > 1.5 * WORK_S


def test_a_component_that_is_not_up_has_no_usage_in_that_round(tmp_path: Path) -> None:
    with (
        component() as shop,
        OBSERVER.watch(watched(tmp_path, {"shop": (shop.guard.pid,)}, service=("shop",), store=("redis", "mariadb"))),
    ):
        pass
    used = OBSERVER.measured(seen_in(tmp_path), {})
    assert set(used) == {"usage.service.cpu_s", "usage.service.memory_mib"}


def test_a_component_that_ends_during_the_load_leaves_its_usage_unknown(tmp_path: Path) -> None:
    with component() as shop, component() as other:
        processes = {"shop": (shop.guard.pid,), "other": (other.guard.pid,)}
        with OBSERVER.watch(watched(tmp_path, processes, all=("shop", "other"), rest=("other",))):
            shop.ends()
        used = OBSERVER.measured(seen_in(tmp_path), {})
    assert math.isnan(used["usage.all.cpu_s"])
    assert not math.isnan(used["usage.rest.cpu_s"])


def test_a_study_that_asks_for_no_usage_keeps_none(tmp_path: Path) -> None:
    with OBSERVER.watch(watched(tmp_path, {})):
        pass
    assert OBSERVER.read(RoundFiles({}, tmp_path / "usage")) is None


def test_what_a_study_names_are_responses_of_its_rounds() -> None:
    study = loads(changed(usage="{service: shop, all: [shop, envoy]}"), "study.yaml")
    names = [response.name for response in UsageObserver().responses_of(study.watch)]
    assert names == ["usage.service.cpu_s", "usage.service.memory_mib", "usage.all.cpu_s", "usage.all.memory_mib"]
    assert names_in(["p50", *names]) == ["service", "all"]
    assert counting_watch(study.watch).usage == {}


def claiming(response: str) -> Study:
    claim = f"[{{says: x, response: {response}, change: higher, from: {{users: 50}}, to: {{users: 150}}}}]"
    return loads(changed(usage="{service: target}", claims=claim), "study.yaml")


def test_a_claim_may_be_about_the_usage_that_its_study_names() -> None:
    study = claiming("usage.service.cpu_s")
    evidence.check(study, expand(study))
    study = claiming("usage.shop.cpu_s")
    with pytest.raises(InputError, match=r"`usage\.shop\.cpu_s` isn't a response"):
        evidence.check(study, expand(study))


def test_a_component_that_no_system_of_the_study_has_is_refused_by_name(tmp_path: Path) -> None:
    study = loads(changed(system="target", usage="{service: [target, tarot]}"), "study.yaml")
    (problem,) = watch_problems.described(study, expand(study), Inputs(tmp_path))
    assert problem.path == "usage.service[1]"
    assert "the system has no component `tarot` to measure" in str(problem)
    assert "target" in str(problem.allowed)


@pytest.mark.parametrize("usage", ["{service: []}", "{Service: shop}", "[shop]"])
def test_usage_that_names_nothing_is_refused(usage: str) -> None:
    assert problems(changed(usage=usage))


def test_rounds_without_usage_have_no_section() -> None:
    assert sections(Path("no-run"), pd.DataFrame({"scenario": ["a"], "p50": [1.0]})) == []


def test_cpu_time_is_in_seconds_and_memory_in_mib() -> None:
    cpu, memory = responses(["store"])
    assert (cpu.kind, memory.unit) == ("time", "MiB")
