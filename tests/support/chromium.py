"""Debian's Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

PROGRAM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
READY = "document.documentElement.dataset.ready === 'yes'"


@dataclass
class ConsoleLog:
    """What a page said and asked for while it was open."""

    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that is closed on leaving; fails the test where there is none."""
    if not PROGRAM.exists():
        pytest.fail("these tests need Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(PROGRAM), args=FLAGS)
        yield opened
        opened.close()


def opened(
    browser: Browser, path: Path, width: int = 1280, dark: bool = False, height: int = 900
) -> tuple[Page, ConsoleLog]:
    """A page of patternbench that has drawn everything, and what was heard of it meanwhile."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    heard = ConsoleLog()
    page.on("console", lambda message: heard.messages.append(message.text))
    page.on("pageerror", lambda error: heard.messages.append(str(error)))
    page.on("request", lambda request: heard.requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_function(READY, timeout=60_000)
    return page, heard
