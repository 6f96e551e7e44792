"""A resilience-library client as a driver: it is given rounds and streams back every attempt."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson
from pydantic import BaseModel, JsonValue

from patternbench import asking
from patternbench.drivers.contract import ROUNDING_US, ClientAbort, ContractViolation, End, read_rows, split_lines
from patternbench.drivers.driver import GRACE, DriverError
from patternbench.drivers.registry import ClientSpec
from patternbench.drivers.rounds import ClientRound
from patternbench.lab.host.launch import Launch, ResourceLimits
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.ready import ReadyLine
from patternbench.records.batches import Batch
from patternbench.terms.units import Duration

OK, CANNOT = 200, 422
CLOCKS = 1.01
"""How much faster another clock may run, for a client on another machine."""
MOST_SHOWN = 1 << 16
"""How many bytes of a refusal are read."""
START = Duration.parse("30s")
READY = ReadyLine("listening")
SAID = "http://${self.said.listening}"


class ClientProblem(BaseModel):
    """A part of a round that a client's library can't express: its path in the round, its value, what is allowed."""

    path: str = ""
    message: str = "cannot express this"
    value: JsonValue = None
    allowed: str | None = None


class ClientRefusal(BaseModel):
    """Why a client does not take a round; empty when it does."""

    problems: list[ClientProblem]


class ClientError(DriverError):
    """A client could not do its round: it died, hung, refused it or broke the contract; or the system died on it.

    ``batches`` holds the attempts that it had delivered by then.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.batches: list[Batch] = []


@dataclass(frozen=True)
class Delivery:
    """A client's records of a round: batches of attempts in their order, its closing line, when the round began.

    A client's clock is its own. The round began no later than its answer did, and than its length before its end, on
    the machine's monotonic clock (nanoseconds): what is later by the way of a message is not known better.
    """

    batches: list[Batch]
    end: End
    began_ns: int


class Client:
    """A running client. The command of a study's own client runs in ``study_folder``.

    ``cpus`` are those that it may run on; all if none are given.
    """

    def __init__(
        self, spec: ClientSpec, folder: Path, study_folder: Path | None = None, cpus: tuple[int, ...] = ()
    ) -> None:
        self.name, self.cpus = spec.name, cpus
        with ExitStack() as starting:
            self._host = starting.enter_context(LocalHost(folder))
            self.url = self._launched(spec, study_folder) if spec.command else spec.url
            self._http = starting.enter_context(asking.client(asking.Bounds(10.0), base_url=self.url))
            self.description = self._describe()
            self._up = starting.pop_all()

    def _launched(self, spec: ClientSpec, study_folder: Path | None) -> str:
        """Return the URL of a client that has been started."""
        name = f"client-{spec.name}"
        cwd = str(study_folder) if spec.own and study_folder else ""
        limits = ResourceLimits(self.cpus)
        launch = Launch("client", name, spec.command, READY, url=SAID, cwd=cwd, within=START, limits=limits)
        self._host.launch([launch])
        return self._host.running[name].url

    def _describe(self) -> dict[str, object]:
        try:
            answer = self._http.get("/client")
            described: object = orjson.loads(answer.content)  # refuses what is nested too deeply
        except (httpx.HTTPError, ValueError) as error:
            raise StartError(f"client {self.name} at {self.url} does not answer GET /client: {error}") from None
        known = isinstance(described, dict) and described.get("contract") == 1 and described.get("contract") is not True
        if answer.status_code != OK or not isinstance(described, dict) or not known:
            raise StartError(f"client {self.name} at {self.url} does not speak version 1 of the client contract")
        return described

    def limits(self) -> dict[str, str]:
        """Return the CPUs that it may run on, in words, if those are not all."""
        return self._host.limits()

    @property
    def alive(self) -> bool:
        """Whether its process still runs; one that we did not start is taken to."""
        return not self._host.dead()

    def check(self, body: ClientRound) -> list[ClientProblem]:
        """Return the parts of a round that the client's library can't express."""
        try:
            answer = self._http.post("/check", json=body.model_dump())
            problems = ClientRefusal.model_validate_json(answer.content).problems
        except (httpx.HTTPError, ValueError) as error:
            raise ClientError(f"client {self.name} broke the contract at POST /check: {error!r}") from None
        if answer.status_code != OK:
            raise ClientError(f"client {self.name} broke the contract at POST /check: it answered {answer.status_code}")
        return problems

    def run(
        self,
        body: ClientRound,
        died: Callable[[], list[str]] = list,
        limit: Duration | None = None,
        begun: Callable[[int], None] = lambda _: None,
    ) -> Delivery:
        """Drive one round and return all that happened in it; raises ClientError.

        A client that continues beyond ``limit`` (by default the round's own), as a request with a longer timeout lets
        it, is broken off after a grace, and so stops (contracts/client).

        ``died`` is asked whenever attempts arrive. Once it names something, the round is over: a client whose
        target is gone would fail as fast as it can until its time limit.

        ``begun`` hears when the client has accepted the round, which so has begun.
        """
        batches: list[Batch] = []
        accepted: list[int] = []
        requested = time.monotonic_ns()

        def accept() -> None:
            accepted.append(time.monotonic_ns())
            begun(accepted[0])

        try:
            end = self._collect(body, died, limit or Duration(body.time_limit_us), batches, accept)
            self._refuse_impossible(end, time.monotonic_ns() - requested)
            length_ns = end.duration_us * 1000
            return Delivery(batches, end, min(accepted[0], time.monotonic_ns() - length_ns))
        except ClientError as error:
            error.batches = batches
            raise

    def _refuse_impossible(self, end: End, lasted_ns: int) -> None:
        """Raise ClientError for a round that is longer than the time between its question and its last line."""
        most_us = math.ceil(lasted_ns / 1000 * CLOCKS) + ROUNDING_US
        if end.duration_us > most_us:
            allowed = f"at most {most_us:,}: it took that long from its request to its end; the unit is microseconds"
            why = f"end.duration_us is {end.duration_us:,}, expected {allowed}"
            raise ClientError(f"client {self.name} broke the contract: {why}")

    def _collect(
        self,
        body: ClientRound,
        died: Callable[[], list[str]],
        limit: Duration,
        batches: list[Batch],
        accepted: Callable[[], None],
    ) -> End:
        bounds = asking.Bounds(limit.seconds + GRACE.seconds, asking.UNBOUNDED)
        try:
            with (
                asking.client(bounds, base_url=self.url) as http,
                http.stream("POST", "/rounds", json=body.model_dump()) as answer,
            ):
                self._check_accepted(answer)
                accepted()
                stream = read_rows(split_lines(_while_alive(answer.iter_raw(), died)), body.users)
                batches.extend(stream)
        except httpx.HTTPError as error:
            late = isinstance(error, httpx.ReadTimeout)
            message = f"over its time limit of {limit}: client {self.name} had not ended {GRACE} later"
            raise ClientError(message if late else self._why(error)) from None
        except ClientAbort as error:
            raise ClientError(f"client {self.name} gave up: {error}") from None
        except ContractViolation as error:
            raise ClientError(f"client {self.name} broke the contract: {error}") from None
        assert stream.end is not None
        return stream.end

    def _check_accepted(self, answer: httpx.Response) -> None:
        if answer.status_code == OK:
            return
        text = asking.first_bytes(answer, MOST_SHOWN).decode(errors="replace")
        with suppress(ValueError):
            if answer.status_code == CANNOT:
                refusal = ClientRefusal.model_validate_json(text)
                text = "; ".join(f"{problem.path}: {problem.message}" for problem in refusal.problems)
        raise ClientError(f"client {self.name} refused the round ({answer.status_code}): {text[:500]}")

    def _why(self, error: httpx.HTTPError) -> str:
        if not self.alive:
            return f"client died: {' '.join(self._host.dead())}"
        return f"client {self.name} broke off: {error or type(error).__name__}"

    def close(self) -> None:
        """End it, if we started it."""
        self._up.close()


def _while_alive(chunks: Iterable[bytes], died: Callable[[], list[str]]) -> Iterator[bytes]:
    for chunk in chunks:
        dead = died()
        if dead:
            raise ClientError(f"the system died: {' '.join(dead)}")
        yield chunk
