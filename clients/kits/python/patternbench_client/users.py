"""A round under way: its users, each a task, and the rows that they leave."""

from __future__ import annotations

import asyncio
import random
import ssl
import time

from patternbench_client.adapter import Adapter, Guarded
from patternbench_client.connection import Connection
from patternbench_client.outcomes import REJECTED, Outcome, Rejected, is_success
from patternbench_client.rounds import CLIENT, Round
from patternbench_client.rows import Rows


class User:
    """One virtual user: calls one after another until it has enough."""

    def __init__(self, number: int, running: RunningRound) -> None:
        self._number, self._running, self._round = number, running, running.round
        self._connection = Connection(self._round, running.context)
        self._calls = self._successes = self._attempts = self._attempts_of_call = 0
        self._guarded = running.guarded(self._attempt)

    async def run(self) -> None:
        """Call until there is enough, pausing in between."""
        try:
            while not self._has_enough():
                if await self._call():
                    await self._pause(self._round.rejected_pause_us)
                if not self._has_enough():
                    await self._pause(self._round.think_time_us)
        finally:
            self._running.ended(self._connection)

    async def _call(self) -> bool:
        """One call; whether it ended without an attempt, because a policy rejected it."""
        self._attempts_of_call = 0
        self._successes += is_success(await self._outcome())
        rejected = self._attempts_of_call == 0
        if rejected:
            self._running.rows.add((self._number, self._calls, 0, self._running.now_us(), 0, REJECTED))
        self._calls += 1
        return rejected

    async def _outcome(self) -> Outcome:
        try:
            return await self._guarded()
        except Rejected:
            return REJECTED

    async def _attempt(self) -> Outcome:
        self._attempts += 1
        self._attempts_of_call += 1
        start = self._running.now_us()
        outcome = await self._connection.send()
        taken = self._running.now_us() - start
        self._running.rows.add((self._number, self._calls, self._attempts_of_call, start, taken, outcome))
        return outcome

    def _has_enough(self) -> bool:
        requested = self._round
        return (
            (requested.successes is not None and self._successes >= requested.successes)
            or (requested.max_attempts is not None and self._attempts >= requested.max_attempts)
            or self._running.now_us() >= requested.time_limit_us
        )

    async def _pause(self, pause_us: int) -> None:
        """Wait, though not beyond the round's end."""
        left_us = min(pause_us, self._round.time_limit_us - self._running.now_us())
        await asyncio.sleep(max(0, left_us) / 1e6)


class RunningRound:
    """Gets every user ready, then lets all of them begin at the same moment."""

    def __init__(self, round_: Round, adapter: Adapter) -> None:
        # Libraries draw their jitter from the module's own source, and nothing else here draws from it.
        random.seed(round_.seed)  # noqa: TID251
        self.round, self.rows, self._adapter = round_, Rows(), adapter
        self.context = ssl.create_default_context() if round_.target.startswith("https") else _unused()
        self._closing: list[Connection] = []
        self.duration_us = self.cpu_us = 0
        self._start_s = self._cpu_s = 0.0
        self._shared = [adapter.guard(policy) if policy.scope == CLIENT else None for policy in round_.policies]
        self._users = [User(number, self) for number in range(round_.users)]
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Let the users begin."""
        self._cpu_s, self._start_s = time.process_time(), time.monotonic()
        self._tasks = [asyncio.create_task(user.run()) for user in self._users]

    def guarded(self, attempt: Guarded) -> Guarded:
        """One user's calls: an attempt with the policies around it, shared ones or its own."""
        for policy, shared in reversed(list(zip(self.round.policies, self._shared, strict=True))):
            attempt = (shared or self._adapter.guard(policy))(attempt)
        return attempt

    def now_us(self) -> int:
        """Return the time since the round's start."""
        return int((time.monotonic() - self._start_s) * 1e6)

    def ended(self, connection: Connection) -> None:
        """Note, when a user has ended, how long the round has taken and the CPU time of this process so far."""
        self.duration_us = max(self.duration_us, self.now_us())
        self.cpu_us = int((time.process_time() - self._cpu_s) * 1e6)
        self._closing.append(connection)

    async def end(self) -> None:
        """Wait for the last user."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def waited_for(self) -> set[asyncio.Task[None]]:
        """Return the tasks of which the end of the last is the end of the round; nothing while several are at work."""
        at_work = {task for task in self._tasks if not task.done()}
        return at_work if len(at_work) == 1 else set()

    @property
    def over(self) -> bool:
        """Whether all users have ended."""
        return all(task.done() for task in self._tasks)

    @property
    def defect(self) -> BaseException | None:
        """What kept a user from going on."""
        ended = (task for task in self._tasks if task.done() and not task.cancelled())
        return next((error for task in ended if (error := task.exception())), None)

    async def close(self) -> None:
        """End the round, finished or not, and everything that it holds."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(connection.close() for connection in self._closing), return_exceptions=True)


def _unused() -> ssl.SSLContext:
    """Return a context that costs nothing, for targets without TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
