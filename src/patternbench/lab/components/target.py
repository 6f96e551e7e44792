"""The calibrated target: our own HTTP service whose capacity and service times are known."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from patternbench.lab.announced import ANSWERS
from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.config.programs import Text
from patternbench.lab.containers import images
from patternbench.lab.host.calls import Call
from patternbench.lab.host.launch import File, Launch
from patternbench.lab.host.ready import ReadyLine
from patternbench.lab.software import engine
from patternbench.lab.software.needs import Need

ABOUT = "A line per request that reached the target; an answer without written_us found its caller gone.\n"


class Target(Component):
    """Settings of the calibrated target; see ``patternbench-engine target --help`` for their meaning.

    It drops what waits in its queue before each round. With ``answers`` its log is kept with each round; it is then
    restarted for each.
    """

    kind: ClassVar[str] = "target"
    has_image: ClassVar[bool] = True
    workers: int = Field(default=4, ge=1, le=4096)
    service_time: str = "exponential:5ms"
    queue: Text = "unbounded"
    seed: int = 1
    port: int = Field(default=0, ge=0, le=65535)
    log: str = ""
    answers: bool = False

    @staticmethod
    def needs() -> list[Need]:
        """Return the engine's binary."""
        return [engine.need()]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return the engine's target, which says when it listens."""
        command: tuple[str, ...] = (
            engine.path(),
            "target",
            "--port",
            "${self.port.http}",
            "--workers",
            str(self.workers),
        )
        command += ("--service-time", self.service_time, "--queue", self.queue, "--seed", str(self.seed))
        log = f"${{self.folder}}/{ANSWERS}/{ANSWERS}.csv" if self.answers else self.log
        return Launch(
            kind=self.kind,
            name=name,
            command=command + (("--log", log) if log else ()),
            files=(File(f"{ANSWERS}/README.txt", ABOUT),) if self.answers else (),
            log=ANSWERS if self.answers else "",
            ports={"http": self.port},
            url="http://127.0.0.1:${self.port.http}",
            ready=ReadyLine("listening"),
            drop=Call("POST", "http://127.0.0.1:${self.port.http}/drop"),
        )

    def in_container(self, launch: Launch, registry: ComponentRegistry) -> Launch:
        """Return the same by the engine of its image."""
        command = (f"{images.FOLDER}/{engine.NAME}", *launch.command[1:])
        return images.contained(replace(launch, command=command), images.TARGET)
