"""The checks that run nothing: linters, formats, types, arrows of import."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.checks.command import run


@dataclass(frozen=True)
class Step:
    """One command in a folder, which passes or fails as a whole."""

    name: str
    folder: str
    command: str

    def passes(self) -> bool:
        """Run it; return whether it ended with 0."""
        print(f"\n== {self.name}", flush=True)
        return run(self.command.split(), self.folder)[0] == 0


QUICK = (
    Step("ruff check", ".", "ruff check ."),
    Step("ruff format", ".", "ruff format --check --quiet ."),
    Step("mypy", ".", "mypy"),
    Step("import arrows", ".", "lint-imports --no-logo"),
    Step("prose", ".", "python -m scripts.checks.prose"),
    Step("cargo fmt", "engine", "cargo fmt --all --check"),
)


@dataclass(frozen=True)
class SaysNothing(Step):
    """A command that ends with 0 whatever it finds, and lists what is wrong."""

    def passes(self) -> bool:
        """Run it; return whether it said nothing."""
        print(f"\n== {self.name}", flush=True)
        return run(self.command.split(), self.folder) == (0, "")


SLOW = (
    Step("clippy", "engine", "cargo clippy --locked --all-targets --jobs 2 --quiet -- -D warnings"),
    Step("luacheck, filter", "filters/nginx-ratelimit", "luacheck --quiet ."),
    Step("luacheck, bundling filter", "filters/nginx-bundle", "luacheck --quiet ."),
    Step("luacheck, simulator", "filters/simulator", "luacheck --quiet ."),
    SaysNothing("gofmt", "filters/crdt-sidecar", "gofmt -l ."),
    Step("go vet", "filters/crdt-sidecar", "go vet ./..."),
)
