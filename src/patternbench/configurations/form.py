"""What a form of configuration is: a product's file, its fields, and how policies are written into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from patternbench.configurations.amounts import Level, Notation, Plain
from patternbench.configurations.fidelity import FieldMapping
from patternbench.configurations.patterns import Patterns, level_text
from patternbench.configurations.proxies import ProxySettings


@dataclass(frozen=True)
class Field:
    """A field of a product's configuration.

    ``place`` is its path there, with ``*`` for a name that the user gives and ``[]`` for an entry of a list. ``means``
    is our field, such as ``retry.max_attempts``; empty where it has none. ``default`` is what the product takes where
    the field is left out, in its own notation; None where nothing acts then. ``about`` is what its name doesn't say.
    """

    place: str
    means: str
    amount: Notation
    default: Plain | None = None
    about: str = ""

    @property
    def name(self) -> str:
        """The last part of its place."""
        return self.place.rpartition(".")[2]

    def line(self, value: Level) -> str:
        """Write the field with our value, as a line of a list shows it: ``maxAttempts: 3``."""
        return f"{self.name}: {level_text(self.amount.write(value))}"


@dataclass(frozen=True)
class GuardedService:
    """What the policies guard: the name that the configuration gives it, and where it is."""

    name: str = "service"
    host: str = "service.example"
    port: int = 80


@dataclass(frozen=True)
class WrittenConfiguration:
    """A configuration in a product's form, and how well it says each field of the policies.

    ``body`` is empty where the form can't hold the policies at all.
    """

    body: str
    mapped: tuple[FieldMapping, ...]


@dataclass(frozen=True)
class Form:
    """A form of configuration, as ``--as`` names it.

    ``file`` is the name that such a file usually has, ``comment`` how a line of comment begins in it. ``checked`` says
    in one sentence what reads such files in our tests. ``with_proxy`` also writes the settings of a proxy of the
    measured system; None for the form of a library, which its callers have.
    """

    name: str
    product: str
    file: str
    comment: str
    checked: str
    fields: Sequence[Field]
    write: Callable[[Patterns, GuardedService], WrittenConfiguration]
    with_proxy: Callable[[Patterns, GuardedService, ProxySettings], WrittenConfiguration] | None = None
