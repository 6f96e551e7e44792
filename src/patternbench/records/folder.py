"""The layout of a run's folder, and who may write to it."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from patternbench.study.text.files import read_start, read_text, regular
from patternbench.terms.problems import InputError, Problem, reason, remedy

PRIVATE_FOLDER, PRIVATE_FILE, USUAL_FILE = 0o700, 0o600, 0o666  # of each, the umask leaves the part that it allows
LARGEST = 1_000_000_000
"""Bytes of a file of a run that is read as a whole: a plan of 100,000 scenarios has about a tenth."""

MOST_OF_ONE_NAME = 1000
"""How many folders of one name are tried for a run that names none."""
MARK_FILE = ".lock"
"""Who holds it locked writes to the run; what it begins with tells our folders from a user's."""
MARK = b"patternbench: the folder of a run\n"
_DELETED = " (deleted)"
"""What the kernel adds to the name of a file that is open and has no name any more."""
BEFORE_THE_PLAN = frozenset(
    {
        MARK_FILE,
        "attempts",
        "inputs",
        "logs",
        *(name + end for name in ("study.yaml", "study.json", "manifest.json") for end in ("", ".tmp")),
        "plan.json.tmp",
    }
)
"""What a run writes before its plan is whole."""

Stamp = tuple[Path, int, int]
"""A file with its size in bytes and the nanosecond at which it was last changed."""


class RunFolder:
    """The files of one run (contracts/records/README.md)."""

    def __init__(self, path: str | Path) -> None:
        self.path = _resolved(Path(path))
        self.attempts = self.path / "attempts"
        self.component_logs = self.path / "component-logs"
        self.observed = self.path / "observed"
        self.load = self.path / "load"
        self.inputs = self.path / "inputs"
        self.journal = self.path / "journal.jsonl"
        self.plan = self.path / "plan.json"
        self.manifest = self.path / "manifest.json"
        self.held_out = self.path / "held-out.json"
        self.later_traces = self.path / "later-traces.json"
        self.model = self.path / "model.yaml"
        self.screen = self.path / "screen.json"
        self.rounds = self.path / "rounds.parquet"
        self.steps = self.path / "steps.parquet"
        self.report = self.path / "report.html"
        self.logs = self.path / "logs"
        self._lock: int | None = None

    @property
    def study(self) -> Path:
        """The study's text as it was given."""
        copies = [self.path / name for name in ("study.yaml", "study.json") if (self.path / name).is_file()]
        return copies[0] if copies else self.path / "study.yaml"

    def create(self, private: bool = False) -> None:
        """Make the run's folder and keep it locked, the caller's alone if ``private``.

        Raises InputError, and changes nothing, where the folder holds anything that isn't ours or another process is
        making the same one. Ours is only what lies next to our own mark, never what has one of our names.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._refuse_foreign()
            self.lock()
            self._mark_or_refuse()
            if private:
                self.path.chmod(PRIVATE_FOLDER)
            self.attempts.mkdir(exist_ok=True)
            self.logs.mkdir(exist_ok=True)
        except OSError as error:
            self.unlock()
            raise self._not_made(error) from None

    def _not_made(self, error: OSError) -> InputError:
        """Return why a folder can't be made here, with what to type."""
        what = "isn't a folder" if isinstance(error, FileExistsError) else f"cannot be made: {error.strerror}"
        hint = remedy(error) or "name a new or an empty folder with --out"
        return InputError(Problem(what, file=str(self.path), hint=hint))

    def _refuse_foreign(self) -> None:
        """Raise InputError for a folder that is neither empty nor has a file of our mark's name, before any write."""
        names = self._names()
        if names and MARK_FILE not in names:
            raise self._not_empty()

    def _mark_or_refuse(self) -> None:
        """Mark the locked folder as ours. Raises InputError if it holds a run, or anything without our mark."""
        if self._names() == {MARK_FILE} and not self._mark():
            self._write_mark()
        elif not self._interrupted():
            self.unlock()
            raise self._not_empty()

    def _write_mark(self) -> None:
        """Write the mark into the locked file, and return when it is on disk."""
        if self._lock is not None:
            os.write(self._lock, MARK)
            os.fsync(self._lock)
            sync_folder(self.path)

    def _mark(self) -> bytes:
        """Return what the file of our mark begins with; nothing if there is none."""
        with suppress(InputError):
            return read_start(self.path / MARK_FILE, len(MARK))
        return b""

    def _interrupted(self) -> bool:
        """Whether the folder holds only what a run that was killed while its folder was made has left."""
        return self._mark() == MARK and self._names() <= BEFORE_THE_PLAN

    def _names(self) -> set[str]:
        return {entry.name for entry in self.path.iterdir()}

    def _not_empty(self) -> InputError:
        if self.plan.is_file() and self.study.is_file():
            hint = f"name another with --out, or type `patternbench resume {_short(self.path)}` to continue it"
            return InputError(Problem("the output folder holds another run", file=str(self.path), hint=hint))
        hint = "name a new or an empty folder with --out"
        return InputError(Problem("the output folder is not empty", file=str(self.path), hint=hint))

    def check(self) -> None:
        """Raise InputError if this isn't a run's folder, or one whose creation was interrupted."""
        if self.plan.is_file() and self.study.is_file():
            return
        if self.path.is_dir() and self._interrupted():
            hint = f"delete it, or type `patternbench run STUDY --out {_short(self.path)}` to begin again in it"
            message = "is a run's folder whose creation was interrupted; nothing was measured yet"
            raise InputError(Problem(message, file=str(self.path), hint=hint))
        raise InputError(Problem("isn't a run's folder: it has no study and plan", file=str(self.path)))

    def lock(self) -> None:
        """Keep every other process from writing here; raises InputError when one already does."""
        if self._lock is not None:
            return
        try:
            self._lock = regular(str(self.path / MARK_FILE), os.O_RDWR | os.O_CREAT, USUAL_FILE)
        except OSError as error:
            problem = Problem(f"cannot be written: {reason(error)}", file=str(self.path), hint=remedy(error))
            raise InputError(problem) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.unlock()
            hint = "wait until it has ended"
            problem = Problem("another process is writing to this run", file=str(self.path), hint=hint)
            raise InputError(problem) from None

    def check_held(self) -> None:
        """Raise InputError where the folder that was locked lies no longer here: another run may have its place."""
        if self._lock is None or self._is_held(self._lock):
            return
        mark = str(Path(f"/proc/self/fd/{self._lock}").readlink())
        gone = mark.endswith(_DELETED)
        hint = "begin a new run" if gone else f"type `patternbench resume {_short(Path(mark).parent)}`"
        what = "was deleted" if gone else "was moved away"
        raise InputError(Problem(f"{what} while the run went on", file=str(self.path), hint=hint))

    def _is_held(self, lock: int) -> bool:
        """Whether the mark that lies here is the one that is locked."""
        try:
            here = (self.path / MARK_FILE).stat()
        except OSError:
            return False
        return os.path.samestat(here, os.fstat(lock))

    def unlock(self) -> None:
        """Release the lock, so that another process can write."""
        handle, self._lock = self._lock, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        """Release the lock once nothing refers to this folder any more."""
        if getattr(self, "_lock", None) is not None:
            self.unlock()

    def __reduce__(self) -> tuple[type[RunFolder], tuple[Path]]:
        """For another process, which reads the same folder and holds no lock of ours."""
        return type(self), (self.path,)

    def attempts_of(self, name: str) -> Path:
        """Return the Parquet file of a round's attempts; ``name`` is its index of five digits, or a warm-up's name.

        A round that was run again has the number of its try behind the index; the journal tells which counts.
        """
        return self.attempts / f"{name}.parquet"

    def component_logs_of(self, name: str) -> Path:
        """Return the folder of what components wrote in a round, of the same name as its attempts."""
        return self.component_logs / name

    def observed_of(self, name: str) -> Path:
        """Return the folder of a round's observations, named as its attempts are; each observer has one in it."""
        return self.observed / name

    def files_of(self, name: str) -> list[str]:
        """Return the records of a round or a warm-up, by their names in this folder."""
        places = [self.attempts_of(name), self.load / name, self.component_logs_of(name), self.observed_of(name)]
        files = [file for path in places for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
        return [str(file.relative_to(self.path)) for file in files if file.is_file()]

    def sweep(self) -> None:
        """Remove what an interrupted write left behind."""
        for left in self.attempts.glob("*.tmp"):
            with suppress(FileNotFoundError):
                left.unlink()
        for draft in (*self.component_logs.glob("*.tmp"), *self.observed.glob("*.tmp")):
            shutil.rmtree(draft, ignore_errors=True)


def digest(path: Path) -> str:
    """Return the SHA-256 of a regular file, in hex digits. Raises OSError."""
    with open(path, "rb", opener=regular) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp(path: Path) -> Stamp:
    """Return what tells whether a file is still the one that was looked into; raises OSError."""
    stat = path.stat()
    return path, stat.st_size, stat.st_mtime_ns


def write_json(path: Path, value: object, private: bool = False) -> None:
    """Write a JSON file as ``write_text`` does."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n", private)


def write_text(path: Path, text: str, private: bool = False) -> None:
    """Write a text file so that a reader sees either the old one or the whole new one.

    A file that others may not read stays so when it is replaced; a new one is so if ``private``.
    """
    draft = path.with_name(path.name + ".tmp")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else PRIVATE_FILE if private else USUAL_FILE
    draft.unlink(missing_ok=True)
    try:
        with open(draft, "x", encoding="utf-8", opener=partial(os.open, mode=mode)) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        replace_durably(draft, path)
    except OSError as error:  # that of a write names no file
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        draft.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file durably; raises OSError, leaving nothing, when the disk does not take it."""
    draft = path.with_name(path.name + ".tmp")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        replace_durably(draft, path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Yield where to write a file that gets its name once it is whole. Raises OSError naming the file.

    Whatever had the name is replaced and never opened: a pipe would wait for a reader. Two processes may write the same
    file at the same time: each has a draft of its own. A file that others may not read stays so.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        yield draft
        if path.is_file():
            draft.chmod(stat.S_IMODE(path.stat().st_mode))
        draft.replace(path)
    except OSError as error:
        if not error.errno:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def replace_durably(draft: Path, path: Path) -> None:
    """Give a written file, or a folder, its name, and return when that is on disk too."""
    draft.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Return when the names of a folder are on disk: a file that is durable needs a name that is."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path) -> object:
    """Return a JSON file's value; raises InputError naming it when it cannot be read."""
    try:
        return json.loads(read_text(path, LARGEST))
    except json.JSONDecodeError as error:
        raise InputError(Problem(f"is not JSON: {error}", file=str(path))) from None
    except ValueError:  # of Python's own bound on digits
        raise InputError(Problem("holds a number of thousands of digits", file=str(path))) from None
    except RecursionError:
        raise InputError(Problem("is nested too deeply", file=str(path))) from None


def unused(path: Path) -> Path:
    """Return a new, empty folder of that name, or of the first of ``NAME-2``, ``NAME-3`` ... that is not taken.

    Two processes never get the same one. Raises InputError if it can't be made.
    """
    try:
        for number in range(1, MOST_OF_ONE_NAME):
            with suppress(FileExistsError):
                numbered = path if number == 1 else path.with_name(f"{path.name}-{number}")
                numbered.parent.mkdir(parents=True, exist_ok=True)
                numbered.mkdir()
                return numbered
    except OSError as error:
        raise InputError(Problem(f"cannot be made: {error.strerror}", file=str(path))) from None
    raise InputError(Problem("is taken, with all its numbers", file=str(path), hint="name another with --out"))


def _resolved(path: Path) -> Path:
    """Return the absolute path without links.

    Raises InputError for links that lead in a circle, and names that are too long.

    Raises FileNotFoundError where the folder that we are in is gone.
    """
    try:
        return path.resolve()
    except FileNotFoundError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        why = "leads nowhere: its links form a circle"
        if isinstance(error, OSError) and error.errno != errno.ELOOP:
            why = f"can't be used: {reason(error)}"
        raise InputError(Problem(why, file=str(path), hint="name a folder that can be reached")) from None


def _short(path: Path) -> str:
    with suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def is_written_to(run: RunFolder) -> bool:
    """Whether a process of this machine runs it, by the kernel's list of locks; nothing of the folder is touched."""
    with suppress(OSError):
        mark = (run.path / MARK_FILE).stat()
        place = f"{os.major(mark.st_dev):02x}:{os.minor(mark.st_dev):02x}:{mark.st_ino}"
        return any(
            place in line.split() for line in Path("/proc/locks").read_text("utf-8").splitlines() if "FLOCK" in line
        )
    return False
