"""The columns of the Parquet files that a run leaves behind: one definition each, for code, schemas and docs.

``contracts/records/*.schema.json`` are made from it; what other languages write is tested against those files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pyarrow as pa

from patternbench.terms import responses

Kind = Literal["uint16", "uint32", "int64", "float64", "bool", "string", "dictionary"]
"""The Arrow type of a column; a dictionary is one of strings, with indices of 32 bits."""


@dataclass(frozen=True)
class Column:
    """One column of a table: what it is called, its Arrow type, its unit if it has one, whether it may be null."""

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    nullable: bool = False


ATTEMPTS = (
    Column("user", "uint32", "virtual user, from 0"),
    Column("group", "dictionary", "population of users; `all` when there is one"),
    Column("step", "dictionary", "step of the journey; `request` when there is one"),
    Column("call", "uint32", "number of the user's call, from 0"),
    Column("attempt", "uint16", "number of the attempt within its call, from 1; 0 if it had none (rejected, dropped)"),
    Column("intended_us", "int64", "intended start, by the schedule; equal to `start_us` in a closed workload", "us"),
    Column("start_us", "int64", "when it was sent", "us"),
    Column("first_byte_us", "int64", "when the answer began", "us", nullable=True),
    Column("end_us", "int64", "when the last byte came, or the attempt failed", "us"),
    Column(
        "outcome",
        "dictionary",
        "`answered`, `timeout`, `connection_error`, `rejected`, `dropped`, `expectation_failed` (the answer is not "
        "what its step expects), or `cancelled`: the caller stopped waiting, because another attempt of the same call "
        "was faster or the round was over; its times are lower bounds",
    ),
    Column("status", "uint16", "status of the answer", nullable=True),
    Column("success", "bool", "whether this attempt was good"),
    Column("bytes", "uint32", "size of the answer", "bytes", nullable=True),
    Column("warm_up", "bool", "recorded, but left out of summaries"),
)
"""One row per attempt on the wire, and one per call that was rejected or dropped before it reached the wire.

Times are whole microseconds from the round's start.
"""

OF_JOURNEYS = (
    Column("journey", "uint32", "number of the journey in the round; all its attempts have the same"),
    Column("ends_journey", "bool", "whether the journey has ended with this attempt"),
    Column("items", "uint32", "how many items its call carries, if the study says so", nullable=True),
    Column("failed_items", "uint32", "how many of them have failed, by the answer", nullable=True),
)
"""Further columns of attempts in rounds of journeys; files of other rounds lack them."""

IDENTITY = (
    Column("round", "int64", "position in the order of execution, from 0"),
    Column("block", "int64", "number of the block, from 0"),
    Column("scenario", "string", "the scenario's id"),
    Column("status", "string", "`done`, `failed`, or `damaged`: finished, but its records can no longer be read"),
    Column("cause", "string", "why it failed, or what is damaged", nullable=True),
)
"""Which round a row of ``rounds`` is, and what became of it; the factors and responses follow."""

TABLE_2 = tuple(response.name for response in responses.TABLE_2)
"""The names of ResilienceBench's Table 2."""

RESPONSES = tuple(
    Column(one.name, "float64", one.recorded or one.meaning, responses.UNITS[one.kind], nullable=True)
    for one in responses.RECORDED
)
"""The responses of a round; null if undefined, as in a failed round."""

COURSE = (
    Column("started", "float64", "when the round began, as Unix time", "s"),
    Column("seconds", "float64", "how long it lasted", "s"),
    Column("generator_cpu_s", "float64", "CPU time of the load generator", "s"),
    Column(
        "system_cpu_s",
        "float64",
        "CPU time of everything else that the run started (components, proxies, receivers), including the warm-up",
        "s",
        nullable=True,
    ),
    Column(
        "cold",
        "string",
        "components and clients that had been started since the last warm-up; empty if there were none",
        nullable=True,
    ),
    Column(
        "warmed",
        "string",
        "where its warm-up was: `before` (calls of its own), `within` (its first part) or `none`",
        nullable=True,
    ),
    Column("warm_up_attempts", "float64", "attempts of that warm-up", nullable=True),
    Column("warm_up_s", "float64", "how long that warm-up lasted", "s", nullable=True),
    Column("valid", "bool", "false for a round with a warning that invalidates it"),
    Column("warnings", "string", "its warnings as JSON: `kind`, `message`, `remedy`, `invalidates`", nullable=True),
)
"""How a round went."""

ROUNDS = (*IDENTITY, *RESPONSES, *COURSE)
"""One row per round; the study's factors and derived responses are further columns, between these."""

STEPS = (
    Column("group", "string", "population of users"),
    Column("step", "string", "step of the journey"),
    Column("calls_per_s", "float64", "calls of this step per second of the round", "1/s", nullable=True),
    *(column for name in responses.OF_STEPS for column in RESPONSES if column.name == name),
    Column("scenario", "string", "the scenario's id"),
    Column("round", "int64", "the round"),
)
"""One row per round, group and step: responses as in ``rounds``, over that step's calls only."""


def names(columns: Iterable[Column]) -> list[str]:
    """Return the names of columns, in order."""
    return [column.name for column in columns]


ARROW: dict[Kind, pa.DataType] = {
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}


def arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    """Columns as a Parquet file carries them."""
    return pa.schema([pa.field(column.name, ARROW[column.kind], column.nullable) for column in columns])


class JsonType(NamedTuple):
    """A type of JSON Schema, and the least and greatest value that the Arrow type can hold."""

    name: str
    ends: tuple[int, int] | None = None


JSON_TYPES: dict[Kind, JsonType] = {
    "uint16": JsonType("integer", (0, 2**16 - 1)),
    "uint32": JsonType("integer", (0, 2**32 - 1)),
    "int64": JsonType("integer", (-(2**63), 2**63 - 1)),
    "float64": JsonType("number"),
    "bool": JsonType("boolean"),
    "string": JsonType("string"),
    "dictionary": JsonType("string"),
}


def row_schema(
    title: str, about: str, columns: Iterable[Column], *, optional: Iterable[Column] = (), more: bool = False
) -> dict[str, object]:
    """Return a table's row as JSON Schema; ``x-arrow`` is a column's Arrow type, ``x-unit`` its unit.

    Files have all of the ``optional`` columns, after the others, or none. ``more`` says whether one may have further.
    """
    always = {column.name: _property(column) for column in columns}
    described = always | {column.name: _property(column) for column in optional}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": about,
        "type": "object",
        "properties": described,
        "required": list(always),
        "additionalProperties": more,
    }


def _property(column: Column) -> dict[str, object]:
    kind = JSON_TYPES[column.kind]
    ends = {"minimum": kind.ends[0], "maximum": kind.ends[1]} if kind.ends else {}
    unit = {"x-unit": column.unit} if column.unit else {}
    allowed = [kind.name, "null"] if column.nullable else kind.name
    return {"type": allowed, **ends, "description": column.meaning, "x-arrow": column.kind, **unit}
