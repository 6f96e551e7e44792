"""A run that was really measured and then damaged gets the answer of before, or one that says what is wrong."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest
from tests.integration.run.conftest import patternbench
from tests.support.answers import answer, told
from tests.support.damages import DAMAGES, RECORDS, files
from tests.support.measured_run import STUDY

MEASURED = STUDY.replace("path: /}", "path: /bytes/100}") + 'speed_probe: {cpus: "0"}\nwarm_up: 0ms\n'
VERBS = ("export", "recommend", "claims")


def damages_of(run: Path) -> list[str]:
    """Return the damages that a run can suffer: what it has no records of can't be damaged."""
    without = [place for place in RECORDS if not files(run, place)]
    also = ["a further file among the logs"] if "component-logs" in without else []
    return [
        name
        for name in DAMAGES
        if name not in also and not any(name.endswith(f" in {one}") or f" in {one} " in name for one in without)
    ]


def silent_differences(place: Path, names: Sequence[str], verbs: Sequence[str] = VERBS, seed: int = 0) -> Iterator[str]:
    """Yield each damage after which a verb gave another answer without a word, or broke."""
    run = place / "run"
    before = {verb: answer(verb, _copied(place), place / "out.csv") for verb in verbs}
    for name, verb in product(names, verbs):
        DAMAGES[name](_copied(place), place / "another", random.Random(f"{seed} {name}"))
        after = answer(verb, run, place / "out.csv")
        if not told(before[verb], after):
            yield f"{verb}, {name}, seed {seed}: {after.code}: {after.said[-400:]}"


def _copied(place: Path) -> Path:
    shutil.rmtree(place / "run", ignore_errors=True)
    return Path(shutil.copytree(place / "whole", place / "run"))


@pytest.mark.slow
def test_no_damage_of_a_measured_run_changes_an_answer_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(MEASURED)
    for name in ("whole", "another"):
        done = patternbench("run", str(tmp_path / "s.yaml"), "--out", str(tmp_path / name), "--json", timeout=300)
        assert done.returncode == 0, done.stderr
    names = random.Random(29).sample(damages_of(tmp_path / "whole"), 12)
    assert list(silent_differences(tmp_path, names, ["export"])) == []
