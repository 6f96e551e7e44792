"""A section of a report as plain data: words, tables, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

Spec = Mapping[str, object]
"""A figure as Vega-Lite describes it."""


@dataclass(frozen=True)
class Table:
    """A table of a section: its title, its rows, a note below it.

    ``looks`` says which texts of a column look ``better`` or ``worse``: ``{"verdict": {"holds": "better"}}``.
    """

    title: str
    frame: pd.DataFrame
    note: str = ""
    looks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """A figure of a section: its title, a Vega-Lite specification with its data, how to read it."""

    title: str
    spec: Spec
    caption: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure of a section that is drawn by itself: its title, one SVG element, how to read it.

    It takes its colours from the page (``var(--text, #1c2430)``), so that it fits the light theme and the dark one, and
    has its own if it is drawn by itself.
    """

    title: str
    svg: str
    caption: str = ""


@dataclass(frozen=True)
class Stand:
    """What a choice says under one condition, by the ids of scenarios, so that no other sentence says otherwise.

    It rests on ``response``. ``among`` are all that it chose from, ``best`` what it calls clearly the choice,
    ``broken`` what breaks one of its limits. ``no_gain``: that none shows a gain over the baseline. ``closest``: it
    names what came closest to the limits, which nothing keeps.
    """

    response: str
    among: frozenset[str]
    best: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    no_gain: bool = False
    closest: bool = False


@dataclass(frozen=True)
class Section:
    """A section of a page: plain words first, then a list of ``points``, warnings, drawings, tables and figures.

    ``anchor`` is its address in the page (letters, digits, hyphens) and the stem of its files. ``choice`` is what it
    says on what to choose, when it knows better than a comparison of times and failures; it leads the findings.
    ``choice_is_clear`` says whether the rounds show it under every condition, ``stands`` what it says under each.
    ``answers`` are the sentences for which a reader opened the page: they come first, with the pictures next to them;
    ``look`` is theirs: better, worse or open. ``in_short`` is what the first screen of a report says of it, ``beside``
    the picture that stands next to that. What leads has a ``choice_title`` where it isn't a choice. With
    ``choice_alone`` no comparison of single responses follows it.
    """

    anchor: str
    title: str
    words: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    choice: Sequence[str] = ()
    drawings: Sequence[Drawing] = ()
    choice_is_clear: bool = False
    choice_title: str = ""
    choice_alone: bool = False
    stands: Sequence[Stand] = ()
    points: Sequence[str] = ()
    warnings: Sequence[str] = ()
    answers: Sequence[str] = ()
    look: str = "open"
    in_short: str = ""
    beside: Drawing | None = None
