"""Loads the scripts of docs/reproductions, which import their neighbours and the folder above by bare names."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPRODUCTIONS = Path(__file__).parents[2] / "docs" / "reproductions"


def page_script(path: str) -> ModuleType:
    """A script below docs/reproductions, under a name that no other script has."""
    file = REPRODUCTIONS / path
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
