"""The settings of a system: their meaning, which are patterns, and which levels exclude each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.model.parts import Model, Setting
from patternbench.terms.roles import Role, Unit
from patternbench.terms.units import Duration

Rule = dict[str, Setting | list[Setting]]


class SettingSpec(Model):
    """A setting: its default, what it means, the values allowed when they are few, its role and its unit.

    ``none`` is the level of a pattern at which there is no pattern. Without ``unit`` the levels tell it by how they are
    written: ``20ms`` is a duration.
    """

    default: Setting
    about: str
    allowed: list[Setting] | None = None
    role: Annotated[Role, Field(strict=False)] = Role.WORLD
    unit: Annotated[Unit, Field(strict=False)] | None = None
    none: Setting | None = None

    @model_validator(mode="after")
    def _none_of_a_pattern(self) -> SettingSpec:
        if self.none is not None and self.role is not Role.PATTERN:
            message = "only a pattern can have a level `none`"
            raise PydanticCustomError("none", message, {"allowed": "role: pattern, or no `none`"})
        if self.none is not None and self.allowed and self.none not in self.allowed:
            context = {"level": str(self.none), "allowed": ", ".join(map(str, self.allowed))}
            raise PydanticCustomError("none", "none: {level} is not one of the values allowed", context)
        return self

    @model_validator(mode="after")
    def _default_in_its_unit(self) -> SettingSpec:
        if self.unit is Unit.DURATION and not is_duration(self.default):
            context = {"level": str(self.default), "allowed": "a number and a unit: `20ms`, `3s`"}
            raise PydanticCustomError("unit", "the default {level} is not a duration", context)
        return self


class Settable(Model):
    """The settings of a system, and the combinations of their levels that it cannot have."""

    settings: dict[str, SettingSpec] = Field(default_factory=dict)
    exclude: list[Rule] = Field(default_factory=list)

    @model_validator(mode="after")
    def _rules_on_settings(self) -> Settable:
        for name in (name for rule in self.exclude for name in rule if name not in self.settings):
            context = {"name": name, "allowed": ", ".join(self.settings)}
            raise PydanticCustomError("no_setting", "exclude names `{name}`, which isn't a setting", context)
        return self

    def refused(self, settings: Mapping[str, object]) -> Rule | None:
        """Return the first rule that these settings (plain data, others at their defaults) break."""
        values = {**{name: spec.default for name, spec in self.settings.items()}, **settings}
        return next((rule for rule in self.exclude if all(_holds(values[name], rule[name]) for name in rule)), None)


def _holds(value: object, levels: Setting | list[Setting]) -> bool:
    return value in (levels if isinstance(levels, list) else [levels])


def is_duration(level: object) -> bool:
    """Whether a level is written as a duration: ``20ms``."""
    try:
        return isinstance(level, Duration) or bool(Duration.parse(level) if isinstance(level, str) else None)
    except ValueError:
        return False
