"""How long a user waits for a command, against an earlier commit in the same rounds.

    .venv/bin/python -m benchmarks.commands.run [--rounds 7] [--base COMMIT] [--of RUN]

Each command runs in a process of its own, with the sources as they are and with those of the earlier commit, in
changing order. Both have the same packages and the same load engine. ``report`` rebuilds the report of a run of the
quickstart, which has 144 rounds; with ``--of`` that of a run that is there already.

``.venv/bin/python -m benchmarks.commands.tables`` prints the table of the committed run.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.commands.tables import BEFORE, HELP, MISTAKE, NOW, OF_RUN, PART, PLAN, REPORT, VERSION, printed
from benchmarks.common import ENGINE, ROOT
from benchmarks.common import run as ran
from benchmarks.evidence import Result, store

SOONER = "Load what --help and plan need, and no more"
"""The first line of the commit before which commands loaded all that any of them might need."""
QUICKSTART = "studies/quickstart.yaml"
FOLDERS = ("src", "systems", "clients", "filters", "contracts", "studies")
"""What commands read of a checkout."""
SEED = 7


def main() -> None:
    parser = argparse.ArgumentParser(description="How long a user waits for a command.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--base", help="the commit to compare with [default: when commands loaded all]")
    parser.add_argument("--of", type=Path, help="a run of the quickstart that is there already")
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = arguments.base or commit_before(SOONER)
        sources = {NOW: ROOT / "src", BEFORE: sources_of(base, folder / "before")}
        rows = list(measured(arguments.rounds, sources, commands(folder, arguments.of, sources[BEFORE]), folder))
    options = {"rounds": arguments.rounds, "against": base[:8]}
    print(printed(store(PART, options, arguments.out, rounds=rows)))


def commit_before(subject: str) -> str:
    """Return the parent of the commit of that first line: a commit has another name in a history that was rewritten."""
    words = ["log", "-1", "--format=%P", "--fixed-strings", f"--grep={subject}"]
    found = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False).stdout.split()
    return found[0] if found else sys.exit(f"this clone has no commit {subject!r}: fetch its history, or name --base")


def sources_of(commit: str, folder: Path) -> Path:
    """Write what commands need of a commit into a folder, and return where Python finds the package."""
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit, *FOLDERS], capture_output=True, check=False)
    if archive.returncode:
        sys.exit(f"there is no commit {commit} in this clone: fetch its history, or name another one with --base")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def commands(folder: Path, run: Path | None, earlier: Path) -> Mapping[str, str]:
    """Return the commands as a shell takes them, by name; one whose study has a mistake must say so."""
    wrong = folder / "mistake.yaml"
    wrong.write_text((ROOT / QUICKSTART).read_text(encoding="utf-8").replace("users:", "usres:"), encoding="utf-8")
    program, copy = f"{sys.executable} -m patternbench", folder / "run"
    if run is not None:
        shutil.copytree(run, copy)
    else:  # by the earlier commit, as each reads runs of before
        ran(["sh", "-c", f"{program} run {ROOT / QUICKSTART} --out {copy} --json"], folder, **of_sources(earlier))
    return {
        HELP: f"{program} --help",
        VERSION: f"{program} --version",
        OF_RUN: f"{program} run --help",
        PLAN: f"{program} plan {ROOT / QUICKSTART}",
        MISTAKE: f"{program} plan {wrong}; [ $? = 2 ]",
        REPORT: f"{program} report {copy}",
    }


def of_sources(sources: Path) -> dict[str, str]:
    """Return the variables of a process that takes the package from a folder."""
    path = os.pathsep.join(filter(None, (str(sources), os.environ.get("PYTHONPATH", ""))))
    return {"PYTHONPATH": path, "PATTERNBENCH_ENGINE": str(ENGINE)}


def measured(rounds: int, sources: Mapping[str, Path], named: Mapping[str, str], folder: Path) -> Iterator[Result]:
    """Yield what each command took, after a round that does not count: it fills caches, and compiles."""
    draw = random.Random(SEED)
    for number in range(-1, rounds):
        for name, command in named.items():
            order = [*sources.items()]
            draw.shuffle(order)
            for which, place in order:
                done = ran(["sh", "-c", command], folder, **of_sources(place))
                if number >= 0:
                    took = {"elapsed_s": done.elapsed, "cpu_s": done.cpu, "memory_mib": done.peak_kib / 1024}
                    yield {"round": number, "command": name, "sources": which, **took}


if __name__ == "__main__":
    main()
