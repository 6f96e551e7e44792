"""Standard output and standard error: what they cannot take ends in words, whatever was being printed."""

from __future__ import annotations

import io
import os
import select
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer

STANDARD = ("stdin", "stdout", "stderr")
OUTPUT, ERRORS = 1, 2
NAME = "standard output"


class UnreadError(Exception):
    """Nobody reads standard output any more. It isn't an OSError: click and rich end the process on one."""


class Output(io.FileIO):
    """Standard output, whose errors say that it was standard output: ``standard output: No space left on device``."""

    def write(self, content: ReadableBuffer) -> int:
        """Write as a file does. Raises UnreadError, or OSError with this stream's name."""
        try:
            return _written(super().write, content, self)
        except BrokenPipeError:
            raise UnreadError from None
        except OSError as error:
            raise OSError(error.errno, error.strerror, NAME) from None


class ErrorOutput(io.FileIO):
    """Standard error. Text that it cannot take is lost, as there is no other place to say so."""

    def write(self, content: ReadableBuffer) -> int:
        """Write as a file does; a full or closed place swallows the text."""
        with suppress(OSError):
            return _written(super().write, content, self)
        return memoryview(content).nbytes


def _written(write: Callable[[ReadableBuffer], int | None], content: ReadableBuffer, file: io.FileIO) -> int:
    """Return how many bytes were written, once the place takes some.

    A pipe may have been left as one that refuses instead of waiting; what it refuses would be lost.
    """
    while (written := write(content)) is None:
        select.select([], [file], [])
    return written


def take() -> None:
    """Make standard output and standard error ours; call it first, before any file is opened.

    A stream that is closed is opened on /dev/null: else the next file that is opened, such as a record of the run, gets
    its number, and takes what is printed.
    """
    for number, name in enumerate(STANDARD):
        if not _is_open(number):
            _open_null(number)
            if getattr(sys, name) is None:
                setattr(sys, name, _text(io.FileIO(number, "r" if number == 0 else "w", closefd=False), None))
    sys.stdout = _ours(sys.stdout, Output, OUTPUT)
    sys.stderr = _ours(sys.stderr, ErrorOutput, ERRORS)


def flush() -> None:
    """Bring out what was printed. Raises OSError where standard output cannot take it."""
    if isinstance(sys.stdout, io.TextIOBase):
        sys.stdout.flush()


def takes_all(stream: TextIO) -> bool:
    """Whether a stream takes every character; one that a caller has put in its place (a test, a notebook) does."""
    return not isinstance(stream, io.TextIOWrapper) or is_utf8(stream.encoding)


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, whichever way its name is written."""
    return encoding.lower().replace("-", "") == "utf8"


def give_up() -> None:
    """Print no more: nothing that is still held back is tried again when the process ends."""
    if isinstance(getattr(getattr(sys.stdout, "buffer", None), "raw", None), Output):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, OUTPUT)
        os.close(null)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _open_null(number: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)


def _ours(stream: TextIO, kind: type[io.FileIO], number: int) -> TextIO:
    """Return the stream with our file below it; one that a caller put in its place (a test, a notebook) stays."""
    if not isinstance(stream, io.TextIOWrapper) or stream is not getattr(sys, f"__{STANDARD[number]}__"):
        return stream
    with suppress(OSError, ValueError):
        stream.flush()
    return _text(kind(number, "w", closefd=False), stream)


def _text(raw: io.FileIO, like: io.TextIOWrapper | None) -> TextIO:
    """Return a text stream on a file, with the encoding of another."""
    encoding, errors = (like.encoding, like.errors) if like else ("utf-8", "backslashreplace")
    if raw.readable():
        return io.TextIOWrapper(io.BufferedReader(raw), encoding=encoding, errors=errors)
    at_once = raw.isatty() or raw.name == ERRORS
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=at_once)
