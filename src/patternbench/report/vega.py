"""Vega: the script with which pages draw figures, and the library that draws SVG files without a browser.

That library holds a whole engine of JavaScript, 88 MB, so it is an extra. A wheel carries the script, which a build of
the wheel takes from it; in a checkout the library is there and makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path

from patternbench import caches
from patternbench.terms.problems import InputError, Problem

CARRIED = Path(__file__).parents[1] / "_scripts" / "vega.js"
LIBRARY = "vl_convert"
INSTALL = "type `pip install 'patternbench[svg]'`"


def script() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script. To make it takes a second, so it is kept for later."""
    if CARRIED.is_file():
        return CARRIED.read_bytes().decode()
    return caches.kept_text(f"vega-{metadata.version('vl-convert-python')}.js", _bundled)


def draws_svg() -> bool:
    """Whether the library that draws SVG files is installed."""
    return find_spec(LIBRARY) is not None


def check_svg(path: Path | None) -> None:
    """Raise InputError if an SVG file is asked for that cannot be drawn here."""
    if path is not None and not draws_svg():
        raise InputError(Problem("cannot be drawn without the library for SVG files", file=str(path), hint=INSTALL))


def svg_of(spec: Mapping[str, object]) -> str:
    """Draw one whole Vega-Lite specification as SVG."""
    return str(import_module(LIBRARY).vegalite_to_svg(dict(spec)))


def _bundled() -> str:
    return str(import_module(LIBRARY).javascript_bundle())
