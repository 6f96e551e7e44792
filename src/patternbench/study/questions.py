"""The seam by which an observer declares what a study may ask of it: new fields of a study, in one file of its wing.

A wing with a file ``question.py`` assigns ``QUESTION`` there, a subclass of ``Question``. Its fields become fields of
a study and of what travels with every round (``study.watching.Watch``); its validators hold for both.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Self, TypeVar, cast

from pydantic import Field, create_model

import patternbench
from patternbench.study.model.parts import Model

MODULE = "question"
Asked = TypeVar("Asked", bound=Model)
FormulaName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
"""A name that formulas can hold, as in ``series.NAME.mean``."""


class Question(Model):
    """What a study may ask of one observer. Every field has a default, which asks for nothing."""

    @classmethod
    def of(cls, asked: Model) -> Self:
        """Return what a study, or its rounds, ask of this observer."""
        if not isinstance(asked, cls):
            raise TypeError(f"{type(asked).__name__} has no fields of {cls.__name__}")
        return asked


@cache
def questions() -> tuple[type[Question], ...]:
    """Return the question of each wing that has one, in the wings' alphabetical order."""
    return tuple(import_module(f"{wing}.{MODULE}").QUESTION for wing in _wings())


def _wings() -> Iterator[str]:
    """Yield the packages that have a question; none is imported to find out."""
    for package in pkgutil.iter_modules(patternbench.__path__):
        folders = [f"{folder}/{package.name}" for folder in patternbench.__path__] if package.ispkg else []
        if any(module.name == MODULE for module in pkgutil.iter_modules(folders)):
            yield f"{patternbench.__name__}.{package.name}"


def asking(name: str, base: type[Asked], asked: Sequence[type[Question]]) -> type[Asked]:
    """Return a model with the fields of another and those of questions, after them."""
    models: tuple[type[Model], ...] = (base, *asked)
    fields = [field for model in models for field in model.model_fields]
    if twice := {field for field in fields if fields.count(field) > 1}:
        raise TypeError(f"{name} would have {', '.join(sorted(twice))} twice")
    bases: tuple[type[Model], ...] = (*reversed(asked), base)
    return cast(type[Asked], create_model(name, __base__=bases, __module__=base.__module__, __doc__=base.__doc__))
