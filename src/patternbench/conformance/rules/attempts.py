"""Rules on attempts and their outcomes."""

from __future__ import annotations

from patternbench.conformance.rules.expectations import expect_counts, expect_not_late, expect_wait, outcomes
from patternbench.conformance.scripted_target import CLOSE, FAIL, HANG, OK, ScriptedAnswer, sequence
from patternbench.conformance.trial import ClientTrial, expect, rule

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@rule("exact counts: baseline", "three users of five successes make exactly 15 calls of one attempt")
def baseline_counts(trial: ClientTrial) -> str:
    """Count calls where all succeed."""
    got = trial.run(sequence([]), users=3, successes=5)
    expect_counts(got, calls=15, attempts=15, rejected=0)
    expect(all(len(got.of_user(user)) == 5 for user in range(3)), "not five calls of each user")  # noqa: PLR2004
    expect_not_late("the end of the round", got.end.duration_us, max(row.end_us for row in got.rows))
    return "15 calls, 15 attempts, 15 requests at the target"


@rule("success is 200 to 399", "1 of 204, 301, 399 and 200 succeeds at once; 400, 404, 500 and 503 fail")
def success_range(trial: ClientTrial) -> str:
    """Answer with statuses around the border; a redirect is not followed."""
    statuses = [400, 301, 404, 204, 500, 399, 503, 200]
    got = trial.run(sequence([ScriptedAnswer(status) for status in statuses]), successes=4)
    expect([row.outcome for row in got.rows] == statuses, f"outcomes {[row.outcome for row in got.rows]}")
    expect_counts(got, calls=8, attempts=8, rejected=0)
    return f"outcomes {statuses}"


@rule("the request is sent as given", "method, path with query, headers and body reach the target unchanged")
def request_as_given(trial: ClientTrial) -> str:
    """Send every method, and a body where it has one."""
    for method in METHODS:
        body = None if method in {"GET", "HEAD", "OPTIONS"} else '{"größe": 1}'
        _expect_request(trial, method, body)
    return f"{', '.join(METHODS)} as given"


def _expect_request(trial: ClientTrial, method: str, body: str | None) -> None:
    script = trial.target.script(sequence([]))
    request = {
        "method": method,
        "path": script.path + "?q=a%20b&c=1",
        "headers": {"X-Study": "one"},
        "body": body,
    }
    round_ = trial.round(script, request=request)
    trial.need(round_)
    with trial.started(round_) as response:
        response.read()
    expect(len(script.arrivals) == 1, f"{len(script.arrivals)} requests for one {method} call")
    (arrival,) = script.arrivals
    header = {k.lower(): v for k, v in arrival.headers.items()}.get("x-study")
    seen = (arrival.method, arrival.path, header, arrival.body.decode(errors="replace"))
    expect(seen == (method, request["path"], "one", body or ""), f"the target saw {seen}")


@rule("connections are kept alive", "20 calls of each of 3 users come over at most 3 connections")
def keep_alive(trial: ClientTrial) -> str:
    """Count connections at the target."""
    got = trial.run(sequence([FAIL, OK, FAIL]), users=3, successes=20)
    connections = {arrival.connection for arrival in got.script.arrivals}
    expect(len(connections) <= 3, f"{len(connections)} connections")  # noqa: PLR2004
    return f"{len(connections)} connections"


@rule("timeouts", "an attempt without an answer is a timeout after timeout_us, and the next call goes on")
def timeouts(trial: ClientTrial) -> str:
    """Hang before the head, then between head and body."""
    answers = sequence([HANG, ScriptedAnswer(200, body_delay_us=2_000_000), OK])
    got = trial.run(answers, request={"timeout_us": 300_000})
    expect([row.outcome for row in got.rows] == ["timeout", "timeout", 200], f"outcomes {outcomes(got.rows)}")
    expect_counts(got, calls=3, attempts=3, rejected=0)
    for row in got.rows[:2]:
        expect_wait("the timeout", row.end_us - row.start_us, 300_000)
    return "two timeouts of 300 ms, then 200"


@rule("a row of timeouts", "30 attempts of 10 ms at a silent target are 30 timeouts and no other outcome")
def row_of_timeouts(trial: ClientTrial) -> str:
    """Let one timeout follow another, so that cleaning up after the last gets in the way of the next."""
    got = trial.run(sequence([], HANG), successes=None, max_attempts=30, request={"timeout_us": 10_000})
    expect([row.outcome for row in got.rows] == ["timeout"] * 30, f"outcomes {outcomes(got.rows)}")
    return "30 timeouts"


@rule(
    "closed connections",
    "a connection that is closed unanswered is a connection_error and one attempt, no more",
)
def closed_connections(trial: ClientTrial) -> str:
    """Close a fresh connection, then a warm one, where HTTP libraries like to try again."""
    got = trial.run(sequence([CLOSE, OK, CLOSE, OK]), successes=2)
    expect(
        [row.outcome for row in got.rows] == ["connection_error", 200, "connection_error", 200],
        f"outcomes {outcomes(got.rows)}",
    )
    expect_counts(got, calls=4, attempts=4, rejected=0)
    return "4 attempts, 4 requests"


@rule("nothing listens", "a refused connection is a connection_error")
def nothing_listens(trial: ClientTrial) -> str:
    """Point the client at a port where no one is."""
    body = trial.round(target="http://127.0.0.1:1", successes=None, max_attempts=3)
    trial.need(body)
    with trial.started(body) as response:
        text = response.read().decode(errors="replace")
    expect(text.count('"connection_error"') == 3, f"stream {text[:200]}")  # noqa: PLR2004
    return "3 connection errors"


@rule("durations run to the last byte", "60 ms before the head and 60 ms before the body make at least 119 ms")
def last_byte(trial: ClientTrial) -> str:
    """Answer slowly, in two parts."""
    got = trial.run(sequence([], ScriptedAnswer(200, delay_us=60_000, body_delay_us=60_000)), successes=3)
    for row in got.rows:
        expect_wait("an answer", row.end_us - row.start_us, 120_000)
    return f"durations {[row.end_us - row.start_us for row in got.rows]} us"
