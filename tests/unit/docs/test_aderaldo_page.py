"""The page on ResilienceBench says what its rounds say."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.drawings import same_drawing

from patternbench.report.model import counting

PAGE = Path(__file__).parents[3] / "docs" / "reproductions" / "aderaldo-2024.md"
PATTERNS = {"native": ("retry", "circuit_breaker"), "resilience4j": ("retry", "circuit_breaker"), "opossum": ("retry",)}
BLOCKS = 6


@pytest.fixture(scope="module")
def verdicts() -> ModuleType:
    """The script beside the page, whose neighbour it imports by its bare name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PAGE.parent))
        patch.syspath_prepend(str(PAGE.with_suffix("")))
        patch.delitem(sys.modules, "tables", raising=False)
        found = importlib.import_module("verdicts")
        patch.delitem(sys.modules, "verdicts")
        patch.delitem(sys.modules, "tables")
        return found


def tables_of(verdicts: ModuleType) -> dict[str, Any]:
    """The neighbour's functions by name."""
    functions: dict[str, Any] = verdicts.at_one_speed.__globals__
    return functions


def part(name: str) -> str:
    return PAGE.read_text().split(f"<!-- {name} -->\n")[1].split(f"\n<!-- end of {name} -->")[0]


def made_up(spread: float = 0.02) -> pd.DataFrame:
    """A run of three clients that are alike, one of which has no breaker."""
    rng = np.random.default_rng(1)
    rows = []
    for client, users, fault, block in product(PATTERNS, (50, 150), (0, 40, 80), range(BLOCKS)):
        for pattern, delay in [("baseline", None), *product(PATTERNS[client], (20, 60))]:
            rows.append(
                {
                    "client": client,
                    "strategy": pattern,
                    "users": users,
                    "abort.percentage": fault,
                    "block": block,
                    "scenario": f"{client} {pattern} {delay} {users} {fault}",
                    "retry.backoff.exponential.initial": delay / 1000 if delay and pattern == "retry" else np.nan,
                    "circuit_breaker.open_for": delay / 1000 if delay and pattern != "retry" else np.nan,
                    "AverageSuccessTime": 0.05 * np.exp(rng.normal(0, spread)),
                    "TotalExecutionTime": 1.0 * np.exp(rng.normal(0, spread)),
                    "warnings": None,
                }
            )
    return pd.DataFrame(rows)


def test_what_the_run_was_is_what_the_script_prints(verdicts: ModuleType) -> None:
    assert part("run") == tables_of(verdicts)["facts"](verdicts.all_rounds_of([]))


def test_claims_are_about_the_clients_and_levels_that_the_rounds_have(verdicts: ModuleType) -> None:
    claims = {claim.text: len(claim.pairs) for claim in verdicts.claims(made_up())}
    assert claims["the longer the back-off, the more so (60 against 20 ms)"] == (3 + 2) * 2
    assert claims["The breaker is slightly faster than the baseline, 40 % faults"] == 2 * 2
    assert claims["Retry and breaker come closer from 50 to 150 users, 80 % faults"] == 2 * 2
    assert claims["In Java the breaker outgrows Retry, 80 % faults, 150 users"] == 2
    assert claims["(not the paper's) opossum has the same total execution time as native"] == 3 * 3
    assert claims["(not the paper's) resilience4j has the same total execution time as native"] == 5 * 3


def test_claims_are_about_the_faults_under_which_a_pattern_was_run(verdicts: ModuleType) -> None:
    rounds = made_up().query("strategy == 'baseline' or `abort.percentage` > 0")
    claims = {claim.text: claim.pairs for claim in verdicts.claims(rounds)}
    assert len(claims["Neither has much effect on the total execution time, 40 % faults"]) == (3 + 2) * 2
    assert len(claims["(not the paper's) opossum has the same total execution time as native"]) == 3 + 2 * 2
    assert all(np.isfinite(side).all() for pairs in claims.values() for pair in pairs for side in pair)


def test_a_client_with_fewer_users_is_compared_at_those_that_it_had(verdicts: ModuleType) -> None:
    rounds = made_up().query("client != 'opossum' or users == 50")
    claims = {claim.text: claim.pairs for claim in verdicts.claims(rounds)}
    assert len(claims["Retry and breaker come closer from 50 to 150 users, 80 % faults"]) == 2 * 2
    assert len(claims["(not the paper's) opossum has the same total execution time as native"]) == 3 * 3
    assert all(np.isfinite(side).all() for pairs in claims.values() for pair in pairs for side in pair)


def test_rounds_that_are_not_valid_are_counted_and_left_out(verdicts: ModuleType) -> None:
    every = made_up().assign(status="done", valid=True)
    facts = tables_of(verdicts)["facts"]
    assert "Left out" not in facts(every)
    every.loc[every.index[:3], "valid"] = False
    assert facts(every).endswith("Left out: 3 rounds that failed or are not valid.")
    assert f" {len(every) - 3:,} rounds in 6 blocks" in facts(every)


def test_a_cell_of_what_was_not_run_is_empty(verdicts: ModuleType) -> None:
    rounds = made_up().query("strategy == 'baseline' or `abort.percentage` > 0")
    text = tables_of(verdicts)["printed"](rounds)
    assert "nan" not in text
    assert "|  |" in text


@pytest.mark.parametrize(("spread", "told"), [(0.01, ": below the 10 %"), (0.3, ": not below the 10 %")])
def test_the_page_says_whether_its_noise_floor_is_low_enough(verdicts: ModuleType, spread: float, told: str) -> None:
    assert told in verdicts.trust(made_up(spread), made_up(spread))


def test_the_page_tells_rounds_as_if_the_machine_had_been_equally_fast(verdicts: ModuleType) -> None:
    rng = np.random.default_rng(2)
    measured = made_up(0.02)
    slowness = np.where(rng.random(len(measured)) < 0.5, 1.0, 1.6)
    slower = {name: measured[name] * slowness for name in verdicts.RESPONSES}
    measured = measured.assign(**slower, probe_time=6e-5 * slowness, system_cpu_s=0.9, seconds=1.0)
    told = verdicts.trust(verdicts.at_one_speed(measured), measured).replace("\n", " ")
    floors = [float(text) for text in re.findall(r"([\d.]+) % \(", told)]
    assert max(floors[:2]) < verdicts.QUIET < min(floors[2:])
    assert "at least 1.60 times as long" in told


def test_how_busy_a_scenario_keeps_the_cpu_is_no_slowness_of_the_machine(verdicts: ModuleType) -> None:
    rounds = made_up().assign(seconds=1.0)
    rounds["system_cpu_s"] = np.where(rounds["strategy"] == "baseline", 0.9, 0.2)
    rounds["probe_time"] = 6e-5 * np.exp(-0.07 * rounds["system_cpu_s"])
    assert tables_of(verdicts)["slowness"](rounds).std() == pytest.approx(0, abs=1e-12)
    told = verdicts.at_one_speed(rounds)
    pd.testing.assert_frame_equal(told[verdicts.RESPONSES], rounds[verdicts.RESPONSES])


def test_the_page_begins_with_what_became_of_the_papers_claims(verdicts: ModuleType) -> None:
    rounds = verdicts.at_one_speed(counting(verdicts.all_rounds_of([])))
    text = verdicts.in_short(rounds)
    assert part("short") == text
    of_the_paper = [claim for claim in verdicts.claims(rounds) if not claim.text.startswith(verdicts.OURS)]
    counts = [int(word) for word in text.replace("\n", " ").split(": ")[1].split() if word.isdigit()]
    assert (sum(counts), text.split()[1]) == (len(of_the_paper), str(len(of_the_paper)))


def test_the_remarks_on_clients_are_what_the_claims_say(verdicts: ModuleType) -> None:
    remarks = " ".join(PAGE.read_text().split("Remarks on the run that is shown:")[1].split())
    rounds = verdicts.at_one_speed(counting(verdicts.all_rounds_of([])))
    claims, clients = verdicts.claims(rounds), verdicts.Logs(rounds, verdicts.SUCCESS).clients
    (rises,) = [claim for claim in claims if "rises with the fault percentage" in claim.text]
    python = set(tables_of(verdicts)["_in_python"]())
    told = dict(zip(clients, verdicts.contrasts(rises), strict=True))
    others = [change for client, change in told.items() if client not in python]
    low, high = (f"{end(change.value for change in others):.0f}" for end in (min, max))
    assert f"by {low} to {high} % at 80 % faults for each client that is not in Python" in remarks
    assert (len(others), sum(change.low > 0 for change in others)) == (9, 8)
    assert all(told[client].high < 0 for client in python)
    alike = [c for c in claims if c.text.startswith(verdicts.OURS) and c.text.split()[3] not in python]
    assert not any(change.low > 0 or change.high < 0 for claim in alike for change in verdicts.contrasts(claim))
    totals = [verdicts.verdict(c.says, verdicts.contrasts(c)) for c in alike if "total execution" in c.text]
    assert (totals.count("agrees"), totals.count("agrees in part"), len(totals)) == (5, 3, 8)


def test_the_verdicts_of_the_page_are_those_that_the_script_prints(verdicts: ModuleType) -> None:
    measured = counting(verdicts.all_rounds_of([]))
    assert part("verdicts") == verdicts.printed(verdicts.at_one_speed(measured), measured)


def test_the_tables_of_the_page_are_those_that_the_script_prints(verdicts: ModuleType) -> None:
    tables = tables_of(verdicts)
    assert part("tables") == tables["printed"](tables["rounds_of"]([]))


@pytest.mark.slow
def test_the_figures_of_the_page_are_those_that_the_script_draws(tmp_path: Path) -> None:
    script = PAGE.with_suffix("") / "figures.py"
    subprocess.run([sys.executable, str(script), "--to", str(tmp_path)], check=True, timeout=120)
    for drawn in tmp_path.iterdir():
        shown = (script.parent / drawn.name).read_text(encoding="utf-8")
        assert same_drawing(drawn.read_text(encoding="utf-8"), shown), drawn.name
    assert len(list(tmp_path.iterdir())) == 3
