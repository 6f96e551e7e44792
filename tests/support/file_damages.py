"""The same damages to every file of a run, whatever it holds: cut, doubled, swapped, of another kind or version."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.damages import Damage, Draw

Change = Callable[[Path, Draw], None]
"""Damages one file."""
HUGE = 40_000_000
NUMBER = re.compile(rb"(?<![\w.])-?\d+(\.\d+)?(?![\w.])")
VERSION = re.compile(rb"(\"?(?:patternbench|manifest|plan|journal|format|version)\"?: ?)(\d+)")


def _written(how: Callable[[bytes, Draw], bytes]) -> Change:
    """A change of the content."""
    return lambda path, draw: path.write_bytes(how(path.read_bytes(), draw)) and None


def _instead(make: Callable[[Path], object]) -> Change:
    """Something else of the same name."""

    def change(path: Path, _: Draw) -> None:
        path.unlink()
        make(path)

    return change


def _other_number(number: bytes) -> Callable[[bytes, Draw], bytes]:
    def change(content: bytes, draw: Draw) -> bytes:
        found = list(NUMBER.finditer(content))
        if not found:
            return content
        at = draw.choice(found)
        return content[: at.start()] + number + content[at.end() :]

    return change


def _shuffled(content: bytes, draw: Draw) -> bytes:
    lines = content.splitlines(keepends=True)
    draw.shuffle(lines)
    return b"".join(lines)


def _inserted(what: bytes) -> Callable[[bytes, Draw], bytes]:
    def change(content: bytes, draw: Draw) -> bytes:
        at = draw.randrange(len(content) + 1)
        return content[:at] + what + content[at:]

    return change


def _grown(path: Path, _: Draw) -> None:
    os.truncate(path, path.stat().st_size + HUGE)


def _cut(path: Path, draw: Draw) -> None:
    os.truncate(path, draw.randrange(max(path.stat().st_size, 1)))


CHANGES: dict[str, Change] = {
    "is cut": _cut,
    "is empty": _written(lambda _, __: b""),
    "is gone": lambda path, _: path.unlink(),
    "is there twice in itself": _written(lambda content, _: content * 2),
    "has bytes that are no text": _written(_inserted(b"\xff\xfe\x00")),
    "has a character too many": _written(_inserted(b"}")),
    "is huge": _grown,
    "ends in zeros": _written(lambda content, _: content[: len(content) // 2].ljust(len(content), b"\0")),
    "is scribbled over": _written(lambda content, draw: draw.randbytes(max(len(content), 1))),
    "is null": _written(lambda _, __: b"null\n"),
    "is a list": _written(lambda _, __: b"[]\n"),
    "is an object of nothing": _written(lambda _, __: b"{}\n"),
    "is a number": _written(lambda _, __: b"7\n"),
    "is of an older version": _written(lambda content, _: VERSION.sub(rb"\g<1>0", content)),
    "is of a newer version": _written(lambda content, _: VERSION.sub(rb"\g<1>99", content)),
    "has a number that is none": _written(_other_number(b"NaN")),
    "has an endless number": _written(_other_number(b"1e999")),
    "has a negative number": _written(_other_number(b"-7")),
    "has a text for a number": _written(_other_number(b'"x"')),
    "has its lines in another order": _written(_shuffled),
    "begins with a byte-order mark": _written(lambda content, _: b"\xef\xbb\xbf" + content),
    "is a folder": _instead(Path.mkdir),
    "is a pipe": _instead(os.mkfifo),
    "is a device": _instead(lambda path: path.symlink_to("/dev/zero")),
    "is a link to nothing": _instead(lambda path: path.symlink_to("nothing")),
    "is a link to itself": _instead(lambda path: path.symlink_to(path.name)),
}
"""What may happen to any file, by what it then is."""


def kinds(run: Path) -> dict[str, list[Path]]:
    """Return the files of a run by kind, by their names in it: each at its top, and those of each folder by suffix."""
    found: dict[str, list[Path]] = {}
    for path in sorted(path.relative_to(run) for path in run.rglob("*") if path.is_file()):
        within = f"{path.parts[0]}/*{path.suffix}" if len(path.parts) > 1 else path.name
        found.setdefault(within, []).append(path)
    return found


def of_files(run: Path) -> dict[str, Damage]:
    """Return every damage that the files of a run can suffer, by what it is."""
    every = {f"{kind} {change}": _one_of(kind, CHANGES[change]) for kind in kinds(run) for change in CHANGES}
    return every | {f"{kind} has the content of another file": _swapped(kind) for kind in kinds(run)}


def _one_of(kind: str, change: Change) -> Damage:
    return lambda run, _, draw: change(run / draw.choice(kinds(run)[kind]), draw)


def _swapped(kind: str) -> Damage:
    """A file gets the content of any other one."""

    def damage(run: Path, _: Path, draw: Draw) -> None:
        of_it = draw.choice(kinds(run)[kind])
        other = draw.choice([path for paths in kinds(run).values() for path in paths if path != of_it])
        shutil.copyfile(run / other, run / of_it)

    return damage


def sample(run: Path, count: int, seed: int) -> dict[str, Damage]:
    """Return some damages of the files of a run, drawn by a seed."""
    every = of_files(run)
    return {name: every[name] for name in random.Random(seed).sample(sorted(every), count)}
