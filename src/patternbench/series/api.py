"""Sends queries to a Prometheus, or to another server with its HTTP API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from patternbench import asking

MOST_BYTES = 64_000_000
"""Largest answer; a query with a larger one should aggregate."""
MOST_POINTS = 10_000
"""Points per request: Prometheus refuses more than 11,000 per series."""
ANSWER_S = 30.0
SERVER_ERROR = 500


class ApiError(Exception):
    """A query failed: with Prometheus's error, or why there was no answer."""


class AnsweredSeries(BaseModel):
    """One series of an answer: its labels, and pairs of Unix time and value."""

    metric: dict[str, str]
    values: list[tuple[float, float]] = []


class InstantValue(BaseModel):
    """One value of an answer, with its labels."""

    metric: dict[str, str]
    value: tuple[float, float]


class _RefusedQuery(BaseModel):
    error: str


class _Matrix(BaseModel):
    result: list[AnsweredSeries]


class _Vector(BaseModel):
    result: list[InstantValue]


class _MatrixAnswer(BaseModel):
    data: _Matrix


class _AnyAnswer(BaseModel):
    status: str


class _VectorAnswer(BaseModel):
    data: _Vector


Answer = TypeVar("Answer", bound=BaseModel)


class PrometheusApi:
    """A Prometheus at a URL. ``headers`` are sent with each query."""

    def __init__(self, url: str, headers: Mapping[str, str], http: httpx.Client) -> None:
        self.url, self._headers, self._http = url.rstrip("/"), dict(headers), http

    def check(self, query: str) -> None:
        """Raise ApiError if a query can't be answered; its current answer doesn't matter."""
        self._requested("query", {"query": query}, TypeAdapter(_AnyAnswer))

    def at(self, query: str, moment: float) -> list[InstantValue]:
        """Return the values of a query at a moment (Unix time); raises ApiError."""
        return self._requested(
            "query", {"query": query, "time": f"{moment:.3f}"}, TypeAdapter(_VectorAnswer)
        ).data.result

    def over(self, query: str, began: float, ended: float, step_s: float) -> Iterator[AnsweredSeries]:
        """Yield the values of a query from one moment to another, a step apart; raises ApiError.

        A series may come in several parts.
        """
        span = step_s * MOST_POINTS
        start = began
        while start <= ended:
            last = min(ended, start + span - step_s)
            times = {"start": f"{start:.3f}", "end": f"{last:.3f}", "step": f"{step_s:g}"}
            for line in self._requested(
                "query_range", {"query": query, **times}, TypeAdapter(_MatrixAnswer)
            ).data.result:
                if len(line.values) > (last - start) / step_s + 2:  # both ends count, and one is for rounding
                    raise ApiError(f"{self.url} answers with more values of a series than it was asked for")
                yield line
            start += span

    def _requested(self, what: str, fields: Mapping[str, str], answer: TypeAdapter[Answer]) -> Answer:
        body = self._body(f"{self.url}/api/v1/{what}", fields)
        try:
            return answer.validate_json(body)
        except ValidationError:
            raise ApiError(f"{self.url} doesn't answer like Prometheus: {_shown(body)}") from None

    def _body(self, url: str, fields: Mapping[str, str]) -> bytes:
        """Return the body of a successful answer, up to a size."""
        try:
            with self._http.stream("POST", url, data=dict(fields), headers=self._headers) as reply:
                body = b"".join(_limited(reply, url))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ApiError(f"{self.url} does not answer: {error or type(error).__name__}") from None
        if not reply.is_success:
            raise ApiError(_refusal(body) or f"{self.url} answers {reply.status_code}: {_shown(body)}")
        return body


def client() -> httpx.Client:
    """Return a client for queries, each of which takes a time at most, however slowly its answer comes."""
    return asking.client(asking.Bounds(ANSWER_S, asking.UNBOUNDED))  # ``_limited`` says what to do about a long answer


def _limited(reply: httpx.Response, url: str) -> Iterator[bytes]:
    size = 0
    for part in reply.iter_bytes():
        size += len(part)
        if size > MOST_BYTES:
            raise ApiError(f"{url} answers with more than {MOST_BYTES:,} bytes; aggregate in the query, by sum or max")
        yield part


def _refusal(body: bytes) -> str:
    """Prometheus's error for a query; nothing if the answer isn't Prometheus's."""
    try:
        return _RefusedQuery.model_validate_json(body).error
    except ValidationError:
        return ""


def _shown(body: bytes) -> str:
    return " ".join(body[:200].decode(errors="replace").split())
