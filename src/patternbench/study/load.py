"""Reads a file as a study, or reports all its problems at once."""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from patternbench.study import forms
from patternbench.study.model.levels import Levels
from patternbench.study.models import Study
from patternbench.study.text import resiliencebench
from patternbench.study.text.document import Document, Path, parse, without_comments
from patternbench.study.text.files import read_text
from patternbench.study.text.shapes import in_words
from patternbench.terms.problems import InputError, Problem, did_you_mean

ALLOWED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "a text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
    "finite_number": "a finite number",
}
LIMITS = {
    "greater_than_equal": ("ge", "at least {}"),
    "greater_than": ("gt", "more than {}"),
    "less_than_equal": ("le", "at most {}"),
    "less_than": ("lt", "less than {}"),
    "literal_error": ("expected", "{}"),
    "enum": ("expected", "{}"),
    "string_pattern_mismatch": ("pattern", "{}"),
    "too_short": ("min_length", "at least {} entry"),
    "string_too_long": ("max_length", "at most {} characters"),
}


@dataclass(frozen=True)
class StudyFile:
    """The text of a study in the form that is asked for, its file's name, and the folder that its paths start from."""

    file: str
    text: str
    study_folder: FilePath

    @classmethod
    def read(cls, path: str | FilePath, quick: bool = False) -> StudyFile:
        """Read a YAML or JSON file, or a ResilienceBench JSON file; raises InputError if it can't be read.

        ``quick`` asks for its quick form, and so does ``NAME-quick.yaml`` where only ``NAME.yaml`` exists.
        """
        whole = _whole_of(FilePath(path))
        file = str(whole or path)
        text = read_text(file)
        text = forms.asking(text, file) if quick or whole else text
        return cls(file, text, FilePath(file).resolve().parent)

    @property
    def name(self) -> str:
        """What its runs are named after: the file's name, with the form where it is the quick one."""
        quick = self.as_written.fields.get("form") == forms.QUICK
        return FilePath(self.file).stem + (forms.SUFFIX if quick else "")

    @property
    def as_written(self) -> Document:
        """What is written, in both forms."""
        return parse_study(self.text, self.file)

    def study(self) -> Study:
        """Return the study; raises InputError with every problem of it."""
        return loads(self.text, self.file)

    def placed(self) -> AbstractContextManager[None]:
        """Add file and line to problems that are found later and only have their path in the study."""
        return placed(self.text, self.file)


def _whole_of(path: FilePath) -> FilePath | None:
    """Return the study of a name that ends with ``-quick``; None where that is a file, and for other names."""
    if not path.stem.endswith(forms.SUFFIX) or path.exists():
        return None
    whole = path.with_stem(path.stem.removesuffix(forms.SUFFIX))
    return whole if whole.exists() else None


def load(path: str | FilePath) -> Study:
    """Return the study in a YAML or JSON file, or in a ResilienceBench JSON file; raises InputError."""
    return StudyFile.read(path).study()


def loads(text: str, file: str) -> Study:
    """Return the study that a text holds; ``file`` is its name in messages.

    A whole study whose quick form has a problem has that problem too, so that no one meets it later.
    """
    written = parse_study(text, file)
    if resiliencebench.recognises(written.value):
        return typing.cast(Study, validated(Study, resiliencebench.convert(written)))
    study = typing.cast(Study, validated(Study, forms.chosen(written)))
    if study.quick and study.form != forms.QUICK:
        validated(Study, forms.quick(written))
    return study


def parse_study(text: str, file: str) -> Document:
    """Return the document that a text holds; ``file`` tells JSON, which may hold comments, from YAML."""
    return parse(without_comments(text) if file.endswith(".json") else text, file)


@contextmanager
def placed(text: str, file: str) -> Iterator[None]:
    """Add file and line to problems that are found later and only have their path in the study."""
    try:
        yield
    except InputError as error:
        document = forms.chosen(parse_study(text, file))
        problems = [located(problem, document) for problem in error.problems]
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0)) from None


def located(problem: Problem, document: Document) -> Problem:
    """Return a problem that only has its path in a document, with file and line."""
    lines = {dotted(path): line for path, line in document.lines.items() if path}
    path = _as_written(problem.path, lines)
    around = path
    while around and around not in lines:
        around = around[: max(around.rfind("."), around.rfind("["), 0)]
    if problem.file:
        return problem
    return replace(problem, path=path, file=document.file, line=lines.get(around))


def _as_written(path: str, paths: Collection[str]) -> str:
    """Return a path in the study as its author wrote it: a journey may be its list of steps."""
    journey, steps, rest = path.partition(".steps[")
    return f"{journey}[{rest}" if steps and f"{journey}.steps" not in paths and f"{journey}[0]" in paths else path


def validated(model: type[BaseModel], document: Document) -> BaseModel:
    """Return the document as the model, or an InputError listing every problem with its line."""
    if not isinstance(document.value, dict):
        raise InputError(Problem("is empty, or isn't a mapping", file=document.file, allowed="key: value lines"))
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        problems = [_problem(details, model, document) for details in error.errors()]
    raise InputError(_without_echoes(problems))


def _problem(error: ErrorDetails, model: type[BaseModel], document: Document) -> Problem:
    kind, context = error["type"], error.get("ctx", {})
    path = _real_path(error["loc"], document, model, lacks_last=kind == "missing")
    problem = partial(Problem, path=dotted(path), file=document.file, line=document.line(path))
    if kind == "missing":
        return problem(f"`{path[-1]}` is missing")
    if kind == "extra_forbidden":
        keys = _keys(model, error["loc"][:-1])
        return problem("unknown key", allowed=", ".join(keys), hint=did_you_mean(str(path[-1]), keys))
    value = error["input"] if not isinstance(error["input"], (dict, BaseModel)) else None
    if isinstance(value, (list, tuple)) and len(value) == 1 and not isinstance(document.at(path), list):
        value = value[0]
    return problem(_message(kind, error["msg"]), value=value, allowed=_allowed(kind, context))


def _message(kind: str, message: str) -> str:
    if kind in ALLOWED or kind in LIMITS:
        return "is not allowed here"
    return message


def _allowed(kind: str, context: Mapping[str, object]) -> str:
    if kind in LIMITS:
        key, text = LIMITS[kind]
        limit = str(context.get(key))
        return in_words(limit) if key == "pattern" else text.format(limit)
    return str(context.get("allowed", ALLOWED.get(kind, "")))


def _real_path(loc: tuple[str | int, ...], document: Document, model: type[BaseModel], lacks_last: bool) -> Path:
    """Return the location without pydantic's additions: the index of a single scalar, the name of a union's member.

    Only of a key that is missing the last step isn't in the document.
    """
    path: Path = ()
    for index, step in enumerate(loc):
        node = document.at(path)
        last = lacks_last and index == len(loc) - 1 and not _members(_models_at(model, loc[:-1]), step)
        if (isinstance(node, dict) and (step in node or last)) or (isinstance(node, list) and isinstance(step, int)):
            path = (*path, step)
    return path


def dotted(path: Path) -> str:
    """Return a path as a user would say it: ``strategies[1].retry.max_attempts``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.lstrip(".")


def _keys(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the model at a location knows."""
    models = _models_at(model, loc)
    return [field.alias or name for name, field in models[0].model_fields.items()] if models else []


def _models_at(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[type[BaseModel]]:
    """Return the models that a value at a location may be; a union's tags are the names of its members."""
    models = [model]
    for step in loc:
        models = _members(models, step) or _below(models, step)
    return models


def _members(models: list[type[BaseModel]], step: str | int) -> list[type[BaseModel]]:
    return [model for model in models if model.__name__ == step]


def _below(models: list[type[BaseModel]], step: str | int) -> list[type[BaseModel]]:
    """Return the models of a field. A step that isn't a field is pydantic's addition to a location, and is skipped."""
    fields = [(field.alias or name, field) for model in models for name, field in model.model_fields.items()]
    groups = [_models_in(field.annotation) for name, field in fields if name == step]
    return [model for group in groups for model in group] if groups else models


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, types.UnionType, list, typing.Annotated):
        return [model for part in get_args(annotation) for model in _models_in(part)]
    return []


def _without_echoes(problems: list[Problem]) -> list[Problem]:
    """One problem per path: a union reports the same value once per member, so their allowed values are joined."""
    merged: dict[str, Problem] = {}
    for problem in problems:
        first = merged.setdefault(problem.path, problem)
        if first is not problem and problem.allowed and problem.allowed not in first.allowed:
            joined = " or ".join(filter(None, (first.allowed, problem.allowed)))
            merged[problem.path] = replace(first, allowed=joined)
    return sorted(merged.values(), key=lambda p: (p.line or 0, p.path))


__all__ = ["Levels", "StudyFile", "dotted", "load", "loads", "parse_study", "validated"]
