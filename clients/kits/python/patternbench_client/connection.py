"""The one connection of a user."""

from __future__ import annotations

import asyncio
import ssl

import httpx

from patternbench_client.outcomes import CONNECTION_ERROR, TIMEOUT, Outcome, of_status
from patternbench_client.rounds import Round

ONE = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=None)


class Connection:
    """Kept alive, without retries, redirects or cookies of its own; closed with ``close``."""

    def __init__(self, round_: Round, context: ssl.SSLContext) -> None:
        requested = round_.request
        transport = httpx.AsyncHTTPTransport(verify=context, limits=ONE, retries=0, trust_env=False)
        self._client = httpx.AsyncClient(transport=transport, timeout=None, follow_redirects=False, trust_env=False)
        content = None if requested.body is None else requested.body.encode()
        url = round_.target.rstrip("/") + requested.path
        self._request = lambda: httpx.Request(requested.method, url, headers=requested.headers, content=content)
        self._timeout_s = requested.timeout_us / 1e6

    async def send(self) -> Outcome:
        """One attempt: its outcome once the last byte has been read, or when it failed."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._answered()
        except TimeoutError:
            return TIMEOUT
        except httpx.HTTPError:
            return CONNECTION_ERROR

    async def _answered(self) -> Outcome:
        response = await self._client.send(self._request(), stream=True)
        try:
            async for _ in response.aiter_raw():
                pass  # to the last byte, so that the time is that of the whole answer
        finally:
            await response.aclose()
        return of_status(response.status_code)

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()
