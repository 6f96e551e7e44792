"""What all pages share: the template settings, the style sheet, and how words and data get into a page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache

import jinja2
from markupsafe import Markup, escape

from patternbench.observe.section import Section
from patternbench.report import interval_pictures, vega
from patternbench.report.figures.scenarios import config
from patternbench.report.packing import packed
from patternbench.report.shown_section import drawn, shown
from patternbench.terms.quantities import number
from patternbench.terms.visible import all_visible


def rendered(template: str, sections: Sequence[Section], data: Mapping[str, object], **words: object) -> str:
    """Make a whole page, which loads nothing from elsewhere. ``data`` is what its script needs besides its sections."""
    plain = {name: all_visible(part) for name, part in {**data, "sections": drawn(sections)}.items()}
    embedded = _embedded({"themes": {theme: config(theme) for theme in ("light", "dark")}, **plain})
    words = {**words, "sections": [shown(section) for section in sections], "data": embedded, "library": _library()}
    return environment().get_template(template).render(**words)


def page_html(title: str, sections: Sequence[Section], about: Sequence[str] = ()) -> str:
    """Return one self-contained page of ``sections``."""
    return rendered("sections.html.j2", sections, {}, title=title, about=about)


def _written_out(value: object) -> object:
    """Return a text of the page with what would act on it written out, as in its data; markup is made of such texts."""
    return all_visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def environment() -> jinja2.Environment:
    """Return the templates, with the filters that write numbers and names."""
    made = jinja2.Environment(
        finalize=_written_out,
        loader=jinja2.PackageLoader("patternbench.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters.update(number=_number, coded=_coded)
    made.filters.update(small=interval_pictures.small, contenders=interval_pictures.contenders)
    return made


def _coded(sentence: str) -> Markup:
    """Return a sentence whose names and commands in backticks are set as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(all_visible(sentence)))))


def _number(value: float | None) -> str:
    return "" if value is None else number(value)


@cache
def _library() -> Markup:
    """Return what draws the figures, as the text of a script element."""
    return Markup(vega.script().replace("</script", "<\\/script"))


def _embedded(data: Mapping[str, object]) -> Markup:
    """Write data as JSON that cannot end the script element that holds it."""
    text = json.dumps(packed(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=str)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))
