"""What the verbs say of a run, to be compared with what they say once the run is damaged."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from patternbench.cli.main import main
from patternbench.watch.view import UNREADABLE
from patternbench.watch.watched import WatchedRun

VERBS: dict[str, tuple[str, ...]] = {
    "recommend": ("recommend", "RUN"),
    "compare": ("compare", "RUN", "--baseline", "strategy=baseline"),
    "fit": ("fit", "RUN", "--formula", "p95 ~ users + C(strategy)"),
    "claims": ("report", "RUN", "--part", "claims"),
    "export": ("export", "RUN", "--format", "csv", "--force", "--out", "OUT"),
    "attempts": ("export", "RUN", "--format", "csv", "--table", "attempts", "--force", "--out", "OUT"),
    "loadtest": ("loadtest", "RUN", "--load", "users"),
    "report": ("report", "RUN"),
}
"""The words of each verb; RUN is the run's folder, OUT a file outside of it."""
FURTHER: dict[str, tuple[str, ...]] = {
    "gate": ("compare", "RUN", "--baseline", "strategy=baseline", "--fail-if", "p95 > +10%"),
    "choices": ("plan", "STUDY", "--from", "RUN"),
    "apply": ("apply", "RUN", "--as", "resilience4j", "--approximate"),
    "history": ("history", "add", "KEPT", "RUN"),
    "calibrate": ("calibrate", "RUN", "--force", "--out", "OUT"),
}
"""Those of further verbs that read a run; STUDY is its study, and KEPT a folder, both next to OUT."""
WATCH = "watch"
"""The verb that shows a run in a browser: its view is taken without one."""
MADE = ("rounds.parquet", "steps.parquet")
"""What a report computes, as far as it is compared byte by byte."""


@dataclass(frozen=True)
class Answer:
    """What a verb came to: its exit code, what it printed, what it wrote, what it said on standard error."""

    code: object
    result: tuple[str, bytes]
    said: str


def answer(verb: str, run: Path, out: Path) -> Answer:
    """Return what a verb says of a run; whatever a verb raises is raised."""
    if verb == WATCH:
        return _seen(run)
    kept = out.with_name("kept")
    places = {"RUN": str(run), "OUT": str(out), "STUDY": str(out.with_name("study.yaml")), "KEPT": str(kept)}
    words = [places.get(word, word) for word in (VERBS | FURTHER)[verb]]
    out.unlink(missing_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        code = _code(words)
    return Answer(code, (printed.getvalue(), _written(verb, run, out, code)), said.getvalue())


def _seen(run: Path) -> Answer:
    """Return what the page of a run shows: its view, and what it says besides of its rounds and records."""
    watched = WatchedRun(run)
    watched.refresh()
    view = watched.view().as_json()
    watched.close()
    said = [str(view.pop("progress")), *map(str, cast("list[object]", view.pop("remarks")))]
    if view["state"] == UNREADABLE:
        said = [f"error: {sentence}" for sentence in cast("list[str]", view["sentences"])]
    code = 2 if view["state"] == UNREADABLE else 0
    return Answer(code, (json.dumps(view, default=str), b""), "\n".join(said))


def _code(words: Sequence[str]) -> object:
    try:
        return main(list(words))
    except SystemExit as ended:
        return ended.code or 0


def _written(verb: str, run: Path, out: Path, code: object) -> bytes:
    if verb == "report" and code == 0:
        return b"".join((run / name).read_bytes() for name in MADE)
    return out.read_bytes() if out.is_file() else b""


def told(before: Answer, after: Answer) -> bool:
    """Whether an answer is the undisturbed one, or a refusal, or says more than the undisturbed one on standard error.

    A refusal names what is wrong; a traceback is neither.
    """
    if "Traceback" in after.said or after.code not in (before.code, 2):
        return False
    if after.code == 2 and before.code != 2:
        return "error: " in after.said.lower()
    return (after.code, after.result) == (before.code, before.result) or bool(_more(before, after))


def _more(before: Answer, after: Answer) -> set[str]:
    return set(after.said.splitlines()) - set(before.said.splitlines())
