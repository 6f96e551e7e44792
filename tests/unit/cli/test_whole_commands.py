"""Every word that commands print of runs is as agreed: plans, recommendations, what is applied, histories.

The runs are made up from seeds. Words and data are held against ``tests/golden/commands``; UPDATE_GOLDEN=1 rewrites
it, for a person to read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.golden import drawn_by, is_golden, words_of
from tests.support.measured_run import STUDY, measured_run
from tests.unit.cli.test_apply import baseline_is_slow, retry_is_quick_for_few
from tests.unit.cli.test_history import STEP, a_year

from patternbench.cli.main import cli
from patternbench.records.history import HistoryFile, HistoryRun
from patternbench.terms.problems import InputError

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "plan": ("plan", "study.yaml"),
    "plan-data": ("plan", "study.yaml", "--json"),
    "plan-as-scattered": ("plan", "study.yaml", "--from", "one"),
    "plan-assumed": ("plan", "study.yaml", "--spread", "10%"),
    "recommend": ("recommend", "one"),
    "recommend-data": ("recommend", "one", "--json"),
    "recommend-other": ("recommend", "other"),
    "compare": ("compare", "one", "two"),
    "compare-within": ("compare", "one"),
    **{
        f"apply-{form}": ("apply", "one", "--as", form, "--approximate", "--name", "orders", "--port", "8080")
        for form in ("spring", "resilience4j", "polly", "failsafe-go", "envoy", "istio", "gateway-api", "nginx")
    },
    "apply-data": ("apply", "one", "--as", "spring", "--json"),
    "apply-named": ("apply", "two", "--as", "spring", "--scenario", "strategy=retry,users=4"),
    "apply-at": ("apply", "other", "--as", "spring", "--at", "users=2"),
    "apply-several": ("apply", "other", "--as", "spring"),
    "apply-no-level": ("apply", "one", "--as", "spring", "--at", "users=3"),
    "apply-no-condition": ("apply", "one", "--as", "spring", "--at", "strategy=retry"),
    "apply-no-factor": ("apply", "one", "--as", "spring", "--scenario", "user=2"),
    "apply-no-scenario": ("apply", "one", "--as", "spring", "--scenario", "zzz"),
    "apply-inexact": ("apply", "one", "--as", "envoy"),
    "history": ("history", "show", "stepped"),
    "history-all": ("history", "show", "stepped", "--all"),
    "history-data": ("history", "show", "stepped", "--json"),
    "history-again": ("history", "add", "stepped", "one"),
    "history-misplaced": ("history", "add", "stepped", "--all", "--html", "page.html"),
    "history-none": ("history", "show", "nowhere"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study, three runs of it, and a history whose effects step up at its thirteenth run."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "study.yaml").write_text(STUDY)
    one = measured_run(folder / "one", blocks=8, slowness=baseline_is_slow)
    measured_run(folder / "two", seed=2, blocks=8)
    measured_run(folder / "other", blocks=8, slowness=retry_is_quick_for_few)
    done = CliRunner().invoke(cli, ["history", "add", str(folder / "first"), str(one.path)])
    assert done.exit_code == 0, done.output
    (first,) = HistoryFile(folder / "first").runs()
    file = HistoryFile(folder / "stepped")
    with file.adding():
        for run in _known(a_year(first, STEP), one.path):
            file.append(run)
    return folder


def _known(runs: list[HistoryRun], path: Path) -> Iterator[HistoryRun]:
    """The runs of a history without what differs between machines and moments."""
    for number, run in enumerate(runs):
        last = number == len(runs) - 1
        own = HistoryFile(path.parent / "first").runs()[0].run
        yield run.model_copy(update={"run": own if last else run.run, "folder": f"run-{number}", "patternbench": "1.0"})


def typed(*words: str) -> tuple[str, str]:
    """What a command writes to its two ends, in that order; a mistake of the user as its own words."""
    result = CliRunner().invoke(cli, list(words))
    if isinstance(result.exception, InputError):
        return "", f"refused: {result.exception}\n"
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.stdout, f"exit code {result.exit_code}\n{result.stderr}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_word_of_a_command_is_as_agreed(name: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "120")
    printed, told = (text.replace(str(place), "PLACE") for text in typed(*COMMANDS[name]))
    if "--json" in COMMANDS[name]:
        is_golden(f"commands/{name}.json", {"told": told, "data": json.loads(printed)})
    else:
        is_golden(f"commands/{name}.txt", "".join(f"{line.rstrip()}\n" for line in f"{told}{printed}".splitlines()))


def test_every_word_and_figure_of_the_page_of_a_history_is_as_agreed(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    typed("history", "show", "stepped", "--html", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text().replace(str(place), "PLACE")
    is_golden("commands/history-page.txt", words_of(page))
    is_golden("commands/history-page.json", drawn_by(page))
