"""The analysis commands end to end: exit codes, words, JSON, pages."""

import json
import os
import re
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from tests.support.factors import factors
from tests.support.packed import data_of
from tests.support.synthetic_run import synthetic_run

from patternbench.cli.compare import compare
from patternbench.cli.fit import fit
from patternbench.cli.loadtest import loadtest
from patternbench.cli.predict import predict
from patternbench.cli.recommend import recommend
from patternbench.records import tables
from patternbench.report.html import render

ROOT = Path(__file__).parents[3]
TABLE = str(ROOT / "studies" / "published" / "elmalki-zdun-2021-table2.csv")
GOLDEN = ROOT / "tests" / "golden" / "analysis"
FACTORS = [one.as_json() for one in factors({"strategy": ["baseline", "retry"], "users": [10, 80]}).values()]
SEVERAL = "total_time + db_time ~ dist_calls + C(method)"
NAMED_BY_THE_TABLE = (
    *("levels", "given", "others", "values", "means", "reference_levels", "term_inflation", "thresholds", "numbers"),
    *("identity", "without", "design", "at", "noise_floor_percent", "status_percent"),
)
"""Keys under which a table's own columns, factors and levels stand."""
MODEL_1 = "total_time ~ inmem_time + db_time + dist_time + request_bundle + method"


def run(command: click.Command, *arguments: str) -> Result:
    result = CliRunner().invoke(command, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def rounds(path: Path, slower: float = 1.0, seed: int = 1) -> Path:
    rng = np.random.default_rng(seed)
    rows = [
        (
            b,
            "done",
            strategy,
            users,
            users * 0.01 * factor * slower * np.exp(rng.normal(0, 0.03)),
            rng.uniform(0, 2),
        )
        for b in range(10)
        for users in (10, 80)
        for strategy, factor in (("baseline", 1.0), ("retry", 0.7))
    ]
    pd.DataFrame(rows, columns=["block", "status", "strategy", "users", "p95", "failure_rate"]).to_parquet(path)
    return path


def run_folder(folder: Path, slower: float = 1.0, seed: int = 1) -> str:
    folder.mkdir()
    table = pd.read_parquet(rounds(folder / "rounds.parquet", slower, seed))
    tables.write_rounds(table, FACTORS, folder / "rounds.parquet")
    return str(folder)


def rounded(value: object) -> object:
    """Keep nine significant digits: the last ones differ between linear algebra libraries."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def is_golden(name: str, result: Result, exit_code: int = 0) -> None:
    """Hold printed JSON against its golden file; UPDATE_GOLDEN=1 rewrites it."""
    assert result.exit_code == exit_code
    found = rounded(json.loads(result.stdout_bytes))
    found.pop("seal", None)  # the hash of digits that differ from machine to machine
    golden = GOLDEN / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(json.dumps(found, indent=1) + "\n")
    expected = json.loads(golden.read_text())
    assert json.loads(json.dumps(found), parse_float=lambda t: pytest.approx(float(t), rel=1e-5, abs=1e-12)) == expected


def test_the_json_of_a_fit_is_the_golden_one() -> None:
    is_golden("fit", run(fit, TABLE, *("--formula", MODEL_1), "--formula", SEVERAL, "--json"))


def test_the_json_of_a_prediction_is_the_golden_one(tmp_path: Path) -> None:
    saved = str(tmp_path / "models.json")
    run(fit, TABLE, "--formula", "log(total_time) ~ dist_calls + method", "--save", saved)
    is_golden("predict", run(predict, saved, "--at", "dist_calls=80,method=Get", "--json"))


def test_the_json_of_a_comparison_is_the_golden_one(tmp_path: Path) -> None:
    a, b = run_folder(tmp_path / "a"), run_folder(tmp_path / "b", 1.2, 2)
    gate = ("--fail-if", "p95 > +25%", "--fail-if", "failure_rate > +0.5", "--run-spread", "0")
    is_golden("compare", run(compare, a, b, *gate, "--json"), exit_code=3)


def test_the_json_of_a_recommendation_is_the_golden_one(tmp_path: Path) -> None:
    a = run_folder(tmp_path / "a")
    criteria = (
        "--objective",
        "minimise p95",
        "--subject-to",
        "failure_rate <= 1.1%",
        "--baseline",
        "strategy=baseline",
    )
    is_golden("recommend", run(recommend, a, *criteria, "--json"))


def test_the_json_of_a_load_test_is_the_golden_one(tmp_path: Path) -> None:
    load = np.repeat([10, 20, 30, 40, 50], 12)
    elapsed = load + np.tile([1, 0, 2, -1, 0, 3], 10) + np.where(load > 30, (load - 30) * 4, 0)
    codes = np.where((load == 50) & (np.arange(60) % 4 == 0), 503, 200)
    log = {"timeStamp": np.arange(60) * 100, "elapsed": elapsed, "responseCode": codes, "allThreads": load}
    pd.DataFrame(log).to_csv(tmp_path / "results.csv", index=False)
    is_golden("loadtest", run(loadtest, str(tmp_path / "results.csv"), "--json"))


@pytest.mark.parametrize("name", ["fit", "predict", "compare", "recommend", "loadtest"])
def test_every_key_of_the_json_is_documented(name: str) -> None:
    documented = (ROOT / "docs" / "analysis.md").read_text()
    missing = {key for key in keys_of(json.loads((GOLDEN / f"{name}.json").read_text())) if key not in documented}
    assert missing == set()


def keys_of(value: object) -> set[str]:
    """Every key of nested JSON, without what stands under a key whose entries a table names itself."""
    if isinstance(value, list):
        return set().union(*(keys_of(one) for one in value))
    if not isinstance(value, dict):
        return set()
    inner = (keys_of(one) for key, one in value.items() if key not in NAMED_BY_THE_TABLE)
    return set(value).union(*inner)


def test_a_fit_prints_words_first_and_the_table_after(tmp_path: Path) -> None:
    text = run(fit, TABLE, "--formula", MODEL_1).stdout
    assert text.index("The model explains 97.5%") < text.index("Coefficients (robust HC3")
    assert "request_bundle = Y instead of N cuts total_time by 294" in text


def test_bad_input_is_a_sentence_and_exit_2_never_a_trace(tmp_path: Path) -> None:
    empty, text, folder = tmp_path / "empty.csv", tmp_path / "notes.md", tmp_path / "folder"
    empty.write_text("a,b\n")
    text.write_text("hello")
    folder.mkdir()
    bogus = tmp_path / "bogus.parquet"
    bogus.write_text("not parquet")
    cases = [
        (["missing.csv"], "does not exist"),
        ([str(empty)], "holds no rows"),
        ([str(text)], "neither a run folder nor"),
        ([str(folder)], "has no rounds.parquet"),
        ([str(bogus)], "not a Parquet file"),
    ]
    for arguments, message in cases:
        result = run(fit, *arguments, "--formula", "a ~ b")
        assert result.exit_code == 2
        assert message in result.stderr
        assert "Traceback" not in result.output


def test_a_page_is_drawn_over_the_factors_one_names_and_over_no_others(tmp_path: Path) -> None:
    page = tmp_path / "fit.html"
    formulas = ("--formula", "total_time ~ db_calls * request_bundle", "--formula", "total_time ~ db_calls")
    assert run(fit, TABLE, *formulas, "--over", "db_calls,request_bundle", "--html", str(page)).exit_code == 0
    assert "total_time: the models next to each other" in page.read_text()
    wrong = run(fit, TABLE, *formulas, "--over", "db_call,request_bundle", "--html", str(page), "--force")
    assert (wrong.exit_code, "no formula contains db_call. Did you mean db_calls?" in wrong.stderr) == (2, True)
    assert "Write two: --over" in run(fit, TABLE, *formulas, "--over", "db_calls").stderr


def test_the_interaction_and_the_surface_are_drawn_over_the_factors_one_names(tmp_path: Path) -> None:
    page = tmp_path / "fit.html"
    formula = ("--formula", "total_time ~ inmem_time + db_time + dist_time + size")
    run(fit, TABLE, *formula, "--over", "db_time,size", "--html", str(page))
    drawn = next(figures for figures in data_of(page.read_text())["sections"] if len(figures) > 1)
    surface = next(one for one in drawn if "rect" in json.dumps(one.get("mark", "")))
    titles = {surface["encoding"][axis]["title"] for axis in ("x", "y")}
    assert titles == {"db_time", "size"}


@pytest.mark.parametrize("level", ["nan", "inf", "0", "1", "much"])
def test_a_level_that_is_no_confidence_exits_2(level: str) -> None:
    result = run(fit, TABLE, "--formula", "total_time ~ db_time", "--level", level)
    assert (result.exit_code, "--level" in result.stderr) == (2, True)


def test_a_formula_that_names_no_column_exits_2_with_the_nearest_name() -> None:
    result = run(fit, TABLE, "--formula", "total_tim ~ db_time")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: formula 'total_tim ~ db_time': no column is called total_tim. Did you mean total_time?\n",
    )


def test_a_saved_model_predicts(tmp_path: Path) -> None:
    saved = tmp_path / "models.json"
    run(fit, TABLE, "--formula", "total_time ~ dist_calls + C(method)", "--save", str(saved))
    result = run(predict, str(saved), "--at", "dist_calls=25,method=Get", "--json")
    found = json.loads(result.stdout_bytes)["predictions"][0]
    assert found["low"] < found["estimate"] < found["high"]
    assert "dist_calls = 80 lies outside" in run(predict, str(saved), "--at", "dist_calls=80,method=Get").stdout


def test_a_prediction_from_no_model_exits_2(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert "is not JSON" in run(predict, str(broken), "--at", "a=1").stderr
    broken.write_text('{"format": "patternbench/models/1", "models": [{}]}')
    assert "models[0].formula: is missing." in run(predict, str(broken), "--at", "a=1").stderr
    assert run(predict, TABLE, "--at", "a=1").exit_code == 2


def test_the_gate_exits_1_only_when_the_interval_supports_it(tmp_path: Path) -> None:
    a, same, slow = (
        run_folder(tmp_path / "a"),
        run_folder(tmp_path / "b", 1.0, 2),
        run_folder(tmp_path / "c", 1.3, 3),
    )
    alike = ("--run-spread", "0")
    assert run(compare, a, slow, "--fail-if", "p95 > +10%", *alike).exit_code == 1
    assert run(compare, a, same, "--fail-if", "p95 > +10%", *alike).exit_code == 0
    assert run(compare, a, slow, "--fail-if", "p95 > +29%", *alike).exit_code == 3, "undecided is neither"


def test_one_run_a_side_leaves_the_gate_undecided_and_says_why(tmp_path: Path) -> None:
    a, slow = run_folder(tmp_path / "a"), run_folder(tmp_path / "b", 1.3, 2)
    result = run(compare, a, slow, "--fail-if", "p95 > +10%")
    assert result.exit_code == 3
    assert "INCONCLUSIVE: p95 > +10%" in result.output
    assert "In these two runs higher in 4 of 4 scenarios" in result.output
    assert "One run a side doesn't show how far runs of the same thing differ" in result.output
    assert run(compare, a, slow, "--fail-if", "p95 > +10%", "--run-spread", "20").exit_code == 3


def test_several_runs_a_side_are_compared_by_their_means_and_can_decide_the_gate(tmp_path: Path) -> None:
    before = ",".join(run_folder(tmp_path / f"a{seed}", 1.0, seed) for seed in (1, 2, 3))
    after = ",".join(run_folder(tmp_path / f"b{seed}", 1.3, seed) for seed in (4, 5, 6))
    gate = ("--fail-if", "p95 > +10%", "--response", "p95", "--json")
    result = run(compare, before, after, *gate)
    assert result.exit_code == 1
    assert {tuple(d["rounds"]) for d in json.loads(result.stdout_bytes)["differences"]} == {(3, 3)}
    alone = run(compare, before, run_folder(tmp_path / "c", 1.3, 7), *gate)
    assert alone.exit_code == 2
    assert "A1,A2 B1,B2" in alone.stderr


def test_the_warnings_of_both_runs_are_printed_next_to_their_comparison(tmp_path: Path) -> None:
    a, b = run_folder(tmp_path / "a"), run_folder(tmp_path / "b", 1.0, 2)
    table = pd.read_parquet(Path(b) / "rounds.parquet")
    table["warnings"] = json.dumps([{"kind": "machine_shared", "message": "m", "remedy": "r"}])
    tables.write_rounds(table, FACTORS, Path(b) / "rounds.parquet")
    assert f"Warnings of {b}, of {len(table)} rounds: machine_shared in {len(table)}." in " ".join(
        run(compare, a, b).output.split()
    )


def test_a_run_is_compared_with_its_baseline(tmp_path: Path) -> None:
    result = run(
        compare,
        run_folder(tmp_path / "a"),
        "--baseline",
        "strategy=baseline",
        "--response",
        "p95",
        "--json",
    )
    found = json.loads(result.stdout_bytes)
    assert [d["verdict"] for d in found["differences"]] == ["lower", "lower"]
    assert found["noise_floor_percent"]["p95"] > 0


def test_a_run_alone_is_compared_with_its_own_baseline(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "a")
    alone, named = (run(compare, folder, *more, "--json") for more in ([], ["--baseline", "strategy=baseline"]))
    assert alone.exit_code == 0
    assert alone.stdout == named.stdout


def test_comparing_one_run_with_nothing_says_what_to_type(tmp_path: Path) -> None:
    result = run(compare, str(rounds(tmp_path / "a.parquet")))
    assert result.exit_code == 2
    assert "--baseline strategy=baseline" in result.stderr


def test_a_recommendation_is_printed_and_written(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    result = run(
        recommend,
        run_folder(tmp_path / "a"),
        "--objective",
        "minimise p95",
        "--baseline",
        "strategy=baseline",
        "--save",
        str(out),
    )
    assert "At users=10: clearly strategy=retry" in result.stdout
    assert json.loads(out.read_text())["choices"][0]["chosen"] == "strategy=retry"


def test_a_run_whose_rounds_all_failed_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "failed"
    folder.mkdir()
    pd.DataFrame({"status": ["failed"], "p95": [1.0]}).to_parquet(folder / "rounds.parquet")
    assert "no finished round" in run(recommend, str(folder), "--objective", "minimise p95").stderr


def test_a_jmeter_log_is_analyzed(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    load = np.repeat(np.arange(10, 101, 10), 100)
    log = pd.DataFrame(
        {
            "timeStamp": np.arange(1000),
            "elapsed": load + rng.normal(0, 1, 1000),
            "responseCode": 200,
            "allThreads": load,
        }
    )
    log.to_csv(tmp_path / "results.csv", index=False)
    result = run(loadtest, str(tmp_path / "results.csv"))
    assert result.exit_code == 0
    assert "Response times rise with the load; whether they bend is inconclusive (Pearson 1.000" in result.stdout


def test_pages_are_self_contained_and_light(tmp_path: Path) -> None:
    a = run_folder(tmp_path / "a")
    pages = {name: tmp_path / f"{name}.html" for name in ("fit", "compare", "recommend")}
    run(fit, TABLE, "--formula", MODEL_1, "--html", str(pages["fit"]))
    run(compare, a, "--baseline", "strategy=baseline", "--html", str(pages["compare"]))
    run(
        recommend,
        a,
        "--objective",
        "minimise p95",
        "--subject-to",
        "failure_rate <= 2%",
        "--html",
        str(pages["recommend"]),
    )
    for page in pages.values():
        text = page.read_text()
        assert len(text) < 10_000_000
        own = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
        assert not re.search(r"""(src|href)\s*=\s*["'](?!#|data:)""", own)


NASTY = "</script><script>alert(1)</script><!--"


def test_what_a_table_says_cannot_break_a_page(tmp_path: Path) -> None:
    table = pd.read_parquet(rounds(tmp_path / "a.parquet"))
    table["strategy"] = table["strategy"].replace("retry", NASTY)
    table.to_parquet(tmp_path / "a.parquet")
    page = tmp_path / "compare.html"
    run(compare, str(tmp_path / "a.parquet"), "--baseline", "strategy=baseline", "--html", str(page))
    text = page.read_text()
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert NASTY in json.dumps(data_of(text)["sections"], ensure_ascii=False)


@pytest.mark.slow
def test_a_report_and_the_pages_of_analyses_are_of_one_family(tmp_path: Path) -> None:
    page = tmp_path / "fit.html"
    run(fit, TABLE, "--formula", MODEL_1, "--html", str(page))
    pages = [page.read_text(), render(synthetic_run(rounds=2))]
    for part in (r"<style>.*?</style>", r"<header.*?<h1>", r"const page = \(\(\) => .*?\n\}\)\(\);"):
        shared = {re.sub("patternbench (report|analysis)", "", re.search(part, text, re.DOTALL)[0]) for text in pages}
        assert len(shared) == 1


@pytest.mark.browser
def test_every_figure_of_every_page_is_drawn_without_errors_or_requests(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where a browser is wanted

    a, b = run_folder(tmp_path / "a"), run_folder(tmp_path / "b", 1.2, 2)
    pages = [tmp_path / f"{name}.html" for name in ("fit", "compare", "recommend")]
    run(
        fit,
        TABLE,
        "--formula",
        "total_time + db_time ~ inmem_calls + dist_calls * request_bundle + method",
        "--html",
        str(pages[0]),
    )
    run(compare, a, b, "--fail-if", "p95 > +10%", "--html", str(pages[1]))
    run(
        recommend,
        a,
        "--objective",
        "minimise p95",
        "--subject-to",
        "failure_rate <= 2%",
        "--html",
        str(pages[2]),
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        for page in pages:
            for scheme in ("light", "dark"):
                _check(browser.new_page(color_scheme=scheme), page)
        browser.close()


def _check(tab, page: Path) -> None:
    errors: list[str] = []
    requested: list[str] = []
    tab.on("console", lambda m: errors.append(m.text) if m.type in ("error", "warning") else None)
    tab.on("pageerror", lambda e: errors.append(str(e)))
    tab.on("request", lambda r: requested.append(r.url))
    tab.goto(page.as_uri())
    tab.wait_for_function("document.documentElement.dataset.ready", timeout=60_000)
    plots = tab.locator(".plot")
    assert plots.count() > 0
    assert all(plots.nth(i).locator("svg.marks").count() == 1 for i in range(plots.count()))
    assert errors == []
    assert requested == [page.as_uri()]
    tab.close()


def with_deviations(path: Path, worse: float = 0.0) -> str:
    """Rounds in which an observer measured a percentage, 2 % without retries and 3 % with them."""
    table = pd.read_parquet(rounds(path))
    base = table["strategy"].map({"baseline": 2.0, "retry": 3.0}) + worse
    table["throttling_deviation"] = base + np.random.default_rng(2).normal(0, 0.01, len(table))
    table.loc[0, "throttling_deviation"] = 0.0
    table.to_parquet(path)
    return str(path)


def test_a_comparison_writes_an_observers_percentage_with_its_unit_and_its_change_in_points(tmp_path: Path) -> None:
    a, b = with_deviations(tmp_path / "a.parquet"), with_deviations(tmp_path / "b.parquet", worse=1.0)
    printed = run(compare, a, b, "--response", "throttling_deviation").output
    (row,) = (line for line in printed.splitlines() if "retry, users=80" in line and "│" in line)
    assert [cell.strip() for cell in row.split("│")][3:5] == ["3 %", "4 %"]
    (row,) = (line for line in printed.splitlines() if "baseline, users=10" in line and "│" in line)
    assert [cell.strip() for cell in row.split("│")][3:7] == ["1.8 %", "2.7 %", "+0.9 points", "+0.134 to +1.67 points"]


def test_a_model_and_its_predictions_write_an_observers_percentage_with_its_unit(tmp_path: Path) -> None:
    data, saved = with_deviations(tmp_path / "a.parquet"), str(tmp_path / "models.json")
    printed = run(fit, data, "--formula", "throttling_deviation ~ strategy + users", "--save", saved).output
    assert "raises throttling_deviation by 1.1 points (" in printed
    assert "It misses by 0.118 % on average" in printed
    reported = run(predict, saved, "--at", "strategy=retry,users=10").output
    assert "users=10: 2.95 %, one observation between 2.68 and 3.17 %" in reported


def test_a_recommendation_writes_an_observers_percentage_with_its_unit(tmp_path: Path) -> None:
    data = with_deviations(tmp_path / "a.parquet")
    requested = ("--objective", "minimise throttling_deviation", "--baseline", "strategy=retry")
    printed = run(recommend, data, *requested).output
    assert "    throttling_deviation 1.8 %\n" in printed
    assert "throttling_deviation from 3 % to 1.8 % (change " in printed
    assert "The choice is the best of up to 4, picked by these rounds" in printed
