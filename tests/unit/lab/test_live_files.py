"""Which live files of a running component have other content than was written last, as its references are now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from patternbench.lab.host.accounts import Account
from patternbench.lab.host.calls import Call
from patternbench.lab.host.launch import File, Launch, LiveCall, LiveFile
from patternbench.lab.host.ready import LogLine
from patternbench.lab.host.running import CHANGE, RunningComponent

STORE = Launch("process", "store", ("store",), LogLine("up"))
SHOP = Launch(
    *("process", "shop", ("shop",), LogLine("up")),
    files=(
        File("own.conf", "listen ${self.port.http}; change ${self.change}"),
        File("others.conf", "call ${store.url}"),
        File("fixed.conf", "call ${store.url}"),
    ),
    live=(
        LiveFile("own.conf", "SIGHUP"),
        LiveFile("others.conf"),
        LiveCall("limit", Call("PUT", "${store.url}/limit")),
    ),
)
OWN, OTHERS = File("own.conf", "listen 81; change 0"), File("others.conf", "call http://127.0.0.1:1")


def running(launch: Launch, url: str = "", **facts: str) -> RunningComponent:
    nothing = Path("/nowhere")
    return RunningComponent(launch, launch, None, nothing, Account(""), facts, url)  # type: ignore[arg-type]  # no process


@pytest.fixture
def store() -> RunningComponent:
    return running(STORE, "http://127.0.0.1:1")


@pytest.fixture
def shop(store: RunningComponent) -> RunningComponent:
    made = running(SHOP, **{"port.http": "81", CHANGE: "0"})
    made.launch = replace(SHOP, files=(OWN, OTHERS, File("fixed.conf", "as it was")))
    return made


def test_files_whose_content_is_what_was_written_have_not_changed(
    shop: RunningComponent, store: RunningComponent
) -> None:
    assert shop.changed_files({"shop": shop, "store": store}) == []


def test_a_live_file_changes_with_what_it_refers_to_and_one_that_is_not_live_never(
    shop: RunningComponent, store: RunningComponent
) -> None:
    store.url = "http://127.0.0.1:2"
    assert shop.changed_files({"shop": shop, "store": store}) == [File("others.conf", "call http://127.0.0.1:2")]
    assert shop.live_calls({"shop": shop, "store": store}) == {"limit": Call("PUT", "http://127.0.0.1:2/limit")}


def test_what_was_written_is_no_change_any_more(shop: RunningComponent, store: RunningComponent) -> None:
    shop.count_change()
    changed = shop.changed_files({"shop": shop, "store": store})
    assert changed == [File("own.conf", "listen 81; change 1")]
    shop.wrote(changed)
    assert shop.changed_files({"shop": shop, "store": store}) == []
    assert [file.path for file in shop.launch.files] == ["own.conf", "others.conf", "fixed.conf"]


def test_how_a_live_file_is_made_to_act_is_told_of_the_files_that_changed_alone(
    shop: RunningComponent, store: RunningComponent
) -> None:
    assert shop.live_files({"own.conf", "fixed.conf"}, {"shop": shop, "store": store}) == [
        LiveFile("own.conf", "SIGHUP")
    ]
