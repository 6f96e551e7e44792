"""``patternbench watch`` in a real browser: runs that go on, are over or damaged, and how a run was earlier."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.test_accessibility import AXE, violations
from tests.support.chromium import ConsoleLog
from tests.support.measured_run import measured_run
from tests.support.watched import progress
from tests.support.watching import watching

from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.report import build
from patternbench.report.sections.declared import with_sections
from patternbench.run.announcing import Announcer, Announcing
from patternbench.study.load import loads
from patternbench.watch.server import PageServer
from patternbench.watch.watched import name_of

pytestmark = pytest.mark.browser

READY = "html[data-ready=yes]"
"""The page once something has come. Its policy lets nobody evaluate texts, which is how one usually waits for this."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    measured_run(folder / "over")
    measured_run(folder / "damaged").plan.write_text("{")
    return folder


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[PageServer]:
    with watching(runs) as made:
        yield made


def opened(browser: Browser, server: PageServer, run: Path | None = None, width: int = 1300) -> tuple[Page, ConsoleLog]:
    page, heard = browser.new_page(viewport={"width": width, "height": 800}), ConsoleLog()
    page.on("console", lambda message: heard.messages.append(message.text))
    page.on("pageerror", lambda error: heard.messages.append(str(error)))
    page.on("request", lambda request: heard.requests.append(request.url))
    page.goto(server.url + (f"#{name_of(run)}" if run else ""))
    page.locator(READY).wait_for(state="attached")
    return page, heard


def test_the_list_leads_to_a_run_and_back_and_asks_nobody_else(
    browser: Browser, server: PageServer, runs: Path
) -> None:
    page, heard = opened(browser, server)
    rows = page.locator(".runs tbody tr")
    rows.nth(1).wait_for()
    assert rows.count() == 2
    damaged = rows.filter(has_text="damaged")
    assert "is not JSON" in damaged.inner_text()
    rows.filter(has_text="over").get_by_role("link").first.click()
    page.locator("#progress", has_text="16 of 16 rounds").wait_for()
    assert page.locator("#list").is_hidden()
    page.get_by_role("link", name="All runs").click()
    page.locator(".runs tbody tr").nth(1).wait_for()
    assert heard.messages == []
    assert all(url.startswith(server.url) or url.startswith("data:") for url in heard.requests)
    page.close()


def test_a_run_that_is_over_shows_the_decision_of_its_report(browser: Browser, server: PageServer, runs: Path) -> None:
    run = RunFolder(runs / "over")
    report = with_sections(build.gather(run), loads(run.study.read_text(), str(run.study)))
    assert report.first_screen
    page, heard = opened(browser, server, runs / "over")
    page.locator(".choices tbody tr").first.wait_for()
    assert page.locator(".answer p").all_inner_texts() == list(report.first_screen.sentences)
    assert page.locator(".choices tbody tr").count() == len(report.first_screen.rows)
    assert page.locator("figure.contenders svg").count() == 1
    assert page.locator(".measure").count() == 6
    assert page.locator("#caveat").is_hidden()
    assert heard.messages == []
    page.close()


def test_a_run_is_shown_as_it_was_and_as_it_is_now_again(browser: Browser, server: PageServer, runs: Path) -> None:
    page, heard = opened(browser, server, runs / "over")
    page.locator("#moment").wait_for()
    assert page.locator("#moment").input_value() == "16"
    page.locator("#moment").fill("8")
    page.locator("#progress", has_text="8 of 16 rounds").wait_for()
    assert "As it was" in page.inner_text("#caveat")
    page.get_by_role("button", name="Now").click()
    page.locator("#progress", has_text="16 of 16 rounds").wait_for()
    page.get_by_role("button", name="Play").click()
    page.locator("html[data-replayed='16']").wait_for(state="attached", timeout=60_000)
    assert page.inner_text("#play") == "Play"
    assert heard.messages == []
    page.close()


def test_a_damaged_run_says_so_in_a_sentence(browser: Browser, server: PageServer, runs: Path) -> None:
    page, _ = opened(browser, server, runs / "damaged")
    page.locator(".answer", has_text="is not JSON").wait_for()
    assert page.inner_text("#progress") == "can't be read"
    assert page.locator("#replay").is_hidden()
    page.close()


@contextmanager
def going_on(run: RunFolder, told: Callable[[Announcing], None]) -> Iterator[None]:
    """Somebody who holds the run's lock and tells how its round goes, again and again."""
    nothing = SimpleNamespace(
        **dict.fromkeys(("round_started", "round_progressed", "round_ended", "place_noticed"), lambda _: None)
    )
    announcer, over = Announcer(run.path), threading.Event()
    listener = Announcing(cast(Any, nothing), announcer)
    run.lock()

    def tell() -> None:
        while not over.wait(0.1):
            told(listener)

    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    try:
        yield
    finally:
        over.set()
        telling.join()
        announcer.close()
        run.unlock()


def test_a_run_that_goes_on_shows_its_round_as_it_happens_to_ten_viewers(browser: Browser, tmp_path: Path) -> None:
    run = measured_run(tmp_path / "run")
    run.journal.write_text("".join(run.journal.read_text().splitlines(keepends=True)[:-4]))
    scenario = stored.plan(run).scenarios[0].id
    lines, sent = progress(400), iter(range(400))

    def told(listener: Announcing) -> None:
        number = next(sent, None)
        if number == 0:
            listener.round_started(cast(Any, SimpleNamespace(id=scenario)))
        if number is not None:
            listener.round_progressed(lines[number])

    with watching(tmp_path) as server, going_on(run, told):
        pages = [opened(browser, server, run.path)[0] for _ in range(10)]
        for page in pages:
            page.locator("#round-title", has_text="Now: ").wait_for()
            page.locator("#progress", has_text="going on").wait_for()
        page = pages[0]
        assert "Not the last word" in page.inner_text("#caveat")
        assert page.locator(".measure", has_text="late p99").count() == 1
        before = page.inner_text("#round-title")
        page.locator("#round-title").filter(has_not_text=before).wait_for()
        for one in pages:
            one.close()


def test_a_run_of_two_hundred_rounds_a_minute_is_followed(browser: Browser, tmp_path: Path) -> None:
    run = measured_run(tmp_path / "run", blocks=8)
    lines = run.journal.read_text().splitlines(keepends=True)
    run.journal.write_text("")
    with watching(tmp_path) as server:
        page, heard = opened(browser, server, run.path)
        page.locator(".answer", has_text="No round has ended yet.").wait_for()
        for ended in range(1, len(lines) + 1):
            with run.journal.open("a") as journal:
                journal.write(lines[ended - 1])
            time.sleep(0.3)  # as fast as such rounds end
        page.locator("#progress", has_text="32 of 32 rounds").wait_for(timeout=10_000)
        page.locator(".choices").wait_for()
        assert heard.messages == []
        page.close()


def test_a_connection_that_is_lost_is_said(browser: Browser, tmp_path: Path) -> None:
    run = measured_run(tmp_path / "run", blocks=1)
    with watching(tmp_path) as server:
        page, _ = opened(browser, server, run.path)
        assert page.locator("#lost").is_hidden()
    page.locator("#lost").wait_for(timeout=60_000)
    page.close()


def test_on_a_telephone_nothing_sticks_out(browser: Browser, server: PageServer, runs: Path) -> None:
    for run in (None, runs / "over"):
        page, _ = opened(browser, server, run, width=400)
        page.locator(".runs tr, .choices tr").first.wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.close()


def test_axe_core_finds_nothing_serious_on_the_list_and_on_a_run(
    browser: Browser, server: PageServer, runs: Path
) -> None:
    axe = AXE.read_text(encoding="utf-8")
    for run in (None, runs / "over", runs / "damaged"):
        for dark in (False, True):
            page = browser.new_page(
                viewport={"width": 1300, "height": 800}, color_scheme="dark" if dark else "light", bypass_csp=True
            )
            page.goto(server.url + (f"#{name_of(run)}" if run else ""))
            page.locator(READY).wait_for(state="attached")
            page.locator(".runs tbody tr, .answer").first.wait_for()
            assert violations(page, axe) == [], (run, dark)
            page.close()
