"""Observers of components that count by themselves: each is asked before the load and after it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar, Generic, Self, TypeVar

import httpx
from pydantic import BaseModel, RootModel, ValidationError

from patternbench import asking
from patternbench.observe.seam import ObservationError, Observer, RoundFiles, WatchedRound

WITHIN_S = 5.0
MOST_BYTES = 64_000_000
"""The statistics of an Envoy with many clusters are long."""


class ComponentCounts(BaseModel):
    """A component's counts so far."""

    @abstractmethod
    def since(self, before: Self) -> Self:
        """Return the counts since then. A component that was started in between began at 0."""


Counts = TypeVar("Counts", bound=ComponentCounts)


class CountingObserver(Observer[RootModel[dict[str, Counts]]], Generic[Counts]):
    """Asks at the moments when the load begins and ends; such a component stays up between rounds, and counts on.

    The record of a round is one file with each component's counts, by the component's name.
    """

    name: ClassVar[str]
    endpoint: ClassVar[str]
    """The endpoint of a component with its counts."""

    @property
    @abstractmethod
    def seen(self) -> type[RootModel[dict[str, Counts]]]:
        """The record of a round."""

    @abstractmethod
    def counts(self, url: str, endpoints: Mapping[str, str], http: httpx.Client) -> Counts:
        """Return the counts so far of the component at this URL.

        Raises httpx.HTTPError or ValueError if there are none.
        """

    @contextmanager
    def watch(self, watched: WatchedRound) -> Iterator[None]:
        """Keep the difference between the counts after the load and before it."""
        mark = f".{self.endpoint}"
        urls = {name.removesuffix(mark): url for name, url in watched.endpoints.items() if name.endswith(mark)}
        if not urls:
            yield
            return
        with asking.client(asking.Bounds(WITHIN_S, MOST_BYTES)) as http:
            before = self._requested(urls, watched.endpoints, http)
            yield
            now = self._requested(urls, watched.endpoints, http)
        seen = self.seen({name: counted.since(before[name]) for name, counted in now.items()})
        watched.folder.mkdir(parents=True)
        (watched.folder / f"{self.name}.json").write_text(seen.model_dump_json(indent=1), encoding="utf-8")

    def _requested(
        self, urls: Mapping[str, str], endpoints: Mapping[str, str], http: httpx.Client
    ) -> dict[str, Counts]:
        """Each component's counts so far. Raises ObservationError if one doesn't report them."""
        try:
            return {name: self.counts(url, endpoints, http) for name, url in urls.items()}
        except (httpx.HTTPError, ValueError) as error:
            what = f"one of the {self.name} doesn't report its counts: {error or type(error).__name__}"
            raise ObservationError(what) from None

    def read(self, kept: RoundFiles) -> RootModel[dict[str, Counts]] | None:
        """Return the counts of a round; None in a system without such a component."""
        file = kept.folder / f"{self.name}.json"
        if not kept.folder.is_dir():
            return None
        try:
            return self.seen.model_validate_json(file.read_bytes())
        except (OSError, ValidationError):
            raise ObservationError(f"{file.parent.name}/{file.name} cannot be read") from None
