"""Each option of the commands that measure reaches what it is about, and nothing else changes.

What a command would start is taken note of instead. What comes of it is tested where it is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from patternbench.analyze.compare.gate import parse_condition
from patternbench.analyze.load.rate_search import Limits
from patternbench.cli import capacity as capacity_command
from patternbench.cli import execution
from patternbench.cli import gate as gate_command
from patternbench.cli import load as load_command
from patternbench.cli import resume as resume_command
from patternbench.cli import try_ as try_command
from patternbench.cli import up as up_command
from patternbench.cli.main import cli
from patternbench.records.journal import RerunSelection
from patternbench.run import gating, prepared_run
from patternbench.run.lanes.places import HERE
from patternbench.run.lanes.ray_lanes import RayPlace
from patternbench.run.single.recovery_study import Trigger
from patternbench.run.time_bound import TimeBound
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

STUDY = """\
patternbench: 1
name: small
system: target
rounds: 4
workload: {open: {rate: 20, duration: 2s}, request: {path: /}}
strategies: [{client: native, baseline: {}}]
quick: {rounds: 2}
"""
D = Duration.parse


class CarriedOut(Exception):  # noqa: N818 - not an error: it ends a command where it would begin to measure
    """What a command would do now."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the user is in, with a study."""
    (tmp_path / "small.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(*words: str) -> int:
    done = CliRunner().invoke(cli, list(words), catch_exceptions=False)
    return done.exit_code


@dataclass
class Begun:
    """What a run was begun with, and what was to be carried out."""

    file: Any = None
    folder: Path = Path()
    begin: dict[str, object] = field(default_factory=dict)
    carry_out: dict[str, object] = field(default_factory=dict)

    def begun(
        self, file: Any, folder: Path, skip_unavailable: bool, no_commands: bool = False, *, numbered: bool
    ) -> str:
        self.file, self.folder = file, folder
        self.begin = {"skip_unavailable": skip_unavailable, "no_commands": no_commands, "numbered": numbered}
        return "prepared"

    def carried_out(
        self,
        prepared: object,
        json_: bool,
        again: object = None,
        place: object = HERE,
        bound: TimeBound | None = None,
        *,
        watch: bool = False,
    ) -> int:
        self.carry_out = {"json": json_, "again": again, "place": place, "watch": watch}
        self.carry_out["seconds"] = None if bound is None else bound.seconds
        return 0


@pytest.fixture
def begun(here: Path, monkeypatch: pytest.MonkeyPatch) -> Begun:
    noted = Begun()
    monkeypatch.setattr(prepared_run, "begin", noted.begun)
    monkeypatch.setattr(prepared_run, "reopen", lambda _: SimpleNamespace(study=SimpleNamespace(order="shuffled")))
    for module in (execution, resume_command, capacity_command):
        monkeypatch.setattr(module, "carry_out", noted.carried_out)
    return noted


USUAL_BEGIN = {"skip_unavailable": False, "no_commands": False, "numbered": True}
USUAL = {"json": False, "again": None, "place": HERE, "seconds": TimeBound().seconds, "watch": False}
RUN: Sequence[tuple[str, Mapping[str, object], Mapping[str, object]]] = [
    ("", {}, {}),
    ("--out mine", {"numbered": False}, {}),
    ("--skip-unavailable", {"skip_unavailable": True}, {}),
    ("--no-commands", {"no_commands": True}, {}),
    ("--json", {}, {"json": True}),
    ("--watch", {}, {"watch": True}),
    ("--watch --json", {}, {"json": True}),
    ("--at-most 90m", {}, {"seconds": 5400.0}),
    ("--on ray", {}, {"place": RayPlace("", 2)}),
    ("--on ray:10.0.0.1:6379", {}, {"place": RayPlace("10.0.0.1:6379", 2)}),
    ("--on ray --lanes 5", {}, {"place": RayPlace("", 5)}),
    ("--on ray --trust-cluster", {}, {"place": RayPlace("", 2, trusting=True)}),
    ("--on ray --lane-here", {}, {"place": RayPlace("", 2, with_this=True)}),
    ("--on ray --send-package", {}, {"place": RayPlace("", 2, sending=True)}),
]


@pytest.mark.parametrize(("words", "begin", "carried"), RUN, ids=[one[0] or "none" for one in RUN])
def test_each_option_of_run(
    words: str, begin: dict[str, object], carried: dict[str, object], begun: Begun, here: Path
) -> None:
    assert typed("run", "small.yaml", *words.split()) == 0
    assert begun.begin == USUAL_BEGIN | begin
    assert begun.carry_out == USUAL | carried
    assert begun.file.study().rounds == 4
    folder = begun.folder
    assert folder == Path("mine") if "--out" in words else folder.parent == Path("runs") and "small-" in folder.name


def test_run_takes_the_quick_form_of_a_study(begun: Begun) -> None:
    typed("run", "small.yaml", "--quick")
    assert begun.file.study().rounds == 2


RESUME: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--retry-failed", {"again": RerunSelection(True, False, False)}),
    ("--retry-invalid", {"again": RerunSelection(False, True, False)}),
    ("--retry-damaged", {"again": RerunSelection(False, False, True)}),
    *((words, carried) for words, begin, carried in RUN if words and not begin),
]


@pytest.mark.parametrize(("words", "carried"), RESUME, ids=[one[0] or "none" for one in RESUME])
def test_each_option_of_resume(words: str, carried: dict[str, object], begun: Begun) -> None:
    assert typed("resume", "runs/first", *words.split()) == 0
    assert begun.carry_out == USUAL | {"again": RerunSelection(False, False, False)} | carried


LOAD: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--rate 120/m", {"rate": 2.0}),
    ("--users 7", {"users": 7}),
    ("--duration 3s", {"duration": D("3s")}),
    ("--requests 9", {"requests": 9}),
    ("--warm-up 500ms", {"warm_up": D("500ms")}),
    ("--rate 5 --poisson", {"rate": 5.0, "poisson": True}),
    ("--rate 5 --in-flight 8", {"rate": 5.0, "in_flight": 8}),
    ("--method post", {"method": "POST"}),
    ("--header A:b --header C:d", {"headers": ("A:b", "C:d")}),
    ("--body hello", {"body": "hello"}),
    ("--timeout 70ms", {"timeout": D("70ms")}),
    ("--redirects 2", {"redirects": 2}),
    ("--journey journey.yaml", {"journey": Path("journey.yaml")}),
    ("--deadline 2s", {"deadline": D("2s")}),
    ("--retry 4", {"retry": 4}),
    ("--hedge 30ms", {"hedge": D("30ms")}),
    ("--policies stack.yaml", {"policies": Path("stack.yaml")}),
    ("--weights 3", {"weights": (3,)}),
    ("--unix-socket s.sock", {"unix_socket": "s.sock"}),
    ("--ca ca.pem", {"ca": "ca.pem"}),
    ("--insecure", {"insecure": True}),
    ("--seed 42", {"seed": 42}),
    ("--generators 3", {"generators": 3}),
]


@pytest.mark.parametrize(("words", "asked"), LOAD, ids=[one[0] or "none" for one in LOAD])
def test_each_option_of_load_that_says_what_is_sent(
    words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def noted(options: object, log: bool) -> object:
        raise CarriedOut({one.name: getattr(options, one.name) for one in fields(options)}, log)  # type: ignore[arg-type]  # Options

    monkeypatch.setattr(load_command, "job_of", noted)
    usual = {
        **dict.fromkeys(("rate", "users", "duration", "requests", "method", "body", "timeout", "ca", "unix_socket")),
        **dict.fromkeys(("deadline", "retry", "hedge", "policies", "redirects", "journey", "weights")),
        **{"poisson": False, "insecure": False, "headers": (), "in_flight": 1000, "seed": 1, "generators": 1},
        **{"urls": ("http://127.0.0.1:1",), "warm_up": D("0s")},
    }
    with pytest.raises(CarriedOut) as asked_for:
        typed("load", "http://127.0.0.1:1", *words.split())
    options, log = asked_for.value.args
    assert {name: value or None if name == "weights" else value for name, value in options.items()} == usual | asked
    assert not log


DRIVEN: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--out mine", {"out": Path("mine"), "logged": True}),
    ("--json", {"quiet": True}),
    ("--on ray:10.0.0.1:6379 --generators 2", {"place": ("10.0.0.1:6379", 2, False, False)}),
    ("--on ray --generators 2 --trust-cluster", {"place": ("", 2, True, False)}),
    ("--on ray --generators 2 --send-package", {"place": ("", 2, False, True)}),
]


@pytest.mark.parametrize(("words", "asked"), DRIVEN, ids=[one[0] or "none" for one in DRIVEN])
def test_each_option_of_load_that_says_where_it_goes(
    words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from patternbench.run.lanes import ray_generators  # noqa: PLC0415 - as the command loads it

    def generators_on(place: RayPlace, logs: Path) -> object:
        return nullcontext((place.address, place.lanes, place.trusting, place.sending))

    def driven(job: Any, out: Path, logs: Path, options: object, *, quiet: bool, place: object) -> object:
        raise CarriedOut(job, out, quiet, place)

    monkeypatch.setattr(ray_generators, "generators_on", generators_on)
    monkeypatch.setattr(load_command, "drive", driven)
    usual = {"out": None, "logged": False, "quiet": False, "place": load_command.HERE}
    with pytest.raises(CarriedOut) as asked_for:
        typed("load", "http://127.0.0.1:1", *words.split())
    job, out, quiet, place = asked_for.value.args
    own = None if out.name.startswith("patternbench-load-") else out
    assert {"out": own, "logged": job.job["log_attempts"], "quiet": quiet, "place": place} == usual | asked


@pytest.fixture
def searched(here: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, ...]]:
    """What a search for a rate would be carried out with."""

    @contextmanager
    def fixture(file: Any, duration: Duration, objective: Any) -> Any:
        yield file, duration, objective

    def driven(up: Any, limits: Limits, objective: Any, quiet: bool) -> object:
        raise CarriedOut(*up, limits, quiet)

    monkeypatch.setattr(capacity_command, "rate_fixture", fixture)
    monkeypatch.setattr(capacity_command, "drive", driven)

    def asked(*words: str) -> tuple[Any, ...]:
        with pytest.raises(CarriedOut) as noted:
            typed("capacity", *words)
        return noted.value.args

    return asked


CAPACITY: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--start 3", {"start": 3.0}),
    ("--most 600/m", {"most": 10.0}),
    ("--rounds 9", {"rounds": 9}),
    ("--duration 700ms", {"duration": D("700ms")}),
    ("--json", {"quiet": True}),
]


@pytest.mark.parametrize(("words", "asked"), CAPACITY, ids=[one[0] or "none" for one in CAPACITY])
def test_each_option_of_a_search_for_a_rate(
    words: str, asked: dict[str, object], searched: Callable[..., tuple[Any, ...]]
) -> None:
    _, duration, objective, limits, quiet = searched("http://127.0.0.1:1", "--objective", "p90 <= 80ms", *words.split())
    found = {"start": limits.start, "most": limits.most, "rounds": limits.rounds, "duration": duration, "quiet": quiet}
    assert found == {"start": 10.0, "most": 20_000.0, "rounds": 5, "duration": D("5s"), "quiet": False} | asked
    assert objective.text == "p90 <= 80ms"


def test_a_search_takes_the_quick_form_of_a_study(searched: Callable[..., tuple[Any, ...]]) -> None:
    rounds = [
        searched("small.yaml", "--objective", "p90 <= 80ms", *more)[0].study().rounds for more in ([], ["--quick"])
    ]
    assert rounds == [4, 2]


@pytest.mark.parametrize("option", ["--svg", "--html"])
def test_a_search_writes_over_a_file_only_by_force(
    option: str, here: Path, searched: Callable[..., tuple[Any, ...]]
) -> None:
    (here / "mine").write_text("mine")
    line = ("http://127.0.0.1:1", "--objective", "p90 <= 80ms", option, "mine")
    with pytest.raises(InputError, match="mine: is already there"):
        typed("capacity", *line)
    searched(*line, "--force")


@pytest.mark.parametrize("words", ["--at 50", "--out mine"])
def test_a_search_for_a_rate_refuses_what_is_about_a_fault(words: str, here: Path) -> None:
    line = ["capacity", "http://127.0.0.1:1", "--objective", "p90 <= 80ms", *words.split()]
    done = CliRunner().invoke(cli, line)
    assert done.exit_code == 2
    assert "--at and --out go with --recovers-from" in done.output


RECOVERS: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--at 50", {"at": 50.0}),
    ("--objective p90<=80ms", {"objective": "p90<=80ms"}),
    ("--json", {"json": True}),
    ("--out mine", {"folder": "mine", "numbered": False}),
    ("--quick", {"rounds": 2}),
]


@pytest.mark.parametrize(("words", "asked"), RECOVERS, ids=[one[0] or "none" for one in RECOVERS])
def test_each_option_of_a_search_after_a_fault(
    words: str, asked: dict[str, object], begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, object] = {}

    def study_of(file: Any, trigger: Trigger, objective: str | None, at: float | None, most: int) -> object:
        made.update(rounds=file.study().rounds, trigger=trigger, objective=objective, at=at)
        return file

    monkeypatch.setattr(capacity_command, "study_of", study_of)
    assert typed("capacity", "small.yaml", "--recovers-from", "freeze 2s", *words.split()) == 0
    folder = "numbered" if str(begun.folder).startswith("runs/recovers-") else str(begun.folder)
    found = {**made, "json": begun.carry_out["json"], "folder": folder, "numbered": begun.begin["numbered"]}
    usual = {"rounds": 4, "trigger": Trigger.parse("freeze 2s"), "objective": None, "at": None}
    assert found == {**usual, "json": False, "folder": "numbered", "numbered": True} | asked


GATE: Sequence[tuple[str, Mapping[str, object]]] = [
    ("--head http://b", {}),
    ("--aa", {"head": "http://a"}),
    ("--head http://b --path /items", {"source": ("/items", 10, 3)}),
    ("--head http://b --users 4", {"source": ("/", 4, 3)}),
    ("--head http://b --seconds 9", {"source": ("/", 10, 9)}),
    ("--head http://b --study small.yaml", {"source": "small.yaml"}),
    ("--head http://b --prepare make", {"prepare": "make"}),
    ("--head http://b --minutes 2.5", {"minutes": 2.5}),
    ("--head http://b --blocks 11", {"most": 11}),
    ("--head http://b --level 0.8", {"level": 0.8}),
    ("--head http://b --fail-if p50>+5%", {"conditions": (parse_condition("p50>+5%"),)}),
    ("--head http://b --out mine", {"folder": "mine"}),
    ("--head http://b --json", {"quiet": True}),
]


@pytest.mark.parametrize(("words", "asked"), GATE, ids=[one[0] for one in GATE])
def test_each_option_of_gate(
    words: str, asked: dict[str, object], begun: Begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, object] = {}

    @contextmanager
    def up(target: str, option: str, prepare: str | None) -> Any:
        made.update({option.strip("-"): target, "prepare": prepare})
        yield target

    def study_of_both(one: str, other: str, source: object, blocks: int) -> object:
        made["source"] = getattr(source, "file", source)
        return source

    def measured(prepared: object, base: str, options: Any, quiet: bool) -> object:
        shown = {name: getattr(options, name) for name in ("conditions", "level", "most", "minutes")}
        raise CarriedOut({**shown, "quiet": quiet})

    monkeypatch.setattr(gate_command, "_up", up)
    monkeypatch.setattr(gate_command, "_measured", measured)
    monkeypatch.setattr(gate_command, "load_all", lambda: None)
    monkeypatch.setattr(gate_command.interrupts, "take", lambda: None)
    monkeypatch.setattr(gating, "plain_study", lambda *plain: plain)
    monkeypatch.setattr(gating, "study_of_both", study_of_both)
    with pytest.raises(CarriedOut) as noted:
        typed("gate", "--base", "http://a", *words.split())
    folder = "numbered" if str(begun.folder).startswith("runs/gate-") else str(begun.folder)
    usual = {
        **{"base": "http://a", "head": "http://b", "prepare": None, "source": ("/", 10, 3), "folder": "numbered"},
        **{"conditions": (parse_condition("p95 > +10%"),), "level": 0.95, "most": 40, "minutes": 15.0, "quiet": False},
    }
    assert {**made, **noted.value.args[0], "folder": folder} == usual | asked


UP: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--set workers=2", {"workers": 2}),
    ("--set service_time=fixed:3ms", {"service_time": "fixed:3ms"}),
    ("--set workers=2 --set service_time=fixed:3ms", {"workers": 2, "service_time": "fixed:3ms"}),
    ("--in processes", {".in": "processes"}),
]


@pytest.mark.parametrize(("words", "levels"), UP, ids=[one[0] or "none" for one in UP])
def test_each_option_of_up(words: str, levels: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def named(system: Any, levels: Mapping[str, object], folder: Path) -> object:
        raise CarriedOut(system.name, dict(levels))

    monkeypatch.setattr(up_command.environment, "named", named)
    monkeypatch.setattr(up_command.startable, "check_needs", lambda *_: None)
    with pytest.raises(CarriedOut) as noted:
        typed("up", "target", *words.split())
    assert noted.value.args == ("target", levels)


@pytest.mark.parametrize(("words", "rounds"), [([], 4), (["--quick"], 2)])
def test_a_trial_takes_the_quick_form_of_a_study(
    words: list[str], rounds: int, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(try_command, "trials", lambda file: iter(seen.append(file.study().rounds) or ()))
    assert typed("try", "small.yaml", *words) == 0
    assert seen == [rounds]
