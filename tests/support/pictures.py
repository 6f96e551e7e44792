"""Pages on made-up rounds as somebody sees them: the same as tests read, and a run that is watched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.chromium import chromium
from tests.support.first_screens import QUESTIONS
from tests.support.measured_run import measured_run
from tests.support.watching import watching

from patternbench.watch.watched import name_of

WATCH = "watch"
READY = "html[data-ready=yes]"


def photograph(name: str, picture: Path, width: int, height: int) -> None:
    """Take a picture of what a window of a size shows of a page."""
    with address(name) as url, chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        page.goto(url)
        page.locator(READY).wait_for(state="attached")
        if name == WATCH:
            page.locator(".choices tbody tr").first.wait_for()
        page.screenshot(path=picture, animations="disabled")
        page.close()


@contextmanager
def address(name: str) -> Iterator[str]:
    """Where a page is: in a file, or on a server that watches a run that is over."""
    with TemporaryDirectory() as folder:
        if name == WATCH:
            run = measured_run(Path(folder) / "runs" / "orders")
            with watching(Path(folder) / "runs") as server:
                yield f"{server.url}#{name_of(run.path)}"
        else:
            page = Path(folder) / "page.html"
            page.write_text(QUESTIONS[name].page(), encoding="utf-8")
            yield page.as_uri()
