"""Where the command begins: it can be interrupted while its modules are still being loaded."""

from __future__ import annotations

import signal
import sys
import warnings


def main() -> None:
    """Run the command line. An interrupt during the imports ends the process at once and says nothing."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if not sys.warnoptions:  # they are for who changes the code; what a number lacks is said where it is printed
        warnings.simplefilter("ignore")
    from patternbench.cli.main import main as run  # noqa: PLC0415 - takes long enough to be interrupted

    # A parent that ignores the signal, such as a script with a job in the background, has asked for that.
    signal.signal(signal.SIGINT, before)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # what is to be taken down is, as after Ctrl-C
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run()
    finally:
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # the interpreter's own end has no place to catch it
