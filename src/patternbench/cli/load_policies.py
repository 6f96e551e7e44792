"""The policies of ``patternbench load`` for slow and failing calls: a few options, or a whole stack from a file."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from patternbench.study.load import validated
from patternbench.study.model.tree import count
from patternbench.study.text.document import Document, parse
from patternbench.study.text.files import read_text
from patternbench.study.workload.policies import Policy, Stack
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration

BACKOFF = {"exponential": {"initial": "100ms", "multiplier": 2, "max": "10s"}}
"""The longest pauses of ``--retry``: each pause is drawn between 0 and these (full jitter)."""


def flags(deadline: Duration | None, retry: int | None, hedge: Duration | None) -> dict[str, dict[str, object]]:
    """Return the policies of the flags that are given, in their one order: deadline, retry, hedge."""
    expected: dict[str, dict[str, object]] = {
        "--deadline": {"deadline": deadline} if deadline else {},
        "--retry": {"retry": {"max_attempts": retry, "backoff": BACKOFF, "jitter": "full"}} if retry else {},
        "--hedge": {"hedge": {"delay": hedge}} if hedge else {},
    }
    return {flag: policy for flag, policy in expected.items() if policy}


def of_file(path: str) -> list[Policy]:
    """Return the stack of a YAML or JSON file in a study's words; raises InputError naming each line."""
    document = parse(read_text(path), path)
    if isinstance(document.value, list):
        lines = {("stack", *keys): line for keys, line in document.lines.items()}
        document = Document(path, {"stack": document.value}, lines)
    stack = cast(Stack, validated(Stack, document))
    if count(stack.stack) > 1:
        hint = "give each field one value, or write a study to compare several"
        raise InputError(Problem("a list of levels makes several stacks of one", file=path, hint=hint))
    return stack.stack


def read(path: Path | None, deadline: Duration | None, retry: int | None, hedge: Duration | None) -> list[Policy]:
    """Return the stack, which comes from the file or from flags."""
    if path is None:
        policies = [*flags(deadline, retry, hedge).values()]
        return Stack.model_validate({"stack": policies}).stack if policies else []
    for flag, value in {"--deadline": deadline, "--retry": retry, "--hedge": hedge}.items():
        if value is not None:
            hint = f"put it into {path}, where its place in the order is clear"
            raise InputError(Problem(f"does not go with {flag}", path="--policies", hint=hint))
    return of_file(str(path))
