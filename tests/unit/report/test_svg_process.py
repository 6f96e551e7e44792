"""Figures that another process draws are those that this one would draw, whatever becomes of the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.support.synthetic_run import synthetic_run

from patternbench.report import svg, svg_process, vega
from patternbench.report.svg_process import FigureDrawer


@pytest.fixture(scope="module")
def specs() -> dict[str, dict[str, object]]:
    return svg.specs(synthetic_run(rounds=3, users=[50], fault=[0, 80], client=["native"]))


@pytest.fixture(autouse=True)
def none_left() -> Iterator[None]:
    """Each test ends the process that it began."""
    yield
    assert not drawing()


def drawing() -> list[psutil.Process]:
    """The processes that draw for this one."""
    return [one for one in psutil.Process().children() if svg_process.__name__ in one.cmdline()]


def test_another_process_draws_what_this_one_would(specs: dict[str, dict[str, object]]) -> None:
    with FigureDrawer() as drawer:
        drawer.begin(specs)
        drawn = drawer.drawn()
    assert list(drawn) == list(specs)
    assert {"AverageSuccessTime", "TotalExecutionTime"} <= set(drawn)
    assert drawn == {name: vega.svg_of(spec) for name, spec in specs.items()}


def test_a_module_of_the_folder_that_a_user_is_in_stops_no_figure(
    specs: dict[str, dict[str, object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("open('taken', 'w')\n")
    monkeypatch.chdir(tmp_path)
    name, spec = next(iter(specs.items()))
    with FigureDrawer() as drawer:
        drawer.begin({name: spec})
        assert drawer.drawn()[name].startswith("<svg")
    assert not (tmp_path / "taken").exists()


def test_figures_are_drawn_where_the_other_process_is_killed(specs: dict[str, dict[str, object]]) -> None:
    name, spec = next(iter(specs.items()))
    with FigureDrawer() as drawer:
        (other,) = drawing()
        other.kill()
        drawer.begin({name: spec})
        assert drawer.drawn() == {name: vega.svg_of(spec)}


def test_figures_are_drawn_where_no_other_process_can_begin(
    specs: dict[str, dict[str, object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, spec = next(iter(specs.items()))
    monkeypatch.setattr(svg_process.sys, "executable", str(tmp_path / "none"))
    with FigureDrawer() as drawer:
        drawer.begin({name: spec})
        assert drawer.drawn() == {name: vega.svg_of(spec)}


def test_what_cannot_be_drawn_has_the_error_of_drawing() -> None:
    with pytest.raises(ValueError, match="nonsense") as alone:
        vega.svg_of({"nonsense": 1})
    with FigureDrawer() as drawer, pytest.raises(ValueError, match="nonsense") as beside:
        drawer.begin({"wrong": {"nonsense": 1}})
        drawer.drawn()
    assert str(beside.value) == str(alone.value)


def test_without_the_library_no_process_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vega, "LIBRARY", "no_library_of_this_name")
    with FigureDrawer() as drawer:
        assert not drawing()
        drawer.begin({"any": {"mark": "point"}})
        assert drawer.drawn() == {}


def test_a_report_that_fails_leaves_no_process(specs: dict[str, dict[str, object]]) -> None:
    def failing() -> None:
        with FigureDrawer() as drawer:
            drawer.begin(specs)
            raise OSError(os.strerror(28))

    with pytest.raises(OSError, match="space"):
        failing()
    assert not drawing()


def test_nothing_is_drawn_where_nothing_was_asked_for() -> None:
    with FigureDrawer() as drawer:
        assert drawer.drawn() == {}
