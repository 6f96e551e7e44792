"""Stands in for Docker, Podman and what speaks Compose: notes each order, and does what one sees of it from outside.

Its folder is $STAND_IN. ``up`` serves that folder at a port, as a container would at a published one; ``fails`` in it
names the order that fails; ``printed`` is what ``config`` prints; ``version`` what it says of itself. ``states.json``
has what ``inspect`` says of a service, by its name, where that is not a running container; each change of it is an
event.
"""

import http.server
import json
import os
import signal
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["STAND_IN"])
ORDERS = ("config", "up", "build", "logs", "down", "version", "ps", "inspect", "events", "volume", "network", "unpause")
SERVICES = ("admin", "web")
STATES = FOLDER / "states.json"


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
    """What was put there, with variables of the environment."""
    sys.stdout.write(os.path.expandvars((FOLDER / "printed").read_text()))


def version():
    """As the plugin prints it."""
    at = FOLDER / "version"
    print(at.read_text() if at.exists() else "2.40.3")


def build():
    """Nothing is seen of it from outside."""


unpause = build


def ps():
    """The containers that are there."""
    if (FOLDER / "port").exists():
        print("\n".join(SERVICES))


def volume():
    """None is ever left."""


network = volume


def inspect():
    """Running containers, but for what ``states.json`` says of them."""
    stated = json.loads(STATES.read_text()) if STATES.exists() else {}
    print(json.dumps([container(name, stated.get(name, {})) for name in SERVICES]))


def container(name, stated):
    """What an engine says of the container of a service."""
    port = (FOLDER / "port").read_text()
    return {
        "Id": name,
        "Name": f"/x-{name}-1",
        "State": {"Status": "running", "ExitCode": 0, "OOMKilled": False, "Pid": 0, "StartedAt": "1", **stated},
        "Config": {"Labels": {"com.docker.compose.service": name}},
        "NetworkSettings": {"Ports": {f"{p}/tcp": [{"HostIp": "0.0.0.0", "HostPort": port}] for p in (80, 9000)}},
    }


def events():
    """A line for each change of the states, and one for what happened before."""
    print("container start", flush=True)
    before = seen()
    while not (FOLDER / "gone").exists():
        time.sleep(0.02)
        if seen() != before:
            before = seen()
            print("container die", flush=True)


def seen():
    """What tells one version of the states from another."""
    return STATES.read_text() if STATES.exists() else ""


def logs():
    """Of one container its last words, else a line, and then nothing until the containers are gone."""
    if "--tail" in sys.argv:
        print("cannot reach the database", file=sys.stderr)
        return
    print("web-1  | open for business", flush=True)
    while not (FOLDER / "gone").exists():
        time.sleep(0.05)


def down():
    """Leave a mark."""
    (FOLDER / "port").unlink(missing_ok=True)
    print("Network x Removed", file=sys.stderr)


signal.signal(signal.SIGTERM, signal.SIG_DFL)
order = next(word for word in sys.argv[1:] if word in ORDERS)
with (FOLDER / "orders.jsonl").open("a") as notes:
    notes.write(json.dumps([Path(sys.argv[0]).name, *sys.argv[1:]]) + "\n")
if (FOLDER / "fails").exists() and (FOLDER / "fails").read_text() == order:
    sys.exit(f"no space left for {order}")
globals()[order]()
