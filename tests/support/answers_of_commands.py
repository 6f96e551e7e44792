"""What a command prints with ``--json``, held against its schema in ``contracts/cli``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from tests.support.studies import ROOT

FOLDER = ROOT / "contracts" / "cli"
LIVE = ("run", "load", "try", "up", "watch", "test-limits", "simulate-limits")
"""The commands that start something: tests/integration/run/test_live_answers.py runs them."""


@cache
def validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / f"{command}.schema.json").read_text(encoding="utf-8")))


def leaves(error: ValidationError) -> Iterator[ValidationError]:
    """What is wrong at the end of each branch: a union only says that none of its forms fits."""
    if not error.context:
        yield error
    for one in error.context or ():
        yield from leaves(one)


def fits(command: str, printed: str) -> None:
    """Fail with each place of what a command printed that its schema does not allow."""
    errors = [leaf for error in validator(command).iter_errors(json.loads(printed)) for leaf in leaves(error)]
    wrong = [f"{error.json_path}: {error.message[:300]}" for error in errors]
    assert not wrong, "\n".join(wrong)
