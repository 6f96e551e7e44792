"""A defect that is put in is taken out again, and counts as dead only when its tests pass without and fail with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.checks import mutants
from scripts.checks.mutants import DIED, SURVIVED, Mutant

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "code.txt").write_text("right and right, then left\n")
    return tmp_path


def defect(was: str = "left", tests: str = "grep -q left code.txt") -> Mutant:
    return Mutant("turned", "code.txt", was, "wrong", tests)


@pytest.mark.parametrize(
    ("mutant", "fate"),
    [
        (defect(), DIED),
        (defect(tests="grep -q right code.txt"), SURVIVED),
        (defect(tests="grep -q nowhere code.txt"), "its tests fail without the defect"),
        (defect("right"), "its text occurs 2 times in code.txt, not once"),
        (defect("up"), "its text occurs 0 times in code.txt, not once"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.was,
)
def test_the_fate_of_a_defect_is_reported_and_nothing_of_it_stays(root: Path, mutant: Mutant, fate: str) -> None:
    assert mutants.fate(mutant, root) == fate
    assert (root / "code.txt").read_text() == "right and right, then left\n"


def test_a_run_in_which_a_defect_survives_fails(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = '[[mutant]]\nname="{}"\nfile="code.txt"\nwas="left"\nbecomes="wrong"\ntests="grep -q {} code.txt"\n'
    (root / "all.toml").write_text(entry.format("one", "left") + entry.format("two", "right"))
    assert mutants.main([], root, root / "all.toml") == 1
    assert "1 of 2 died" in capsys.readouterr().out
    assert mutants.main(["one"], root, root / "all.toml") == 0
    assert mutants.main(["nothing of that name"], root, root / "all.toml") == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_leaves_nothing_of_a_defect(root: Path, number: signal.Signals) -> None:
    # Fails without an answer once the defect is in, which is when this test interrupts it.
    (root / "check.sh").write_text("grep -q wrong code.txt && { touch in; sleep 60; }; true\n")
    (root / "all.toml").write_text(
        '[[mutant]]\nname="x"\nfile="code.txt"\nwas="left"\nbecomes="wrong"\ntests="sh check.sh"\n'
    )
    script = f"from pathlib import Path as P; from scripts.checks import mutants as m; r = P('{root}'); "
    script += "raise SystemExit(m.main([], r, r / 'all.toml'))"
    command = ["env", "--default-signal", sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL) as process:
        while not (root / "in").exists():
            assert process.poll() is None
        os.killpg(process.pid, number)
    assert (root / "code.txt").read_text() == "right and right, then left\n"


def test_every_defect_of_the_list_names_a_file_that_is_there() -> None:
    for mutant in mutants.listed():
        assert (ROOT / mutant.file).is_file(), mutant.name
        assert mutant.was != mutant.becomes, mutant.name


def test_a_slip_that_was_drawn_says_by_which_seed_and_what_became_of_it_at_first() -> None:
    drawn = [mutant.drawn for mutant in mutants.listed() if mutant.drawn]
    assert drawn
    assert [
        reported for reported in drawn if not re.fullmatch(r"seed \d+, (died|survived) at first sight", reported)
    ] == []


def test_every_listed_defect_can_be_put_in() -> None:
    assert [mutant.problem(mutants.ROOT) for mutant in mutants.listed() if mutant.problem(mutants.ROOT)] == []
