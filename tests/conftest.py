"""What all tests share."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from xdist.scheduler import LoadFileScheduling

# The width of the terminal that tests are started in, 80 in pytest-xdist's workers, isn't that of what they print.
os.environ.pop("COLUMNS", None)

# The machines that run the tests are shared: how long an example takes says nothing about the code.
# What fails is printed as a decorator that repeats it, and kept in .hypothesis, so that the next run begins with it.
settings.register_profile("shared-machine", deadline=None, print_blob=True)
# ``scripts/mutation-scores`` runs each test many times: few examples, the same in every run, and none made smaller.
QUICK = (Phase.explicit, Phase.generate)
settings.register_profile("mutation", deadline=None, max_examples=10, derandomize=True, database=None, phases=QUICK)
settings.load_profile("shared-machine")

SELDOM = (200_000, 50, 100)
"""After how many new objects Python looks for garbage: among the youngest, the younger ones and all."""
LONGEST_FIRST = (
    "test_wheel",
    "test_clients_contract",
    "test_lanes_on_ray",
    "test_counts",
    "test_cinema",
    "test_docker_cinema",
    "test_faults",
    "test_docker",
    "test_refusals_of_clients",
    "test_shop",
    "test_system",
    "test_boundary_searches",
    "test_choice_while_measuring",
    "test_words_under_noise",
    "test_rounds_load_and_covariates",
    "test_each_word",
    "test_lanes",
    "test_shares_of_calls",
    "test_worst_cases",
)
"""Files whose tests take longest together. Two files run at a time: one that began last would end alone."""


LONG = Path(__file__).parent / "long.txt"
"""The files that ``--quick`` leaves out: their tests take longest together (scripts/checks/long_tests.py)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the fast subset be asked for."""
    parser.addoption("--quick", action="store_true", help=f"leave out the files of tests/{LONG.name}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what takes longest, where the fast subset is asked for."""
    if not config.getoption("--quick") or collection_path.suffix != ".py":
        return None
    return collection_path.relative_to(config.rootpath).as_posix() in LONG.read_text(encoding="utf-8").split() or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


def pytest_configure() -> None:
    """Look for garbage seldom, also while tests are collected, of which none becomes any."""
    gc.set_threshold(*SELDOM)


def pytest_collection_finish() -> None:
    """Never look for garbage among the tests themselves, which took a tenth of their time."""
    gc.collect()
    gc.freeze()


ONE_WORKER = "tests/integration/containers/"
"""A folder whose files one worker runs: a machine has one container engine at a time (tests/support/docker.py)."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand whole files to the workers, and all that need the only engine to the same one: another would wait for it."""

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return ONE_WORKER if nodeid.startswith(ONE_WORKER) else str(super()._split_scope(nodeid))

    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None
