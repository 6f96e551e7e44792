"""The tables of the page on distributed rate limiting are those that the script next to it makes."""

from __future__ import annotations

import shutil

import pytest
from reproductions.kalyanasundaram_2025 import shop, target
from reproductions.pages import DOCS
from scripts.site.marks import part

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("luajit") is None, reason="needs luajit2 and lua-cjson"),
]


def test_the_parts_of_the_page_on_the_target_are_made_from_the_rounds_next_to_it() -> None:
    text = (DOCS / shop.FILE).read_text(encoding="utf-8")
    for name, made in target.printed(shop.PAGE.kept()).items():
        assert part(text, name) == made, name
