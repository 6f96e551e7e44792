"""A saved model that was changed since it was fitted answers nothing, or says that nobody can see whether it was."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from patternbench.cli.main import cli

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "studies" / "published" / "elmalki-zdun-2021-table2.csv"
POINT = ("--at", "dist_calls=25,method=Get", "--json")
REMAKE = "Make it again: patternbench fit ... --save FILE."


def called(*words: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, words)])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("models") / "models.json"
    done = called("fit", TABLE, "--formula", "total_time ~ dist_calls + C(method)", "--save", file)
    assert done.exit_code == 0, done.output
    return file


def changed(saved: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    tree = json.loads(saved.read_text())
    change(tree)
    (tmp_path / "changed.json").write_text(json.dumps(tree))
    return tmp_path / "changed.json"


def test_a_saved_model_predicts_however_its_text_is_laid_out(saved: Path, tmp_path: Path) -> None:
    first, again = called("predict", saved, *POINT), called("predict", changed(saved, tmp_path, len), *POINT)
    assert (first.exit_code, first.stderr, again.stdout) == (0, "", first.stdout)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a coefficient": lambda tree: tree["models"][0]["design"]["inference"]["beta"].__setitem__(1, 7.0),
    "a range": lambda tree: tree["models"][0]["design"]["ranges"].update(dist_calls=[0, 1e9]),
    "a model is gone": lambda tree: tree.update(models=tree["models"][:0] or [{}]),
    "its own hash": lambda tree: tree.update(seal="0" * 64),
    "a further field": lambda tree: tree.update(more=1),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_saved_model_of_which_something_was_changed_is_refused_by_its_file(
    what: str, saved: Path, tmp_path: Path
) -> None:
    file = changed(saved, tmp_path, CHANGES[what])
    done = called("predict", file, *POINT)
    assert done.exit_code == 2
    assert f"{file}: was changed after it was written. {REMAKE}" in done.stderr


def test_a_saved_model_of_an_earlier_version_predicts_and_says_that_it_has_no_hash(saved: Path, tmp_path: Path) -> None:
    file = changed(saved, tmp_path, lambda tree: tree.pop("seal"))
    done = called("predict", file, *POINT)
    assert (done.exit_code, done.stdout) == (0, called("predict", saved, *POINT).stdout)
    assert f"{file} has no hash, so nobody can see whether it was changed" in " ".join(done.stderr.split())


@pytest.mark.parametrize("seed", range(12))
def test_no_bit_of_a_saved_model_changes_a_prediction_without_a_word(seed: int, saved: Path, tmp_path: Path) -> None:
    draw, content = random.Random(seed), bytearray(saved.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    (tmp_path / "turned.json").write_bytes(content)
    done = called("predict", tmp_path / "turned.json", *POINT)
    same = done.stdout == called("predict", saved, *POINT).stdout
    assert (done.exit_code, same) == (0, True) or (done.exit_code == 2 and "turned.json" in done.stderr)
