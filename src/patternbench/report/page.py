"""What all pages share: the template settings, the style sheet, and how words and data get into a page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata

import jinja2
import vl_convert
from markupsafe import Markup, escape

from patternbench import caches
from patternbench.analyze.compare.words import change, detectable, interval
from patternbench.analyze.models.words import p_value
from patternbench.observe.section import Spec
from patternbench.report.figures.scenarios import config
from patternbench.report.packing import packed
from patternbench.terms.quantities import number, quantity, signed
from patternbench.terms.visible import all_visible


@dataclass(frozen=True)
class PageFigure:
    """A Vega-Lite spec with the words under it; ``name`` is unique on a page."""

    name: str
    spec: Spec
    caption: str


@dataclass(frozen=True)
class PageSection:
    """A part of a page: its anchor, its title, its HTML without figures, and its figures in order."""

    anchor: str
    title: str
    html: Markup
    figures: tuple[PageFigure, ...]


def rendered(template: str, data: Mapping[str, object], **words: object) -> str:
    """Make a whole page, which loads nothing from elsewhere. ``data`` is the data of its script."""
    shown = {name: all_visible(part) for name, part in data.items()}
    embedded = _embedded({"themes": {theme: config(theme) for theme in ("light", "dark")}, **shown})
    return environment().get_template(template).render(**words, data=embedded, library=_library())


def page_html(title: str, sections: Sequence[PageSection], about: Sequence[str] = ()) -> str:
    """Return one self-contained page of ``sections``."""
    figures = {figure.name: bare(figure.spec) for section in sections for figure in section.figures}
    return rendered("sections.html.j2", {"figures": figures}, title=title, about=about, sections=sections)


def _written_out(value: object) -> object:
    """Return a text of the page with what would act on it written out, as in its data; markup is made of such texts."""
    return all_visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def section_html(template: str, **words: object) -> Markup:
    """Fill the template of a section, with all values escaped."""
    return Markup(environment().get_template(template).render(**words))


def bare(spec: Spec) -> Spec:
    """Leave out what the page sets itself: the theme, and the schema's address."""
    return {key: value for key, value in spec.items() if key not in ("$schema", "config")}


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
    made.filters.update(number=_number, p_value=_p_value, quantity=_quantity, signed=signed)
    made.filters.update(change=change, interval=interval, detectable=detectable, coded=_coded)
    return made


def _coded(sentence: str) -> Markup:
    """Return a sentence whose names and commands in backticks are set as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(all_visible(sentence)))))


def _number(value: float | None) -> str:
    return "" if value is None else number(value)


def _quantity(value: float | None, response: str, unit: str = "") -> str:
    return "" if value is None else quantity(response, value, unit)


def _p_value(value: float | None) -> str:
    return "not tested" if value is None else p_value(value)


@cache
def _library() -> Markup:
    """Vega, Vega-Lite and Vega-Embed as one script. It takes a second to make, so it is kept for later reports."""
    bundle = caches.kept_text(f"vega-{metadata.version('vl-convert-python')}.js", _bundle)
    return Markup(bundle.replace("</script", "<\\/script"))


def _bundle() -> str:
    return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # its stub forgets the default


def _embedded(data: Mapping[str, object]) -> Markup:
    """Write data as JSON that cannot end the script element that holds it."""
    text = json.dumps(packed(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=str)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))
