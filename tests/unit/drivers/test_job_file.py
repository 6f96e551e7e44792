"""The job of the load engine, which may hold secrets."""

from __future__ import annotations

from pathlib import Path

from patternbench.drivers.load import in_memory


def test_a_job_with_secrets_lies_on_no_disk_so_a_kill_leaves_none() -> None:
    with in_memory({"headers": {"Authorization": "Bearer s"}}) as name:
        assert Path(name).read_text() == '{"headers": {"Authorization": "Bearer s"}}'
        assert "memfd:" in str(Path(name).readlink())
    assert not Path(name).exists()
