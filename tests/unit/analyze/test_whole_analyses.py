"""Every word, number and figure of an analysis is as agreed: what it prints, its JSON, and its page."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.support.factors import factors
from tests.support.golden import drawn_by, is_golden, words_of
from tests.unit.analyze.test_analysis_commands import TABLE
from tests.unit.analyze.test_models import runs

from patternbench.analyze.load.rate_search import RateStep, parse_objective
from patternbench.analyze.load.rate_search import capacity as estimate
from patternbench.cli import capacity as capacity_command
from patternbench.cli.compare import compare
from patternbench.cli.fit import fit
from patternbench.cli.loadtest import loadtest
from patternbench.cli.predict import predict
from patternbench.cli.recommend import recommend
from patternbench.records import tables
from patternbench.report.figures.capacity_figure import figure
from patternbench.run.single.rate_rounds import RateRound

FORMULA = "p95 ~ users + C(strategy)"
OF_RUNS: Mapping[str, list[object]] = {"users": [10, 20, 40, 80], "strategy": ["baseline", "breaker", "retry"]}


def reported(name: str, command: click.Command, folder: Path, *words: str) -> None:
    """Run a command with all of its outputs; hold each against its golden file."""
    page, data = folder / "page.html", folder / "data.json"
    result = CliRunner().invoke(command, [*words, "--html", str(page), "--save", str(data)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    message = f"exit code {result.exit_code}\n{result.stdout}{result.stderr}".replace(str(folder), "FOLDER")
    is_golden(f"analysis/whole/{name}.txt", "".join(f"{line.rstrip()}\n" for line in message.splitlines()))
    if data.exists():
        tree = json.loads(data.read_text().replace(str(folder), "FOLDER"))
        tree.pop("seal", None)  # the hash of digits that differ from machine to machine
        is_golden(f"analysis/whole/{name}.json", tree)
    if page.exists():
        text = page.read_text()
        is_golden(f"analysis/whole/{name}-page.txt", words_of(text).replace(str(folder), "FOLDER"))
        is_golden(f"analysis/whole/{name}-page.json", drawn_by(text))


def kept(table: pd.DataFrame, folder: Path, name: str = "a", levels: Mapping[str, list[object]] | None = None) -> str:
    """The folder of a run with a table of rounds."""
    (folder / name).mkdir()
    declared = [one.as_json() for one in factors(levels or OF_RUNS).values()]
    tables.write_rounds(table.assign(status="done"), declared, folder / name / "rounds.parquet")
    return str(folder / name)


def uneven(noise: float) -> pd.DataFrame:
    """Rounds whose spread grows with the load, two of them far off."""
    table = runs(rounds=5, noise=noise)
    table["p95"] += np.random.default_rng(5).normal(0, 0.05, len(table)) * table["users"]
    table.loc[[3, 30], "p95"] += [60, -30]
    return table


def curved() -> pd.DataFrame:
    """A response that rises with the square of the load, and values that are missing."""
    table = runs(rounds=4)
    table["p95"] += 0.01 * table["users"] ** 2
    table.loc[[2, 9], "p95"] = np.nan
    return table


def aliased() -> pd.DataFrame:
    """A column that is twice another, and one that never changes."""
    table = runs(rounds=3)
    return table.assign(twice=2 * table["users"], same=1)


def grouped() -> pd.DataFrame:
    """A column that is the same within each block, and blocks that differ."""
    table = runs(rounds=8, block_noise=6.0)
    return table.assign(kind=np.where(table["block"] % 2, "old", "new"))


FITS: Mapping[str, tuple[Callable[[], pd.DataFrame], tuple[str, ...]]] = {
    "plain": (lambda: runs(rounds=4), ("--formula", FORMULA, "--over", "users,strategy")),
    "blocks": (lambda: runs(rounds=6, block_noise=6.0), ("--formula", FORMULA, "--margin", "20")),
    "uneven": (lambda: uneven(2.0), ("--formula", FORMULA, "--formula", "log(p95) ~ users * C(strategy)")),
    "curved": (curved, ("--formula", "p95 ~ users + I(users ** 2) + C(strategy)", "--level", "0.9")),
    "tiny": (lambda: runs(rounds=1), ("--formula", FORMULA, "--seed", "5")),
    "smallest": (lambda: runs(rounds=1).iloc[:7], ("--formula", FORMULA)),
    "aliased": (aliased, ("--formula", "p95 ~ users + twice + same + C(strategy)")),
    "together": (lambda: runs(rounds=4), ("--formula", "p95 + failure_rate ~ users * C(strategy)")),
    "of-one": (lambda: runs(rounds=3), ("--formula", "p95 ~ 1", "--formula", "p95 ~ users - 1")),
    "skewed": (lambda: skewed(5, 4), ("--formula", FORMULA, "--formula", "log(p95) ~ users + C(strategy)")),
    "mixed": (grouped, ("--formula", f"{FORMULA} + C(kind)", "--group", "block")),
    "by-group": (lambda: runs(rounds=4, block_noise=9.0), ("--formula", FORMULA, "--group", "block")),
}


@pytest.mark.parametrize("name", FITS)
def test_every_output_of_a_fit_is_as_agreed(name: str, tmp_path: Path) -> None:
    table, words = FITS[name]
    reported(f"fit-{name}", fit, tmp_path, kept(table(), tmp_path), *words)


def test_every_output_of_a_fit_to_a_published_table_is_as_agreed(tmp_path: Path) -> None:
    reported("fit-published", fit, tmp_path, TABLE, "--formula", "total_time + db_time ~ dist_calls + C(method)")


AT = {
    "inside": ("--at", "users=30,strategy=retry"),
    "outside": ("--at", "users=500,strategy=baseline", "--level", "0.9"),
}


@pytest.mark.parametrize("name", AT)
def test_every_output_of_a_prediction_is_as_agreed(name: str, tmp_path: Path) -> None:
    saved = str(tmp_path / "models.json")
    run = kept(runs(rounds=4, block_noise=3.0), tmp_path)
    made = CliRunner().invoke(fit, [run, "--formula", FORMULA, "--formula", "log(p95) ~ users", "--save", saved])
    assert made.exit_code == 0, made.output
    for which, form in {"words": (), "json": ("--json",)}.items():
        result = CliRunner().invoke(predict, [saved, *AT[name], *form])
        found = json.loads(result.stdout) if form else f"exit code {result.exit_code}\n{result.output}"
        is_golden(f"analysis/whole/predict-{name}-{which}.{'json' if form else 'txt'}", found)


def slower(rounds: int = 6, by: float = 1.1, seed: int = 4) -> pd.DataFrame:
    table = runs(seed, rounds)
    return table.assign(p95=table["p95"] * by)


def fewer() -> pd.DataFrame:
    """Rounds without a load and with another strategy, which the other run doesn't have."""
    table = slower(4)
    return table[table["users"] != 80].replace({"strategy": {"breaker": "hedge"}})


def skewed(rounds: int, seed: int, by: float = 1.0) -> pd.DataFrame:
    """Rounds of which few are far slower than the others, and shares of which the calls were counted."""
    table, source = runs(seed, rounds), np.random.default_rng(seed)
    calls = source.integers(40, 90, len(table)).astype(float)
    failed = source.binomial(calls.astype(int), np.where(table["strategy"] == "retry", 0.004, 0.02))
    slow = source.lognormal(0, 0.9, len(table)) * by
    return table.assign(
        p95=table["p95"] * slow, p99=table["p95"] * slow**2, TotalCalls=calls, failure_rate=100 * failed / calls
    )


WARNED = [[{"kind": "late", "message": "late", "remedy": "wait"}], []]
COMPARED: Mapping[str, tuple[tuple[Callable[[], pd.DataFrame], ...], tuple[str, ...]]] = {
    "two": ((lambda: runs(rounds=6), slower), ("--fail-if", "p95 > +5%", "--fail-if", "failure_rate > +0.5")),
    "few": ((lambda: runs(rounds=2), lambda: slower(2)), ("--response", "p95", "--level", "0.9")),
    "single": ((lambda: runs(rounds=1), lambda: slower(1)), ("--fail-if", "p95 > +1000%")),
    "unmatched": ((lambda: runs(rounds=4), fewer), ("--run-spread", "3", "--fail-if", "p95 > +40%")),
    "same": ((lambda: runs(rounds=4), lambda: runs(rounds=4)), ("--fail-if", "p95 > +50%")),
    "skewed": (
        (lambda: skewed(7, 1), lambda: skewed(7, 2, 1.6)),
        ("--fail-if", "p95 > +20%", "--fail-if", "p99 < +9%"),
    ),
    "skewed-within": ((lambda: skewed(8, 3),), ("--fail-if", "failure_rate > +1", "--level", "0.9")),
    "by": ((lambda: runs(rounds=6), slower), ("--by", "users", "--response", "p95")),
    "within": ((lambda: runs(rounds=6),), ("--fail-if", "p95 < -50%")),
    "within-named": ((lambda: runs(rounds=5),), ("--baseline", "strategy=retry", "--response", "failure_rate")),
}


@pytest.mark.parametrize("name", COMPARED)
def test_every_output_of_a_comparison_is_as_agreed(name: str, tmp_path: Path) -> None:
    sides, words = COMPARED[name]
    levels = {**OF_RUNS, "strategy": [*OF_RUNS["strategy"], "hedge"]}
    paths = [
        kept(side().assign(warnings=json.dumps(WARNED[number])), tmp_path, f"run-{number}", levels)
        for number, side in enumerate(sides)
    ]
    reported(f"compare-{name}", compare, tmp_path, *paths, *words)


def test_every_output_of_a_comparison_of_repeated_runs_is_as_agreed(tmp_path: Path) -> None:
    ours = [kept(runs(seed, 3), tmp_path, f"a{seed}") for seed in (1, 2, 3)]
    theirs = [kept(slower(3, 1.2, seed), tmp_path, f"b{seed}") for seed in (4, 5, 6)]
    reported("compare-repeated", compare, tmp_path, ",".join(ours), ",".join(theirs), "--fail-if", "p95 > +5%")


CRITERIA = {
    "first": ("--objective", "minimise p95", "--subject-to", "failure_rate <= 6%"),
    "several": ("--objective", "minimise p95", "--objective", "minimise failure_rate", "--given", "users"),
    "impossible": ("--objective", "minimise p95", "--subject-to", "failure_rate <= 1%", "--subject-to", "p95 <= 3s"),
    "against": ("--objective", "maximise p95", "--baseline", "strategy=breaker", "--level", "0.9", "--seed", "3"),
}


@pytest.mark.parametrize("name", CRITERIA)
def test_every_output_of_a_recommendation_is_as_agreed(name: str, tmp_path: Path) -> None:
    reported(f"recommend-{name}", recommend, tmp_path, kept(runs(rounds=5), tmp_path), *CRITERIA[name])


SKEWED = {
    "several-limits": ("--subject-to", "failure_rate <= 3%", "--subject-to", "p99 <= 400s", "--given", "users"),
    "of-shares": ("--subject-to", "failure_rate <= 1%", "--margin", "10"),
    "of-two-aims": ("--objective", "minimise failure_rate", "--objective", "minimise p99", "--level", "0.8"),
}


@pytest.mark.parametrize("name", SKEWED)
def test_every_output_of_a_recommendation_from_skewed_rounds_is_as_agreed(name: str, tmp_path: Path) -> None:
    reported(
        f"recommend-{name}",
        recommend,
        tmp_path,
        kept(skewed(9, 6), tmp_path),
        "--objective",
        "minimise p95",
        *SKEWED[name],
    )


def test_every_output_of_a_recommendation_of_a_single_configuration_is_as_agreed(tmp_path: Path) -> None:
    table = runs(rounds=4)
    alone = kept(table[(table["strategy"] == "retry") & (table["users"] == 20)], tmp_path)
    reported("recommend-single", recommend, tmp_path, alone, *CRITERIA["several"][:4])


def test_every_output_of_a_recommendation_between_alike_configurations_is_as_agreed(tmp_path: Path) -> None:
    table = runs(rounds=4, noise=20.0)
    reported("recommend-alike", recommend, tmp_path, kept(table, tmp_path), *CRITERIA["first"], "--given", "users")


def log(loads: list[int], bend: float, each: int = 30, failing: int = 10**9) -> pd.DataFrame:
    """A log of requests whose time is its load and, past 30, rises by as much more as the bend says."""
    load = np.repeat(loads, each)
    number = np.arange(len(load))
    elapsed = load + np.tile([1, 0, 2, -1, 0, 3], len(load))[: len(load)] + np.where(load > 30, (load - 30) * bend, 0)
    codes = np.where((load >= failing) & (number % 4 == 0), 503, np.where(number % 7 == 0, 302, 200))
    return pd.DataFrame({"timeStamp": number * 100, "elapsed": elapsed, "responseCode": codes, "allThreads": load})


LOGS: Mapping[str, tuple[pd.DataFrame, tuple[str, ...]]] = {
    "bent": (log([10, 20, 30, 40, 50, 60, 70], 4.0, failing=60), ()),
    "straight": (log([10, 20, 30, 40, 50], 0.0), ("--window", "7", "--seed", "2")),
    "few": (log([10, 40], 1.0), ()),
    "single": (log([25], 1.0, each=50), ()),
    "downward": (log([10, 20, 30, 40, 50, 60], -0.8), ()),
}


@pytest.mark.parametrize("name", LOGS)
def test_every_output_of_a_load_test_is_as_agreed(name: str, tmp_path: Path) -> None:
    table, words = LOGS[name]
    table.to_csv(tmp_path / "results.csv", index=False)
    reported(f"loadtest-{name}", loadtest, tmp_path, str(tmp_path / "results.csv"), *words)


class Queue:
    """A service whose missed share rises with the rate, and rounds that scatter."""

    def __init__(self, steep: float, scatter: float, warned: bool) -> None:
        self.steep, self.scatter, self.warned, self.source = steep, scatter, warned, np.random.default_rng(2)

    def measure(self, rate: float) -> RateRound:
        logit = self.steep * (np.log(rate) - np.log(130)) + self.source.normal(0, self.scatter)
        calls = round(5 * rate)
        missed = int(self.source.binomial(calls, 1 / (1 + np.exp(-logit))))
        doubt = "the generator was late" if self.warned and rate > 150 else ""
        return RateRound(RateStep(rate, calls, missed), 0.01 + rate / 1e4, 0.02 + rate / 2e3, doubt)


SERVICES = {
    "steady": (Queue(6.0, 0.1, False), ()),
    "scattered": (Queue(3.0, 1.5, False), ("--rounds", "3")),
    "cliff": (Queue(90.0, 0.0, False), ()),
    "warned": (Queue(6.0, 0.1, True), ("--start", "200")),
    "never": (Queue(0.1, 0.0, False), ("--start", "50")),
    "always": (Queue(6.0, 0.0, False), ("--most", "40")),
}


@pytest.mark.parametrize("name", SERVICES)
def test_every_output_of_a_search_for_a_rate_is_as_agreed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, words = SERVICES[name]
    monkeypatch.setattr(capacity_command, "rate_fixture", lambda *_: nullcontext(copy.deepcopy(service)))
    requested = ["http://127.0.0.1:1/", "--objective", "p95 <= 100ms", *words]
    in_words = CliRunner().invoke(capacity_command.capacity, [*requested, "--svg", str(tmp_path / "figure.svg")])
    as_json = CliRunner().invoke(capacity_command.capacity, [*requested, "--json"])
    message = f"exit code {in_words.exit_code}\n{in_words.output}".replace(str(tmp_path), "FOLDER")
    is_golden(f"analysis/whole/capacity-{name}.txt", "".join(f"{line.rstrip()}\n" for line in message.splitlines()))
    is_golden(f"analysis/whole/capacity-{name}.json", json.loads(as_json.stdout or "{}"))


def test_the_figure_of_a_search_has_its_rounds_its_objective_and_its_answer() -> None:
    steps = [RateStep(rate, 500, missed) for rate, missed in ((100, 10), (120, 20), (140, 60), (100, 12), (140, 55))]
    objective = parse_objective("p95 <= 100ms")
    drawn = figure(steps, estimate(steps, objective), objective).to_dict()
    data = drawn.pop("datasets")
    shown = [layer["data"]["name"] for layer in drawn["layer"]]
    for layer in drawn["layer"]:
        layer.pop("data")
    drawn.pop("config", None)
    is_golden("analysis/whole/capacity-figure.json", {"drawn": drawn, "data": [data[name] for name in shown]})
