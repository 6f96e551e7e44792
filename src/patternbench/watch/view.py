"""The view of a run that is watched: the decision first, then its round, then its warnings.

It is plain data, for any view. ``view_of`` is a pure function of a look at the records and of what the run says of
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from patternbench.analyze.statements.sentences import size
from patternbench.report.first_screen import DrawnChange, FirstScreen, widest
from patternbench.terms.quantities import MINUS
from patternbench.terms.units import roughly
from patternbench.watch.looking import RoundCounts, RunSnapshot
from patternbench.watch.rounds import RoundView

NOT_THE_LAST_WORD = "Not the last word: who looks often finds something clear too often. The report at the end decides."
AS_IT_WAS = "As it was after these rounds. Only the report of the whole run has the last word."
GOES_ON, OVER, QUIET, UNREADABLE = "going on", "over", "not over", "can't be read"
MOST_WARNINGS, _MOST_LOOKS = 6, 5


@dataclass(frozen=True)
class ChangeScale:
    """The scale of the contenders' intervals: how far it reaches from no change, and its ends in words."""

    reach: float
    low: str
    high: str


@dataclass(frozen=True)
class Remark:
    """A warning or a failure: of how many rounds (0 of the run), what it says, what to do."""

    rounds: int
    text: str
    remedy: str
    grave: bool


@dataclass(frozen=True)
class RunView:
    """A run, as a view shows it.

    ``state`` is one of those above, ``progress`` says how far it is, ``caveat`` what may not be concluded yet.
    ``replayed`` is after how many rounds it is shown, where that is asked for. ``round`` is the one that runs now, or
    the last one; ``running`` names all that run.
    """

    name: str
    folder: str
    question: str
    state: str
    progress: str
    sentences: Sequence[str]
    caveat: str
    screen: FirstScreen | None
    scale: ChangeScale
    counts: RoundCounts
    block: int
    of_blocks: int
    round: RoundView | None
    running: Sequence[str]
    remarks: Sequence[Remark]
    lanes: Sequence[tuple[str, int]]
    replayed: int | None = None

    def as_json(self) -> dict[str, object]:
        """Return the view as plain data, without its screen, which the template of the report shows."""
        return {name: part for name, part in asdict(replace(self, screen=None)).items() if name != "screen"}

    @property
    def settled(self) -> bool:
        """Whether every choice is clear by now."""
        return bool(self.screen and self.screen.settled)


@dataclass(frozen=True)
class LiveState:
    """What is known of a run besides its records: whether a process runs it, which rounds run, how one goes."""

    going_on: bool = False
    running: Sequence[str] = ()
    round: RoundView | None = None
    notes: Sequence[str] = ()


NOT_HERE = LiveState()


def view_of(looked: RunSnapshot, present: LiveState = NOT_HERE, replayed: int | None = None) -> RunView:
    """Return the view of a run."""
    screen, counts = looked.screen, looked.counts
    state = _state(counts, present)
    return RunView(
        name=looked.name,
        folder=str(looked.run.path),
        question=looked.question,
        state=state,
        progress=_progress(looked, state),
        sentences=looked.sentences,
        caveat=_caveat(looked, state, replayed),
        screen=screen,
        scale=scale_of([one.change for one in screen.contenders] if screen else []),
        counts=counts,
        block=looked.blocks,
        of_blocks=looked.of_blocks,
        round=present.round,
        running=[looked.names.get(one, one) for one in present.running],
        remarks=_remarks(looked, present),
        lanes=sorted(looked.lanes.items()),
        replayed=replayed,
    )


def unreadable(folder: Path, why: str) -> RunView:
    """Return the view of a run whose records can't be read: a sentence that says why."""
    return RunView(
        *(folder.name, str(folder), "", UNREADABLE, UNREADABLE, [why], "", None),
        *(scale_of([]), RoundCounts(0, 0, 0), 0, 0, None, (), (), ()),
    )


def scale_of(changes: Sequence[DrawnChange]) -> ChangeScale:
    """Return the scale that the pictures of these changes share."""
    reach = widest(changes)
    unit = changes[0].unit if changes else "%"
    far = size("" if unit == "%" else unit, reach, unit == "%")
    return ChangeScale(reach, f"{MINUS}{far}", f"+{far}")


def _state(counts: RoundCounts, present: LiveState) -> str:
    if present.going_on:
        return GOES_ON
    return QUIET if counts.left else OVER


def _caveat(looked: RunSnapshot, state: str, replayed: int | None) -> str:
    """Say what may not be concluded yet, unless nothing has ended or all has."""
    if replayed is not None and replayed < looked.counts.planned:
        return AS_IT_WAS
    if state == OVER or not looked.counts.ended:
        return ""
    if looked.looks:
        return (
            f"Not the last word between the looks of the study. At them, after {_few(looked.looks)} blocks, it holds."
        )
    return NOT_THE_LAST_WORD


def _few(looks: Sequence[int]) -> str:
    """Return the first few numbers, and the last one."""
    first = ", ".join(map(str, looks[:_MOST_LOOKS]))
    return first if len(looks) <= _MOST_LOOKS else f"{first} ... {looks[-1]}"


def _progress(looked: RunSnapshot, state: str) -> str:
    """Say how far a run is: its state, its rounds, its blocks, the time that is left."""
    counts = looked.counts
    of = f"{counts.ended:,} of {counts.planned:,} rounds"
    more = f" (at most {counts.at_most:,})" if counts.at_most > counts.planned else ""
    parts = [state, f"{of}{more}", f"{looked.blocks} of {looked.of_blocks} blocks whole"]
    if state == GOES_ON and looked.seconds_left is not None:
        parts.append(f"about {roughly(looked.seconds_left)} left")
    if state == QUIET:
        parts.append("no process of this machine runs it")
    return " · ".join(parts)


def _remarks(looked: RunSnapshot, present: LiveState) -> list[Remark]:
    """Return what is damaged, then failures, then the worst warning and the others, and what is odd about the place."""
    first = looked.worst
    ordered = sorted(looked.warnings, key=lambda one: one is not first)
    remarks = [Remark(one.rounds, one.message, one.remedy, one.invalidates) for one in ordered]
    failed = [Remark(1, cause, "", True) for cause in looked.causes[-2:]]
    damaged = [Remark(0, sentence, "", True) for sentence in looked.damage]
    return [*damaged, *failed, *remarks, *(Remark(0, note, "", False) for note in present.notes)][:MOST_WARNINGS]
