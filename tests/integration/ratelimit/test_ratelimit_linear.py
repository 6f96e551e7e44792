"""What a client's bytes cost: each parser's instructions grow as its worst text does."""

import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from ratelimit_fixture import FILTER, missing_programs

LINEAR = Path(__file__).parent / "linear.lua"
DOUBLE = 2.6
"""Of instructions for twice the bytes: 2 where they are linear, 4 where they are quadratic."""


def instructions(folder: Path) -> dict[str, list[int]]:
    """Return how many instructions each parser takes for texts of 2, 4 and 8 KB. Nothing is timed."""
    lua = f"{FILTER}/lua/?.lua;{FILTER}/lua/?/init.lua;;"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/part", "--dump-before=getppid"]
    done = subprocess.run(
        [*command, "luajit", "-joff", str(LINEAR)],
        env={**os.environ, "LUA_PATH": lua},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    taken = defaultdict(list)
    for place, name in enumerate(done.stdout.splitlines()):
        # Each parser is between two calls of ``getppid``, each of which begins a part.
        found = re.search(r"^summary: (\d+)", (folder / f"part.{2 * place + 2}").read_text(), re.MULTILINE)
        assert found
        taken[name].append(int(found[1]))
    return taken


def test_twice_the_bytes_of_a_client_take_twice_the_instructions(tmp_path: Path) -> None:
    if missing_programs("valgrind"):
        pytest.skip("install valgrind (apt-get install)")
    taken = instructions(tmp_path)
    assert len(taken) > 30
    assert {name: counts for name, counts in taken.items() if counts[2] > DOUBLE * counts[1]} == {}
