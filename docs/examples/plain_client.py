"""A complete client of patternbench's contract, in plain Python: baseline and retry."""

import contextlib
import http.client
import json
import platform
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

COLUMNS = ("user", "call", "attempt", "start_us", "duration_us", "outcome")
LANGUAGE = f"Python {platform.python_version()}"
DESCRIPTION = {"contract": 1, "name": "plain", "version": "1", "language": LANGUAGE,
               "library": {"name": "none", "version": "1"}, "strategies": ["baseline", "retry"]}  # fmt: skip


FIELDS = {"contract", "target", "request", "users", "think_time_us", "successes", "max_attempts", "rejected_pause_us",
          "time_limit_us", "seed", "strategy"}  # fmt: skip


def problem(path, value, message, allowed):
    return {"path": path, "value": value, "message": message, "allowed": allowed}


def problems(text):
    """What this client cannot express: refused, never approximated. patternbench sends valid rounds."""
    try:
        body = json.loads(text)
        ((name, strategy),) = body["strategy"].items()
    except (ValueError, TypeError, KeyError) as error:
        return [problem("", None, f"isn't a round: {error!r}", "one JSON object")]
    if body.get("contract") != 1 or set(body) - FIELDS:
        return [problem("contract", body.get("contract"), "is another version of the contract", 1)]
    if name not in DESCRIPTION["strategies"]:
        return [problem("strategy", name, "this client has none", "baseline or retry")]
    if strategy.get("jitter", "none") != "none":
        return [problem("strategy.retry.jitter", strategy["jitter"], "this client has no jitter", "none")]
    if "linear" in strategy.get("backoff", {}):
        return [problem("strategy.retry.backoff", "linear", "this client has none", "fixed or exponential")]
    return []


def delay_us(backoff, failed_attempts):
    """The delay after this many failed attempts. A client for a library configures the library instead."""
    if "fixed" in backoff:
        return backoff["fixed"]["delay_us"]
    e = backoff["exponential"]
    delay = e["initial_us"] * e["multiplier"] ** (failed_attempts - 1)
    return delay if e["max_us"] is None else min(delay, e["max_us"])


class User(threading.Thread):
    """One virtual user: one connection, calls one after another."""

    def __init__(self, number, round_):
        super().__init__(daemon=True)
        self.number, self.round, self.body = number, round_, round_.body
        self.calls = self.successes = self.attempts = 0
        url = urlsplit(self.body["target"])
        self.connection = http.client.HTTPConnection(url.hostname, url.port or 80)

    def run(self):
        while not self.has_enough():
            self.call()
            self.calls += 1
            if not self.has_enough():
                self.pause(self.body["think_time_us"])
        with self.round.lock:
            self.round.ended_us = self.round.now_us()

    def has_enough(self):
        b = self.body
        most = float("inf") if b["max_attempts"] is None else b["max_attempts"]
        late = self.round.now_us() >= b["time_limit_us"]
        return late or self.round.stopped.is_set() or self.successes == b["successes"] or self.attempts >= most

    def call(self):
        """The pattern: here a client for a library hands ``self.attempt`` to the library."""
        retry = self.body["strategy"].get("retry", {"max_attempts": 1})
        for number in range(1, retry["max_attempts"] + 1):
            outcome = self.attempt(number)
            if isinstance(outcome, int) and 200 <= outcome <= 399:
                self.successes += 1
                return
            if number < retry["max_attempts"] and not self.round.stopped.is_set():
                self.round.stopped.wait(delay_us(retry["backoff"], number) / 1e6)
            if self.round.stopped.is_set():
                return

    def attempt(self, number):
        """One try on the wire, and its row."""
        self.attempts += 1
        start = self.round.now_us()
        outcome = self.send(time.monotonic() + self.body["request"]["timeout_us"] / 1e6)
        row = (self.number, self.calls, number, start, self.round.now_us() - start, outcome)
        with self.round.lock:
            self.round.rows.append(row)
        return outcome

    def send(self, deadline):
        request, connection = self.body["request"], self.connection
        try:
            if connection.sock is None:
                connection.timeout = max(0.001, deadline - time.monotonic())
                connection.connect()
            body = None if request["body"] is None else request["body"].encode()
            connection.request(request["method"], request["path"], body, request["headers"])
            sock = connection.sock
            sock.settimeout(max(0.001, deadline - time.monotonic()))
            answer = connection.getresponse()
            while not answer.isclosed() and answer.length != 0:  # to the last byte
                sock.settimeout(max(0.001, deadline - time.monotonic()))  # of the attempt, not of one read
                answer.read1(65536)
            answer.close()
            return answer.status
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            return "timeout" if isinstance(error, TimeoutError) else "connection_error"

    def pause(self, pause_us):
        left_us = self.body["time_limit_us"] - self.round.now_us()
        self.round.stopped.wait(max(0, min(pause_us, left_us)) / 1e6)


class Round:
    """A round under way: its users, the rows that no one has read yet, and the moment it began."""

    def __init__(self, body):
        self.body, self.rows, self.taken, self.ended_us = body, [], 0, 0
        self.stopped, self.lock = threading.Event(), threading.Lock()
        self.users = [User(number, self) for number in range(body["users"])]
        self.start_s, self.cpu_s = time.monotonic(), time.process_time()
        for user in self.users:
            user.start()

    def now_us(self):
        return int((time.monotonic() - self.start_s) * 1e6)

    def abandon(self):
        self.stopped.set()
        for sock in [user.connection.sock for user in self.users if user.connection.sock]:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def batches(self):
        """Batches while anyone is at work."""
        alive = True
        while alive:
            time.sleep(0.05)
            alive = any(user.is_alive() for user in self.users)
            with self.lock:
                rows, self.rows = self.rows, []
            self.taken += len(rows)
            for i in range(0, max(1, len(rows)), 10_000):  # an empty batch notices a closed connection
                columns = zip(*rows[i : i + 10_000], strict=True) if rows else [()] * len(COLUMNS)
                yield {"batch": dict(zip(COLUMNS, columns, strict=True))}

    def end(self):
        cpu_us = int((time.process_time() - self.cpu_s) * 1e6)
        return {"end": {"rows": self.taken, "duration_us": self.ended_us, "cpu_us": cpu_us}}


class Handler(BaseHTTPRequestHandler):
    """The contract's side: three calls, one round at a time."""

    protocol_version, disable_nagle_algorithm, busy = "HTTP/1.1", True, threading.Lock()

    def do_GET(self):
        self.reply(200, DESCRIPTION) if self.path == "/client" else self.reply(404, {"error": "GET /client"})

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = problems(text)
        if self.path == "/check":
            self.reply(200, {"problems": found})
        elif found:
            self.reply(422, {"problems": found})
        elif not self.busy.acquire(blocking=False):
            self.reply(409, {"error": "another round is running"})
        else:
            self.stream(Round(json.loads(text)))

    def stream(self, round_):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for batch in round_.batches():
                self.line(batch)
        except OSError:
            round_.abandon()  # patternbench has closed the connection
            return
        finally:
            self.busy.release()  # before the end is sent: a reader of it may start a round
        self.line(round_.end())

    def line(self, value):
        self.wfile.write(json.dumps(value).encode() + b"\n")

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler)
    print(json.dumps({"listening": f"127.0.0.1:{server.server_port}"}), flush=True)
    server.serve_forever()
