"""The program ``patternbench``: its commands, and how every mistake of a user ends."""

from __future__ import annotations

import errno
import importlib
import io
import keyword
import os
import re
import resource
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from patternbench import __version__, interrupts
from patternbench.cli import streams
from patternbench.cli.output import NotDoneError, complain, problems_as_json
from patternbench.records.unreadable import TableError
from patternbench.terms.data_problems import DataError
from patternbench.terms.problems import LONGEST_VALUE, InputError, Problem, reason, remedy
from patternbench.terms.visible import not_utf8, visible

COMMANDS = {
    "init": "Write a study of your own service, from three questions.",
    "example": "Write one of the studies shipped with patternbench.",
    "import-config": "Read what you run today from its configuration.",
    "import-load": "Write a study with the load of a log or a recording.",
    "import-published": "Write a study with published results as its claims.",
    "plan": "List the scenarios of a study; starts nothing.",
    "try": "Send each request of a study once, and check the answers.",
    "run": "Run a study.",
    "resume": "Continue a run that was interrupted.",
    "watch": "Watch runs in a browser, live and afterwards.",
    "report": "Rebuild the report of a run from its records.",
    "export": "Write a run's records as CSV or Parquet.",
    "load": "Drive load at a URL, and show response times and failures.",
    "capacity": "Find the highest rate within an objective.",
    "fit": "Fit models to a run, or to a CSV or Parquet file.",
    "predict": "Predict a response from a fitted model.",
    "calibrate": "Make a model of a system from a run, for simulated time.",
    "simulate": "Run a study in simulated time, with a model of its system.",
    "compare": "Compare runs, or scenarios of one run; gate a release.",
    "gate": "Compare two versions while measuring, until it can tell.",
    "history": "Keep what runs show, and say since when it changed.",
    "recommend": "Recommend a configuration, with its certainty and costs.",
    "apply": "Write the recommended configuration as that of a product.",
    "loadtest": "Analyse a load test: status codes, linearity, knee.",
    "up": "Start a system and keep it running, to try it by hand.",
    "doctor": "List what is missing here, and what disturbs measuring.",
    "schema": "Print the JSON Schema of a study file.",
    "simulate-limits": "Map how accurate rate limiting is, in simulated time.",
    "test-limits": "Test rate-limiting rules with requests; starts nothing.",
    "check-client": "Test whether a client keeps the client contract.",
}
GONE = Problem("the folder that you are in was deleted", hint="type `cd` with a folder that is there, and try again")
NOWHERE_TO_DRAFT = Problem(
    "no folder for temporary files can be written to",
    hint="type `export TMPDIR=FOLDER` with a folder of yours on a disk with room, and try again",
)
NO_TEMPORARY = "No usable temporary directory"
"""How the library of Python begins its message where it finds none."""
IN_UTF8 = "type `export PYTHONUTF8=1`, or choose a locale in UTF-8, and try again"
NO_ROOM = "make room where it writes and in the folder for temporary files (TMPDIR), and type the command again"
USAGE, INTERRUPTED = 2, 130
FEWEST_OPEN_FILES = 64
"""Files that may be open at once: with fewer, libraries end the process, or say of any file that it can't be opened."""
LONG_WORD = re.compile(r"\S{200,}")
"""A value without end, such as a number of thousands of digits, of which a message repeats the beginning."""
STRIPPED = 2
"""From this level of ``PYTHONOPTIMIZE`` on, Python strips docstrings; at 1 only asserts, on which nothing rests."""
PANIC = "PanicException"
"""The name of a panic of a library in Rust. It does not derive from Exception."""
UNREAD = 141
"""The exit code where the reader of a pipe went away, as a shell says it of a program that SIGPIPE ended."""


class Commands(click.Group):
    """The commands. Each is loaded only when called, so that ``plan`` doesn't wait for the imports of ``report``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_") + ("_" if keyword.iskeyword(cmd_name) else "")
        module = importlib.import_module(f"patternbench.cli.{name}")
        command: click.Command = getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their one-line help, without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="patternbench")
def cli() -> None:
    """Measure what patterns of microservices do to performance and reliability, and which configuration to choose.

    Exit codes: 0 done, 1 the command's own verdict failed, 2 a usage or input error.

    Example: patternbench example quickstart && patternbench run quickstart.yaml
    """


def main(arguments: list[str] | None = None) -> object:
    """Run the command; a user's mistake becomes a short list on standard error and exit code 2."""
    streams.take()
    as_data = "--json" in (arguments or sys.argv)
    _write_what_can_be_shown()
    try:
        try:
            code = _ended(arguments, as_data)
        finally:
            streams.flush()
    except streams.UnreadError:  # as of a program that the signal ended: the reader saw no verdict
        streams.give_up()
        code = UNREAD
    except OSError as error:
        streams.give_up()
        complain(InputError(_unprinted(error)), as_data=False)
        code = USAGE
    sys.exit(code)


def _ended(arguments: list[str] | None, as_data: bool) -> int:
    """Run the command, and say how it ended: the exit code. Raises OSError where standard output takes no more."""
    try:
        _check_docstrings(sys.flags.optimize)
        _check_open_files(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        _check_texts(sys.argv[1:] if arguments is None else arguments)
        code = cli.main(args=arguments, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except InputError as error:
        complain(error, as_data)
        return USAGE
    except click.ClickException as error:
        return _misused(error, as_data)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except (click.Abort, KeyboardInterrupt):
        return _interrupted()
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        return _failed(error, as_data)


def _misused(error: click.ClickException, as_data: bool) -> int:
    """Say how the command line is wrong: the exit code."""
    short = LONG_WORD.sub(lambda found: f"{found[0][:LONGEST_VALUE]}…", error.message)
    vars(error).update(message=visible(short))  # the attribute is final to who checks types
    error.show()
    if as_data:
        problems_as_json([Problem(error.format_message())])
    return error.exit_code if isinstance(error, NotDoneError) else USAGE


def _failed(error: BaseException, as_data: bool) -> int:
    """Say what an error that no command expected means: the exit code. Raises it again if it is of standard output."""
    if interrupts.caused(error):
        return _interrupted()
    if isinstance(error, streams.UnreadError) or (isinstance(error, OSError) and error.filename == streams.NAME):
        raise error
    problem = _reported(error)
    if problem is None:
        unforeseen(error, as_data)
    else:
        complain(InputError(problem), as_data)
    return USAGE


def _interrupted() -> int:
    interrupts.taken()
    click.echo("interrupted", err=True)
    return INTERRUPTED


def _unprinted(error: OSError) -> Problem:
    """Return what was not printed, as standard output could not take it."""
    hint = "what the command wrote to files is complete; print to another place, such as `> FILE` on a disk with room"
    return Problem(f"what this command prints is lost: {reason(error)}", file=streams.NAME, hint=hint)


def _write_what_can_be_shown() -> None:
    """Let output of any character end well: a terminal that lacks it shows another instead."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not streams.takes_all(stream):
            stream.reconfigure(errors="backslashreplace")


def _check_docstrings(optimize: int) -> None:
    """Raise InputError where Python strips docstrings: help texts are made of ours, and figures need those of altair.

    Without this a run would be measured to its end before its report fails.
    """
    if optimize >= STRIPPED:
        hint = "type `unset PYTHONOPTIMIZE`, or leave -OO out, and try again"
        raise InputError(Problem("Python was told to strip docstrings, which are needed", value=optimize, hint=hint))


def _check_open_files(most: int) -> None:
    """Raise InputError where too few files may be open at once."""
    if 0 <= most < FEWEST_OPEN_FILES:
        hint = "type `ulimit -n 1024`, and try again"
        allowed = f"at least {FEWEST_OPEN_FILES}"
        raise InputError(Problem("too few files may be open at once here", value=most, allowed=allowed, hint=hint))


def _check_texts(arguments: Sequence[str]) -> None:
    """Raise InputError for arguments, and a folder that we are in, that no record or answer could repeat."""
    hint = "records and reports are written in UTF-8; rename the file or folder, or write the text again"
    hint = hint if _names_are_utf8() else IN_UTF8
    wrong = [text for text in arguments if not_utf8(text)]
    problems = [Problem("this argument isn't text in UTF-8", value=text, hint=hint) for text in wrong]
    here = _here()
    problems += [Problem("the name of this folder isn't text in UTF-8", value=here, hint=hint)] * not_utf8(here)
    scratch = os.environ.get("TMPDIR", "")
    problems += [Problem("isn't text in UTF-8", "TMPDIR", value=scratch, hint=hint)] * not_utf8(scratch)
    if problems:
        raise InputError(problems)


def _names_are_utf8() -> bool:
    """Whether this locale has files whose names may hold any character."""
    return streams.is_utf8(sys.getfilesystemencoding())


def _here() -> str:
    """Return the folder that we are in; nothing where it is gone."""
    with suppress(OSError):
        return str(Path.cwd())
    return ""


def _reported(error: BaseException) -> Problem | None:
    """Return an error that says by itself what is wrong, and that no command says better; None for our own.

    A full disk or a folder that isn't writable is one, a system that did not start or could not be driven, and a table
    that can't be read.
    """
    from patternbench.drivers.driver import DriverError  # noqa: PLC0415 - only once something has failed
    from patternbench.lab.host.processes import StartError  # noqa: PLC0415 - only once something has failed

    if isinstance(error, OSError):
        return _of_the_system(error)
    if isinstance(error, UnicodeEncodeError) and not _names_are_utf8():
        message = f"this name can't be written where files have names in {sys.getfilesystemencoding()}"
        return Problem(message, value=error.object, hint=IN_UTF8)
    if isinstance(error, RuntimeError) and "Symlink loop" in str(error):
        return Problem(str(error), hint="name another file or folder")
    return Problem(str(error)) if isinstance(error, StartError | DriverError | TableError | DataError) else None


def _of_the_system(error: OSError) -> Problem:
    """Return what an error of the system means, with what to type where that is known."""
    if str(error.strerror).startswith(NO_TEMPORARY):
        return NOWHERE_TO_DRAFT
    if error.errno == errno.ENOENT and not error.filename and not _here():
        return GONE
    nowhere = error.errno in (errno.ENOSPC, errno.EDQUOT) and not error.filename
    hint = NO_ROOM if nowhere else remedy(error)
    return Problem(reason(error), file=str(error.filename or ""), hint=hint)


def unforeseen(error: BaseException, as_data: bool) -> None:
    """Say of an error that nothing foresaw what happened, where its record is, and how to report it."""
    record = _recorded(traceback.format_exception(error))
    what = f"patternbench itself failed ({type(error).__name__}: {error or 'no message'})"
    hint = f"this is a mistake in patternbench; please report it where you got it from, with {record}"
    complain(InputError(Problem(what, hint=hint)), as_data)


def _recorded(lines: list[str]) -> str:
    """Where the record of an error was written: its own file, or standard error where there is no room for one."""
    try:
        handle, name = tempfile.mkstemp(prefix="patternbench-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines([f"patternbench {__version__}, Python {sys.version}\n", *lines])
    except OSError:
        click.echo("".join(lines), err=True)
        return "the lines above"
    return f"the record in {name}, once you have read it for secrets"
