"""How a command is told to end, by Ctrl-C, SIGTERM or a terminal that is closed: one place for all commands.

The signal sets a flag, and raises KeyboardInterrupt in the main thread, which ends whatever that waits for. Python
loses one that comes just before the thread begins to wait, and drops one that is raised within a callback from C: of
the garbage collector, a weak reference, ctypes or a library. So a thread of our own wakes the main thread every second,
where it is raised again, until it is on its way (what is taken down meanwhile is not broken off) or a command has taken
it. Other threads read the flag wherever they wait.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

AGAIN_S = 1.0
"""How long after an interrupt that was lost it is raised again."""
GLANCE_S = 0.25
"""How often a wait of ours looks at the flag."""
ENDING = (signal.SIGINT, signal.SIGTERM)
"""What ends a command, also one that began as a shell's background job, with SIGINT ignored."""
LEAST = 2
"""How often the main thread is woken at least: only once it was, it knows that the end was asked for."""
_WAKE = signal.SIGURG
"""What wakes the main thread; who does not handle it ignores it."""
_UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)


@dataclass
class _AskedEnd:
    """Whether someone has asked for the end, and no command has taken it yet."""

    is_open: bool = False
    is_watched: bool = False


_REQUEST = _AskedEnd()


def take(*numbers: signal.Signals) -> None:
    """Have these signals interrupt the command from now on; by default SIGINT and SIGTERM."""
    _watch()
    for number in numbers or ENDING:
        signal.signal(number, _asked)
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _unraisable


def take_untouched(*numbers: signal.Signals) -> None:
    """Do so for those that no one ignores or handles: a parent that ignores one has asked for that."""
    ours = [number for number in numbers if signal.getsignal(number) in _UNTOUCHED]
    if ours:
        take(*ours)


def on_first(act: Callable[[], None]) -> None:
    """Have the first signal call ``act`` and interrupt nothing; a second one interrupts the command."""

    def first(_number: int, _frame: FrameType | None) -> None:
        take()
        act()

    _watch()
    for number in ENDING:
        signal.signal(number, first)


class EndRequest:
    """Takes note of signals from now on, which interrupt nothing any more; for a command that only waits for its end.

    The flag is a plain attribute: the lock of an event is held at times by the very thread that the signal stops.
    """

    def __init__(self) -> None:
        self.came = False
        _watch()
        for number in ENDING:
            signal.signal(number, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.came = True

    def within(self, seconds: float) -> bool:
        """Whether one comes within this time; returns as soon as it has."""
        until = time.monotonic() + seconds
        while not self.came and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, GLANCE_S))
        return self.came


def is_asked() -> bool:
    """Whether the command was told to end: for threads, which no signal interrupts."""
    return _REQUEST.is_open


def in_main_thread() -> bool:
    """Whether this is the thread that signals interrupt."""
    return threading.current_thread() is threading.main_thread()


def check() -> None:
    """Raise KeyboardInterrupt where the command was told to end, and the main thread goes on as if it was not."""
    if _REQUEST.is_open and in_main_thread() and not caused(sys.exc_info()[1]):
        raise KeyboardInterrupt


def taken() -> None:
    """Take note that the interrupt has reached who ends the command, or that this is over anyway: no more reminders."""
    _REQUEST.is_open = False


def caused(error: BaseException | None) -> bool:
    """Whether an error is an interrupt, or came of one: code that is being imported may turn it into its own error."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def kept() -> Iterator[None]:
    """Have signals afterwards do what they do now: a library that is loaded meanwhile may take them."""
    before = {number: handler for number in ENDING if (handler := signal.getsignal(number)) is not None}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _asked(_number: int, _frame: FrameType | None) -> None:
    """Interrupt the command; a further signal does so even while it is being taken down."""
    _REQUEST.is_open = True
    raise KeyboardInterrupt


def _again(_number: int, _frame: FrameType | None) -> None:
    check()


def _watch() -> None:
    """Have a thread of our own hear of each signal at once, whatever the main thread is at."""
    signal.signal(_WAKE, _again)
    if not _REQUEST.is_watched:
        _REQUEST.is_watched = True
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=_remind, args=[reader], name="interrupts", daemon=True).start()


def _remind(reader: int) -> None:
    """Wake the main thread after each signal, and every second as long as no command has taken it."""
    while numbers := os.read(reader, 1 << 10):
        times = LEAST if any(number != _WAKE for number in numbers) else 0
        while times or _REQUEST.is_open:
            time.sleep(AGAIN_S)
            signal.pthread_kill(threading.main_thread().ident or 0, _WAKE)
            times = max(times - 1, 0)


def _unraisable(lost: sys.UnraisableHookArgs) -> None:
    """Say nothing of an interrupt that was dropped: it comes again."""
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
