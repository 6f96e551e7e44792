"""RabbitMQ with an empty data folder and its own user, for services that send messages to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.host.calls import Call
from patternbench.lab.host.launch import File, Launch, LiveCall, Preparation, Reset, Stop
from patternbench.lab.host.ready import LogLine
from patternbench.lab.host.references import SELF, reference, resolved
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
JOINS = """\
cluster_formation.peer_discovery_backend = classic_config
cluster_formation.classic_config.nodes.1 = {first}
cluster_formation.classic_config.nodes.2 = {own}
"""
CONFIG = "rabbitmq.conf"
PLUGINS = "[rabbitmq_management, rabbitmq_prometheus].\n"
LOOPBACK = "-kernel inet_dist_use_interface {127,0,0,1}"
ENVIRONMENT = {
    "HOME": "${self.folder}",
    "RABBITMQ_NODENAME": NODE,
    "RABBITMQ_CONFIG_FILE": f"${{self.folder}}/{CONFIG}",
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
NAMES = "names"
"""The port of Erlang's registry of names, which the first node of a cluster starts for all."""
PORTS = ("management", "prometheus", "distribution", NAMES)
OF_THE_FIRST = {"secret.password": "password", "secret.cookie": "cookie", f"port.{NAMES}": NAMES}
"""What all nodes of a cluster share, with the endpoints of the first node that tell it."""
PURGE = "lists:foreach(fun rabbit_amqqueue:purge/1, rabbit_amqqueue:list())."


class RabbitMQ(Component):
    """Settings of RabbitMQ: its port, 0 for any that is free, and which queues it makes where nobody says which.

    The replicas of an entry are the nodes of one cluster, with one user and password.
    """

    kind: ClassVar[str] = "rabbitmq"
    port: int = Field(default=0, ge=0, le=65535)
    queues: Literal["classic", "quorum"] = "classic"

    @staticmethod
    def needs() -> list[Need]:
        """RabbitMQ's server, whose package brings the plugins."""
        return [debian.need("rabbitmq", debian.exists(str(SCRIPTS / "rabbitmq-server")), "rabbitmq-server")]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """On loopback with all its ports, those of Erlang's registry of names and of its distribution too."""
        nodes = next((names for names in registry.groups.values() if name in names), [name])
        return self._alone(name) if len(nodes) == 1 else _clustered(self._alone(name), nodes)

    @property
    def _vhost(self) -> str:
        """The virtual host that services use, which is one of its own where its queues are of another kind."""
        return "" if self.queues == "classic" else self.queues

    def _alone(self, name: str) -> Launch:
        address, login = "127.0.0.1:${self.port.", f"{USER}:${{self.secret.password}}"
        return Launch(
            kind=self.kind,
            name=name,
            command=(str(SCRIPTS / "rabbitmq-server"),),
            files=(
                File(CONFIG, SETTINGS),
                File("plugins", PLUGINS),
                File(".erlang.cookie", "${self.secret.cookie}"),
            ),
            env=ENVIRONMENT,
            user="rabbitmq",
            secrets=("password", "cookie"),
            ports={"amqp": self.port, **dict.fromkeys(PORTS, 0)},
            url=f"amqp://{login}@{address}amqp}}/{self._vhost}",
            endpoints={
                "management": f"http://{login}@{address}management}}",
                "prometheus": f"http://{address}prometheus}}",
            },
            ready=LogLine("Server startup complete"),
            within=Duration.parse("180s"),
            stop=Stop(grace=Duration.parse("10s")),
            live=tuple(_vhost(self._vhost)) if self._vhost else (),
        )

    def resets(self) -> Mapping[str, tuple[Reset, ...]]:
        """``purge`` takes the messages out of every queue, but for those that a consumer has and has not confirmed."""
        return {"purge": (Preparation((str(SCRIPTS / "rabbitmqctl"), "--quiet", "eval", PURGE)),)}


def _vhost(kind: str) -> Iterator[LiveCall]:
    """Yield the calls that make a virtual host for queues of a kind: version 3.10 has no such setting in its file."""
    yield LiveCall("queues", Call("PUT", f"${{self.management}}/api/vhosts/{kind}", body={"defaultqueuetype": kind}))
    path = f"${{self.management}}/api/permissions/{kind}/{USER}"
    yield LiveCall("permissions", Call("PUT", path, body=dict.fromkeys(("configure", "write", "read"), ".*")))


def _clustered(launch: Launch, nodes: Sequence[str]) -> Launch:
    """Return a node of a cluster: the first tells the others what they share, and they join it one after another."""
    named = replace(launch, env={**launch.env, "RABBITMQ_NODENAME": _node(launch.name)})
    number = nodes.index(launch.name)
    if number == 0:
        told = {endpoint: reference(SELF, what) for what, endpoint in OF_THE_FIRST.items()}
        return replace(named, endpoints={**launch.endpoints, **told})
    joined = _sharing(named, nodes[0])
    return replace(joined, after=(nodes[number - 1],))


def _sharing(launch: Launch, first: str) -> Launch:
    """Return a node that joins the first, with the first one's password, cookie and registry of names."""

    def told(name: str, what: str) -> str:
        shared = OF_THE_FIRST.get(what) if name == SELF else None
        return reference(first, shared) if shared else reference(name, what)

    joins = JOINS.format(first=_node(first), own=_node(launch.name))
    files = tuple(File(file.path, f"{file.content}{joins}") if file.path == CONFIG else file for file in launch.files)
    ports = {name: port for name, port in launch.ports.items() if name != NAMES}
    return resolved(replace(launch, files=files, ports=ports, secrets=(), live=()), told)


def _node(name: str) -> str:
    return f"{name}@localhost"
