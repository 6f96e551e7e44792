"""Says of each request whether Flask routes it to /login, and which token its query has."""

import sys

from flask import Flask, Response, request

app = Flask(__name__)


def reached(name: str) -> Response:
    """Answer with what was read."""
    read = {"X-Read-Token": request.args.get("token", ""), "X-Read-Key": request.headers.get("X-Api-Key", "")}
    return Response("", headers={"X-Reached": name, **read})


@app.route("/login")
@app.route("/login/")
@app.route("/login/<path:rest>")
def login(rest: str = "") -> Response:
    """Answer what is routed here."""
    return reached("login")


@app.route("/", defaults={"rest": ""})
@app.route("/<path:rest>")
def other(rest: str) -> Response:
    """Answer everything else."""
    return reached("other")


if __name__ == "__main__":
    app.run("127.0.0.1", int(sys.argv[1]))
