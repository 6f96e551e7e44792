"""Prometheus, which scrapes components of the system and keeps their metrics as series."""

from __future__ import annotations

from typing import Annotated, ClassVar
from urllib.parse import quote

from pydantic import Field

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.host.launch import File, Launch
from patternbench.lab.host.ready import Answers
from patternbench.lab.host.references import REFERENCE, part, reference
from patternbench.lab.software import debian
from patternbench.lab.software.needs import Need
from patternbench.terms.units import Duration, PositiveDuration

Path = Annotated[str, Field(pattern=r"^/\S*$")]
SOMETHING = '"result":\\[\\{'
"""How an answer begins that is not empty."""


class Prometheus(Component):
    """Settings of Prometheus: the path of the metrics of each component, and how often they are scraped.

    A key of ``scrape`` is a component, an endpoint of one (``queue.prometheus``) or a URL.
    """

    kind: ClassVar[str] = "prometheus"
    scrape: Annotated[dict[str, Path], Field(min_length=1, max_length=200)]
    interval: PositiveDuration = Duration.parse("1s")
    port: int = Field(default=0, ge=0, le=65535)

    @staticmethod
    def needs() -> list[Need]:
        """Prometheus's server."""
        return [debian.need("prometheus", debian.find("prometheus") is not None, "prometheus")]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return a server that is ready once everything has been scraped."""
        options = ("--config.file=${self.folder}/prometheus.yml", "--storage.tsdb.path=${self.folder}/data")
        jobs = [self._job(target, registry, f"{name}.scrape") for target in self.scrape]
        targets = sum(len(_urls(target, registry, f"{name}.scrape")) for target in self.scrape)
        return Launch(
            kind=self.kind,
            name=name,
            command=(debian.program("prometheus"), *options, "--web.listen-address=127.0.0.1:${self.port.http}"),
            files=(File("prometheus.yml", {"global": self._how_often(), "scrape_configs": jobs}),),
            user="prometheus",
            ports={"http": self.port},
            url="http://127.0.0.1:${self.port.http}",
            ready=Answers("http", _scraped(targets), SOMETHING),
            within=Duration.parse("60s"),
        )

    def _how_often(self) -> dict[str, str]:
        return {"scrape_interval": str(self.interval), "scrape_timeout": str(self.interval)}

    def _job(self, target: str, registry: ComponentRegistry, path: str) -> dict[str, object]:
        """Return the targets of one scrape job: every replica, if a component has several."""
        urls = _urls(target, registry, path)
        return {
            "job_name": target,
            "metrics_path": self.scrape[target],
            "scheme": part(urls[0], "scheme"),
            "static_configs": [_instance(target, url) for url in urls],
        }


def _urls(target: str, registry: ComponentRegistry, path: str) -> list[str]:
    """Return a URL as it is written, or references to the URL or an endpoint of each component of that name."""
    if "://" in target:
        return [target]
    name, _, endpoint = target.partition(".")
    return [reference(_named(url), endpoint or "url") for url in registry.urls(name, path)]


def _named(url: str) -> str:
    """Return the component that a reference is about; nothing for a URL."""
    alone = REFERENCE.fullmatch(url)
    return alone[1] if alone else ""


def _instance(target: str, url: str) -> dict[str, object]:
    """One place that is scraped; ``instance`` is a name, since ports change with every start."""
    return {"targets": [part(url, "address")], "labels": {"instance": _named(url) or target}}


def _scraped(targets: int) -> str:
    """Return the path that asks whether all targets are scraped: Prometheus calls itself ready seconds before."""
    return f"/api/v1/query?query={quote(f'count(up) >= {targets}')}"
