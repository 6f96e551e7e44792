"""Sessions of measuring: in the order of the list, within their time, from one commit, on a quiet machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from scripts.sessions import __main__ as driver
from scripts.sessions import quiet
from scripts.sessions.quiet import Noise, busiest, reasons, unevenness
from scripts.sessions.studies import ListedStudy, Measured, left_s, listed, names_in, told

STILL = Noise(0.0, 0.0, 1.1)


class Study(ListedStudy):
    """A study whose run is made up: a round comes of each minute that it is given."""

    rounds: dict[str, Measured] = {}  # noqa: RUF012 - each test begins it anew

    @property
    def begun(self) -> bool:
        return self.name in self.rounds

    def measured(self) -> Measured | None:
        return self.rounds.get(self.name)


class World:
    """A clock, and commands that measure."""

    def __init__(self, per_minute: int = 1) -> None:
        self.now, self.commands, self.per_minute = 0.0, list[Sequence[str]](), per_minute

    def __call__(self) -> float:
        return self.now

    def run(self, command: Sequence[str]) -> int:
        """Measure for as long as the command may, ten rounds at most."""
        self.commands.append(command)
        name = next(Path(word).name.removesuffix(".yaml") for word in command if "first" in word or "second" in word)
        done = Study.rounds.get(name, Measured(0, 10)).done
        minutes = min(int(command[-1].removesuffix("s")) / 60, 10 - done)
        self.now += 60 * minutes
        Study.rounds[name] = Measured(done + self.per_minute * int(minutes), 10)
        return 0


@pytest.fixture
def studies(tmp_path: Path) -> list[Study]:
    Study.rounds = {}
    return [Study(name, tmp_path) for name in ("first", "second")]


def test_studies_are_measured_in_order_and_the_last_as_far_as_the_time_goes(studies: list[Study]) -> None:
    world = World()
    driver.session(studies, 15 * 60, world.run, world, lambda: STILL)
    assert [one.measured() for one in studies] == [Measured(10, 10), Measured(5, 10)]
    first, second = world.commands
    assert first[3] == second[3] == "run"
    assert first[-2:] == ["--at-most", "900s"]
    assert second[-2:] == ["--at-most", "300s"]


def test_the_next_session_continues_what_was_begun_and_leaves_what_is_whole(studies: list[Study]) -> None:
    world = World()
    driver.session(studies, 15 * 60, world.run, world, lambda: STILL)
    driver.session(studies, 15 * 60, world.run, world, lambda: STILL)
    assert [one.measured() for one in studies] == [Measured(10, 10), Measured(10, 10)]
    assert world.commands[2][3:5] == ["resume", str(studies[1].folder)]
    driver.session(studies, 15 * 60, world.run, world, lambda: STILL)
    assert len(world.commands) == 3


def test_a_study_of_which_no_round_comes_does_not_keep_the_next_from_its_turn(
    studies: list[Study], capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(per_minute=0)
    Study.rounds = {"first": Measured(0, 10)}
    driver.session(studies, 25 * 60, world.run, world, lambda: STILL)
    assert len(world.commands) == 2
    assert "first: no round came of it" in capsys.readouterr().err


def test_nothing_is_begun_with_less_than_a_minute(studies: list[Study]) -> None:
    world = World()
    driver.session(studies, 59, world.run, world, lambda: STILL)
    assert world.commands == []


def test_nothing_is_measured_on_a_noisy_machine_and_the_busiest_are_named(
    studies: list[Study], capsys: pytest.CaptureFixture[str]
) -> None:
    world = World()
    with pytest.raises(SystemExit) as ended:
        driver.session(studies, 600, world.run, world, lambda: Noise(0.4, 0.0, 1.0, ["rustc (12)"]))
    assert ended.value.code == driver.NOT_QUIET
    assert "other processes take 40% of the machine: rustc (12)" in capsys.readouterr().err
    assert world.commands == []


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (STILL, []),
        (Noise(0.06, 0.0, 1.0), ["other processes take 6% of the machine"]),
        (Noise(0.0, 0.03, 1.0), ["other machines on this host take 3% of its CPU time"]),
        (Noise(0.0, 0.0, 2.0), ["the same work takes up to 2.0 times as long from moment to moment"]),
        (Noise(0.06, 0.03, 2.0), 3),
    ],
)
def test_a_machine_is_quiet_if_neither_others_nor_other_machines_nor_its_speed_disturb(
    noise: Noise, words: list[str] | int
) -> None:
    found = list(reasons(noise))
    assert (len(found) if isinstance(words, int) else found) == words


def test_a_machine_is_looked_at_with_the_speed_probe() -> None:
    noise = quiet.look(0.2)
    assert noise.uneven >= 1
    assert 0 <= noise.others <= 1


def test_speed_is_uneven_by_the_slowest_tenth_over_the_fastest() -> None:
    assert unevenness([1.0] * 10) == 1.0
    assert unevenness([1.0] * 8 + [3.0] * 2) == pytest.approx(3.0)


def test_the_processes_that_used_most_since_are_the_busiest() -> None:
    before = {(1, "idle"): 5.0, (2, "cargo"): 1.0}
    after = {(1, "idle"): 5.0, (2, "cargo"): 2.0, (3, "mvn"): 4.0}
    assert busiest(before, after) == ["mvn (3)", "cargo (2)"]


def test_runs_of_one_folder_come_from_one_commit_without_changes(tmp_path: Path) -> None:
    driver.hold_commit(tmp_path / "runs", "abc", "")
    driver.hold_commit(tmp_path / "runs", "abc", "")
    with pytest.raises(SystemExit, match="are from commit abc, and this is def"):
        driver.hold_commit(tmp_path / "runs", "def", "")
    with pytest.raises(SystemExit, match=r"commit or undo these changes first.*\n M README.md"):
        driver.hold_commit(tmp_path / "other", "abc", " M README.md")
    assert not (tmp_path / "other").exists()


def test_what_is_left_is_a_part_of_the_plan() -> None:
    assert left_s(600, None) == 600
    assert left_s(600, Measured(4, 10)) == pytest.approx(360)
    assert left_s(600, Measured(12, 10)) == 0
    assert [told(seconds) for seconds in (59, 61, 3600, 5401)] == ["1 min", "2 min", "1 h 00 min", "1 h 31 min"]


def test_a_list_has_a_name_a_line_and_comments() -> None:
    assert names_in("# all\nfirst\n\nsecond-quick  # short\n") == ["first", "second-quick"]


def test_a_name_without_a_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="is called no-such-study, nor-this"):
        listed(["quickstart", "no-such-study", "nor-this"], tmp_path)


def test_every_study_of_the_list_can_be_planned_in_the_form_that_it_names(tmp_path: Path) -> None:
    names = names_in(driver.LIST.read_text(encoding="utf-8"))
    for one in listed(names, tmp_path):
        assert ("\nquick:" in one.file.read_text(encoding="utf-8")) or not one.name.endswith("-quick"), one.name


def test_without_minutes_what_is_left_is_printed_and_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ListedStudy, "planned_s", lambda _: 600.0)
    done = CliRunner().invoke(driver.main, ["quickstart", "--runs", str(tmp_path / "runs")])
    assert done.exit_code == 0, done.output
    assert "quickstart" in done.output
    assert "not begun" in done.output
    assert done.output.splitlines()[-1].split()[-2:] == ["10", "min"]
    assert not (tmp_path / "runs").exists()


def test_a_plan_says_how_long_it_takes_in_seconds(tmp_path: Path) -> None:
    (quickstart,) = listed(["quickstart"], tmp_path)
    assert quickstart.planned_s() > 1
