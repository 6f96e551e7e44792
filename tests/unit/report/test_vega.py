"""What draws figures: the script of pages is always there, what draws SVG files only where it was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.synthetic_run import synthetic_run

from patternbench.report import svg, vega
from patternbench.terms.problems import InputError


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vega, "LIBRARY", "no_library_of_this_name")


def test_the_script_that_a_wheel_carries_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    carried = tmp_path / "vega.js"
    carried.write_bytes("let a = 'é\r\n'".encode())
    monkeypatch.setattr(vega, "CARRIED", carried)
    assert vega.script() == "let a = 'é\r\n'"


def test_the_script_of_a_checkout_has_what_pages_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "window.vegaEmbed=" in vega.script()


@pytest.mark.usefixtures("without_library")
def test_a_report_has_no_figures_as_files_where_nothing_draws_them() -> None:
    assert svg.figures(synthetic_run(rounds=2, users=[50], fault=[0], client=["native"])) == {}


@pytest.mark.usefixtures("without_library")
def test_an_svg_file_that_cannot_be_drawn_is_refused_with_what_to_type() -> None:
    vega.check_svg(None)
    with pytest.raises(InputError, match=r"a\.svg: cannot be drawn .*patternbench\[svg\]"):
        vega.check_svg(Path("a.svg"))


def test_an_svg_file_that_can_be_drawn_is_not_refused() -> None:
    vega.check_svg(Path("a.svg"))
