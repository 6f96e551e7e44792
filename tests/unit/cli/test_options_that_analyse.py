"""Each option of the commands that read rounds, write studies or compute reaches what it is about.

What an analysis would be made with is taken note of instead of making it, where making it says no more; limits in
simulated time and what is written are made.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from tests.support import measured_run as support
from tests.support.measured_run import measured_run
from tests.support.studies import ROOT
from tests.unit.cli.test_options_that_measure import STUDY, CarriedOut
from tests.unit.study.test_operator_results import HEAD
from tests.unit.study.test_operator_results import ROWS as PUBLISHED_ROWS

from patternbench.analyze.load.columns import Columns
from patternbench.analyze.looks import Looks
from patternbench.analyze.recommend import recommendation
from patternbench.cli import calibrate as calibrate_command
from patternbench.cli import compare as compare_command
from patternbench.cli import doctor as doctor_command
from patternbench.cli import fit as fit_command
from patternbench.cli import loadtest as loadtest_command
from patternbench.cli import planned
from patternbench.cli import recommend as recommend_command
from patternbench.cli import simulate as simulate_command
from patternbench.cli import test_limits as limits_command
from patternbench.cli.main import cli
from patternbench.interrupts import EndRequest
from patternbench.observe.warning import RoundWarning
from patternbench.plan.order import Round
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.report.build import WITH_INVALID
from patternbench.study.load import load
from patternbench.terms.problems import InputError
from patternbench.watch import server

ROUNDS = "users,strategy,p50,p95,failure_rate,block\n" + "".join(
    f"{users},{strategy},{20 + users + block},{30 + users + block},0,{block}\n"
    for block in range(4)
    for users in (1, 2)
    for strategy in ("none", "retry")
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the user is in, with a table of rounds."""
    (tmp_path / "rounds.csv").write_text(ROUNDS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(*words: object) -> str:
    done = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def noting(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> None:
    """Have a function of a module end its command with what it was given."""

    def noted(*given: object, **named: object) -> object:
        raise CarriedOut(*given, *named.values())

    monkeypatch.setattr(module, name, noted)


def given_to(*words: object) -> tuple[Any, ...]:
    with pytest.raises(CarriedOut) as noted:
        typed(*words)
    return noted.value.args


# --- of rounds

RECOMMEND: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--objective maximise_goodput", {"objectives": ("minimise p95", "maximise_goodput")}),
    ("--subject-to p50<=9", {"limits": ("p50<=9",)}),
    ("--given users,block", {"conditions": ("users", "block")}),
    ("--baseline strategy=none", {"baseline": ("strategy=none",)}),
    ("--margin 2.5", {"margin": 2.5}),
    ("--by users,strategy", {"by": ("users", "strategy")}),
    ("--typical", {"looks": Looks(True, False)}),
    ("--neighbours", {"looks": Looks(False, True)}),
    ("--level 0.9", {"level": 0.9}),
    ("--seed 7", {"seed": 7}),
]


@pytest.mark.parametrize(("words", "asked"), RECOMMEND, ids=[one[0] or "none" for one in RECOMMEND])
def test_each_option_of_recommend(
    words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noting(monkeypatch, recommend_command, "choose")
    _, criteria = given_to("recommend", "rounds.csv", "--objective", "minimise p95", *words.split())
    usual = {
        **{"objectives": ("minimise p95",), "limits": (), "conditions": None, "baseline": (), "by": (), "margin": 5.0},
        **{"looks": Looks(False, False), "level": 0.95, "seed": 1},
    }
    assert {name: getattr(criteria, name) for name in usual} == usual | asked


APPLY: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--objective p50", {"objectives": ("p50",), "limits": ()}),
    ("--subject-to p50<=9", {"limits": ("p50<=9",)}),
    ("--seed 7", {"seed": 7}),
]


@pytest.mark.parametrize(("words", "asked"), APPLY, ids=[one[0] or "none" for one in APPLY])
def test_apply_chooses_as_recommend_does(
    words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_run(here / "run")
    noting(monkeypatch, recommendation, "recommend")
    _, criteria = given_to("apply", "run", "--as", "spring", *words.split())
    usual = {"objectives": ("minimise p95",), "limits": ("failure_rate <= 1%",), "seed": 1}
    assert {name: getattr(criteria, name) for name in usual} == usual | asked


COMPARE: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--response p50,p95", {"responses": ("p50", "p95")}),
    ("--by users", {"by": ("users",)}),
    ("--run-spread 3", {"run_spread": 3.0}),
    ("--typical", {"looks": Looks(True, False)}),
    ("--neighbours", {"looks": Looks(False, True)}),
    ("--level 0.9", {"level": 0.9}),
    ("--seed 3", {}),
    ("--baseline users=1", {"baseline": ("users=1",)}),
]


@pytest.mark.parametrize(("words", "asked"), COMPARE, ids=[one[0] or "none" for one in COMPARE])
def test_each_option_of_compare(
    words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noting(monkeypatch, compare_command, "_compared")
    _, baseline, how = given_to("compare", "rounds.csv", *words.split())
    usual = {"responses": (), "by": (), "run_spread": None, "looks": Looks(False, False), "level": 0.95}
    found = {name: getattr(how, name) for name in usual} | {"baseline": baseline}
    assert found == {**usual, "baseline": ()} | asked


FIT: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--group users", {"group": "users"}),
    ("--scenario strategy", {"scenario": "strategy"}),
    ("--margin 4", {"margin": 4.0}),
    ("--level 0.9", {"level": 0.9}),
    ("--seed 7", {"seed": 7}),
]


@pytest.mark.parametrize(("words", "asked"), FIT, ids=[one[0] or "none" for one in FIT])
def test_each_option_of_fit(words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noting(monkeypatch, fit_command, "fit_formulas")
    _, formulas, settings = given_to("fit", "rounds.csv", "--formula", "p95 ~ users", *words.split())
    usual = {"group": None, "scenario": None, "margin": None, "level": 0.95, "seed": 1}
    assert {name: getattr(settings, name) for name in usual} == usual | asked
    assert formulas == ("p95 ~ users",)


LOADTEST: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--load users", {"columns": Columns(load="users")}),
    ("--time sent", {"columns": Columns(time="sent")}),
    ("--response took", {"columns": Columns(response="took")}),
    ("--status code", {"columns": Columns(status="code")}),
    ("--window 50", {"window": 50}),
    ("--seed 7", {"seed": 7}),
]


@pytest.mark.parametrize(("words", "asked"), LOADTEST, ids=[one[0] or "none" for one in LOADTEST])
def test_each_option_of_loadtest(
    words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noting(monkeypatch, loadtest_command, "analyze_load_test")
    _, columns, window, seed = given_to("loadtest", "rounds.csv", *words.split())
    assert {"columns": columns, "window": window, "seed": seed} == {
        "columns": Columns(),
        "window": None,
        "seed": 1,
    } | asked


@pytest.mark.parametrize(
    ("words", "asked"),
    [("", (None, "request")), ("--load users", ("users", "request")), ("--unit journey", (None, "journey"))],
)
def test_each_option_of_loadtest_of_a_run(
    words: str, asked: tuple[object, ...], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_run(here / "run")
    noting(monkeypatch, loadtest_command.load_tests, "requests_of")
    assert given_to("loadtest", "run", *words.split())[1:] == asked


@pytest.fixture
def with_a_late_round(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of sixteen rounds, of which one isn't valid."""
    plain = support._measured

    def measured(run: RunFolder, round_: Round, *more: Any) -> Entry:
        late = [RoundWarning("late", "the load was late", "give it more CPU", invalidates=True)]
        return replace(plain(run, round_, *more), doubts=late if round_.index == 5 else [])

    monkeypatch.setattr(support, "_measured", measured)
    return measured_run(here / "run").path


@pytest.mark.parametrize(("words", "rounds"), [([], 15), (["--every-round"], 16)])
def test_a_round_that_is_not_valid_is_exported_only_where_that_is_asked_for(
    words: list[str], rounds: int, with_a_late_round: Path
) -> None:
    typed("export", "run", "--format", "csv", "--out", "out.csv", *words)
    table = pd.read_csv("out.csv")
    assert (len(table), 5 in set(table["round"]), table["valid"].all()) == (rounds, bool(words), not words)


@pytest.mark.parametrize(("words", "rounds"), [([], 15), (["--include-invalid"], 16)])
def test_a_round_that_is_not_valid_is_reported_only_where_that_is_asked_for(
    words: list[str], rounds: int, with_a_late_round: Path
) -> None:
    typed("report", "run", *words)
    page = (with_a_late_round / "report.html").read_text()
    assert (WITH_INVALID in page) == bool(words)
    means = pd.read_csv(with_a_late_round / "tables" / "figure-p95.csv")
    assert means["rounds"].sum() == rounds


def test_the_claims_of_a_report_are_written_as_verdicts_where_that_is_asked_for(here: Path) -> None:
    measured_run(here / "run")
    typed("report", "run", "--junit", "verdicts.xml")
    suite = ET.parse(here / "verdicts.xml").getroot()
    assert [case.get("name") for case in suite.iter("testcase")][:1] == ["a retry waits"]


# --- of studies and models

PLAN: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--json", {"json_": True}),
    ("--all", {"listed": None}),
    ("--skip-unavailable", {"skip_unavailable": True}),
    ("--spread 12.5%", {"spread": 12.5}),
    ("--from runs/first", {"scatter_of": Path("runs/first")}),
    ("--no-commands", {"no_commands": True}),
]


@pytest.mark.parametrize(("words", "asked"), PLAN, ids=[one[0] or "none" for one in PLAN])
def test_each_option_of_plan(words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noting(monkeypatch, planned, "tell")
    file, study, options = given_to("plan", ROOT / "studies/quickstart.yaml", *words.split())
    usual: dict[str, object] = {"json_": False, "listed": 40, "skip_unavailable": False, "spread": None}
    usual |= {"scatter_of": None, "no_commands": False}
    assert vars(options) == usual | asked
    assert (file.name, study.name) == ("quickstart", "quickstart")


@pytest.mark.parametrize(("words", "rounds"), [([], 4), (["--quick"], 2)])
def test_plan_and_doctor_take_the_quick_form_of_a_study(
    words: list[str], rounds: int, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "small.yaml").write_text(STUDY)
    assert len(json.loads(typed("plan", "small.yaml", "--json", *words))["scenarios"]) == 1
    noting(monkeypatch, planned, "tell")
    assert given_to("plan", "small.yaml", *words)[1].rounds == rounds
    monkeypatch.setattr(doctor_command, "needed_by", lambda file: _raised(file.study().rounds))
    assert given_to("doctor", "small.yaml", *words) == (rounds,)


def _raised(*given: object) -> object:
    raise CarriedOut(*given)


def test_doctor_installs_only_where_that_is_asked_for(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[object] = []
    need = SimpleNamespace(name="a tool", present=False, met=False, how="type it")
    monkeypatch.setattr(doctor_command, "everything", lambda named: iter([("system x", [need])]))
    monkeypatch.setattr(doctor_command.machine, "disturbances", list)
    monkeypatch.setattr(doctor_command.installing, "install", installed.extend)
    typed("doctor")
    assert installed == []
    typed("doctor", "--install")
    assert installed == [need]


SIMULATE: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--cores 3", {"cores": 3}),
    ("--out mine", {"out": "mine", "numbered": False}),
    ("--json", {"json": True}),
    ("--quick", {"rounds": 2}),
]


@pytest.mark.parametrize(("words", "asked"), SIMULATE, ids=[one[0] or "none" for one in SIMULATE])
def test_each_option_of_simulate(
    words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "small.yaml").write_text(STUDY)
    begun: dict[str, object] = {}

    def begin(file: Any, model: object, out: Path, numbered: bool) -> str:
        own = "numbered" if str(out).startswith(f"runs/{file.name}-simulated-") else str(out)
        begun.update(rounds=file.study().rounds, out=own, numbered=numbered)
        return "prepared"

    monkeypatch.setattr(simulate_command.prepared, "begin", begin)
    noting(monkeypatch, simulate_command, "carry_out")
    run, json_, place = given_to("simulate", "small.yaml", "--with", "graph-50", *words.split())
    found = {**begun, "cores": place.processes if hasattr(place, "processes") else place.cores, "json": json_}
    assert run == "prepared"
    assert found == {"rounds": 4, "out": "numbered", "numbered": True, "cores": 0, "json": False} | asked


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("", {}),
        ("--paths 50", {"paths": 50}),
        ("--cores 2", {"cores": 2}),
        ("--json", {"json": True}),
        ("--quick", {"rounds": 2}),
    ],
)
def test_each_option_of_simulate_with_a_rare_event(
    words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "small.yaml").write_text(STUDY)

    def asked_for(file: Any, model: object, event: str, paths: int, cores: int) -> dict[str, object]:
        return {"rounds": file.study().rounds, "event": event, "paths": paths, "cores": cores}

    monkeypatch.setattr(simulate_command.rare_ones, "asked", asked_for)
    noting(monkeypatch, simulate_command.rare_events, "answer")
    found, json_ = given_to(
        "simulate", "small.yaml", "--with", "graph-50", "--rare", "no_success >= 5s", *words.split()
    )
    usual = {"rounds": 4, "event": "no_success >= 5s", "paths": 2000, "cores": 0, "json": False}
    assert {**found, "json": json_} == usual | asked


CALIBRATE: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--hold-out rate=300", {"hold_out": ("rate=300",)}),
    ("--given workers=2", {"given": ("workers=2",)}),
    ("--check other", {"others": (Path("other"),)}),
    ("--traces", {"graph": True}),
]


@pytest.mark.parametrize(("words", "asked"), CALIBRATE, ids=[one[0] or "none" for one in CALIBRATE])
def test_each_option_of_calibrate(
    words: str, asked: dict[str, object], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_run(here / "run")
    measured_run(here / "other", seed=2)
    noting(monkeypatch, calibrate_command, "calibrated")
    run, hold_out, given, graph, others = given_to("calibrate", "run", "--out", "m.yaml", *words.split())
    found = {"hold_out": hold_out, "given": given, "others": others, "graph": graph is not None}
    assert run == Path("run")
    assert found == {"hold_out": (), "given": (), "others": (), "graph": False} | asked


# --- of limits in simulated time

LIMITS: Sequence[tuple[str, Mapping[str, object]]] = [
    ("", {}),
    ("--algorithm gcra", {"algorithm": "gcra"}),
    ("--synchronisation share", {"synchronisation": "share"}),
    ("--balancers 3", {"balancers": 3}),
    ("--staleness 30ms", {"staleness_us": 30_000, "store": "crdt"}),
    ("--arrivals steady", {"arrivals": "steady", "clients": (2, 60.0, "steady")}),
    ("--clients 4x30", {"clients": (4, 30.0, "poisson")}),
    ("--limit 7", {"limit": 7}),
    ("--window 20s", {"window_us": 20_000_000}),
    ("--burst 9", {"burst": 9}),
    ("--sub-windows 3", {"sub_windows": 3}),
    ("--duration 1m", {"duration_us": 60_000_000}),
    ("--tolerance 5ms", {"tolerance_us": 5000}),
    ("--routing sticky", {"routing": "sticky"}),
    ("--seed 11", {"seed": 11}),
    ("--synchronisation lazy", {"synchronisation": "lazy", "lease": ("static", 0.5, 50, 5_000_000)}),
    ("--synchronisation lazy --lease-size dynamic", {"lease": ("dynamic", 0.5, 50, 5_000_000)}),
    ("--synchronisation lazy --lease-share 0.25", {"lease": ("static", 0.25, 50, 5_000_000)}),
    ("--synchronisation lazy --lease-most 6", {"lease": ("static", 0.5, 6, 5_000_000)}),
    ("--synchronisation lazy --lease-expires 2s", {"lease": ("static", 0.5, 50, 2_000_000)}),
]


@pytest.mark.parametrize(("words", "asked"), LIMITS, ids=[one[0] or "none" for one in LIMITS])
def test_each_option_of_simulate_limits(words: str, asked: dict[str, object]) -> None:
    few = "--algorithm fixed_window --synchronisation request --balancers 2 --staleness 0ms --arrivals poisson"
    short = "--clients 2x60 --duration 2m --window 1m --json"
    (row,) = json.loads(typed("simulate-limits", *few.split(), *short.split(), *words.split()))["scenarios"]
    (group,) = row["clients"]
    lease = row.get("lease") or {}
    found = row | {"clients": (group["clients"], group["per_minute"], group["arrivals"])}
    found |= {"lease": tuple(lease.values()) if "lease" in asked else None}
    usual: dict[str, object] = {
        **{"algorithm": "fixed_window", "synchronisation": "request", "balancers": 2, "staleness_us": 0},
        **{"store": "central", "arrivals": "poisson", "clients": (2, 60.0, "poisson"), "limit": 100, "burst": 5},
        **{"window_us": 60_000_000, "sub_windows": 5, "duration_us": 120_000_000, "tolerance_us": 20_000},
        **{"routing": "round_robin", "seed": 1, "lease": None},
    }
    usual |= {"synchronisation": "lazy"} if "lazy" in words else {}
    assert {name: found[name] for name in usual} == usual | asked


@pytest.mark.parametrize(
    ("words", "passed"),
    [("", []), ("--enforce", ["--enforce"]), ("--start 2024-02-29", ["--start", "2024-02-29"]), ("--json", ["--json"])],
)
def test_each_option_of_test_limits(words: str, passed: list[str], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "plan.json").write_text("{}")
    monkeypatch.setattr(limits_command, "luajit", lambda: "luajit")
    noting(monkeypatch, limits_command.filters, "command")
    line = given_to("test-limits", "plan.json", "rounds.csv", *words.split())
    assert line == ("luajit", "test", str(here / "plan.json"), str(here / "rounds.csv"), *passed)


# --- what is written

LOG = '10.0.0.{user} - anna [10/Oct/2026:13:55:{second:02} +0200] "{request} HTTP/1.1" 200 9 "-" "curl"\n'


@pytest.fixture
def recorded(here: Path) -> Path:
    """Three requests of two addresses within four seconds."""
    lines = [(1, 0, "GET /a?token=secret"), (2, 2, "GET /b"), (1, 4, "GET /a?token=secret")]
    (here / "a.log").write_text("".join(LOG.format(user=user, second=s, request=line) for user, s, line in lines))
    har = {
        "request": {
            **{"method": "POST", "url": "http://127.0.0.1:1/a", "headers": [{"name": "Cookie", "value": "s=1"}]},
            **{"queryString": [], "postData": {"mimeType": "text/plain", "text": "hello"}},
        },
        "startedDateTime": "2026-10-10T11:55:00Z",
        "time": 5,
        "response": {"status": 200},
    }
    (here / "a.har").write_text(json.dumps({"log": {"version": "1.2", "entries": [har]}}))
    return here


def imported(*words: str, file: str = "a.log") -> str:
    written = json.loads(typed("import-load", file, "--url", "http://127.0.0.1:1", "--json", *words))["written"]
    return "".join(Path(path).read_text() for path in written)


def test_a_recorded_load_has_the_name_and_the_folder_that_are_asked_for(recorded: Path) -> None:
    assert "name: recorded\n" in imported()
    assert "name: mine\n" in imported("--name", "mine", "--out", "folder")
    assert (recorded / "folder/mine.yaml").is_file() and (recorded / "recorded.yaml").is_file()


@pytest.mark.parametrize(
    ("words", "arrivals"),
    [
        ([], [(0, 0), (2_000_000, 0), (4_000_000, 0)]),
        (["--speed", "4"], [(0, 0), (500_000, 0), (1_000_000, 0)]),
        (["--session", "ip"], [(0, 0), (2_000_000, 1), (4_000_000, 0)]),
    ],
)
def test_a_recorded_load_comes_as_fast_and_from_the_users_that_are_asked_for(
    words: list[str], arrivals: list[tuple[int, int]], recorded: Path
) -> None:
    imported(*words)
    written = pd.read_csv(recorded / "recorded-arrivals.csv")
    assert list(zip(written.at_us, written.user, strict=True)) == arrivals


def test_secrets_and_bodies_of_a_recorded_load_are_taken_over_only_where_that_is_asked_for(recorded: Path) -> None:
    texts = [imported("--name", f"n{len(words)}", *words) for words in ((), ("--secrets",))]
    assert ["token=secret" in text for text in texts] == [False, True]
    bodies = [imported("--name", f"b{len(words)}", *words, file="a.har") for words in ((), ("--bodies",))]
    assert ["hello" in text for text in bodies] == [False, True]


def test_published_results_become_a_study_of_the_name_and_the_path_that_are_asked_for(here: Path) -> None:
    (here / "data.csv").write_text(HEAD + PUBLISHED_ROWS)
    for words in ([], ["--name", "mine", "--path", "/items", "--out", "folder"]):
        typed("import-published", "data.csv", "--url", "http://127.0.0.1:1", *words)
    read = [load(here / file) for file in ("published.yaml", "folder/mine.yaml")]
    assert [one.name for one in read] == ["published", "mine"]
    assert [one.workload.request.path for one in read if one.workload.request] == [("/",), ("/items",)]


@pytest.mark.parametrize("command", ["import-load", "import-published", "example", "import-config", "init", "history"])
def test_what_is_there_is_written_over_only_by_force(command: str, recorded: Path) -> None:
    (recorded / "s.sh").write_text("#!/bin/sh\n")
    spring = ROOT / "tests/data/configurations/spring/kebab.yml"
    lines = {
        "import-load": ["a.log", "--url", "http://127.0.0.1:1"],
        "example": ["quickstart"],
        "import-config": [spring, "--of", "grows", "--out", "today.yaml"],
        "init": ["--command", "sh s.sh", "--yes"],
        "import-published": ["data.csv", "--url", "http://127.0.0.1:1"],
        "history": ["show", "kept", "--save", "history.yaml"],
    }
    (recorded / "data.csv").write_text(HEAD + PUBLISHED_ROWS)
    if command == "history":
        measured_run(recorded.parent / "elsewhere")
        typed("history", "add", "kept", recorded.parent / "elsewhere")
    typed(command, *lines[command])
    written = list(recorded.rglob("*.yaml"))
    assert written
    for path in written:
        path.write_text("mine")
    with pytest.raises(InputError, match="is already there"):
        typed(command, *lines[command])
    assert {path.read_text() for path in written} == {"mine"}
    typed(command, *lines[command], "--force")
    assert "mine" not in {path.read_text() for path in written}


def test_init_asks_the_service_and_the_port_that_are_named(here: Path) -> None:
    (here / "s.sh").write_text("#!/bin/sh\n")
    typed("init", "--command", "sh s.sh", "--port", "8123", "--path", "/items", "--yes", "--out", "own")
    system = next((here / "own/systems").glob("*.yaml")).read_text()
    assert "8123" in system
    assert "/items" in next((here / "own").glob("*.yaml")).read_text()
    (here / "compose.yaml").write_text("services:\n  web: {image: nginx}\n  db: {image: redis}\n")
    typed("init", "--compose", "compose.yaml", "--service", "db:6379", "--yes", "--out", "composed")
    text = "".join(path.read_text() for path in (here / "composed").rglob("*.yaml"))
    assert "6379" in text and "db" in text


# --- others


@pytest.mark.parametrize(
    ("words", "asked"), [("", ("127.0.0.1", 8765)), ("--port 0", ("127.0.0.1", 0)), ("--host ::1", ("::1", 8765))]
)
def test_each_option_of_watch(
    words: str, asked: tuple[object, ...], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_run(here / "run")
    noting(monkeypatch, server, "PageServer")
    host, port, hub = given_to("watch", "run", *words.split())
    assert (host, port) == asked
    assert [RunFolder(path).path.name for path in hub.paths] == ["run"]


def test_watch_prints_its_address_as_data_where_that_is_asked_for(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured_run(here / "run")
    monkeypatch.setattr(EndRequest, "within", lambda *_: True)
    told = json.loads(typed("watch", "run", "--port", "0", "--json"))
    assert told["url"].startswith("http://127.0.0.1:")
    assert told["runs"] == [str(here / "run")]
    assert typed("watch", "run", "--port", "0").startswith("http://127.0.0.1:")


def test_the_schema_of_an_answer_is_printed_where_that_is_asked_for() -> None:
    study, answer = json.loads(typed("schema")), json.loads(typed("schema", "--json-of", "recommend"))
    assert "workload" in study["properties"]
    assert answer != study
    assert "format" in answer["properties"]
    assert json.loads(typed("schema", "--json")) == study
