"""The two forms of a study: the whole one, and the quick one that its ``quick`` section makes of it.

The quick form is the study with the section laid over it: mappings are merged key by key, anything else is replaced,
and null takes a key away. ``form: quick`` in a text asks for it; that line is all that a run keeps to know its form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from patternbench.study.text.document import Document, Path, parse, without_comments
from patternbench.terms.problems import InputError, Problem

Form = Literal["whole", "quick"]
QUICK = "quick"
SUFFIX = "-quick"
"""What the name of a study in its quick form ends with, unless its ``quick`` section gives another."""
KEPT = ("patternbench", QUICK, "form")
"""Fields that both forms share."""


def chosen(document: Document) -> Document:
    """Return the document in the form that it asks for; raises InputError where it has no quick form."""
    return quick(document) if document.fields.get("form") == QUICK else document


def quick(document: Document) -> Document:
    """Return the document with its ``quick`` section laid over it; what comes from there keeps its line."""
    section = document.fields.get(QUICK)
    if not isinstance(section, dict):
        hint = "leave out --quick, or give the study a section `quick` with the fields that are other there"
        raise InputError(Problem("has no quick form", file=document.file, path=QUICK, hint=hint))
    problems = [_shared(document, key) for key in KEPT if key in section]
    if problems:
        raise InputError(problems)
    named = {"name": f"{document.fields.get('name')}{SUFFIX}", **section}
    lines = dict(document.lines)
    value = _over(document.fields, named, (), (QUICK,), lines)
    return replace(document, value={**value, "form": QUICK}, lines=lines)


def _shared(document: Document, key: str) -> Problem:
    hint = "write it outside the section `quick`, or leave it out"
    line = document.line((QUICK, key))
    return Problem("is the same in both forms", file=document.file, line=line, path=f"{QUICK}.{key}", hint=hint)


def _over(
    under: Mapping[str, object], over: Mapping[str, object], path: Path, source: Path, lines: dict[Path, int]
) -> dict[str, object]:
    """One mapping over another. ``path`` is where both lie in the study, ``source`` where the upper one is written."""
    merged = dict(under)
    for key, value in over.items():
        here, there, below = (*path, key), (*source, key), under.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(below, dict):
            merged[key] = _over(below, value, here, there, lines)
        else:
            merged[key] = value
            _moved(lines, there, here)
    return merged


def _moved(lines: dict[Path, int], source: Path, path: Path) -> None:
    """Let a path of the study, and all below it, have the lines at which the ``quick`` section writes them."""
    for each in [each for each in lines if each[: len(path)] == path and source in lines]:
        del lines[each]
    for each in [each for each in lines if each[: len(source)] == source]:
        lines[*path, *each[len(source) :]] = lines[each]


def asking(text: str, file: str) -> str:
    """Return the text of a study, with the line that asks for its quick form; no line of it changes its number.

    One that asks for it already stays as it is. Raises InputError for one that asks for the whole form.
    """
    written = parse(without_comments(text) if file.endswith(".json") else text, file)
    form = written.fields.get("form")
    if form == QUICK:
        return text
    if form is not None:
        message, hint = "is given in the study, and --quick asks for the other form", "leave one of them out"
        raise InputError(Problem(message, "form", file, written.line(("form",)), form, hint=hint))
    if not file.endswith(".json"):
        return f"{text.rstrip()}\n\nform: {QUICK}\n"
    end = without_comments(text).rstrip().rfind("}")
    return f'{text[:end].rstrip().rstrip(",")}, "form": "{QUICK}"{text[max(end, 0) :]}'
