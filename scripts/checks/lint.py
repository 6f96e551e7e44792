"""The checks that run nothing: linters, formats, types, arrows of import."""

from __future__ import annotations

from scripts.checks import formats
from scripts.checks.steps import Step

QUICK = (
    Step("ruff check", ".", "ruff check ."),
    Step("mypy", ".", "mypy"),
    Step("import arrows", ".", "lint-imports --no-logo"),
    Step("prose", ".", "python -m scripts.checks.prose"),
    *formats.held(quick=True),
)
SLOW = (
    Step("clippy", "engine", "cargo clippy --locked --all-targets --jobs 2 --quiet -- -D warnings"),
    Step("luacheck, filter", "filters/nginx-ratelimit", "luacheck --quiet ."),
    Step("luacheck, bundling filter", "filters/nginx-bundle", "luacheck --quiet ."),
    Step("luacheck, simulator", "filters/simulator", "luacheck --quiet ."),
    Step("go vet", "filters/crdt-sidecar", "go vet ./..."),
    *formats.held(quick=False),
)
