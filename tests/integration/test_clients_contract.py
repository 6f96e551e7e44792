"""The contract's tests pass for the clients that keep it, and catch each defect of those that do not."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from scripts.checks import clients
from tests.support.answers_of_commands import fits

from patternbench.cli.check_client import check_client as check_client_command
from patternbench.conformance.cases import BreakerConfig
from patternbench.conformance.check import ClientUnreachableError, Finding, check_client
from patternbench.conformance.reference_breaker import ReferenceBreaker, Result
from patternbench.conformance.trial import RULES
from patternbench.drivers import registry
from patternbench.drivers.client import Client
from patternbench.drivers.registry import ClientSpec
from patternbench.lab.software import engine

pytestmark = [pytest.mark.integration, pytest.mark.slow]

REPOSITORY = Path(__file__).parents[2]
EXAMPLE = REPOSITORY / "docs" / "examples" / "plain_client.py"
FINDINGS = REPOSITORY / "docs" / "libraries" / "findings"


KITS = ["resilience4j", "tenacity", "failsafe-go", "tower", "polly"]
"""A client of each kit that ends, and refuses arguments, in its own way."""


# --- clients that keep the contract --------------------------------------------------------------------


def test_the_example_of_the_docs_keeps_every_rule_as_the_command_line_tells() -> None:
    with started([sys.executable, str(EXAMPLE), "--port", "0"]) as url:
        result = CliRunner().invoke(check_client_command, [url, "--json"])
    fits("check-client", result.stdout)
    findings = [Finding(**finding) for finding in json.loads(result.stdout)]
    assert broken(findings) == []
    assert result.exit_code == 0
    assert [finding.rule for finding in findings] == [rule.name for rule in RULES]


def test_a_complete_client_without_a_kit_has_less_than_200_lines() -> None:
    assert len([line for line in EXAMPLE.read_text().splitlines() if line.strip()]) < 200


def test_a_client_runs_on_the_cpus_that_it_is_given(tmp_path: Path) -> None:
    last = max(os.sched_getaffinity(0))
    client = Client(ClientSpec("plain", (sys.executable, str(EXAMPLE), "--port", "0")), tmp_path, cpus=(last,))
    try:
        (running,) = client._host.running.values()
        assert running.process.family()[0].cpu_affinity() == [last]
        assert client.limits() == {"client-plain": f"on CPU {last}"}
    finally:
        client.close()


@pytest.fixture(scope="module", params=[client.name for client in clients.clients()])
def library_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Each client of a library, built and started once."""
    client = Client(built(request.param), tmp_path_factory.mktemp(request.param))
    yield client
    client.close()


def test_a_librarys_client_keeps_every_rule_and_refuses_only_what_the_page_of_libraries_says(
    library_client: Client,
) -> None:
    findings = check_client(library_client.url)
    assert broken(findings) == []
    page = json.loads((FINDINGS / f"{library_client.name}.json").read_text())
    reported = {rule: status for rule, status, _ in page["findings"]}
    # A busy machine cannot tell how well pauses are kept; it says so, and nothing against the client.
    seen = {
        finding.rule: reported[finding.rule] if finding.status == "inconclusive" else finding.status
        for finding in findings
    }
    assert seen == reported


def test_a_librarys_client_has_the_strategies_that_its_description_declares(library_client: Client) -> None:
    assert library_client.description["strategies"] == registry.described(library_client.name).strategies


def test_a_librarys_client_refuses_all_that_its_description_says_that_it_refuses(library_client: Client) -> None:
    declared = {name for limit in registry.limits_of(library_client.name, {}) for name in limit.fields}
    retry = {"max_attempts": 2, "jitter": "none"}
    breaker = {"failure_rate": 50, "slow_call": None, "minimum_calls": 2, "half_open_calls": 1, "scope": "client"}
    strategies = [
        {"retry": {**retry, "backoff": {"fixed": {"delay_us": 1}}}},
        {"retry": {**retry, "backoff": {"linear": {"initial_us": 1, "increment_us": 1, "max_us": 1}}}},
        {"retry": {**retry, "backoff": {"exponential": {"initial_us": 1, "multiplier": 2, "max_us": 1}}}},
        {"retry": {**retry, "jitter": "equal", "backoff": {"fixed": {"delay_us": 1000}}}},
        {"retry": {**retry, "jitter": "full", "backoff": {"fixed": {"delay_us": 1000}}}},
        {"circuit_breaker": {**breaker, "window": {"time_us": 1}, "open_for_us": 1}},
    ]
    able = [one for one in strategies if {*one} & {*registry.described(library_client.name).strategies}]
    answers = [httpx.post(f"{library_client.url}/check", json=round_of(strategy)).json() for strategy in able]
    refused = {problem["path"].removesuffix("_us") for answer in answers for problem in answer["problems"]}
    assert refused >= {f"strategy.{name}" for name in declared}


def round_of(strategy: dict[str, Any]) -> dict[str, Any]:
    """The smallest round of the contract with a strategy."""
    request = {"method": "GET", "path": "/", "headers": {}, "body": None, "timeout_us": 1_000_000}
    ends = {"successes": 1, "max_attempts": None, "time_limit_us": 1_000_000}
    load = {"users": 1, "think_time_us": 0, "rejected_pause_us": 1000}
    return {
        "contract": 1,
        "target": "http://127.0.0.1:1",
        "seed": 1,
        "request": request,
        **ends,
        **load,
        "strategy": strategy,
    }


def test_the_native_client_keeps_every_rule_and_refuses_nothing() -> None:
    with started([engine.binary(), "client", "--port", "0"]) as url:
        findings = check_client(url)
    assert broken(findings) == []
    # A study with a stack gives it jobs instead of rounds.
    others = [finding.rule for finding in findings if finding.status == "not applicable"]
    assert others == [rule.name for rule in RULES if rule.needs == "stack"]


@pytest.mark.parametrize("name", KITS)
def test_a_client_of_a_kit_ends_at_once_when_it_is_told_to(name: str) -> None:
    process = subprocess.Popen(built(name).command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["listening"].startswith("127.0.0.1:")
        process.terminate()
        process.wait(timeout=60)  # SIGTERM alone ends it: a busy machine may be slow about it
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("name", KITS)
@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--port", "x"], ["--prot", "0"]])
def test_a_client_of_a_kit_refuses_bad_arguments_with_a_line_and_no_trace(name: str, arguments: list[str]) -> None:
    command = [*built(name).command[:-2], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("error: ")
    assert "at io.patternbench" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "goroutine" not in done.stderr


@pytest.mark.parametrize("name", KITS)
def test_a_client_of_a_kit_says_when_its_port_is_taken(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [*built(name).command[:-1], port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith(f"error: cannot listen on port {port}: ")


def test_a_breaker_like_the_reference_keeps_every_rule_of_breakers() -> None:
    """The example, which keeps the other rules without it."""
    of_breakers = {rule.name for rule in RULES if rule.needs == "circuit_breaker"}
    with serving(with_breaker(example())) as url:
        findings = check_client(url, only=of_breakers)
    assert broken(findings) == []
    assert {finding.rule for finding in findings[1:]} == of_breakers


# --- clients that break it -----------------------------------------------------------------------------


def no_pause(m: ModuleType) -> None:
    m.REJECTED_PAUSE = lambda body: 0


def breaker_of_each_user(m: ModuleType) -> None:
    m.BREAKER_OF = own_breaker


def shared_breaker_for_all(m: ModuleType) -> None:
    m.BREAKER_OF = shared_breaker


def breaker_that_outlives_its_round(m: ModuleType) -> None:
    kept: list[ReferenceBreaker] = []

    def breaker_of(user: Any) -> ReferenceBreaker:
        kept.append(own_breaker(user))
        kept[0].opened_at_us = 0
        return kept[0]

    m.BREAKER_OF = breaker_of


def milliseconds_as_seconds(m: ModuleType) -> None:
    m.CONFIG = lambda c: {
        **c,
        "window": {k: v * (1 if k == "calls" else 1000) for k, v in c["window"].items()},
    }


def percent_as_share(m: ModuleType) -> None:
    m.CONFIG = lambda c: {**c, "failure_rate": min(100, c["failure_rate"] * 100)}


def open_for_ten_times_as_long(m: ModuleType) -> None:
    m.CONFIG = lambda c: {**c, "open_for_us": c["open_for_us"] * 10}


def two_probes_for_one(m: ModuleType) -> None:
    m.CONFIG = lambda c: {**c, "half_open_calls": c["half_open_calls"] + 1}


def unknown_fields_ignored(m: ModuleType) -> None:
    m.FIELDS = {*m.FIELDS, "surprise"}


def retry_that_never_fires(m: ModuleType) -> None:
    change_rounds(m, lambda body: retry_of(body).update(max_attempts=1))


def retries_for_attempts(m: ModuleType) -> None:
    change_rounds(m, lambda body: retry_of(body).update(max_attempts=retry_of(body).get("max_attempts", 0) + 1))


def first_delay_already_multiplied(m: ModuleType) -> None:
    right = m.delay_us
    m.delay_us = lambda backoff, failed: right(backoff, failed + 1)


def no_delay(m: ModuleType) -> None:
    m.delay_us = lambda backoff, failed: 0


def hidden_retry(m: ModuleType) -> None:
    send = m.User.send

    def send_again(user: Any, deadline: float) -> int | str:
        outcome: int | str = send(user, deadline)
        return send(user, deadline) if outcome == "connection_error" else outcome

    m.User.send = send_again


def errors_counted_as_answers(m: ModuleType) -> None:
    send = m.User.send
    m.User.send = lambda user, deadline: 500 if send(user, deadline) == "timeout" else 200


def connection_for_each_attempt(m: ModuleType) -> None:
    send = m.User.send

    def send_and_close(user: Any, deadline: float) -> int | str:
        outcome: int | str = send(user, deadline)
        user.connection.close()
        return outcome

    m.User.send = send_and_close


def time_limit_ignored(m: ModuleType) -> None:
    change_rounds(m, lambda body: body.update(time_limit_us=body["time_limit_us"] * 3))


def pauses_cut_to_milliseconds(m: ModuleType) -> None:
    pause = m.User.pause
    m.User.pause = lambda user, pause_us: pause(user, pause_us // 1000 * 1000)


def pauses_rounded_up_to_milliseconds(m: ModuleType) -> None:
    pause = m.User.pause
    m.User.pause = lambda user, pause_us: pause(user, -(-pause_us // 1000) * 1000)


def never_abandoned(m: ModuleType) -> None:
    m.Round.abandon = lambda round_: None


def two_rounds_at_once(m: ModuleType) -> None:
    class Never:
        def acquire(self, blocking: bool) -> bool:
            return True

        def release(self) -> None:
            pass

    m.Handler.busy = Never()


def rows_at_the_end_only(m: ModuleType) -> None:
    batches = m.Round.batches
    m.Round.batches = lambda round_: iter(list(batches(round_)))


def rows_held_back(m: ModuleType) -> None:
    batches = m.Round.batches

    def held_back(round_: Any) -> Iterator[dict[str, Any]]:
        held = []
        for batch in batches(round_):
            held.append(batch)
            yield {"batch": dict.fromkeys(m.COLUMNS, ())}
        yield from held

    m.Round.batches = held_back


def a_row_that_is_lost(m: ModuleType) -> None:
    attempt = m.User.attempt

    def forget_second(user: Any, number: int) -> int | str:
        outcome: int | str = attempt(user, number)
        with user.round.lock:
            user.round.rows = [row for row in user.round.rows if row[1:3] != (0, 2)]
        return outcome

    m.User.attempt = forget_second


DEFECTS: list[tuple[Callable[[ModuleType], None], str]] = [
    (no_pause, "rejected_pause_us"),
    (breaker_of_each_user, "scope client"),
    (shared_breaker_for_all, "scope user"),
    (breaker_that_outlives_its_round, "breakers are new in every round"),
    (milliseconds_as_seconds, "breaker: time forgets"),
    (percent_as_share, "breaker: percentages"),
    (open_for_ten_times_as_long, "breaker: two failures open it, the wait runs out, a success closes it"),
    (two_probes_for_one, "breaker: a failing probe opens it again for the whole wait"),
    (two_probes_for_one, "half-open probes"),
    (unknown_fields_ignored, "another version"),
    (retry_that_never_fires, "exact counts: retry"),
    (retries_for_attempts, "exact counts: retry"),
    (retries_for_attempts, "a retry of one attempt"),
    (first_delay_already_multiplied, "back-off: exponential 20ms times 1.5, the published configuration"),
    (no_delay, "back-off: fixed 20ms"),
    (hidden_retry, "closed connections"),
    (errors_counted_as_answers, "timeouts"),
    (connection_for_each_attempt, "connections are kept alive"),
    (time_limit_ignored, "time_limit_us"),
    (pauses_cut_to_milliseconds, "the think time is kept"),
    (pauses_cut_to_milliseconds, "the pause after a rejection is kept"),
    (never_abandoned, "abandoned under load"),
    (never_abandoned, "abandoned while an attempt hangs"),
    (two_rounds_at_once, "one round at a time"),
    (rows_at_the_end_only, "batches come in time"),
    (rows_held_back, "batches come in time"),
    (a_row_that_is_lost, "exact counts: retry"),
]


@pytest.mark.parametrize(("defect", "rule"), DEFECTS, ids=[f"{d.__name__}: {r}" for d, r in DEFECTS])
def test_a_client_is_caught_with(defect: Callable[[ModuleType], None], rule: str) -> None:
    module = with_breaker(example())
    defect(module)
    with serving(module) as url:
        findings = check_client(url, only={rule})
    assert broken(findings) == [rule]


@pytest.mark.parametrize("rule", ["the think time is kept", "the pause after a rejection is kept"])
def test_a_client_that_rounds_its_pauses_up_to_milliseconds_never_passes(rule: str) -> None:
    module = with_breaker(example())
    pauses_rounded_up_to_milliseconds(module)
    with serving(module) as url:
        (_, finding) = check_client(url, only={rule})
    assert finding.status in {"failed", "inconclusive"}
    assert int(finding.seen.split(": ")[1].split(" us late")[0]) >= 700


def test_a_client_and_its_library_are_told_with_their_own_versions() -> None:
    module = example()
    module.DESCRIPTION = {**module.DESCRIPTION, "version": "2", "library": {"name": "again", "version": "3.7"}}
    with serving(module) as url:
        (finding,) = check_client(url, only={"description"})
    assert finding.seen == f"plain 2 (again 3.7, {module.LANGUAGE})"


def test_a_broken_client_makes_the_command_exit_with_1() -> None:
    module = example()
    module.DESCRIPTION = {**module.DESCRIPTION, "contract": 2}
    with serving(module) as url:
        result = CliRunner().invoke(check_client_command, [url])
    assert result.exit_code == 1
    assert "1 failed" in result.output


def test_an_address_where_nothing_answers_is_one_line_and_exit_code_2() -> None:
    result = CliRunner().invoke(check_client_command, ["http://127.0.0.1:1"])
    assert result.exit_code == 2
    assert "no client answers at http://127.0.0.1:1" in result.output
    assert "Traceback" not in result.output
    with pytest.raises(ClientUnreachableError):
        check_client("nonsense")


# --- how clients are brought up ------------------------------------------------------------------------


def broken(findings: list[Finding]) -> list[str]:
    for finding in findings:
        if finding.status == "failed":
            print(f"{finding.rule}: expected {finding.expected}; seen {finding.seen}")
    return [finding.rule for finding in findings if finding.status == "failed"]


def built(name: str) -> ClientSpec:
    """One of our clients, built when it is not there or its sources are newer."""
    (client,) = clients.clients([name])
    fate = clients.build(client)
    if fate == clients.LACKING:
        pytest.skip(client.how)
    assert fate != clients.FAILED
    return registry.required(name, None)


@contextmanager
def started(command: list[str]) -> Iterator[str]:
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield "http://" + json.loads(process.stdout.readline())["listening"]
        finally:
            process.terminate()


def example() -> ModuleType:
    """Load the example client as its own module, for a test to change."""
    spec = importlib.util.spec_from_file_location("plain_client", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def serving(module: ModuleType) -> Iterator[str]:
    server = Quiet(("127.0.0.1", 0), module.Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        assert httpx.get(f"{url}/client").status_code == 200
        yield url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Quiet(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a defect may end in an exception; the test looks at what the client answers."""


def with_breaker(m: ModuleType) -> ModuleType:
    """Give the example the reference's breaker, with joints at which a test can break it."""
    m.DESCRIPTION = {**m.DESCRIPTION, "strategies": ["baseline", "retry", "circuit_breaker"]}
    m.REJECTED_PAUSE = lambda body: body["rejected_pause_us"]
    m.CONFIG = lambda config: config
    m.BREAKER_OF = lambda user: {"user": own_breaker, "client": shared_breaker}[breaking(user)["scope"]](user)
    plain_problems, plain_call = m.problems, m.User.call

    def problems(text: bytes) -> list[Any]:
        refused: list[Any] = plain_problems(text)
        return [p for p in refused if p["value"] != "circuit_breaker"]

    def call(user: Any) -> None:
        if "circuit_breaker" in user.body["strategy"]:
            guarded_call(m, user)
        else:
            plain_call(user)

    m.problems, m.User.call = problems, call
    return m


def guarded_call(m: ModuleType, user: Any) -> None:
    with user.round.lock:
        user.breaker = getattr(user, "breaker", None) or m.BREAKER_OF(user)
        user.breaker.config = BreakerConfig.model_validate(m.CONFIG(breaking(user)))
        admitted = user.breaker.admit(user.round.now_us())
        if not admitted:
            user.round.rows.append((user.number, user.calls, 0, user.round.now_us(), 0, "rejected"))
    if not admitted:
        user.pause(m.REJECTED_PAUSE(user.body))
        return
    began = user.round.now_us()
    outcome = user.attempt(1)
    success = isinstance(outcome, int) and 200 <= outcome <= 399
    user.successes += success
    with user.round.lock:
        now = user.round.now_us()
        user.breaker.record(Result(now, now - began, success))


def breaking(user: Any) -> dict[str, Any]:
    config: dict[str, Any] = user.body["strategy"]["circuit_breaker"]
    return config


def own_breaker(user: Any) -> ReferenceBreaker:
    return ReferenceBreaker(BreakerConfig.model_validate(breaking(user)))


def shared_breaker(user: Any) -> ReferenceBreaker:
    user.round.breaker = getattr(user.round, "breaker", None) or own_breaker(user)
    breaker: ReferenceBreaker = user.round.breaker
    return breaker


def change_rounds(m: ModuleType, change: Callable[[dict[str, Any]], object]) -> None:
    """Let the client run another round than it was given."""
    make = m.Round.__init__

    def changed(round_: Any, body: dict[str, Any]) -> None:
        change(body)
        make(round_, body)

    m.Round.__init__ = changed


def retry_of(body: dict[str, Any]) -> dict[str, Any]:
    retry: dict[str, Any] = body["strategy"].get("retry", {})
    return retry
