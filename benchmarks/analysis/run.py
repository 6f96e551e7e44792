"""How fast the analysis is: five models of two responses, MANOVA and all diagnostics, from 10^3 to 10^6 rows.

    python -m benchmarks.analysis.run [--largest ROWS] [--json FILE]

Each size runs in a fresh process on the generated data of the 2023 study. Reported: the wall time of
reading nothing but memory (imports apart), the CPU time, the time of drawing the page, its size, and the
peak memory of the process. The goal is 130,000 rows under 5 s and 1 GB, with figures under 15 s, on two
cores.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.common import own_peak_mib

SIZES = (1_040, 10_400, 130_000, 260_000, 1_040_000)
CONFIGURATIONS = 260
GOAL = {"rows": 130_000, "fit_s": 5.0, "with_figures_s": 15.0, "memory_gb": 1.0, "page_mb": 10.0}
STUDY = Path(__file__).parents[2] / "studies" / "published" / "generate_2023.py"


def study() -> Any:
    """Load the generator of the 2023 study."""
    spec = importlib.util.spec_from_file_location("generate_2023", STUDY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate_2023"] = module
    spec.loader.exec_module(module)
    return module


def measure(rows: int) -> dict[str, float]:
    """Measure one size in this process."""
    generated = study()
    table = generated.generate(rounds=rows // CONFIGURATIONS)
    start, cpu = time.perf_counter(), time.process_time()
    analysis = generated.fit_formulas(table, generated.FORMULAS)
    fitted, fitted_cpu = time.perf_counter(), time.process_time()
    memory = own_peak_mib() * 1.048576e-3  # taken before drawing, because the goal is that of the fit
    page = _page(analysis)
    return {
        "rows": len(table),
        "fit_s": fitted - start,
        "fit_cpu_s": fitted_cpu - cpu,
        "figures_s": time.perf_counter() - fitted,
        "figures_cpu_s": time.process_time() - fitted_cpu,
        "memory_gb": memory,
        "page_mb": len(page) / 1e6,
    }


def _page(analysis: Any) -> str:
    from patternbench.report.pages.models import models_html  # noqa: PLC0415 - its import is not part of a fit

    return models_html(analysis)


def in_fresh_process(rows: int) -> dict[str, float]:
    """Measure one size in its own process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.analysis.run", "--one", str(rows)],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def verdict(found: dict[str, float]) -> str:
    """Say whether the goal is met at its size."""
    total = found["fit_s"] + found["figures_s"]
    met = {
        f"fit {found['fit_s']:.1f} s of 5": found["fit_s"] < GOAL["fit_s"],
        f"with figures {total:.1f} s of 15": total < GOAL["with_figures_s"],
        f"memory {found['memory_gb']:.2f} GB of 1": found["memory_gb"] < GOAL["memory_gb"],
        f"page {found['page_mb']:.1f} MB of 10": found["page_mb"] < GOAL["page_mb"],
    }
    return "; ".join(f"{text}: {'met' if kept else 'MISSED'}" for text, kept in met.items())


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one)))
        return
    results = [in_fresh_process(rows) for rows in SIZES if rows <= chosen.largest]
    print(
        "| rows | fit, s | fit, CPU s | figures, s | figures, CPU s | memory, GB | page, MB "
        "|\n|---|---|---|---|---|---|---|"
    )
    for r in results:
        cells = (r["fit_s"], r["fit_cpu_s"], r["figures_s"], r["figures_cpu_s"], r["memory_gb"], r["page_mb"])
        print(f"| {r['rows']:,} | " + " | ".join(f"{v:.2f}" for v in cells) + " |")
    goal = next((r for r in results if r["rows"] == GOAL["rows"]), None)
    print(f"\nLoad average of the machine (1 minute): {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    if goal:
        print(f"\nAt {goal['rows']:,} rows: {verdict(goal)}.")
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
