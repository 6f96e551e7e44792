"""Draws screens of a terminal one after the other, as one animated SVG that needs neither script nor font."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from rich.color import blend_rgb
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

WIDE, HIGH, EDGE = 8.4, 18.0, 14.0
"""Width of a character, height of a line and the margin around the text, in units of the picture."""
THEME = SVG_EXPORT_THEME
DIMMED = 0.4
"""How far a dim character is blended into the background."""


@dataclass(frozen=True)
class Frame:
    """A screen as text with escape sequences, and how many seconds it is shown."""

    screen: str
    seconds: float


def film(frames: Sequence[Frame], columns: int, rows: int, title: str) -> str:
    """Return the SVG that shows the frames again and again. Readers who want less motion see the last frame.

    Each different line is drawn once and used wherever it is shown.
    """
    lines = [_lines(frame.screen, columns, rows) for frame in frames]
    drawn = {line: f"l{number}" for number, line in enumerate(dict.fromkeys(line for one in lines for line in one))}
    width, height = columns * WIDE + 2 * EDGE, rows * HIGH + 2 * EDGE
    strip = "\n".join(_frame(one, drawn, number * height) for number, one in enumerate(lines))
    defined = "\n".join(f'<g id="{name}">{line}</g>' for line, name in drawn.items() if line)
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">
<title>{escape(title)}</title>
<style>
text {{ font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }}
{_motion(frames, height)}
</style>
<rect width="100%" height="100%" rx="8" fill="{THEME.background_color.hex}"/>
<defs>
{defined}
</defs>
<g id="strip">
{strip}
</g>
</svg>
"""


def _motion(frames: Sequence[Frame], height: float) -> str:
    """Return the rules that move the strip of frames by one frame after the other, without a slide in between."""
    whole = sum(frame.seconds for frame in frames)
    begins = accumulate((frame.seconds for frame in frames[:-1]), initial=0.0)
    steps = " ".join(
        f"{begin / whole:.4%} {{ transform: translateY({-number * height:g}px) }}"
        for number, begin in enumerate(begins)
    )
    last = -(len(frames) - 1) * height
    return (
        f"@keyframes play {{ {steps} 100% {{ transform: translateY({last:g}px) }} }}\n"
        f"#strip {{ animation: play {whole:g}s step-end infinite }}\n"
        "@media (prefers-reduced-motion: reduce) "
        f"{{ #strip {{ animation: none; transform: translateY({last:g}px) }} }}"
    )


def _frame(lines: Iterable[str], drawn: dict[str, str], top: float) -> str:
    used = (f'<use href="#{drawn[line]}" y="{top + EDGE + row * HIGH:g}"/>' for row, line in enumerate(lines) if line)
    return "".join(used)


def _lines(screen: str, columns: int, rows: int) -> list[str]:
    """Return the lines of a screen, each drawn at the top of the picture; an empty line is an empty text."""
    console = Console(
        width=columns, file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False
    )
    return [_line(console, line) for line in screen.splitlines()[:rows]]


def _line(console: Console, line: str) -> str:
    text = Text.from_ansi(line)
    text.rstrip()
    column, drawn = 0, []
    for segment in console.render(text, console.options.update(no_wrap=True, overflow="ignore")):
        if segment.text.strip():
            drawn.append(_piece(segment, column))
        column += segment.cell_length
    return "".join(drawn)


def _piece(segment: Segment, column: int) -> str:
    """Return a piece of one style. Its length is given, so that every font keeps the columns."""
    style = segment.style or Style()
    colour = _colour(style, THEME)
    weight = ' font-weight="bold"' if style.bold else ""
    words = segment.text.rstrip("\n")
    place = f'x="{EDGE + column * WIDE:g}" y="13" textLength="{len(words) * WIDE:g}"'
    return f'<text {place} fill="{colour}"{weight}>{escape(words)}</text>'


def _colour(style: Style, theme: TerminalTheme) -> str:
    colour = theme.foreground_color if style.color is None else style.color.get_truecolor(theme)
    return (blend_rgb(colour, theme.background_color, DIMMED) if style.dim else colour).hex
