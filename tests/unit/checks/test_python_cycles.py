"""No module of the package imports another that imports it, however late and by whichever means."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from scripts import python_cycles

PACKAGE = Path("p")


def circles(**files: str) -> list[str]:
    """The circles of a package of these files: ``a__b`` is the file ``a/b.py``, ``a__INIT`` that of the package."""
    paths = {name: name.replace("__", "/").replace("INIT", "__init__") for name in files}
    parsed = {PACKAGE / f"{paths[name]}.py": ast.parse(text) for name, text in files.items()}
    return python_cycles.circles_of(parsed, PACKAGE)


def test_no_module_of_the_package_imports_in_a_circle() -> None:
    assert python_cycles.main([]) == 0


@pytest.mark.parametrize(
    "late",
    [
        "import p.a",
        "from p import a",
        "from p.a import A",
        "from . import a",
        "from .a import A",
        "def f():\n    from p.a import A",
        'def f():\n    return importlib.import_module("p.a")',
        "if TYPE_CHECKING:\n    from p.a import A",
    ],
)
def test_an_import_counts_wherever_it_stands_and_however_it_is_written(late: str) -> None:
    assert circles(a="from p.b import B", b=late) == ["p.a -> p.b -> p.a"]


def test_a_circle_may_lead_through_a_package() -> None:
    assert circles(a="from p.m import M", m__INIT="from p.a import A\nclass M: ...") == ["p.a -> p.m -> p.a"]


def test_imports_of_one_direction_and_of_a_packages_modules_make_no_circle() -> None:
    files = {"m__INIT": "from p.m import kinds", "m__kinds": "", "a": "from p import m\nx = 'p.nothing'"}
    assert circles(**files, b="from p.a import A") == []
    assert circles(m__INIT="from p.m.kind import Kind", m__kind="from p.m import other", m__other="") == []


def test_the_circles_of_a_folder_are_printed_and_end_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.py").write_text("from p import b")
    (tmp_path / "p" / "b.py").write_text("from p import a")
    assert python_cycles.main([str(tmp_path / "p")]) == 1
    assert capsys.readouterr().out == "p.a -> p.b -> p.a\n"
