"""The command ``patternbench``: its verbs, and how every mistake of a user ends."""

from __future__ import annotations

import importlib
import keyword
import sys

import click

from patternbench import __version__
from patternbench.cli.output import complain, problems_as_json
from patternbench.study.problems import InputError, Problem, reason

VERBS = {
    "init": "Write a study of your own service, from three questions.",
    "example": "Write one of the studies shipped with patternbench.",
    "plan": "List the scenarios of a study; starts nothing.",
    "try": "Send each request of a study once, and check the answers.",
    "run": "Run a study.",
    "resume": "Continue a run that was interrupted.",
    "report": "Rebuild the report of a run from its records.",
    "export": "Write a run's records as CSV or Parquet.",
    "load": "Drive load at a URL, and show response times and failures.",
    "capacity": "Find the highest rate within an objective.",
    "fit": "Fit models to a run, or to a CSV or Parquet file.",
    "predict": "Predict a response from a fitted model.",
    "compare": "Compare runs, or scenarios of one run; gate a release.",
    "recommend": "Recommend a configuration, with its certainty and costs.",
    "loadtest": "Analyse a load test: status codes, linearity, knee.",
    "up": "Start a system and keep it running, to try it by hand.",
    "doctor": "List what is missing here, and what disturbs measuring.",
    "schema": "Print the JSON Schema of a study file.",
    "simulate-limits": "Map how accurate rate limiting is, in simulated time.",
    "test-limits": "Test rate-limiting rules with requests; starts nothing.",
    "check-client": "Test whether a client keeps the client contract.",
}
USAGE, INTERRUPTED = 2, 130


class Verbs(click.Group):
    """The verbs. Each is loaded only when it is called, so that ``plan`` doesn't wait for the imports of ``report``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order in which a user meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name."""
        if cmd_name not in VERBS:
            return None
        name = cmd_name.replace("-", "_") + ("_" if keyword.iskeyword(cmd_name) else "")
        module = importlib.import_module(f"patternbench.cli.{name}")
        command: click.Command = getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their one-line help, without loading them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="patternbench")
def cli() -> None:
    """Measure what patterns of microservices do to performance and reliability, and which configuration to choose.

    Exit codes: 0 done, 1 the verb's own verdict failed, 2 a usage or input error.

    Example: patternbench example quickstart && patternbench run quickstart.yaml
    """


def main(arguments: list[str] | None = None) -> object:
    """Run the command; a user's mistake becomes a short list on standard error and exit code 2."""
    as_data = "--json" in (arguments or sys.argv)
    try:
        code = cli.main(args=arguments, standalone_mode=False)
    except InputError as error:
        complain(error, as_data)
        sys.exit(USAGE)
    except click.ClickException as error:
        error.show()
        if as_data:
            problems_as_json([Problem(error.format_message())])
        sys.exit(USAGE)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # such as a full disk or a folder that isn't writable, where no verb has a better message
        problem = Problem(reason(error), file=str(error.filename or ""))
        complain(InputError(problem), as_data)
        sys.exit(USAGE)
    sys.exit(code if isinstance(code, int) else 0)
