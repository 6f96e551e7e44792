"""A process that draws figures as SVG files, while the one that began it goes on.

The library that draws keeps Python's lock for as long as it does, and takes half a second to begin. So a report that is
built begins this process first, and asks it for all figures once they are known.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Self

from patternbench.report import vega

_FIRST = {"$schema": vega.SCHEMA, "data": {"values": [{}]}, "mark": "point"}
"""A figure that nobody asked for: with its first one the library makes itself ready."""


class FigureDrawer:
    """Draws Vega-Lite specifications by their names in a process of its own; nothing without the library for that.

    What that process can't draw is drawn here, so that an error is the one that drawing has.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._answer: Future[tuple[bytes, bytes]] | None = None
        self._asked: Mapping[str, Mapping[str, object]] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        if vega.draws_svg():
            # Without the folder that the user is in, which may hold a module of any name.
            command, pipe = [sys.executable, "-P", "-m", __name__], subprocess.PIPE
            with suppress(OSError):
                self._process = self._open.enter_context(
                    subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
                )
                self._open.callback(self._process.kill)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def begin(self, specs: Mapping[str, Mapping[str, object]]) -> None:
        """Ask for figures, and return at once."""
        self._asked = specs if vega.draws_svg() else {}
        if self._process is None or not self._asked:
            return
        thread = self._open.enter_context(ThreadPoolExecutor(1))
        self._open.callback(self._process.kill)  # before its thread is waited for
        self._answer = thread.submit(self._process.communicate, json.dumps(list(specs.values())).encode())

    def drawn(self) -> dict[str, str]:
        """Wait for the figures that were asked for, and return them by name."""
        if self._process is not None and self._answer is not None:
            answer, _ = self._answer.result()
            if not self._process.returncode:
                return dict(zip(self._asked, json.loads(answer), strict=True))
        return {name: vega.svg_of(spec) for name, spec in self._asked.items()}


def main() -> None:
    """Draw the specifications of a list of JSON on standard input, and write their texts as another one."""
    for number in (signal.SIGINT, signal.SIGTERM):  # Ctrl-C reaches every process of a terminal; this one has no word
        signal.signal(number, signal.SIG_DFL)
    vega.svg_of(_FIRST)
    specs = json.load(sys.stdin.buffer)
    sys.stdout.write(json.dumps([vega.svg_of(spec) for spec in specs]))


if __name__ == "__main__":
    main()
