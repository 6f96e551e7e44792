"""The components to start for the next scenario, and why. Only launches decide, so that a plan can count the starts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from patternbench.lab.host.calls import Call
from patternbench.lab.host.launch import File, FreshStart, Launch, Live, LiveCall, LiveFile
from patternbench.lab.host.references import producers

NOT_UP = "it was not up"
AS_PLANNED: Mapping[str, str] = {}


@dataclass(frozen=True)
class Start:
    """A start of a component: why, and how many seconds it took until the component was ready."""

    component: str
    why: str
    seconds: float


def fixed(launch: Launch) -> Launch:
    """Return a launch without the content of its live parts, its resets and its drop, and the line that describes it.

    Where it differs so, it is restarted.
    """
    return _without(launch, {part.path for part in launch.live if isinstance(part, LiveFile)})


def grouped(launch: Launch) -> Launch:
    """Return a launch without what can change at once: it differs where something has to be started, also inside it."""
    return _without(launch, {part.path for part in launch.live if isinstance(part, LiveFile) and not part.starts})


def _without(launch: Launch, live_files: Collection[str]) -> Launch:
    files = tuple(File(file.path, "") if file.path in live_files else file for file in launch.files)
    return replace(
        launch, files=files, live=tuple(map(_without_content, launch.live)), reset=None, drop=None, offers=(), origin=""
    )


def _without_content(part: Live) -> Live:
    """Return a live part's name: a call that is not made any more cannot be undone, so its name stays."""
    return replace(part, acts=None) if isinstance(part, LiveFile) else LiveCall(part.name, Call("GET", "http://"))


def starts(
    up: Mapping[str, Launch], order: Sequence[Launch], restarts: Mapping[str, str] = AS_PLANNED
) -> dict[str, str]:
    """Which components are to be started so that what is ``up`` becomes what is wanted, and why.

    ``order`` holds what is wanted, each after those that it needs. ``restarts`` says of components that are up why they
    are started all the same. A component that refers to a started one is started, too, unless only live parts refer.
    """
    reasons: dict[str, str] = {}
    for launch in order:
        why = _why(launch, up.get(launch.name), restarts, reasons)
        if why:
            reasons[launch.name] = why
    return reasons


def _why(launch: Launch, before: Launch | None, restarts: Mapping[str, str], started: Mapping[str, str]) -> str:
    """Why a component is to be started; nothing where it can stay up."""
    if before is None:
        return NOT_UP
    if launch.name in restarts:
        return restarts[launch.name]
    differing = [] if launch == before else _differing(fixed(before), fixed(launch))
    if differing:
        return f"its {' and '.join(differing)} changed"
    renewed = [name for name in producers(fixed(launch)) if name in started] if started else []
    return f"{' and '.join(renewed)}, which it refers to, was started" if renewed else ""


def _differing(old: Launch, new: Launch) -> list[str]:
    return [field.name for field in fields(Launch) if getattr(old, field.name) != getattr(new, field.name)]


def every_round(launches: Iterable[Launch]) -> dict[str, str]:
    """Which components are restarted for every round, and why."""
    launches = list(launches)
    logged = any(launch.log for launch in launches)
    reasons = {launch.name: _why_every_round(launch, logged) for launch in launches}
    return {name: why for name, why in reasons.items() if why}


def _why_every_round(launch: Launch, logged: bool) -> str:
    if launch.log:
        return "its log belongs to one round"
    if any(isinstance(reset, FreshStart) for reset in launch.reset or ()):
        return "its reset is a restart"
    return "its system keeps a log, and nothing else resets it" if logged and launch.reset is None else ""


def starts_inside(up: Mapping[str, Launch], order: Sequence[Launch]) -> dict[str, str]:
    """Which components that stay up restart something in them to become what is wanted, and why."""
    staying = [launch for launch in order if launch.name in up]
    changed = [launch.name for launch in staying if grouped(launch) != grouped(up[launch.name])]
    return dict.fromkeys(changed, "its settings changed")
