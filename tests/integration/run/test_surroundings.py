"""Whatever a command is put into, it ends in words: no traceback, no hang, no lost record, no half of a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.surroundings import KINDS, attack, cases

SEED, EACH = 20261126, 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_holds_in_surroundings_of_the_kind(kind: str, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # some run as another user
    found = attack(cases(kind, EACH, SEED), tmp_path)
    broken = {title: wrong for title, wrong in found.items() if wrong}
    assert not broken, "\n".join([f"{title}\n  " + "\n  ".join(wrong) for title, wrong in broken.items()])
