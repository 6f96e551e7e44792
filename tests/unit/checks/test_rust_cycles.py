"""No file of a Rust crate imports another that imports it, whatever stands between."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import rust_cycles


def crate(folder: Path, **files: str) -> Path:
    """A crate of these files: ``lib`` is its root, ``a__b`` the file ``a/b.rs``."""
    for name, text in files.items():
        file = folder / "src" / f"{name.replace('__', '/')}.rs"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def test_no_crate_of_the_engine_or_of_clients_has_circles() -> None:
    crates = {crate.name: crate for folder in rust_cycles.FOLDERS for crate in rust_cycles.crates(folder)}
    assert {"load", "rust", "server", "tower", "backon"} <= {*crates}
    assert [circle for crate in crates.values() for circle in rust_cycles.circles(crate)] == []
    assert len(rust_cycles.dependencies(crates["load"])["run/runner/turn.rs"]) > 3


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"lib": "mod a;\nmod b;", "a": "use crate::b::B;", "b": "use crate::a::A;"}, "a.rs -> b.rs -> a.rs"),
        ({"lib": "mod a;\nuse a::A;\npub struct B;", "a": "use crate::B;"}, "a.rs -> lib.rs -> a.rs"),
        (
            {"lib": "pub mod m;", "m__mod": "mod a;\nmod b;", "m__a": "use super::b::{C, D};", "m__b": "use super::a;"},
            "m/a.rs -> m/b.rs -> m/a.rs",
        ),
        ({"lib": "mod a;\nfn f() { a::g() }\npub struct B;", "a": "fn g() -> crate::B {}"}, "a.rs -> lib.rs -> a.rs"),
        (
            {
                "lib": "mod a;\nmod b;\npub use a::A;",
                "a": "use crate::b::{\n    x::Y,\n    B,\n};",
                "b": "use crate::A;",
            },
            "a.rs -> b.rs -> a.rs",
        ),
        ({"lib": "mod a;\npub use a::A;\nstruct B(A);", "a": "use super::B;"}, "a.rs -> lib.rs -> a.rs"),
    ],
)
def test_a_circle_is_found_however_it_is_imported(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    made = crate(tmp_path / "made", **files)
    assert rust_cycles.circles(made) == [f"made: {expected}"]


@pytest.mark.parametrize(
    "files",
    [
        {"lib": "mod a;\npub use a::A;\npub struct B;", "a": "use crate::B;"},
        {"lib": "mod a;\nmod b;", "a": "use crate::b::B;", "b": "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}"},
        {"lib": "mod a;\nmod b;", "a": "use crate::b::B;", "b": "// use crate::a::A;\nuse std::fmt;"},
    ],
)
def test_what_is_only_passed_on_tested_or_told_makes_no_circle(tmp_path: Path, files: dict[str, str]) -> None:
    assert rust_cycles.circles(crate(tmp_path / "made", **files)) == []


def test_the_script_prints_circles_and_ends_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = crate(tmp_path / "deep" / "made", lib="mod a;\nmod b;", a="use crate::b::B;", b="use crate::a::A;")
    (made / "Cargo.toml").touch()
    assert rust_cycles.main([str(tmp_path / "none"), str(tmp_path)]) == 1
    assert capsys.readouterr().out == "made: a.rs -> b.rs -> a.rs\n"
