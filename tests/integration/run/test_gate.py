"""Two versions that are up at once are measured in turn until the gate can tell, and its exit code says what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.run.conftest import patternbench
from tests.support.answers_of_commands import fits
from tests.support.targets import target_up

SHORT = ("--path", "/bytes/100", "--users", "4", "--seconds", "1", "--blocks", "9", "--json")


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """Two services of 5 ms, and one of 40 ms: a busy machine hides twice, which is right, but not eight times."""
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "same", "slower")]
    with (
        target_up(folders[0], "--service-time", "fixed:5ms") as one,
        target_up(folders[1], "--service-time", "fixed:5ms") as same,
        target_up(folders[2], "--service-time", "fixed:40ms") as slower,
    ):
        yield one, same, slower


def gated(*words: str) -> tuple[int, dict[str, object]]:
    done = patternbench("gate", *words, *SHORT)
    assert done.stdout, done.stderr
    fits("gate", done.stdout)
    return done.returncode, json.loads(done.stdout)


def test_a_version_that_is_eight_times_as_slow_fails_at_the_first_look(
    versions: tuple[str, str, str], tmp_path: Path
) -> None:
    code, told = gated("--base", versions[0], "--head", versions[2], "--out", str(tmp_path / "run"))
    assert (code, told["outcome"], told["blocks"]) == (1, "fail", 6)
    assert (tmp_path / "run" / "report.html").is_file()


def test_the_same_version_passes_or_cannot_tell_and_says_how_often_it_would_be_wrong(
    versions: tuple[str, str, str], tmp_path: Path
) -> None:
    condition = ("--fail-if", "p50 > +50%", "--junit", str(tmp_path / "junit.xml"))
    code, told = gated("--base", versions[0], "--head", versions[1], "--out", str(tmp_path / "run"), *condition)
    assert code in (0, 3)
    rates = told["error_rates"]
    assert isinstance(rates, list)
    assert [one["effect_percent"] for one in rates] == [0, 5, 10, 30]
    assert rates[0]["failed"] <= 0.05
    assert (tmp_path / "junit.xml").read_text().count("<testcase") == 1


def test_a_system_is_brought_up_twice_to_measure_it_against_itself(tmp_path: Path) -> None:
    code, told = gated("--base", "target", "--aa", "--fail-if", "p50 > +1000%", "--out", str(tmp_path / "run"))
    assert (code, told["outcome"], told["blocks"]) == (0, "pass", 6)


def test_one_side_alone_is_refused(versions: tuple[str, str, str]) -> None:
    done = patternbench("gate", "--base", versions[0])
    assert done.returncode == 2
    assert "--head: is missing" in done.stderr
