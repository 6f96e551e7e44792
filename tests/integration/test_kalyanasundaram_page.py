"""The tables of the page on distributed rate limiting are those that the script next to it makes."""

from __future__ import annotations

import shutil

import pytest
from tests.support.scripts import page_script

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("luajit") is None, reason="needs luajit2 and lua-cjson"),
]


def test_the_parts_of_the_page_on_the_target_are_made_from_the_rounds_next_to_it() -> None:
    script, pages = page_script("kalyanasundaram-2025/tables.py"), page_script("pages.py")
    page = script.PAGE.read_text(encoding="utf-8")
    for name, text in script.printed(script.kept()).items():
        assert pages.part(page, name) == text, name
