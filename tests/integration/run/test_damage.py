"""Damaged run folders: a damaged file costs its own round, the rest continues, and what to type is said."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from tests.integration.run.conftest import TINY, entries, mounted, patternbench
from tests.support.journal_lines import altered

from patternbench.cli.main import main
from patternbench.lab.software import engine

ROUNDS = 8
DAMAGED = "00003"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of one block."""
    if engine.find() is None:
        pytest.fail("the native engine is not built; type `make setup`")
    place = tmp_path_factory.mktemp("whole")
    (place / "tiny.yaml").write_text(TINY.replace("rounds: 3", "rounds: 1"))
    done = patternbench("run", str(place / "tiny.yaml"), "--out", str(place / "run"), "--json")
    assert done.returncode == 0, done.stderr
    return place / "run"


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    """A copy of it to damage."""
    return shutil.copytree(whole, tmp_path / "run")


def reported(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit code of a verb, and what it wrote; in this process, so an exception of it is one of the test."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    written = capsys.readouterr()
    return int(ended.value.code or 0), " ".join(written.out.split()), " ".join(written.err.split())


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)


ATTEMPTS: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "empty": lambda path: path.write_bytes(b"") and None,
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "flipped": flipped,
    "another": lambda path: shutil.copy(path.with_name("00001.parquet"), path) and None,
    "text": lambda path: path.write_text("attempts") and None,
    "folder": lambda path: (path.unlink(), path.mkdir())[1],
}


@pytest.mark.parametrize("how", ATTEMPTS)
def test_a_damaged_attempts_file_costs_its_round_and_nothing_else(
    how: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ATTEMPTS[how](run / f"attempts/{DAMAGED}.parquet")
    code, _, message = reported(capsys, "report", str(run))
    assert code == 0
    assert f"1 round is left out; the first: its records are damaged: attempts/{DAMAGED}.parquet" in message
    assert f"type `patternbench resume {run} --retry-damaged`" in message
    rounds = pd.read_parquet(run / "rounds.parquet")
    assert list(rounds.loc[rounds["status"] == "damaged", "round"]) == [3]
    assert rounds["TotalCalls"].notna().sum() == ROUNDS - 1
    assert "its records are damaged" in (run / "report.html").read_text()
    code, _, message = reported(capsys, "export", str(run), "--format", "csv", "--table", "attempts")
    assert (code, "--retry-damaged" in message) == (0, True)
    assert set(pd.read_csv(run / "export/attempts.csv")["round"]) == set(range(ROUNDS)) - {3}


NEWER = ("sha256", "records", "of")
"""What lines of earlier versions don't have."""


def test_a_damaged_round_of_a_run_without_hashes_is_noticed_too(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    old = [altered({name: value for name, value in line.items() if name not in NEWER}) for line in lines]
    (run / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in old))
    assert reported(capsys, "report", str(run))[2] == ""
    (run / f"attempts/{DAMAGED}.parquet").write_bytes(b"PAR1")
    assert "1 round is left out" in reported(capsys, "report", str(run))[2]


def test_a_damaged_round_is_run_again_next_to_what_is_left_of_it(run: Path) -> None:
    damaged = run / f"attempts/{DAMAGED}.parquet"
    flipped(damaged)
    content = damaged.read_bytes()
    first = patternbench("resume", str(run))
    assert first.returncode == 1
    assert "--retry-damaged" in first.stdout
    done = patternbench("resume", str(run), "--retry-damaged", "--json")
    assert (done.returncode, json.loads(done.stdout)["failed"]) == (0, 0), done.stderr
    assert entries(run)[-1]["file"] == f"{DAMAGED}-2"
    assert damaged.read_bytes() == content


LINES = {"middle": b'{"round": 3, "blo', "list": b"[1,2]", "number": b"7", "no text": b"\xff\xfe", "empty": b""}


def test_damaged_lines_of_the_journal_cost_their_rounds_which_resume_runs_again(run: Path) -> None:
    journal = run / "journal.jsonl"
    lines = journal.read_bytes().split(b"\n")
    damaged = {f"{number:05d}": line for number, line in enumerate(LINES.values(), 1)}
    places = [place for place, line in enumerate(lines) if line and json.loads(line)["file"] in damaged]
    for place in places:
        lines[place] = damaged[json.loads(lines[place])["file"]]
    journal.write_bytes(b"\n".join(lines))
    kept = {file: (run / f"attempts/{file}.parquet").read_bytes() for file in damaged}
    message = patternbench("report", str(run))
    assert message.returncode == 0, message.stderr
    numbers = ", ".join(str(place + 1) for place in places)
    assert f"journal.jsonl is damaged at line {numbers}; type `patternbench resume" in message.stderr
    done = patternbench("resume", str(run), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rounds"] == ROUNDS
    assert {file: (run / f"attempts/{file}.parquet").read_bytes() for file in damaged} == kept


@pytest.mark.parametrize(
    "foreign", [{"round": 99, "scenario": "0123456789ab"}, {"file": "../../x"}], ids=["of no round", "outside the run"]
)
def test_a_line_of_the_journal_about_no_round_of_the_plan_is_damage_and_so_is_one_that_leads_out_of_the_run(
    foreign: dict[str, object], run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = len((run / "journal.jsonl").read_text().splitlines()) + 1
    with (run / "journal.jsonl").open("a") as file:
        file.write(json.dumps(altered(entries(run)[0], **foreign)) + "\n")
    code, _, message = reported(capsys, "report", str(run))
    assert (code, f"journal.jsonl is damaged at line {number};" in message) == (0, True)


@pytest.mark.parametrize("name", ["plan.json", "manifest.json"])
@pytest.mark.parametrize("verb", [["report"], ["resume"], ["export", "--format", "csv"]], ids=lambda verb: verb[0])
def test_an_odd_plan_or_manifest_is_one_clear_error(
    verb: list[str], name: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / name).write_text("[]")
    code, _, message = reported(capsys, verb[0], str(run), *verb[1:])
    assert code == 2
    assert f"error: {run / name}: " in message


def test_a_manifest_of_another_version_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (run / "manifest.json").read_text()
    (run / "manifest.json").write_text(text.replace('"manifest": 1', '"manifest": 99'))
    for verb in ("report", "resume"):
        code, _, message = reported(capsys, verb, str(run))
        assert (code, "is of another version (got 99); allowed: 1" in message) == (2, True)


@pytest.mark.parametrize("name", ["report.html", "rounds.parquet", "tables/comparisons.csv"])
def test_a_folder_where_the_report_is_to_be_is_one_clear_error(
    name: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / name).unlink()
    (run / name).mkdir()
    code, _, message = reported(capsys, "report", str(run))
    assert code == 2
    assert f"{run / name}" in message
    assert "cannot be written: Is a directory" in message


@pytest.fixture
def full(run: Path, tmp_path: Path) -> Iterator[Path]:
    """The run on its own disk, which is full."""
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted(disk, "-t", "tmpfs", "-o", "size=3m", "tmpfs"):
        shutil.copytree(run, disk / "run")
        for made in ("report.html", "rounds.parquet", "steps.parquet"):
            (disk / "run" / made).unlink()
        with pytest.raises(OSError, match="No space"), (disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(b"\0" * 4096)
        yield disk / "run"


@pytest.mark.parametrize("verb", [["report"], ["export", "--format", "csv"]], ids=lambda verb: verb[0])
def test_a_full_disk_is_one_clear_error_that_says_what_to_type(
    verb: list[str], full: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, message = reported(capsys, verb[0], str(full), *verb[1:])
    assert code == 2
    assert "cannot be written: No space left on device" in message
    assert ("solve that, then type" if verb == ["report"] else "name a file with room with --out") in message


@pytest.mark.parametrize("verb", [["report"], ["resume"], ["export", "--format", "csv"]], ids=lambda verb: verb[0])
def test_a_read_only_folder_is_one_clear_error(verb: list[str], run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with mounted(run, "-o", "bind,ro", run):
        code, _, message = reported(capsys, verb[0], str(run), *verb[1:])
    assert code == 2
    assert "Read-only file system" in message
    assert str(run) in message


def test_a_read_only_run_is_exported_to_elsewhere_and_compared(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out.csv")
    with mounted(run, "-o", "bind,ro", run):
        for words in (["export", str(run), "--format", "csv", "--out", out], ["recommend", str(run)]):
            assert reported(capsys, *words)[0] == 0, words
    assert Path(out).read_text().startswith("round,")


KILLED_WHILE_MOUNTED = """
import os, signal, sys
from pathlib import Path
from tests.integration.run.conftest import mounted
with mounted(Path(sys.argv[1]), "-t", "tmpfs", "tmpfs"):
    print(os.path.ismount(sys.argv[1]), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_test_mounts_is_gone_when_the_test_is_killed(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "tmpfs"):
        assert os.path.ismount(tmp_path)
    command = [sys.executable, "-c", KILLED_WHILE_MOUNTED, str(tmp_path)]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "True\n"), killed.stderr
    deadline = time.monotonic() + 60
    while os.path.ismount(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not os.path.ismount(tmp_path)


def test_a_run_that_was_killed_while_its_folder_was_made_is_explained_and_can_be_begun_again(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, mark = (run / "study.yaml").read_text(), (run / ".lock").read_bytes()
    shutil.rmtree(run)
    (run / "attempts").mkdir(parents=True)
    (run / ".lock").write_bytes(mark)
    (run / "logs").mkdir()
    (run / "study.yaml.tmp").write_text(study[:10])
    code, _, message = reported(capsys, "resume", str(run))
    assert (code, "whose creation was interrupted; nothing was measured yet; delete it, or type" in message) == (
        2,
        True,
    )
    (run.parent / "study.yaml").write_text(study)
    assert patternbench("run", str(run.parent / "study.yaml"), "--out", str(run), "--json").returncode == 0


def test_rounds_that_failed_are_offered_to_be_run_again(run: Path) -> None:
    lines = (run / "journal.jsonl").read_text().splitlines()
    failed = altered(json.loads(lines[-1]), status="failed", cause="the attempts could not be written: [/x]")
    (run / "journal.jsonl").write_text("\n".join([*lines[:-1], json.dumps(failed)]) + "\n")
    done = patternbench("resume", str(run))
    assert done.returncode == 1
    assert (
        f"could not be written: [/x]; to run them again, type `patternbench resume {run} --retry-failed`" in done.stdout
    )
