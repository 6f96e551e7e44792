"""The schemas of what commands print, in ``contracts/cli``: ``python -m scripts.site.answers`` writes them again."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.checks.skips import ROOT

from patternbench.cli.answers.registry import ANSWERS, answer_schema

FOLDER = ROOT / "contracts" / "cli"


def texts() -> dict[str, str]:
    """Return each schema's text by the name of its file."""
    made = {name: json.dumps(answer_schema(name), indent=1, ensure_ascii=False) for name in ANSWERS}
    return {f"{name}.schema.json": f"{text}\n" for name, text in made.items()}


def write(folder: Path) -> None:
    """Write all schemas, and remove those that nothing makes any more."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.schema.json"):
        if path.name not in texts():
            path.unlink()
    for name, text in texts().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(FOLDER)
