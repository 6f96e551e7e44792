"""What a command prints with ``--json`` has a schema, and fits it: a new command or field fails here without one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from pydantic import BaseModel
from scripts.site import answers as written
from tests.support.answers_of_commands import FOLDER, LIVE, fits, validator
from tests.support.measured_run import measured_run
from tests.support.studies import ROOT

from patternbench.cli.answers.parts import CommandAnswer
from patternbench.cli.answers.registry import ANSWERS, PROBLEMS
from patternbench.cli.main import COMMANDS, cli, main
from patternbench.plan.scenarios import Scenario

ELSEWHERE = {
    "calibrate": "tests/unit/simulation/test_calibrating.py",
    "capacity": "tests/integration/run/test_capacity.py",
    "check-client": "tests/integration/test_clients_contract.py",
    "gate": "tests/integration/run/test_gate.py",
}
"""Commands that run where what they need is made anyway, and are held against their schema there."""
CONFIGURATIONS = ROOT / "tests" / "data" / "configurations"


def printed(*words: object, codes: tuple[int, ...] = (0,)) -> str:
    done = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    code = done.return_value if done.exit_code == 0 and isinstance(done.return_value, int) else done.exit_code
    assert code in codes, done.output
    return done.stdout


def baseline_is_slow(scenario: Scenario) -> float:
    return 1.0 if scenario.levels["strategy"] == "retry" else 1.6


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that recommends its retry."""
    return measured_run(tmp_path_factory.mktemp("answers") / "run", blocks=8, slowness=baseline_is_slow).path


# --- one command after another


def of_init(_: Path, place: Path) -> list[str]:
    return [printed("init", "--command", "true", "--out", place / "made", "--json")]


def of_example(_: Path, place: Path) -> list[str]:
    return [printed("example", "--json"), printed("example", "quickstart", "--out", place, "--json")]


def of_import_config(_: Path, __: Path) -> list[str]:
    """The names of every file of the corpus, and what the first one of each is read as."""
    suffixes = (".yml", ".yaml", ".json")
    files = [
        file for file in sorted(CONFIGURATIONS.rglob("*")) if file.suffix in suffixes and ".expect" not in file.name
    ]
    listed = [printed("import-config", file, "--list", "--json") for file in files]
    found = []
    for file, names in zip(files, listed, strict=True):
        for one in json.loads(names)["names"][:1]:
            found.append(printed("import-config", file, "--of", one["name"], "--json", codes=(0, 1)))
    assert len(found) > 10
    return [*listed, *found]


def of_import_load(_: Path, place: Path) -> list[str]:
    log = place / "access.log"
    lines = [f'127.0.0.1 - - [01/Jan/2026:00:00:0{second} +0000] "GET /a HTTP/1.1" 200 5' for second in range(5)]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [printed("import-load", log, "--url", "http://127.0.0.1:9", "--out", place / "made", "--json")]


def of_import_published(_: Path, place: Path) -> list[str]:
    file = place / "data.csv"
    names = ["scenario_type", "fault_percentage", "workload_users", "checkout_success_rate", "GRPC_MAX_ATTEMPTS"]
    names += ["GRPC_INITIAL_BACKOFF", "GRPC_BACKOFF_MULTIPLIER", "GRPC_MAX_BACKOFF"]
    rows = ["baseline,30,10,0.7,1,100,1,100", "retry,30,10,0.97,3,100,1,100"]
    file.write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    return [printed("import-published", file, "--url", "http://127.0.0.1:9", "--out", place / "made", "--json")]


def of_plan(run: Path, place: Path) -> list[str]:
    study = run / "study.yaml"
    searched = place / "until.yaml"
    until = "rounds: {until: {choice: within 5%}, min: 4, max: 8}"
    searched.write_text(study.read_text().replace("rounds: 4", until), encoding="utf-8")
    every = [printed("plan", study, "--json"), printed("plan", study, "--from", run, "--json")]
    return [*every, printed("plan", searched, "--json"), printed("plan", searched, "--from", run, "--json")]


def of_resume(run: Path, _: Path) -> list[str]:
    return [printed("resume", run, "--json")]


def of_report(run: Path, _: Path) -> list[str]:
    return [printed("report", run, "--json")]


def of_export(run: Path, place: Path) -> list[str]:
    return [printed("export", run, "--format", "csv", "--out", place / "rounds.csv", "--json")]


def of_fit(run: Path, _: Path) -> list[str]:
    several = ("--formula", "p50 + p95 ~ users + strategy")
    return [printed("fit", run, "--formula", "log(p95) ~ users * strategy", *several, "--json")]


def of_predict(run: Path, place: Path) -> list[str]:
    saved = place / "models.json"
    printed("fit", run, "--formula", "p95 ~ users + strategy", "--save", saved)
    return [printed("predict", saved, "--at", "users=3,strategy=retry", "--json")]


def of_simulate(_: Path, place: Path) -> list[str]:
    from tests.support.simulated import MODEL  # noqa: PLC0415 - only here

    study = "patternbench: 1\nname: s\nsystem: target\nwarm_up: 100ms\nrounds: 2\n"
    study += (
        "workload: {open: {rate: 50, duration: 1s}, request: {path: /}}\nstrategies: [{client: native, baseline: {}}]\n"
    )
    (place / "study.yaml").write_text(study, encoding="utf-8")
    (place / "model.yaml").write_text(MODEL, encoding="utf-8")
    return [printed("simulate", place / "study.yaml", "--with", place / "model.yaml", "--out", place / "run", "--json")]


def of_compare(run: Path, _: Path) -> list[str]:
    return [printed("compare", run, "--fail-if", "p95 > +10%", "--json", codes=(0, 1, 3))]


def of_recommend(run: Path, _: Path) -> list[str]:
    return [printed("recommend", run, "--json")]


def of_apply(run: Path, _: Path) -> list[str]:
    return [printed("apply", run, "--as", "spring", "--json")]


def of_loadtest(run: Path, place: Path) -> list[str]:
    load = np.repeat([10, 20, 30, 40, 50], 12)
    log = {"timeStamp": np.arange(60) * 100, "elapsed": load + np.arange(60) % 5, "allThreads": load}
    pd.DataFrame(log | {"responseCode": 200}).to_csv(place / "results.csv", index=False)
    return [printed("loadtest", place / "results.csv", "--json"), printed("loadtest", run, "--json")]


def of_doctor(run: Path, _: Path) -> list[str]:
    return [printed("doctor", "--json", codes=(0, 1)), printed("doctor", run / "study.yaml", "--json", codes=(0, 1))]


def of_schema(_: Path, __: Path) -> list[str]:
    return [printed("schema", "--json"), printed("schema", "--json-of", "compare", "--json")]


def of_history(run: Path, place: Path) -> list[str]:
    added = printed("history", "add", place / "kept", run, "--json")
    return [added, printed("history", "show", place / "kept", "--all", "--json")]


CASES: dict[str, Callable[[Path, Path], list[str]]] = {
    "init": of_init,
    "example": of_example,
    "import-config": of_import_config,
    "import-load": of_import_load,
    "import-published": of_import_published,
    "plan": of_plan,
    "resume": of_resume,
    "report": of_report,
    "export": of_export,
    "fit": of_fit,
    "predict": of_predict,
    "simulate": of_simulate,
    "compare": of_compare,
    "recommend": of_recommend,
    "apply": of_apply,
    "loadtest": of_loadtest,
    "doctor": of_doctor,
    "schema": of_schema,
    "history": of_history,
}


@pytest.mark.parametrize("command", CASES)
def test_what_a_command_prints_fits_its_schema(command: str, run: Path, tmp_path: Path) -> None:
    answers = CASES[command](run, tmp_path)
    assert answers
    for answer in answers:
        fits(command, answer)


def test_every_command_has_a_schema_and_is_run_against_it() -> None:
    assert set(ANSWERS) == {*COMMANDS, PROBLEMS}, "write its model in cli/answers, and its line in the registry"
    assert sorted([*CASES, *LIVE, *ELSEWHERE]) == sorted(COMMANDS), "give it a case here, or in test_live_answers"
    assert all(f'fits("{name}"' in (ROOT / file).read_text(encoding="utf-8") for name, file in ELSEWHERE.items())


@pytest.mark.parametrize("name", ANSWERS)
def test_the_schema_of_a_command_is_up_to_date_and_is_one(name: str) -> None:
    file = FOLDER / f"{name}.schema.json"
    assert file.read_text(encoding="utf-8") == written.texts()[file.name], "type `make contracts`"
    Draft202012Validator.check_schema(json.loads(file.read_text(encoding="utf-8")))


def test_there_is_no_schema_that_nothing_makes() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == set(written.texts())


def test_what_is_wrong_fits_its_schema_whatever_the_command_is(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["plan", "/nowhere.yaml", "--json"], ["compare", "/nowhere", "--json"], ["gate", "--json"]):
        with pytest.raises(SystemExit):
            main(words)
        fits(PROBLEMS, capfd.readouterr().out)


def models(one: type[BaseModel]) -> set[type[BaseModel]]:
    return {one, *(model for child in one.__subclasses__() for model in models(child))}


def test_a_field_that_is_not_declared_does_not_fit() -> None:
    assert all(model.model_config.get("extra") == "forbid" for model in models(CommandAnswer))
    assert not validator("export").is_valid({"written": [], "more": 1})
    assert not validator("export").is_valid({})
