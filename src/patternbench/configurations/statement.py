"""What a form says of each field: the value that it writes, where, and how well that is what the policy means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from patternbench.configurations.amounts import Level
from patternbench.configurations.fidelity import Fidelity, FieldMapping
from patternbench.configurations.form import Field
from patternbench.configurations.patterns import level_text, part_of
from patternbench.study.workload.policies import Policy, StackedCircuitBreaker

Tree = dict[str, object]
"""A part of a file of configuration, by names."""


@dataclass(frozen=True)
class Statement:
    """One statement of a form.

    ``place`` and ``written`` are what stands in the file; ``place`` is empty where nothing does. ``mapped`` is how well
    it says a field of ours; None for a field of the product that is set so that no default of it acts.
    """

    place: str = ""
    written: object = None
    mapped: FieldMapping | None = None


@dataclass(frozen=True)
class Fields:
    """The fields of a form, asked for by the ends of their places, such as ``tcp.maxConnections``."""

    fields: Sequence[Field]

    def __call__(self, end: str) -> Field:
        """Return the field whose place ends so. Raises KeyError where none does, or several do."""
        found = [one for one in self.fields if one.place == end or one.place.endswith(f".{end}")]
        if len(found) != 1:
            raise KeyError(f"{len(found)} fields end with {end}")
        return found[0]


def says(field: Field, ours: str, value: Level, amount: Level | None = None, why: str = "") -> Statement:
    """Say a field: exactly where the product takes its value, else as near as its notation comes.

    ``amount`` is what the product gets where that differs from the level itself, for a reason.
    """
    amount = value if amount is None else amount
    kept = field.amount.keeps(amount)
    notation = f"it takes {field.amount.about}"
    fidelity = Fidelity.EXACT if kept else Fidelity.APPROXIMATED
    reason = why if kept else "; ".join(part for part in (why, notation) if part)
    mapping = FieldMapping(ours, level_text(value), fidelity, field.line(amount), reason)
    return Statement(field.place, field.amount.write(amount), mapping)


def sets(field: Field, written: object) -> Statement:
    """Set a field of the product that says nothing of ours, so that its default doesn't act."""
    return Statement(field.place, written)


def nearly(statement: Statement, why: str) -> Statement:
    """Return a statement that is only nearly what is meant."""
    assert statement.mapped is not None
    reason = "; ".join(part for part in (why, statement.mapped.why) if part)
    return replace(statement, mapped=replace(statement.mapped, fidelity=Fidelity.APPROXIMATED, why=reason))


def nearly_if(statement: Statement, why: str) -> Statement:
    """Return a statement as it is, or only nearly so where there is a reason."""
    return nearly(statement, why) if why else statement


def means(ours: str, value: Level, theirs: str = "", why: str = "") -> Statement:
    """Say a field exactly by what another statement writes, or by what the product does anyway."""
    return Statement(mapped=FieldMapping(ours, level_text(value), Fidelity.EXACT, theirs, why))


def roughly(ours: str, value: Level, theirs: str, why: str) -> Statement:
    """Say a field nearly by what another statement writes."""
    return Statement(mapped=FieldMapping(ours, level_text(value), Fidelity.APPROXIMATED, theirs, why))


def cannot(ours: str, value: Level, why: str) -> Statement:
    """Leave a field out that the product has no word for."""
    return Statement(mapped=FieldMapping(ours, level_text(value), Fidelity.INEXPRESSIBLE, "", why))


def cannot_any(fields: Iterable[tuple[str, str]], why: str) -> Iterator[Statement]:
    """Leave out all fields of a policy that the product has not."""
    return (cannot(ours, value, why) for ours, value in fields)


def no_slow_calls(name: str, breaker: StackedCircuitBreaker) -> Iterator[Statement]:
    """Leave out that slow calls open a breaker, of a product whose breaker does not see them."""
    return cannot_any(part_of("slow_call", name, Policy(circuit_breaker=breaker)), "it counts no slow calls")


def reasons(*parts: str) -> str:
    """Return several reasons as one; empty where there is none."""
    return "; ".join(part for part in parts if part)


def mapped(statements: Iterable[Statement]) -> tuple[FieldMapping, ...]:
    """Return how well each field is said, in their order."""
    return tuple(one.mapped for one in statements if one.mapped is not None)


def tree(statements: Iterable[Statement], name: str = "") -> Tree:
    """Return what stands in the file: a tree of what is said at each place, with the name of what is guarded."""
    root: Tree = {}
    for one in statements:
        if one.place:
            path = [name if part == "*" else part for part in one.place.split(".")]
            _put(root, path, one.written)
    return root


def _put(node: Tree, path: Sequence[str], value: object) -> None:
    """Write a value into a tree; a part of the path that ends with ``[]`` is a list of one entry."""
    head, *rest = path
    key = head.removesuffix("[]")
    if rest:
        _put(part(node, key, listed=head.endswith("[]")), rest, value)
    else:
        node[key] = value


def part(node: Tree, key: str, listed: bool = False) -> Tree:
    """Return the part of a tree with a name, which is made where it isn't there; of a list of one its entry."""
    fresh: Tree = {}
    found = node.setdefault(key, [fresh] if listed else fresh)
    inner = found[0] if isinstance(found, list) else found
    assert isinstance(inner, dict)  # what this module has put there
    return inner
