"""The folder of a system that is up for a moment, such as for a trial."""

from __future__ import annotations

from patternbench.lab.host.accounts import scratch


def test_a_server_of_another_user_can_reach_its_part_of_a_folder_that_it_cannot_list() -> None:
    """PostgreSQL refuses to run as root, so that its folder lies below one of another user."""
    with scratch("patternbench-try-") as folder:
        assert folder.stat().st_mode & 0o777 == 0o711
    assert not folder.exists()
