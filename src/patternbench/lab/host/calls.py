"""An HTTP call to a component, as plain data: a setting that it takes while it runs, or a reset of what it holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from patternbench import asking
from patternbench.lab.host.processes import StartError
from patternbench.study.model.parts import Method, Status, askable

WITHIN_S = 30.0
"""How long a component may take to answer a call."""
MOST_SHOWN = 200
"""How many characters of an answer an error repeats."""
Value = TypeVar("Value")


def _listed(value: Value | list[Value]) -> list[Value]:
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True)
class Call:
    """A request and the answer that it must get.

    ``url`` begins with ``http://`` or ``https://``, or with a reference to such a URL. ``body`` is a text, or a tree
    that is sent as JSON. ``status`` lists the statuses of success; without one, any of 200 to 299 is.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    method: Method
    url: Annotated[str, Field(pattern=r"^(https?://|\$\{)"), AfterValidator(askable)]
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = ""
    status: Annotated[tuple[Status, ...], BeforeValidator(_listed)] = ()

    def accepts(self, status: int) -> bool:
        """Whether an answer of a status means success."""
        return status in self.status if self.status else httpx.codes.is_success(status)

    @property
    def reported(self) -> str:
        """The method and the URL, without login and query, which may hold a secret."""
        url = urlsplit(self.url)
        return f"{self.method} {url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"


def make(call: Call, client: httpx.Client) -> None:
    """Make a call whose references are resolved; raise StartError unless its answer means success."""
    try:
        answer = client.request(call.method, call.url, headers=_headers(call), content=_content(call))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise StartError(f"{call.reported} got no answer: {error or type(error).__name__}") from None
    if not call.accepts(answer.status_code):
        raise StartError(f"{call.reported} was answered with {answer.status_code}{_message(answer)}; {_expected(call)}")


def client(given_up: Callable[[], bool] = lambda: False) -> httpx.Client:
    """Return a client that makes calls as they are written: no proxy of the environment, no redirect followed.

    No connection stays open, which would keep a worker of the measured service busy, or be stale after a restart.
    """
    return asking.client(asking.Bounds(WITHIN_S), given_up=given_up)


def _headers(call: Call) -> dict[str, str]:
    names = {name.lower() for name in call.headers}
    json_body = not isinstance(call.body, str) and "content-type" not in names
    return {**call.headers, **({"Content-Type": "application/json"} if json_body else {})}


def _content(call: Call) -> bytes:
    return (call.body if isinstance(call.body, str) else json.dumps(call.body)).encode()


def _message(answer: httpx.Response) -> str:
    text = " ".join(answer.text.split())[:MOST_SHOWN]
    return f" ({text})" if text else ""


def _expected(call: Call) -> str:
    return f"expected {' or '.join(map(str, call.status)) or 'a status from 200 to 299'}"
