"""What each form of the product allows is as agreed: of files that users write, of records, and of messages.

A form is a pydantic model. Its golden file says which fields it has, of which type, within which bounds, by which names
and with which defaults. One that changes may refuse a file or a record of before, or take one that it must not.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from tests.support.golden import is_golden

import patternbench

WORDS = ("title", "description")
"""What is written about a form, which may be said better any day."""


def forms() -> dict[str, dict[str, type[BaseModel]]]:
    """All forms, by the package that they are in and their own names."""
    for module in pkgutil.walk_packages(patternbench.__path__, "patternbench."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: dict[str, dict[str, type[BaseModel]]] = {}
    for form in sorted(set(below(BaseModel)), key=lambda one: (one.__module__, one.__qualname__)):
        if form.__module__.startswith("patternbench."):
            package = form.__module__.split(".")[1]
            name = f"{form.__module__.removeprefix('patternbench.')}.{form.__qualname__}"
            found.setdefault(package, {})[name] = form
    return found


def below(form: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in form.__subclasses__():
        yield one
        yield from below(one)


def allowed(form: type[BaseModel]) -> object:
    """What a form allows; the forms of its fields have entries of their own."""
    try:
        schema = form.model_json_schema()
    except PydanticInvalidForJsonSchema:
        return sorted(form.model_fields)
    return without_words({name: part for name, part in schema.items() if name != "$defs"})


def without_words(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: without_words(one) for name, one in part.items() if name not in WORDS or isinstance(one, dict)}
    return [without_words(one) for one in part] if isinstance(part, list) else part


@pytest.mark.filterwarnings("ignore::pydantic.json_schema.PydanticJsonSchemaWarning")
@pytest.mark.parametrize(("package", "there"), forms().items(), ids=lambda part: part if isinstance(part, str) else "")
def test_what_files_records_and_messages_may_hold_is_as_agreed(package: str, there: dict[str, type[BaseModel]]) -> None:
    is_golden(f"forms/{package}.json", {name: allowed(form) for name, form in there.items()})
