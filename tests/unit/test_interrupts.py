"""Ctrl-C and SIGTERM end every wait within two seconds, also where Python drops the first one."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from patternbench import interrupts

SOON_S = 2.0 + 5.0
"""A wait ends within two seconds; the rest is for a busy machine."""
WAITS = textwrap.dedent("""
    import ctypes, gc, os, queue, select, signal, subprocess, sys, threading, time, weakref
    from concurrent.futures import Future
    import click
    import patternbench.cli.main as cli
    from patternbench.command import main
    from patternbench.lab.host.processes import Process

    def interrupted(*_):
        signal.raise_signal(signal.{number})

    class Finalized:
        def __del__(self):
            interrupted()

    def by_ctypes():
        ctypes.CFUNCTYPE(None)(interrupted)()

    def by_the_collector():
        gc.callbacks.append(lambda phase, _: phase == "start" and interrupted())
        gc.collect()
        gc.callbacks.clear()

    def by_a_weak_reference():
        there = threading.Event()
        kept = weakref.ref(there, interrupted)
        del there

    def by_a_finalizer():
        Finalized()

    def by_a_library():
        try:
            interrupted()
        except BaseException:
            pass

    @click.command()
    def waits():
        {way}()
        print("dropped", flush=True)
        {wait}

    cli.cli = waits
    sys.argv[1:] = []
    main()
""")
CASES = {
    "by_ctypes": "time.sleep(60)",
    "by_the_collector": "threading.Event().wait()",
    "by_a_weak_reference": "Future().result()",
    "by_a_finalizer": "subprocess.run(['sleep', '60'])",
    "by_a_library": "queue.Queue().get()",
}


@pytest.fixture
def handlers() -> Iterator[None]:
    """Signals do afterwards what they did before."""
    before = {number: signal.getsignal(number) for number in (*interrupts.ENDING, signal.SIGURG)}
    yield
    interrupts.taken()
    for number, handler in before.items():
        signal.signal(number, handler)


def begun(code: str) -> subprocess.Popen[str]:
    """A process that runs Python code, once it has printed its first line."""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1, text=True)
    assert child.stdout is not None
    if not child.stdout.readline():
        pytest.fail(child.communicate()[1])
    return child


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("way", CASES)
def test_an_interrupt_that_is_dropped_ends_the_next_wait_within_two_seconds(way: str, number: str) -> None:
    child = begun(WAITS.format(way=way, wait=CASES[way], number=number))
    asked = time.monotonic()
    _, errors = child.communicate(timeout=30)
    assert time.monotonic() - asked < SOON_S
    assert (child.returncode, errors.strip()) == (130, "interrupted")


TAKES_DOWN = textwrap.dedent("""
    import signal, time
    from patternbench import interrupts
    interrupts.take()
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        print("begun", flush=True)
        time.sleep(2.5 * interrupts.AGAIN_S)
        print("down", flush=True)
""")


def test_what_is_taken_down_after_an_interrupt_is_not_broken_off_by_its_reminders() -> None:
    printed, _ = begun(TAKES_DOWN).communicate(timeout=30)
    assert printed == "down\n"


def test_a_second_ctrl_c_breaks_off_what_is_taken_down() -> None:
    child = begun(TAKES_DOWN.replace("2.5", "60"))
    child.send_signal(signal.SIGINT)
    printed, _ = child.communicate(timeout=30)
    assert printed == ""


def test_an_interrupt_that_has_been_taken_comes_no_more(handlers: None) -> None:
    interrupts.take()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        interrupts.check()
    interrupts.taken()
    interrupts.check()
    time.sleep(1.5 * interrupts.AGAIN_S)  # no reminder comes


def test_a_thread_that_waits_for_a_process_stops_once_the_command_is_told_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from patternbench.lab.host.processes import Process, SilentProcessError  # noqa: PLC0415 - needs the engine

    ended: list[BaseException] = []

    def listen(process: Process) -> None:
        try:
            list(process.lines())
        except SilentProcessError as error:
            ended.append(error)

    with Process("silent", ["sleep", "600"], tmp_path) as process:
        thread = threading.Thread(target=listen, args=[process], daemon=True)
        thread.start()
        monkeypatch.setattr(interrupts._REQUEST, "is_open", True)  # a signal would interrupt this thread, too
        thread.join(SOON_S)
        assert len(ended) == 1


@pytest.mark.parametrize("number", interrupts.ENDING)
def test_a_command_that_waits_for_its_end_hears_of_it_and_is_not_interrupted(
    number: signal.Signals, handlers: None
) -> None:
    end = interrupts.EndRequest()
    assert not end.within(0.01)
    threading.Timer(0.1, signal.pthread_kill, [threading.main_thread().ident, number]).start()
    assert end.within(60)


def test_a_signal_that_is_ignored_stays_so_and_one_that_someone_else_handles_stays_theirs(handlers: None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, theirs := lambda *_: None)
    interrupts.take_untouched(signal.SIGINT, signal.SIGTERM)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == (signal.SIG_IGN, theirs)


def test_a_library_that_takes_signals_while_it_is_loaded_does_not_keep_them(handlers: None) -> None:
    interrupts.take()
    ours = signal.getsignal(signal.SIGTERM)
    with interrupts.kept():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert signal.getsignal(signal.SIGTERM) is ours
