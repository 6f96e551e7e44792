"""The library that charts are described with, loaded so that a user without a home can load it, too.

While it is loaded it asks for the user's home, where it keeps data sets that we don't use. In a container a user may be
a bare number without one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def some_home() -> Iterator[None]:
    """Give a user without a home the root folder for a moment; nothing is written there."""
    try:
        Path.home()
    except RuntimeError:
        os.environ.update(HOME="/")
        try:
            yield
        finally:
            os.environ.pop("HOME")
    else:
        yield


with some_home():
    import altair as alt
    from altair.utils import schemapi

__all__ = ["COLOURS", "Spec", "alt", "spec"]

schemapi.disable_debug_mode()  # checking each part of a chart as it is made takes most of the time of drawing

Spec = dict[str, object]
COLOURS = ["#2B83CB", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#999999"]
"""After Okabe and Ito, with a lighter blue: distinguishable with any colour vision, on light and dark."""


def spec(chart: alt.TopLevelMixin) -> Spec:
    """Return the Vega-Lite specification of a chart, unvalidated: validating takes longer than drawing.

    It may have any number of rows.
    """
    with alt.data_transformers.enable("default", max_rows=None):
        specification: Spec = chart.to_dict(validate=False)
    return specification
