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
    Step("clippy, clients", "clients", "cargo clippy --locked --all-targets --jobs 2 --quiet -- -D warnings"),
    Step("luacheck, filter", "filters/nginx-ratelimit", "luacheck --quiet ."),
    Step("luacheck, bundling filter", "filters/nginx-bundle", "luacheck --quiet ."),
    Step("luacheck, simulator", "filters/simulator", "luacheck --quiet ."),
    Step("go vet, sidecar", "filters/crdt-sidecar", "go vet ./..."),
    Step("go vet, kit", "clients/kits/go", "go vet ./..."),
    Step("go vet, failsafe-go", "clients/failsafe-go", "go vet ./..."),
    Step("go vet, gobreaker", "clients/gobreaker", "go vet ./..."),
    Step("actionlint", ".", "python -m scripts.checks.actions"),
    *formats.held(quick=False),
)
