"""The documented try-out: one command brings the balancers up, they limit, and Ctrl-C takes everything down."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from tests.integration.run.conftest import command

from patternbench.lab import startable, systems

PAIR = """\
patternbench-system: 1
name: pair
about: a target
components: [target: {name: shop}]
endpoint: shop
first_request: "Try curl ${shop.url}/items, $token, ${nobody.url}"
"""
SETTINGS = ("algorithm=token_bucket", "store=redis", "limit=90", "window=90s")
"""None of the numbers is the system's default, so that a setting that is lost shows."""
SENT, LIMIT, A_SECOND = 160, 90, 90 / 90


def test_the_try_out_admits_the_limit_and_what_is_refilled_meanwhile() -> None:
    if startable.needs_problems(systems.load("shop-behind-two-balancers"), {"store": ["redis"]}):
        pytest.skip("nginx with Lua or Redis is missing; type `patternbench doctor`")
    set_all = [word for setting in SETTINGS for word in ("--set", setting)]
    line = command("up", "shop-behind-two-balancers", *set_all, "--json")
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = json.loads(process.stdout.readline())
            begun = time.monotonic()
            with httpx.Client(headers={"X-Api-Key": "ann"}, timeout=10) as http:
                urls = itertools.islice(itertools.cycle([found["balancer-1"], found["balancer-2"]]), SENT)
                answers = [http.get(f"{url}/anything/browse") for url in urls]
            refilled = (time.monotonic() - begun) * A_SECOND
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    admitted = sum(answer.status_code == 200 for answer in answers)
    assert LIMIT <= admitted <= LIMIT + refilled + 1
    rejected = [answer for answer in answers if answer.status_code == 429]
    assert len(rejected) == SENT - admitted
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in rejected)
    for url in (found["balancer-1"], found["shop"]):
        with pytest.raises(httpx.ConnectError):
            httpx.get(url)


def test_a_first_request_is_printed_with_the_addresses_of_the_components(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems/pair.yaml").write_text(PAIR)
    line = command("up", "pair")
    with subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        message = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    url = message[0].split()[1]
    assert message[3] == f"Try curl {url}/items, $token, ${{nobody.url}}\n"
