"""A small shop as an application for both kinds of server: ``wsgi`` for gunicorn, ``asgi`` for uvicorn."""

import json
import os
import sys
from pathlib import Path

HEADERS = [("content-type", "application/json")]


def answer():
    """What it says of itself."""
    return json.dumps({"python": sys.executable, "folder": str(Path.cwd()), "pid": os.getpid()}).encode()


def wsgi(environ, start_response):
    """The shop for gunicorn."""
    start_response("200 OK", HEADERS)
    return [answer()]


async def asgi(scope, receive, send):
    """The shop for uvicorn."""
    if scope["type"] == "lifespan":
        return
    headers = [(name.encode(), value.encode()) for name, value in HEADERS]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer()})
