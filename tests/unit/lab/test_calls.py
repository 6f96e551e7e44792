"""A call to a component: what it sends, which answer is success, and what an error tells."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest
from pydantic import TypeAdapter, ValidationError

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.target import Target
from patternbench.lab.host.calls import Call, make
from patternbench.lab.host.processes import StartError

ADAPTER = TypeAdapter(Call)


def made(call: Call, status: int = 200, text: str = "") -> httpx.Request:
    """The request of a call that is answered so."""
    requests = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(status, text=text)

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        make(call, client)
    return requests[0]


def test_a_tree_is_sent_as_json_and_a_text_as_it_is() -> None:
    tree = made(Call("PUT", "http://shop/limit", body={"limit": 5}))
    assert (tree.headers["Content-Type"], tree.content) == ("application/json", b'{"limit": 5}')
    text = made(Call("POST", "http://shop/limit", {"X-Token": "t"}, "limit=5"))
    assert (text.headers["X-Token"], text.content) == ("t", b"limit=5")
    assert "Content-Type" not in text.headers


def test_the_content_type_of_a_tree_may_be_said() -> None:
    request = made(Call("PUT", "http://shop/limit", {"content-type": "application/vnd.shop+json"}, {"limit": 5}))
    assert request.headers.get_list("Content-Type") == ["application/vnd.shop+json"]


@pytest.mark.parametrize(("status", "expected"), [(200, ()), (204, ()), (409, (200, 409))])
def test_a_call_succeeds_with_a_status_from_200_to_299_or_with_one_that_it_lists(
    status: int, expected: tuple[int, ...]
) -> None:
    made(Call("PUT", "http://shop/limit", status=expected), status)


def test_a_call_that_fails_tells_its_address_the_answer_and_what_was_expected_and_no_secret() -> None:
    refused = r"PUT http://shop/limit was answered with 500 \(no such limit\); expected a status from 200 to 299"
    with pytest.raises(StartError, match=f"^{refused}$"):
        made(Call("PUT", "http://ann:secret@shop/limit?token=secret"), 500, "no such\n limit")
    with pytest.raises(StartError, match=r"expected 201 or 409$"):
        made(Call("PUT", "http://shop/limit", status=(201, 409)), 200)


def test_a_target_that_cannot_drop_what_waits_in_its_queue_is_an_error_and_does_not_keep_its_queue() -> None:
    drop = Target().describe("target", ComponentRegistry()).drop
    assert drop is not None
    drop = replace(drop, url="http://127.0.0.1:1/drop")
    made(drop)
    with pytest.raises(StartError, match=r"/drop was answered with 404 \(no endpoint /drop\)"):
        made(drop, 404, "no endpoint /drop")


def test_no_one_there_is_reported_with_the_address() -> None:
    def nobody(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused", request=request)

    with (
        httpx.Client(transport=httpx.MockTransport(nobody)) as client,
        pytest.raises(StartError, match=r"^PUT http://shop/limit got no answer: Connection refused$"),
    ):
        make(Call("PUT", "http://shop/limit"), client)


def test_a_call_of_a_file_takes_one_status_or_several() -> None:
    written = {"method": "POST", "url": "${self.url}/reset", "status": 204}
    assert ADAPTER.validate_python(written) == Call("POST", "${self.url}/reset", status=(204,))
    assert ADAPTER.validate_python(written | {"status": [200, 204]}).status == (200, 204)


@pytest.mark.parametrize("wrong", [{"methd": "PUT"}, {"method": "FETCH"}, {"url": "shop/reset"}, {"status": 99}])
def test_a_call_of_a_file_is_refused_where_it_cannot_be_made(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ADAPTER.validate_python({"method": "POST", "url": "http://shop/reset"} | wrong)
