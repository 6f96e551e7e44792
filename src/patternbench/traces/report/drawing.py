"""Shapes as SVG: a few elements, texts of known width, colours of the page or, alone, of its light theme."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from patternbench.observe.section import Drawing

FONT = 12.5
WIDE, STRONG = 0.56, 0.66
"""Width of a letter of the page's fonts, and of its bold ones, as a share of the font's size: a mean of the widest of
these fonts, with some to spare."""
STYLE = """
.pb text{font:12.5px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:var(--text,#1c2430)}
.pb .strong{font-weight:600}
.pb .muted{fill:var(--muted,#5a6472);font-size:11px}
.pb .halo{paint-order:stroke;stroke:var(--card,#fff);stroke-width:4px;stroke-linejoin:round}
.pb .box{fill:var(--page,#f6f7f9);stroke:var(--muted,#5a6472);stroke-width:1.2}
.pb .service{stroke:var(--accent,#0060a0);stroke-width:1.8}
.pb .line{fill:none;stroke:var(--muted,#5a6472)}
.pb .thin{stroke:var(--line,#dde2e8);stroke-width:1.2;fill:none}
.pb .way{fill:none;stroke:var(--accent,#0060a0);opacity:.65}
.pb .failing{stroke:#d55e00}
.pb .head{fill:var(--accent,#0060a0)}
.pb .head-failing{fill:#d55e00}
.pb .bad{fill:#d55e00;font-size:11px}
.pb .frame{fill:none;stroke:var(--muted,#5a6472);stroke-dasharray:4 3}
.pb .tag{fill:var(--notice,#fff4d6);stroke:var(--notice-line,#d9a514)}
.pb .busy{fill:var(--accent,#0060a0);opacity:.28}
.pb .back{fill:var(--card,#fff)}
.pb .words{fill:var(--card,#fff);stroke:var(--line,#dde2e8)}
"""
Element = ElementTree.Element


def element(tag: str, css: str = "", text: str = "", **numbers: float | str) -> Element:
    """Return an element of a class, with its text and its attributes (``stroke_width`` is ``stroke-width``)."""
    made = Element(tag, {name.replace("_", "-"): _number(value) for name, value in numbers.items()})
    if css:
        made.set("class", css)
    made.text = printable(text) or None
    return made


def label(x: float, y: float, text: str, css: str = "", anchor: str = "middle") -> Element:
    """Return a text at a point."""
    return element("text", css, text, x=x, y=y, text_anchor=anchor)


def titled(shape: Element, text: str) -> Element:
    """Return a shape with what is shown when it is pointed at."""
    shape.append(element("title", text=text))
    return shape


def drawn(parts: Iterable[Element], width: float, height: float, about: str) -> str:
    """One SVG element of a size, with ``about`` for those who cannot see it."""
    root = element("svg", "pb", xmlns="http://www.w3.org/2000/svg", width=width, height=height, role="img")
    root.set("viewBox", f"0 0 {width:.0f} {height:.0f}")
    root.set("aria-label", printable(about))
    root.append(element("style", text=STYLE))
    root.extend([element("rect", "back", width=width, height=height), *parts])
    return ElementTree.tostring(root, encoding="unicode")


def printable(text: str) -> str:
    """Return a text without signs that no XML may hold."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def width_of(text: str, size: float = FONT) -> float:
    """How wide a text is, about."""
    return len(text) * size * WIDE


def strong_width_of(text: str) -> float:
    """Return the approximate width of a bold text."""
    return len(text) * FONT * STRONG


def shortened(text: str, most: int) -> str:
    """Return the text, cut to at most ``most`` letters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.1f}".rstrip("0").rstrip(".")


__all__ = ["Drawing", "Element", "drawn", "element", "label", "shortened", "strong_width_of", "titled", "width_of"]
