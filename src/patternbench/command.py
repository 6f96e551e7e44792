"""Where the command begins: it can be interrupted while its modules are still being loaded."""

from __future__ import annotations

import signal
import sys
import warnings

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has ended, as a shell says it."""
HELP = (["--help"], ["-h"])
"""What may follow a command so that its help is all that it prints."""


def main() -> None:
    """Run the command line. An interrupt during the imports ends the process at once and says nothing."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if not sys.warnoptions:  # they are for who changes the code; what a number lacks is said where it is printed
        warnings.simplefilter("ignore")
    from patternbench import interrupts  # noqa: PLC0415 - takes long enough to be interrupted
    from patternbench.cli.main import main as run  # noqa: PLC0415 - as above

    if sys.argv[2:] in HELP:
        from patternbench.stand_ins import put_names_off  # noqa: PLC0415 - for the help of a command alone

        put_names_off()
    else:
        from patternbench.later import loaded_when_used  # noqa: PLC0415 - as above

        loaded_when_used()

    # A parent that ignores the signal, such as a script with a job in the background, has asked for that.
    interrupts.take_untouched(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    try:
        run()
    except KeyboardInterrupt:  # another one, while the command was ending because of the first
        sys.exit(INTERRUPTED)
    finally:
        interrupts.taken()
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # the interpreter's own end has no place to catch it
