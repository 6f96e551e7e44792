"""RabbitMQ with an empty data folder and its own user, for services that send messages to each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.host.launch import File, Launch, Preparation, Reset, Stop
from patternbench.lab.host.ready import LogLine
from patternbench.lab.software import debian
from patternbench.lab.software.needs import Need
from patternbench.terms.units import Duration

SCRIPTS = Path("/usr/lib/rabbitmq/bin")
"""The programs themselves: those of the same names on PATH change to another user first."""
NODE, USER = "patternbench@localhost", "patternbench"
SETTINGS = f"""\
listeners.tcp.1 = 127.0.0.1:${{self.port.amqp}}
management.tcp.ip = 127.0.0.1
management.tcp.port = ${{self.port.management}}
prometheus.tcp.ip = 127.0.0.1
prometheus.tcp.port = ${{self.port.prometheus}}
default_user = {USER}
default_pass = ${{self.secret.password}}
log.file = false
log.console = true
"""
"""The user takes the place of ``guest``, who is never made then."""
PLUGINS = "[rabbitmq_management, rabbitmq_prometheus].\n"
LOOPBACK = "-kernel inet_dist_use_interface {127,0,0,1}"
ENVIRONMENT = {
    "HOME": "${self.folder}",
    "RABBITMQ_NODENAME": NODE,
    "RABBITMQ_CONFIG_FILE": "${self.folder}/rabbitmq.conf",
    "RABBITMQ_CONF_ENV_FILE": "/dev/null",
    "RABBITMQ_ENABLED_PLUGINS_FILE": "${self.folder}/plugins",
    "RABBITMQ_MNESIA_BASE": "${self.folder}/data",
    "RABBITMQ_LOG_BASE": "${self.folder}/logs",
    "RABBITMQ_PID_FILE": "${self.folder}/pid",
    "RABBITMQ_DIST_PORT": "${self.port.distribution}",
    "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": LOOPBACK,
    "RABBITMQ_CTL_ERL_ARGS": LOOPBACK,
    "ERL_EPMD_ADDRESS": "127.0.0.1",
    "ERL_EPMD_PORT": "${self.port.names}",
    # The start script then becomes the server, instead of a parent that passes no other signal on than that to end.
    "RUNNING_UNDER_SYSTEMD": "true",
}
PORTS = ("management", "prometheus", "distribution", "names")
PURGE = "lists:foreach(fun rabbit_amqqueue:purge/1, rabbit_amqqueue:list())."


class RabbitMQ(Component):
    """Settings of RabbitMQ: its port, 0 for any that is free."""

    kind: ClassVar[str] = "rabbitmq"
    port: int = Field(default=0, ge=0, le=65535)

    @staticmethod
    def needs() -> list[Need]:
        """RabbitMQ's server, whose package brings the plugins."""
        return [debian.need("rabbitmq", debian.exists(str(SCRIPTS / "rabbitmq-server")), "rabbitmq-server")]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """On loopback with all its ports, those of Erlang's registry of names and of its distribution too."""
        address, login = "127.0.0.1:${self.port.", f"{USER}:${{self.secret.password}}"
        return Launch(
            kind=self.kind,
            name=name,
            command=(str(SCRIPTS / "rabbitmq-server"),),
            files=(
                File("rabbitmq.conf", SETTINGS),
                File("plugins", PLUGINS),
                File(".erlang.cookie", "${self.secret.cookie}"),
            ),
            env=ENVIRONMENT,
            user="rabbitmq",
            secrets=("password", "cookie"),
            ports={"amqp": self.port, **dict.fromkeys(PORTS, 0)},
            url=f"amqp://{login}@{address}amqp}}/",
            endpoints={
                "management": f"http://{login}@{address}management}}",
                "prometheus": f"http://{address}prometheus}}",
            },
            ready=LogLine("Server startup complete"),
            within=Duration.parse("180s"),
            stop=Stop(grace=Duration.parse("10s")),
        )

    def resets(self) -> Mapping[str, tuple[Reset, ...]]:
        """``purge`` takes the messages out of every queue, but for those that a consumer has and has not confirmed."""
        return {"purge": (Preparation((str(SCRIPTS / "rabbitmqctl"), "--quiet", "eval", PURGE)),)}
