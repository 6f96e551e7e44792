"""``patternbench watch``: runs in a browser, while they go on and when they are over."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import click

from patternbench.cli import output
from patternbench.interrupts import EndRequest
from patternbench.terms.problems import InputError, Problem, reason

RUNS = Path("runs")
PORT = 8765
DONE = 0


@click.command(epilog="Example: patternbench watch runs --port 8765")
@click.argument("runs", metavar="[RUNS]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on. Beyond this machine the page needs the token that is printed.",
)
@click.option("--json", "json_", is_flag=True, help="Print the address as one JSON object.")
def watch(*, runs: tuple[Path, ...], port: int, host: str, json_: bool) -> int:
    """Show RUNS in a browser: what each says to choose so far, how its round goes, and how it came to that.

    RUNS are folders of runs, or folders that hold some [default: runs]. A run may be going on, over, or lie on a disk
    that was mounted. Nothing is written to it. Ctrl-C ends the page, and no run.
    """
    from patternbench.watch.hub import Hub  # noqa: PLC0415 - slow to import
    from patternbench.watch.server import PageServer  # noqa: PLC0415 - slow to import
    from patternbench.watch.watched import check_paths  # noqa: PLC0415 - slow to import

    paths = runs or (RUNS,)
    check_paths(paths)
    hub = Hub([path.resolve() for path in paths])
    try:
        server = PageServer(host, port, hub)
    except OSError as error:
        hint = "name another --port, or 0 for a free one"
        raise InputError(Problem(f"can't be listened on: {reason(error)}", value=f"{host}:{port}", hint=hint)) from None
    end = EndRequest()
    hub.start()
    answering = threading.Thread(target=server.serve_forever, name="answering", daemon=True)
    answering.start()
    if json_:
        output.as_json({"url": server.url, "runs": [str(path) for path in hub.paths]})
    else:
        click.echo(server.url)
    end.within(math.inf)
    server.shutdown()
    hub.stop()
    return DONE
