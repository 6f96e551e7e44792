"""Loads the scripts of pages, which import their neighbours and docs/reproductions by bare names."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"
REPRODUCTIONS = DOCS / "reproductions"


def page_script(path: str, below: Path = REPRODUCTIONS) -> ModuleType:
    """A script below docs/reproductions or another folder, under a name that no other script has."""
    file = below / path
    name = path.removesuffix(".py").replace("/", "_").replace("-", "_")
    if name in sys.modules:
        return sys.modules[name]
    with pytest.MonkeyPatch.context() as patch:
        for folder in (REPRODUCTIONS, file.parent):
            patch.syspath_prepend(str(folder))
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
