"""Every back-off that Resilience4j can be configured with is read as that library acts on it, zeros included."""

from __future__ import annotations

import pytest

from patternbench.configurations.reading.products import Configurations

FIXED = {"fixed": {"delay": "1s"}}
GROWING = "enableExponentialBackoff: true"
SPREAD = "enableRandomizedWait: true"


def retry_of(fields: str) -> dict[str, object]:
    found = Configurations()
    found.add("application.yml", f"resilience4j:\n  retry:\n    instances:\n      shop: {{{fields}}}\n")
    (layer,) = found.layers([])
    (policy,) = layer.policies
    written = policy.written
    assert isinstance(written, dict)
    return written


@pytest.mark.parametrize(
    ("fields", "jitter"),
    [
        ("", "none"),
        (", randomizedWaitFactor: 0.3", "none"),
        (f", {SPREAD}", 0.5),
        (f", {SPREAD}, randomizedWaitFactor: 0.3", 0.3),
        (f", {SPREAD}, randomizedWaitFactor: 0", "none"),
        (f", {SPREAD}, randomizedWaitFactor: 0.0", "none"),
        (", enableRandomizedWait: false, randomizedWaitFactor: 0.3", "none"),
    ],
)
def test_a_wait_is_random_by_what_is_said_and_by_half_where_nothing_is(fields: str, jitter: object) -> None:
    read = retry_of(f"maxAttempts: 3, waitDuration: 1s{fields}")
    assert (read["backoff"], read["jitter"], read["max_attempts"]) == (FIXED, jitter, 3)


@pytest.mark.parametrize(
    ("fields", "grown"),
    [
        ("", {"initial": "1s", "multiplier": 1.5}),
        (", exponentialBackoffMultiplier: 3", {"initial": "1s", "multiplier": 3}),
        (", exponentialBackoffMultiplier: 1", {"initial": "1s", "multiplier": 1}),
        (", exponentialMaxWaitDuration: 9s", {"initial": "1s", "multiplier": 1.5, "max": "9s"}),
    ],
)
def test_a_wait_grows_by_what_is_said_and_by_half_where_nothing_is(fields: str, grown: object) -> None:
    read = retry_of(f"waitDuration: 1s, {GROWING}, {SPREAD}{fields}")
    assert (read["backoff"], read["jitter"]) == ({"exponential": grown}, 0.5)


@pytest.mark.parametrize("fields", ["maxAttempts: 3", f"maxAttempts: 3, {GROWING}", f"maxAttempts: 3, {SPREAD}"])
def test_without_a_wait_of_its_own_a_retry_has_the_librarys_fixed_one(fields: str) -> None:
    read = retry_of(fields)
    assert (read["backoff"], read["jitter"]) == ({"fixed": {"delay": "500ms"}}, "none")
