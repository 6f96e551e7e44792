"""Which files a command may write: one rule for every output that a user names."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from patternbench.records.folder import MARK_FILE
from patternbench.terms.problems import InputError, Problem, reason, remedy

OWN = frozenset(
    {
        MARK_FILE,
        *("study.yaml", "study.json", "plan.json", "manifest.json", "journal.jsonl"),
        *("attempts", "component-logs", "observed", "load", "inputs", "logs"),
        *(
            "rounds.parquet",
            "steps.parquet",
            "simulated.json",
            "held-out.json",
            "later-traces.json",
            "model.yaml",
            "screen.json",
            "report.html",
            "figures",
            "tables",
        ),
    }
)
"""What a run's folder holds: its records, and what is rebuilt from them."""
_LONGEST_SUFFIX = 20


def check_outputs(
    outputs: Sequence[Path], inputs: Iterable[Path] = (), force: bool = False, renewed: Collection[Path] = ()
) -> None:
    """Raise InputError naming each output that may not be written.

    An existing file is written over only with ``force``, or where it is ``renewed``: an older one of the same command.
    An input of the same command, a file of a run, and a file that is named for two outputs never are. Devices and
    pipes, such as /dev/null, hold nothing to lose.
    """
    read = list(inputs)
    problems = [problem for path in outputs for problem in _problems(path, read, force or path in renewed)]
    twice = {path.resolve() for path in outputs if [one.resolve() for one in outputs].count(path.resolve()) > 1}
    problems += [Problem("is named for several outputs", str(path), hint="name one file for each") for path in twice]
    if problems:
        raise InputError(problems)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file as ``written_whole`` does."""
    with written_whole(path) as draft:
        draft.write_bytes(content)


@contextmanager
def written_whole(path: Path, hint: str = "") -> Iterator[Path]:
    """Where to write a file, so that a reader finds the old one or the whole new one; its folders are made.

    Raises InputError naming the file, with a hint, if it can't be written: nothing half written stays, and no old one
    is lost. A device or a pipe is written to as it is, and so is a file whose folder takes no other. The draft ends as
    the file does, since writers of tables choose a compression by it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not (_holds_something(path) and os.access(path.resolve().parent, os.W_OK)):
            yield path
        else:
            yield from _draft(path.resolve())
    except OSError as error:
        problem = Problem(f"cannot be written: {reason(error)}", file=str(path), hint=hint or remedy(error))
        raise InputError(problem) from None


def _draft(path: Path) -> Iterator[Path]:
    """Yield a draft next to a file, which gets the file's name in the end, with the rights that the old one had."""
    # The file's whole name could be too long, and in containers that share a folder processes have the same number.
    draft = path.with_name(f".patternbench-{os.getpid()}-{secrets.token_hex(6)}{path.suffix[:_LONGEST_SUFFIX]}")
    try:
        yield draft
        if path.exists():
            draft.chmod(stat.S_IMODE(path.stat().st_mode))
        _take_place(draft, path)
    finally:
        with suppress(OSError):
            draft.unlink()


def _take_place(draft: Path, path: Path) -> None:
    """Give a draft the name of a file; one that is mounted by itself, as into a container, is written over instead."""
    try:
        draft.replace(path)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        shutil.copyfile(draft, path)


def _problems(path: Path, inputs: Sequence[Path], force: bool) -> list[Problem]:
    """Return the first reason against writing a file."""
    if path.is_dir():
        return [Problem("is a folder; a file is needed", file=str(path))]
    if any(_same(path, one) for one in inputs):
        return [Problem("is read by this command, so it cannot be written", file=str(path), hint="name another file")]
    if _of_a_run(path):
        hint = "name a file outside of the run's folder, or in a folder `export` in it"
        return [Problem("is a file of a run, which only the run itself writes", file=str(path), hint=hint)]
    if not force and _holds_something(path):
        return [Problem("is already there", file=str(path), hint="type --force to overwrite it, or name another")]
    return []


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _of_a_run(path: Path) -> bool:
    """Whether the path, or what it links to, is one of the files of a run's folder."""
    real = path.resolve()
    return any((folder / "plan.json").is_file() and _first(real, folder) in OWN for folder in real.parents)


def _first(path: Path, folder: Path) -> str:
    return path.relative_to(folder).parts[0]


def _holds_something(path: Path) -> bool:
    """Whether there is a file of that name, rather than a device or a pipe."""
    return path.exists() and stat.S_ISREG(path.stat().st_mode)
