"""What a launcher does to bring a component up, with processes that are made up: in which order, with which words."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from patternbench.lab.host import launcher as module
from patternbench.lab.host.accounts import Account
from patternbench.lab.host.launch import ErrorLog, File, Launch, Preparation, Stop
from patternbench.lab.host.launcher import Launcher, write
from patternbench.lab.host.processes import StartError
from patternbench.terms.units import Duration

CALLER = Account("ann")


@dataclass
class Ready:
    """A component that is ready when it was asked so many times; 0 for one that never is."""

    at: int = 1
    asked: int = 0

    def met(self, _starting: Any) -> bool:
        self.asked += 1
        return self.asked == self.at

    def lacks(self, _starting: Any) -> str:
        return "nothing accepts connections"


@dataclass
class Fate:
    """How a command ends: with which code, after being looked at how often; None where it doesn't."""

    code: int | None = 0
    looks: int = 1
    says: str = ""


class MadeUpProcess:
    """A process that never ran: how it ends is known by the first word of its command."""

    fates: dict[str, Fate] = {}  # noqa: RUF012 - one for all of a test
    begun: list[tuple[Any, ...]] = []  # noqa: RUF012
    told: list[str] = []  # noqa: RUF012

    def __init__(self, name: str, command: Sequence[str], folder: Path, env: Any, cwd: Path, **how: Any) -> None:
        self.words = list(command)
        self.log = folder / f"{name}.log"
        self.fate = self.fates.get(self.words[0], Fate(None))
        self.seen = 0
        MadeUpProcess.begun.append((name, " ".join(self.words), cwd.name, how["stop"], how["grace"].seconds))

    @property
    def alive(self) -> bool:
        self.seen += 1
        return self.fate.code is None or self.seen <= self.fate.looks

    @property
    def code(self) -> int | None:
        return self.fate.code

    def tail(self) -> str:
        return self.fate.says

    def written(self) -> str:
        return self.fate.says

    def why_not(self) -> str:
        return f"{self.words[0]} ended with code {self.fate.code}"

    def signal(self, name: str) -> None:
        self.told.append(f"{self.words[0]} {name}")
        if self.words[0] not in self.fates:  # who has no fate of its own does as it is told
            self.fate = Fate(0, self.seen)

    def ended(self, seconds: float) -> bool:
        self.told.append(f"{self.words[0]} within {seconds:g} s")
        return True

    def ask_to_end(self) -> None:
        self.told.append(f"{self.words[0]} asked to end")

    def close(self) -> None:
        self.told.append(f"{self.words[0]} closed")


@dataclass
class Local:
    """A launcher, and the folder of the component that it brings up."""

    launcher: Launcher
    folder: Path

    def prepared(self, launch: Launch) -> Any:
        return self.launcher.prepared(launch, CALLER)

    @property
    def begun(self) -> list[str]:
        """The command lines in the order in which they were begun."""
        return [line for _, line, *_ in MadeUpProcess.begun]


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Local]:
    monkeypatch.setattr(module, "Process", MadeUpProcess)
    for name in ("begun", "told"):
        monkeypatch.setattr(MadeUpProcess, name, [])
    monkeypatch.setattr(MadeUpProcess, "fates", {})
    seconds = count()
    made = Launcher(tmp_path, clock=lambda: float(next(seconds)), pause=lambda _: None)
    (tmp_path / "shop").mkdir()
    yield Local(made, tmp_path / "shop")
    made.close()


def launch(*command: str, **fields: Any) -> Launch:
    base: dict[str, Any] = {"ready": Ready(), "within": Duration.parse("5s"), **fields}
    return Launch("process", "shop", command or ("serve",), **base)


def test_files_are_written_and_preparations_made_before_a_component_is_started(local: Local) -> None:
    MadeUpProcess.fates = {name: Fate() for name in ("make", "sh")}
    prepare = (Preparation(("make", "all")), Preparation(("load",), input="data.sql"))
    local.prepared(launch("serve", "--fast", files=(File("conf/a.json", {"b": 1}),), prepare=prepare))
    assert json.loads((local.folder / "conf/a.json").read_text()) == {"b": 1}
    assert local.begun == ["make all", f'sh -c exec "$@" <"$0" {local.folder}/data.sql load', "serve --fast"]


def test_what_makes_a_file_that_is_there_is_left_out_with_all_that_makes_it(local: Local, tmp_path: Path) -> None:
    MadeUpProcess.fates = {name: Fate() for name in ("one", "two", "three")}
    there, lacking = tmp_path / "there", tmp_path / "lacking"
    there.touch()
    prepare = (
        Preparation(("one",), makes=str(there)),
        Preparation(("two",), makes=str(there)),
        Preparation(("three",), makes=str(lacking)),
    )
    local.prepared(launch(prepare=prepare))
    assert local.begun == ["three", "serve"]


def test_a_rehearsal_is_started_until_it_is_ready_and_let_end_within_its_time(local: Local) -> None:
    prepare = (Preparation(("rehearse",), until_ready=True),)
    local.prepared(launch(prepare=prepare, ready=_each_time(), stop=Stop("SIGINT", Duration.parse("2s"))))
    assert [(line, stop, grace) for _, line, _, stop, grace in MadeUpProcess.begun] == [
        ("rehearse", "SIGINT", 5),
        ("serve", "SIGINT", 2),
    ]
    assert MadeUpProcess.told[0] == "rehearse SIGINT"


def test_a_rehearsal_that_does_not_end_is_told_with_its_time(local: Local) -> None:
    MadeUpProcess.fates = {"rehearse": Fate(None)}
    with pytest.raises(StartError, match="shop was ready, and did not end within 5s of SIGTERM"):
        local.prepared(launch(prepare=(Preparation(("rehearse",), until_ready=True),), ready=_each_time()))


class _EachTime(Ready):
    def met(self, _starting: Any) -> bool:
        return True


def _each_time() -> Ready:
    return _EachTime()


@pytest.mark.parametrize(
    ("fate", "why"),
    [
        (Fate(2, 1, "no such table"), "shop was not prepared: make ended with code 2: no such table"),
        (Fate(2, 1), "shop was not prepared: make ended with code 2: it wrote nothing"),
        (Fate(None, 0, "still at it"), "shop was not prepared: make did not end within 5s: still at it"),
    ],
)
def test_a_preparation_that_fails_is_told_with_its_last_words(fate: Fate, why: str, local: Local) -> None:
    MadeUpProcess.fates = {"make": fate}
    with pytest.raises(StartError, match=f"^{why}$"):
        local.prepared(launch(prepare=(Preparation(("make", "all")),)))
    assert local.begun == ["make all"], "the component itself is not started"
    assert MadeUpProcess.told == ["make asked to end", "make closed"]


def test_a_command_is_named_without_its_folder(local: Local) -> None:
    MadeUpProcess.fates = {"/opt/bin/make": Fate(1)}
    with pytest.raises(StartError, match=r"^make ended with code 1: it wrote nothing$"):
        local.launcher.carry_out(launch(), Preparation(("/opt/bin/make",)), CALLER)


def test_a_component_that_is_not_ready_in_time_is_told_with_what_it_lacks(local: Local) -> None:
    MadeUpProcess.fates = {"serve": Fate(None, 0, "starting")}
    words = "shop did not come up within 5s, nothing accepts connections: starting"
    with pytest.raises(StartError, match=f"^{words}$"):
        local.prepared(launch(ready=Ready(0)))


def test_one_that_ends_first_is_told_with_how_it_ended(local: Local) -> None:
    MadeUpProcess.fates = {"serve": Fate(3, 1)}
    with pytest.raises(StartError, match=r"^serve ended with code 3$"):
        local.prepared(launch(ready=Ready(0)))


def test_a_log_of_errors_says_why_from_its_first_serious_line_on(local: Local) -> None:
    lines = ["[notice] begins", "[emerg] a", "[notice] b", "[error] c", "d", "e", "f"]
    (local.folder / "error.log").write_text("\n".join(lines))
    with pytest.raises(StartError) as raised:
        local.prepared(launch(ready=Ready(0), errors=ErrorLog("error.log", r"\[(emerg|error)\]")))
    assert str(raised.value) == "shop did not come up: [emerg] a | [notice] b | [error] c | d | e"


def test_nothing_is_started_while_everything_is_taken_down_and_all_is_again(local: Local) -> None:
    local.launcher.give_up()
    assert local.launcher.gives_up()
    with pytest.raises(StartError, match=r"^shop was not started, because everything is being taken down$"):
        local.prepared(launch())
    local.launcher.go_on()
    assert not local.launcher.gives_up()
    local.prepared(launch())


def test_what_strays_is_ended_and_what_stays_is_not(local: Local) -> None:
    stays = local.prepared(launch("stays"))
    local.prepared(launch("strays", ready=Ready()))
    local.launcher.end_strays([stays])
    assert MadeUpProcess.told == ["strays asked to end", "strays closed"]
    local.launcher.close()
    assert MadeUpProcess.told[2:] == ["stays asked to end", "stays closed"]


def test_a_program_has_its_own_folder_unless_another_one_is_named(local: Local, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    local.prepared(launch())
    local.prepared(replace(launch(), cwd=str(tmp_path / "elsewhere")))
    assert [folder for _, _, folder, *_ in MadeUpProcess.begun] == ["shop", "elsewhere"]


def test_a_file_is_its_accounts_alone_and_so_are_the_folders_that_it_is_in(tmp_path: Path) -> None:
    write(tmp_path, File("a/b/c.conf", "text"), CALLER)
    write(tmp_path, File("a/b/c.conf", "other"), CALLER)
    assert (tmp_path / "a/b/c.conf").read_text() == "other"
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/c.conf")}
    assert modes == {"a": 0o700, "a/b": 0o700, "a/b/c.conf": 0o600}
    assert [one.name for one in (tmp_path / "a/b").iterdir()] == ["c.conf"], "nothing is left of the draft"
