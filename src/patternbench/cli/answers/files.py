"""Answers of commands that write or read files."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue, RootModel

from patternbench.cli.answers.parts import CommandAnswer, Values


class InitAnswer(CommandAnswer):
    """`init`: the files that were written, how long the study takes, and what it lacks to run here."""

    written: list[str]
    takes: str
    lacks: str | None


class WrittenAnswer(CommandAnswer):
    """The files that were written."""

    written: list[str]


class ListedStudy(CommandAnswer):
    """A study that is shipped, and what it asks."""

    name: str
    question: str


class StudiesAnswer(CommandAnswer):
    """The studies that are shipped."""

    studies: list[ListedStudy]


class ExampleAnswer(RootModel[WrittenAnswer | StudiesAnswer]):
    """`example`: the studies without a name, else the files that were written."""


class ExportAnswer(WrittenAnswer):
    """`export`: the file that was written."""


class ImportLoadAnswer(CommandAnswer):
    """`import-load`: what the file was taken for, what was written, and what was left out."""

    kind: str
    written: list[str]
    notes: list[str]


class ImportPublishedAnswer(CommandAnswer):
    """`import-published`: the study that was written, and of how many published runs and claims."""

    written: list[str]
    runs: int
    claims: int


class PlaceAnswer(CommandAnswer):
    """A line of a file."""

    file: str
    line: int


class NameAnswer(PlaceAnswer):
    """Something that `--of` takes, and where it is."""

    product: str
    name: str


class NamesAnswer(CommandAnswer):
    """The names that `--of` takes."""

    names: list[NameAnswer]


class ReadPolicyAnswer(PlaceAnswer):
    """A policy that was read, with its fields as they are written."""

    policy: str
    fields: JsonValue


class LayerAnswer(PlaceAnswer):
    """A layer of what a caller runs, with its policies, the outermost first."""

    product: str
    name: str
    policies: list[ReadPolicyAnswer]


class ReadingNoteAnswer(PlaceAnswer):
    """Something that was not understood, or is approximated."""

    kind: str
    what: str
    why: str


class CautionAnswer(CommandAnswer):
    """What is known to go wrong with such a configuration, and the page on which that was measured."""

    rule: str
    places: list[PlaceAnswer]
    message: str
    page: str


class ConfigurationAnswer(CommandAnswer):
    """What was read; the strategy is null where no policy of a study says any of it."""

    complete: bool
    strategy: Values | None
    settings: Values
    layers: list[LayerAnswer]
    notes: list[ReadingNoteAnswer]
    cautions: list[CautionAnswer]


class ImportConfigAnswer(RootModel[ConfigurationAnswer | NamesAnswer]):
    """`import-config`: what callers run today, or with `--list` the names that `--of` takes."""


class AppliedField(CommandAnswer):
    """A field of the configuration: its value, how well the product says it, and in which of its words."""

    field: str
    value: str
    fidelity: str
    as_: str = Field(alias="as")
    why: str


class ApplyAnswer(CommandAnswer):
    """`apply`: the configuration in a product's form, with its evidence."""

    format: Literal["patternbench/applied/1"]
    as_: str = Field(alias="as")
    file: str
    configuration: str
    evidence: list[str]
    fields: list[AppliedField]


class SchemaAnswer(RootModel[dict[str, JsonValue]]):
    """`schema`: a JSON Schema of draft 2020-12."""
