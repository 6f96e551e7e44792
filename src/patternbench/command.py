"""Where the command begins: it can be interrupted while its modules are still being loaded."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command line. An interrupt during the imports ends the process at once and says nothing."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from patternbench.cli.main import main as run  # noqa: PLC0415 - takes long enough to be interrupted

    # A parent that ignores the signal, such as a script with a job in the background, has asked for that.
    signal.signal(signal.SIGINT, before)
    try:
        run()
    finally:
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # the interpreter's own end has no place to catch it
