"""The view of a run in a terminal: the decision first, then the round, then the warnings, within a number of lines.

Pure functions from a view to lines of text. No colour carries a meaning that a mark or a word does not carry, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from rich.cells import cell_len
from rich.text import Text

from patternbench.report.first_screen import Contender, FirstScreen
from patternbench.terms.visible import visible
from patternbench.watch.bars import BARS, DRAWN, PLAIN, PLAIN_BARS, Marks, interval, resampled, sparkline
from patternbench.watch.rounds import FaultBand, Measure, RoundView
from patternbench.watch.view import Remark, RunView

WIDE, TALL = 140, 30
"""From this size on, decision and round stand side by side."""
GAP = 3
_NAME, _VALUE = 10, 18
_LOOKS = {"better": "green", "worse": "red", "open": ""}
_LEAST_SAID = 2
"""Lines of the sentences that are always shown."""
_LEAST_BAR, _MOST_BAR, _LEAST_LABEL, _MOST_LABEL = 11, 61, 12, 44
_SHORT_OF = ("in flight",)
"""Measures that a small terminal has no room for."""


@dataclass(frozen=True)
class Signs:
    """The characters that a terminal is drawn with."""

    marks: Marks = DRAWN
    bars: str = BARS
    rule: str = "─"
    band: str = "▒"
    chosen: str = "▸"


FULL = Signs()
ASCII = Signs(PLAIN, PLAIN_BARS, "-", "#", ">")


def lines(view: RunView, width: int, height: int, signs: Signs = FULL) -> list[Text]:
    """Return the view in at most ``height`` lines of at most ``width`` columns."""
    made = (
        _wide(view, width, height, signs) if width >= WIDE and height >= TALL else _narrow(view, width, height, signs)
    )
    for line in made:
        line.truncate(width, overflow="ellipsis")
    return made[:height]


def _narrow(view: RunView, width: int, height: int, signs: Signs) -> list[Text]:
    """Return the parts below each other; the decision has the room that the others leave."""
    head = _head(view, height >= TALL)
    below = [*_round(view, width, signs, full=False), *_lanes(view)]
    below += _remarks(view.remarks, width, signs, most=2, whole=False)
    room = max(4, height - len(head) - len(below))
    return [*head, *_decision(view, width, room, signs), *below]


def _wide(view: RunView, width: int, height: int, signs: Signs) -> list[Text]:
    """Return the decision on the left, and the round and the warnings on the right."""
    head = _head(view, question=True)
    left_width = (width - GAP) * 11 // 20
    right_width, room = width - GAP - left_width, height - len(head)
    left = _decision(view, left_width, room, signs)
    right = [*_round(view, right_width, signs, full=True), *_lanes(view)]
    right += _remarks(view.remarks, right_width, signs, most=len(view.remarks), whole=True)
    return [*head, *_beside(left, right[:room], left_width)]


def _beside(left: Sequence[Text], right: Sequence[Text], width: int) -> Iterator[Text]:
    for place in range(max(len(left), len(right))):
        line = left[place].copy() if place < len(left) else Text()
        line.truncate(width, overflow="ellipsis", pad=True)
        yield Text.assemble(line, " " * GAP, right[place] if place < len(right) else Text())


def _head(view: RunView, question: bool) -> list[Text]:
    name = Text.assemble((visible(view.name), "bold"), "  ", view.progress)
    return [name, Text(visible(view.question), "dim")] if question and view.question else [name]


def _rule(title: str, width: int, signs: Signs, right: str = "") -> Text:
    """Return a line with a title, and more at its right end."""
    ending = f" {right} {signs.rule}" if right else ""
    begin = f"{signs.rule} {title} "
    return Text.assemble((begin, "bold"), signs.rule * max(1, width - cell_len(begin) - cell_len(ending)), ending)


# --- the decision


def _decision(view: RunView, width: int, room: int, signs: Signs) -> list[Text]:
    """Return what to choose by now, as many contenders' intervals as there is room for, and the caveat."""
    caveat = _wrapped(_first_sentence(view.caveat), width, "dim") if view.caveat else []
    drawn = list(_drawn(view, width, signs))
    said = _said(view, width, max(_LEAST_SAID, room - 1 - len(caveat) - len(drawn)))
    shown = _cut(drawn, room - 1 - len(said) - len(caveat), view.screen)
    return [_rule("what to choose", width, signs, _of_what(view.screen)), *said, *shown, *caveat]


def _of_what(screen: FirstScreen | None) -> str:
    """Say what the intervals are of."""
    return f"{visible(screen.response)} against {visible(screen.against)}" if screen and screen.contenders else ""


def _said(view: RunView, width: int, most: int) -> list[Text]:
    """Return the sentences, in as many lines as there are at most."""
    style = "bold green" if view.settled else "bold"
    said = [line for one in view.sentences for line in _wrapped(visible(one), width, style)]
    if len(said) <= most:
        return said
    left = len(said) - most + 1
    return [*said[: most - 1], Text(f"… and {left} more line{'' if left == 1 else 's'} in the report", "dim")]


def _first_sentence(text: str) -> str:
    first, dot, _ = text.partition(". ")
    return f"{first}." if dot else text


def _drawn(view: RunView, width: int, signs: Signs) -> Iterator[tuple[Text, bool]]:
    """Yield the scale, and the lines of all contenders below headings; and whether each is a contender's."""
    screen = view.screen
    if screen is None or not screen.contenders:
        return
    columns = _columns(screen.contenders, width)
    ends = view.scale.low.ljust(columns.bar - cell_len(view.scale.high)) + view.scale.high
    better = f"{'left' if screen.lower_is_better else 'right'} is better"
    said = better if len(better) < columns.label else ""
    yield Text.assemble((_fitting(said, columns.label), "dim"), (ends, "dim")), False
    yield from _rows(screen.contenders, view.scale.reach, columns, signs)


def _cut(drawn: Sequence[tuple[Text, bool]], room: int, screen: FirstScreen | None) -> list[Text]:
    """Return as many lines as there is room for; of what is left out the number of contenders."""
    hidden = screen.hidden if screen else 0
    if len(drawn) <= room and not hidden:
        return [line for line, _ in drawn]
    kept = drawn[: max(0, room - 1)]
    hidden += sum(is_one for _, is_one in drawn[len(kept) :])
    return [*(line for line, _ in kept), Text(f"… {hidden} more", "dim")] if len(kept) > 1 else []


@dataclass(frozen=True)
class _Widths:
    """How wide the label of a contender and its interval are; its words have the rest."""

    label: int
    bar: int


def _columns(contenders: Sequence[Contender], width: int) -> _Widths:
    words = max(cell_len(one.change.text) for one in contenders)
    longest = max(cell_len(one.name) for one in contenders) + 3
    label = min(longest, max(_LEAST_LABEL, min(_MOST_LABEL, width - words - _LEAST_BAR - 4)))
    bar = max(_LEAST_BAR, min(_MOST_BAR, width - label - words - 3))
    return _Widths(label, bar - 1 + bar % 2)


def _rows(contenders: Sequence[Contender], reach: float, columns: _Widths, signs: Signs) -> Iterator[tuple[Text, bool]]:
    """Yield the lines of the contenders, and whether each is one rather than a heading."""
    where = ""
    for one in contenders:
        if one.condition != where:
            where = one.condition
            yield Text(visible(where), "italic"), False
        yield _contender(one, reach, columns, signs), True


def _contender(one: Contender, reach: float, columns: _Widths, signs: Signs) -> Text:
    change = one.change
    drawn = interval((change.low, change.high), change.value, change.look, reach, columns.bar, marks=signs.marks)
    name = _fitting(f"{signs.chosen if one.chosen else ' '} {visible(one.name)}", columns.label)
    return Text.assemble((name, "bold" if one.chosen else ""), (drawn, _LOOKS[change.look]), f"  {change.text}")


# --- the round


def _round(view: RunView, width: int, signs: Signs, full: bool) -> list[Text]:
    shown = view.round
    if shown is None:
        waiting = "the system is being brought up" if view.running else "no round is being measured"
        return [_rule("round", width, signs), Text(f"{waiting}{_others(view.running)}", "dim")]
    when = "now" if shown.live else "last round"
    title = _fitting(f"{when}: {visible(shown.title)}", max(12, width - cell_len(shown.when) - 8)).rstrip()
    top = [_rule(title, width, signs, shown.when)]
    if shown.note:
        top.append(Text(shown.note, "dim"))
    room = max(8, width - _NAME - _VALUE - 2)
    measures = [one for one in shown.measures if full or one.name not in _SHORT_OF]
    made = [_measure(one, room, signs) for one in measures if shown.seconds]
    return [*top, *made, *_bands(shown, room, signs)]


def _others(running: Sequence[str]) -> str:
    return f": {visible(running[0])}" if len(running) == 1 else f" ({len(running)} rounds)" if running else ""


def _measure(one: Measure, room: int, signs: Signs) -> Text:
    columns = min(room, max(len(one.values), room))
    drawn = sparkline(resampled(one.values, columns), columns, signs.bars)
    return Text.assemble(_fitting(one.name, _NAME), _fitting(one.text, _VALUE), "  ", (drawn, _style_of(one)))


def _style_of(one: Measure) -> str:
    grave = one.name in ("failed", "dropped") and any(one.values)
    return "red" if grave else "cyan"


def _bands(shown: RoundView, room: int, signs: Signs) -> Iterator[Text]:
    """Yield a line for each fault: when it acts, below the measures at the same time."""
    end = shown.seconds[-1] if shown.seconds else 0.0
    for name in dict.fromkeys(one.name for one in shown.bands):
        mine = [one for one in shown.bands if one.name == name]
        moments = [end * (place + 0.5) / room for place in range(room)]
        drawn = "".join(signs.band if _acts(mine, moment) else " " for moment in moments) if end else ""
        yield Text.assemble(_fitting("fault", _NAME), _fitting(visible(name), _VALUE), "  ", (drawn, "yellow"))


def _acts(bands: Sequence[FaultBand], moment: float) -> bool:
    return any(one.began <= moment and (one.ended is None or moment < one.ended) for one in bands)


# --- what else to know


def _lanes(view: RunView) -> list[Text]:
    if not view.lanes:
        return []
    stated = ", ".join(f"{visible(name) or 'here'} {count:,}" for name, count in view.lanes)
    return [Text(f"rounds of each lane: {stated}")]


def _remarks(remarks: Sequence[Remark], width: int, signs: Signs, most: int, whole: bool) -> list[Text]:
    """Return the first warnings, each on a line of its own; wrapped and with what to do where there is room."""
    if not remarks:
        return []
    rule = _rule("warnings", width, signs, f"{len(remarks) - most} more" if len(remarks) > most else "")
    shown = [line for one in remarks[:most] for line in _remark(one, width, whole)]
    return [rule, *shown]


def _remark(one: Remark, width: int, whole: bool) -> list[Text]:
    count = f"{one.rounds:,} round{'' if one.rounds == 1 else 's'}: " if one.rounds > 1 else ""
    text = visible(f"! {count}{one.text}")
    style = "red" if one.grave else "yellow"
    if not whole:
        return [Text(text, style)]
    more = f"; {visible(one.remedy)}" if one.remedy else ""
    return _wrapped(f"{text}{more}", width, style)


def _wrapped(text: str, width: int, style: str) -> list[Text]:
    return [Text(part, style) for part in wrap(text, width)]


def _fitting(text: str, width: int) -> str:
    """Return a text that is exactly this wide; one that is too long ends in an ellipsis."""
    cut = Text(text)
    cut.truncate(width - 1, overflow="ellipsis")
    return f"{cut.plain}{' ' * (width - cell_len(cut.plain))}"
