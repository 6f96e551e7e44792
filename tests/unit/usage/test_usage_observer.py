"""CPU time and memory of components: what a study asks for, what is measured, kept and shown."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from tests.support.studies import changed, problems

from patternbench.observe import samples
from patternbench.observe.seam import ObservationError, RoundFiles, WatchedRound
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.run.before import evidence, watch_problems
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.study.watching import Watch, counting_watch
from patternbench.terms.problems import InputError
from patternbench.usage.observer import OBSERVER, UsageObserver, first_schema
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


def watched(folder: Path, processes: dict[str, tuple[int, ...]], **usage: tuple[str, ...]) -> WatchedRound:
    return WatchedRound(
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


def meter(folder: Path, cpu_us: int, throttled_us: int, memory: int = 4) -> dict[str, str]:
    """The files of a container's control group of version 2."""
    folder.mkdir(exist_ok=True)
    (folder / "cpu.stat").write_text(f"usage_usec {cpu_us}\nthrottled_usec {throttled_us}\n")
    (folder / "memory.current").write_text(str(memory * 1024**2))
    (folder / "memory.stat").write_text("inactive_file 0\n")
    stat, memory_file = str(folder / "cpu.stat"), str(folder / "memory.current")
    return {"service": folder.name, "cpu": stat, "throttled": stat, "memory": memory_file}


def test_services_of_a_compose_project_are_measured_by_their_control_groups_and_throttling_too(tmp_path: Path) -> None:
    web, store = meter(tmp_path / "web", 10**6, 0), meter(tmp_path / "store", 2 * 10**6, 10**6)
    containers = {"shop": [web, store], "shop.web": [web], "shop.store": [store]}
    asked = watched(tmp_path, {"shop": (1,)}, store=("shop.store",), services=("shop.web", "shop.store"), all=("shop",))
    with OBSERVER.watch(replace(asked, containers=containers)):
        meter(tmp_path / "web", 3 * 10**6, 0, memory=6)
        meter(tmp_path / "store", 25 * 10**5, 15 * 10**5)
    used = OBSERVER.measured(seen_in(tmp_path), {})
    assert used == pytest.approx(
        {
            "usage.store.cpu_s": 0.5,
            "usage.store.memory_mib": 4,
            "usage.store.throttled_s": 0.5,
            "usage.services.cpu_s": 2.5,
            "usage.services.memory_mib": 10,
            "usage.services.throttled_s": 0.5,
            "usage.all.cpu_s": 2.5,
            "usage.all.memory_mib": 10,
        }
    )


def test_a_service_that_a_project_does_not_have_is_told(tmp_path: Path) -> None:
    web = meter(tmp_path / "web", 0, 0)
    asked = replace(watched(tmp_path, {}, store=("shop.stoer",)), containers={"shop": [web], "shop.web": [web]})
    words = r"no container of shop\.stoer runs.*there are shop\.web"
    with pytest.raises(ObservationError, match=words), OBSERVER.watch(asked):
        pass


def test_usage_that_was_kept_before_containers_were_known_is_read(tmp_path: Path) -> None:
    rows = pd.DataFrame([("service", "shop", 1.5, 20.0)], columns=first_schema().names)
    samples.write(tmp_path / "usage", rows, first_schema())
    used = OBSERVER.measured(seen_in(tmp_path), {})
    assert used == {"usage.service.cpu_s": 1.5, "usage.service.memory_mib": 20.0}


def test_throttling_is_a_response_of_services_of_compose_projects_alone() -> None:
    study = loads(changed(usage="{store: shop.store, both: [shop.web, redis]}"), "study.yaml")
    names = [response.name for response in UsageObserver().responses_of(study.watch)]
    assert [name for name in names if name.endswith("throttled_s")] == ["usage.store.throttled_s"]
    assert names_in(names) == ["store", "both"]
    assert names_in(names, "throttled_s") == ["store"]


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
