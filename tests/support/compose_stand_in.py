"""Stands in for ``docker compose`` and ``podman-compose``: notes each order and does what one sees of it from outside.

Its folder is $STAND_IN. ``up`` serves that folder at a port, as a container would at a published one; ``fails`` in it
names the order that fails; ``printed`` is what ``config`` prints.
"""

import http.server
import json
import os
import signal
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["STAND_IN"])
ORDERS = ("config", "up", "port", "logs", "down")


def up():
    """Serve in the background, as a container does whose output no one has."""
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    if os.fork() == 0:
        os.chdir(FOLDER)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(null, handle)
        server.serve_forever()
        return
    (FOLDER / "port").write_text(str(server.server_port))


def config():
    """What was put there."""
    sys.stdout.write((FOLDER / "printed").read_text())


def port():
    """As each of them prints it: docker with an address, podman-compose without."""
    at = (FOLDER / "port").read_text()
    print(at if Path(sys.argv[0]).name == "podman-compose" else f"0.0.0.0:{at}")


def logs():
    """A line, and then nothing until the containers are gone."""
    print("web-1  | open for business", flush=True)
    while not (FOLDER / "gone").exists():
        time.sleep(0.05)


def down():
    """Leave a mark."""
    (FOLDER / "port").unlink(missing_ok=True)


signal.signal(signal.SIGTERM, signal.SIG_DFL)
order = next(word for word in sys.argv[1:] if word in ORDERS)
with (FOLDER / "orders.jsonl").open("a") as notes:
    notes.write(json.dumps([Path(sys.argv[0]).name, *sys.argv[1:]]) + "\n")
if (FOLDER / "fails").exists() and (FOLDER / "fails").read_text() == order:
    sys.exit(f"no space left for {order}")
globals()[order]()
