"""Records a run in a terminal and writes it as an animated SVG: `scripts/recording docs/images/run.svg runs/readme`."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scripts.checks.skips import ROOT
from scripts.site.film import Frame, film

COLUMNS, ROWS = 96, 30
SOCKET = "patternbench-recording"
SHORT = "~/patternbench"
STUDY = "studies/quickstart.yaml"
FAILING = "failure_rate <= 1%"
LOOK_S = 0.2
"""How long the recorder waits between two looks at the terminal."""
STEP_S = 2.0
"""While a command runs, a picture is kept this long after the one before it, if the screen has changed."""
FASTER = 8
"""How many times faster the film shows what took longer than one picture."""
READ_S, END_S = 3.0, 8.0
"""How long the film shows the screen after a command, and after the last one."""
LONGEST_S = 1_800
READY_S = 30.0
"""How long a shell may take to write its first prompt."""


class Typist(Protocol):
    """What the recorder needs of a terminal."""

    def write(self, text: str) -> None:
        """Type a text."""

    def enter(self) -> None:
        """Press the Enter key."""

    def screen(self) -> str:
        """Return the screen with its colours, as text with escape sequences."""


@dataclass(frozen=True)
class Terminal:
    """A terminal of a fixed size, kept by tmux."""

    socket: str = SOCKET

    def tmux(self, *words: str) -> str:
        """Return what tmux answers to a command."""
        command = ["tmux", "-L", self.socket, "-f", "/dev/null", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout

    def open(self) -> None:
        """Start a shell in the project's folder, with its programs first on PATH and a short prompt."""
        shell = (
            f"cd {shlex.quote(str(ROOT))}; PATH={shlex.quote(str(ROOT / '.venv/bin'))}:$PATH PS1='$ ' exec bash --norc"
        )
        self.tmux(
            "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), f"env -u NO_COLOR bash -c {shlex.quote(shell)}"
        )

    def write(self, text: str) -> None:
        """Type a command."""
        self.tmux("send-keys", "-l", text)

    def enter(self) -> None:
        """Press the Enter key."""
        self.tmux("send-keys", "Enter")

    def screen(self) -> str:
        """Return the screen with its colours, as text with escape sequences.

        The path of the project's folder is shortened.
        """
        return self.tmux("capture-pane", "-e", "-p").replace(str(ROOT), SHORT)

    def close(self) -> None:
        """End the shell and what runs in it."""
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], check=False, capture_output=True, timeout=30)


def main(words: Sequence[str]) -> int:
    """Record a run into a new folder; return 0 when the film has been written."""
    problem = _problem(words)
    if problem:
        print(problem, file=sys.stderr)
        return 2
    svg, run = words
    terminal = Terminal()
    terminal.open()
    try:
        frames = list(recorded(terminal, commands(run)))
    finally:
        terminal.close()
    Path(svg).write_text(film(frames, COLUMNS, ROWS, f"A terminal: {STUDY} runs, {FASTER} times faster than it ran"))
    print(svg)
    return 0


def _problem(words: Sequence[str]) -> str:
    """Return what keeps a run from being recorded, and what to type; empty when nothing does."""
    if len(words) != 2:  # noqa: PLR2004 - the film and the run
        return "usage: scripts/recording FILM.svg RUN; RUN is the folder of the run, which must be new"
    if Path(words[1]).exists():
        return f"{words[1]} exists; name a new folder, because the run itself is recorded"
    return "" if shutil.which("tmux") else "there is no tmux on PATH; type `make setup-test`"


def commands(run: str) -> list[str]:
    """Return what is typed: the run, then the question which configuration to choose."""
    return [
        f"patternbench run {STUDY} --out {shlex.quote(run)}",
        f"patternbench recommend {shlex.quote(run)} --objective 'minimise p95' --subject-to '{FAILING}'",
    ]


def recorded(terminal: Typist, typed: Sequence[str], wait: Callable[[float], None] = time.sleep) -> Iterator[Frame]:
    """Yield the frames of a terminal in which commands are typed, each when the one before has ended."""
    _await_shell(terminal, wait)
    for number, command in enumerate(typed):
        terminal.write(command)
        wait(LOOK_S)
        yield Frame(terminal.screen(), 1.5)
        terminal.enter()
        yield from _until_prompt(terminal, wait)
        yield Frame(terminal.screen(), END_S if number == len(typed) - 1 else READ_S)


def _await_shell(terminal: Typist, wait: Callable[[float], None]) -> None:
    """Return once the shell has written its prompt: what is typed before would stand there twice."""
    left = int(READY_S / LOOK_S)
    while terminal.screen().strip() != "$":
        if not left:
            raise TimeoutError(f"the shell wrote no prompt within {READY_S} s; its screen:\n{terminal.screen()}")
        wait(LOOK_S)
        left -= 1


def _until_prompt(terminal: Typist, wait: Callable[[float], None]) -> Iterator[Frame]:
    """Yield the frames of a command while it runs: one per step in which the screen changes."""
    shown, left = "", int(LONGEST_S / STEP_S)
    while left:
        wait(STEP_S)
        left -= 1
        screen = terminal.screen()
        if at_prompt(screen):
            return
        if screen != shown:
            yield Frame(screen, STEP_S / FASTER)
        shown = screen
    raise TimeoutError(f"the command hasn't ended after {LONGEST_S} s; its screen:\n{shown}")


def at_prompt(screen: str) -> bool:
    """Whether the shell waits for the next command."""
    return screen.rstrip().endswith("\n$")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
