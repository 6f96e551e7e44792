"""What a study may ask of the machine's speed: on which CPUs it is probed, and how often."""

from __future__ import annotations

from patternbench.study.model.cpus import Cpus
from patternbench.study.model.parts import Model
from patternbench.study.questions import Question
from patternbench.terms.units import Duration, PositiveDuration


class SpeedProbe(Model):
    """A fixed piece of work, repeated on these CPUs before and after each round's load: its CPU time is their speed."""

    cpus: Cpus = ()
    every: PositiveDuration = Duration.parse("10ms")


class SpeedQuestion(Question):
    """The probe of a study that wants one."""

    speed_probe: SpeedProbe | None = None


QUESTION = SpeedQuestion
