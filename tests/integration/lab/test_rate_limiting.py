"""The shop behind two balancers: what is in use is started, limits for real, and is gone afterwards."""

from __future__ import annotations

import gzip
import itertools
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.integration.lab.conftest import Up
from tests.integration.run.conftest import left_behind

from patternbench.lab.environment import Environment
from patternbench.lab.host.processes import StartError
from patternbench.records import component_logs
from patternbench.records.folder import RunFolder
from patternbench.terms.problems import InputError

LIMIT, SENT = 20, 60


def requested(environment: Environment, count: int = SENT, client: str = "ann") -> Counter[int]:
    """The statuses of so many requests of a client, sent to the balancers in turn by several at a time."""
    with httpx.Client(headers={"X-Api-Key": client}) as http, ThreadPoolExecutor(8) as pool:
        urls = itertools.islice(itertools.cycle(environment.targets), count)
        return Counter(pool.map(lambda url: status(http, f"{url}/anything/browse"), urls))


def status(http: httpx.Client, url: str) -> int:
    """The status of a request. One that a busy store did not come to is told to come again in a second, and does so."""
    for _ in range(20):
        answer = http.get(url)
        if answer.headers.get("Retry-After") != "1":
            break
        time.sleep(1)
    return answer.status_code


@pytest.mark.parametrize("store", ["redis", "mariadb"])
@pytest.mark.parametrize("algorithm", ["fixed_window", "sliding_window_log", "gcra"])
def test_two_balancers_together_admit_exactly_the_limit(shop: Up, store: str, algorithm: str) -> None:
    environment = shop(algorithm=algorithm, store=store, limit=LIMIT, window="1h")
    assert requested(environment) == {200: LIMIT, 429: SENT - LIMIT}


def test_a_bucket_admits_its_burst_and_no_more(shop: Up) -> None:
    environment = shop(algorithm="token_bucket", limit=LIMIT, window="1h", burst=5)
    assert requested(environment) == {200: 5, 429: SENT - 5}


def test_clients_do_not_share_a_limit(shop: Up) -> None:
    environment = shop(limit=LIMIT, window="1h")
    assert (
        requested(environment, 10, "ann")[200]
        + requested(environment, 10, "bob")[200]
        + requested(environment, 10, "cid")[200]
        == 30
    )


def test_sidecars_keep_one_limit_over_both_balancers_but_for_what_is_under_way(shop: Up) -> None:
    environment = shop(algorithm="fixed_window", store="crdt", limit=LIMIT, window="1h")
    statuses = requested(environment)
    assert LIMIT <= statuses[200] <= 2 * LIMIT
    time.sleep(0.2)  # longer than the gossip takes: now both know of all that was admitted
    assert requested(environment) == {429: SENT}


def test_each_balancer_enforces_its_half_of_the_limit_when_the_state_is_in_its_memory(shop: Up) -> None:
    environment = shop(store="memory", limit=LIMIT, window="1h")
    assert requested(environment) == {200: LIMIT, 429: SENT - LIMIT}


def test_without_a_limiter_everything_passes_and_no_store_is_started(shop: Up) -> None:
    environment = shop(algorithm="no_limiter", store="mariadb", store_delay="25ms")
    assert requested(environment) == {200: SENT}
    assert list(environment.running) == ["shop", "balancer-1", "balancer-2"]
    assert not any(running.launch.log for running in environment.running.values())


@pytest.mark.parametrize("store", ["redis", "mariadb"])
def test_the_distance_to_a_store_is_paid_there_and_back_by_every_request(shop: Up, store: str) -> None:
    environment = shop(store=store, store_delay="25ms", window="1h")
    requested(environment, 8)  # connections are made and kept
    begun = time.perf_counter()
    assert httpx.get(f"{environment.endpoint}/anything", headers={"X-Api-Key": "far"}).status_code == 200
    assert time.perf_counter() - begun >= 0.05


def test_an_eager_lease_never_admits_more_than_the_limit(shop: Up) -> None:
    environment = shop(algorithm="fixed_window", synchronisation="eager", limit=LIMIT, window="1h")
    assert 0 < requested(environment)[200] <= LIMIT


def test_the_balancers_decisions_are_kept_whole_and_name_every_request(shop: Up, tmp_path: Path) -> None:
    environment = shop(limit=LIMIT, window="1h")
    statuses = requested(environment)
    run = RunFolder(tmp_path)
    component_logs.keep(run, "00000", environment.finished_logs())
    kept = component_logs.kept_of(run, "00000")
    assert list(kept) == ["balancer-1", "balancer-2"]
    texts = [gzip.decompress(file.read_bytes()).decode() for files in kept.values() for file in files]
    lines = [line for text in texts for line in text.splitlines() if "\theader=ann\t" in line]
    assert len(lines) == SENT
    assert sum(line.split("\t")[7] == "1" for line in lines) == statuses[200]


@pytest.mark.parametrize("store", ["redis", "mariadb"])
def test_the_password_of_a_store_is_in_no_record_and_in_no_file_that_others_can_read(
    shop: Up, folder: Path, tmp_path: Path, store: str
) -> None:
    environment = shop(algorithm="fixed_window", store=store, limit=LIMIT, window="1h")
    password = str(urlsplit(environment.running[store].url).password).encode()
    assert requested(environment) == {200: LIMIT, 429: SENT - LIMIT}
    holds = [file for file in folder.rglob("*") if file.is_file() and password in file.read_bytes()]
    private = {file for file in holds if file.stat().st_mode & 0o077 == 0 or folder / store in file.parents}
    assert folder / "balancer-1" / "plan.json" in private
    assert set(holds) == private
    component_logs.keep(RunFolder(tmp_path), "00000", environment.finished_logs())
    kept = [file for files in component_logs.kept_of(RunFolder(tmp_path), "00000").values() for file in files]
    assert any(file.name == "plan.json.gz" for file in kept)
    assert not [file for file in kept if password in gzip.decompress(file.read_bytes())]


def test_nothing_is_left_when_the_system_is_taken_down(shop: Up, folder: Path) -> None:
    with shop(store="mariadb", store_delay="25ms") as environment:
        assert len(left_behind(str(folder))) > 0
    assert environment.running == {}
    assert left_behind(str(folder)) == []


def test_a_setting_that_the_filter_refuses_is_reported_with_the_filters_own_words(shop: Up) -> None:
    with pytest.raises(StartError, match=r"stores\.redis\.timeout: .*1s"):
        shop(algorithm="gcra", store="redis", store_timeout="5s")


def test_a_log_that_the_filter_cannot_keep_is_refused_before_anything_starts(shop: Up) -> None:
    with pytest.raises(InputError, match="has a log of more requests than the filter keeps"):
        shop(algorithm="sliding_window_log", limit=10**9)


def test_a_lease_that_no_algorithm_takes_is_refused_before_anything_starts(shop: Up) -> None:
    with pytest.raises(InputError, match="gcra computes times, so it can't use leases"):
        shop(algorithm="gcra", synchronisation="lazy")
