"""The film of a terminal shows each screen in turn, and is small because each line is drawn once."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from scripts.site import recording
from scripts.site.film import Frame, film
from tests.support.studies import ROOT

SVG = "{http://www.w3.org/2000/svg}"
FRAMES = [
    Frame("$ run\n", 1.0),
    Frame("$ run\n\x1b[31m3 of 9 failed\x1b[0m & <more>\n", 2.0),
    Frame("$ run\ndone\n", 1.0),
]


def drawn() -> ET.Element:
    return ET.fromstring(film(FRAMES, 40, 5, "A run"))


def test_every_screen_is_in_the_film_and_a_line_that_stays_is_drawn_once() -> None:
    texts = [text.text for text in drawn().iter(f"{SVG}text")]
    assert sorted(texts) == sorted(["$ run", "3 of 9 failed", " & <more>", "done"])
    assert len(list(drawn().iter(f"{SVG}use"))) == 5


def test_a_colour_of_the_terminal_is_kept() -> None:
    colours = {text.text: text.get("fill") for text in drawn().iter(f"{SVG}text")}
    assert colours["3 of 9 failed"] != colours["done"]


def test_each_screen_is_shown_as_long_as_its_frame_says() -> None:
    text = film(FRAMES, 40, 5, "A run")
    assert re.findall(r"([\d.]+)% \{ transform", text) == ["0.0000", "25.0000", "75.0000", "100"]
    assert "play 4s step-end infinite" in text
    assert "prefers-reduced-motion" in text


class Screens:
    """A terminal that shows given screens one after the other."""

    def __init__(self, *screens: str) -> None:
        self.left = list(screens)
        self.typed: list[str] = []

    def write(self, text: str) -> None:
        self.typed.append(text)

    def enter(self) -> None:
        self.typed.append("\n")

    def screen(self) -> str:
        return self.left.pop(0)


def test_the_recorder_keeps_a_screen_only_when_it_has_changed_and_continues_at_the_prompt() -> None:
    terminal = Screens(
        *["", "$\n\n", "$ a", "$ a\n1/2"],
        "$ a\n1/2",
        "$ a\n2/2",
        "$ a\nend\n$",
        "$ a\nend\n$",
        *["$ b", "$ b\n$", "$ b\n$"],
    )
    frames = list(recording.recorded(terminal, ["a", "b"], wait=lambda _: None))
    assert [frame.screen for frame in frames] == ["$ a", "$ a\n1/2", "$ a\n2/2", "$ a\nend\n$", "$ b", "$ b\n$"]
    assert terminal.typed == ["a", "\n", "b", "\n"]
    assert frames[-1].seconds == recording.END_S


def test_nothing_is_typed_before_the_shell_has_written_its_prompt() -> None:
    terminal = Screens(*["loading"] * 1000)
    with pytest.raises(TimeoutError, match=r"the shell wrote no prompt within 30\.0 s"):
        list(recording.recorded(terminal, ["a"], wait=lambda _: None))
    assert terminal.typed == []


def test_a_folder_that_exists_is_not_recorded_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recording.main([str(tmp_path / "film.svg"), str(tmp_path)]) == 2
    assert "name a new folder" in capsys.readouterr().err


def test_the_film_of_the_first_page_is_well_formed_and_names_no_path_of_a_machine() -> None:
    text = (ROOT / "docs/images/run.svg").read_text(encoding="utf-8")
    ET.fromstring(text)
    assert "quickstart" in text
    assert not re.search(r"/(home|root|tmp|work)/", text)
