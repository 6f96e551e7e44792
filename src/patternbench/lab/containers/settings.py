"""What the variables of a Compose file are: the host writes them into a file, and replaces it when settings change."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

FILE = "settings.json"


class ProjectSettings(BaseModel):
    """The variables, and the number of changes before them."""

    model_config = ConfigDict(frozen=True)
    change: int = 0
    env: dict[str, str] = {}

    @staticmethod
    def read(folder: Path) -> ProjectSettings:
        """Return what a project's file says; no variables without one."""
        with suppress(OSError):
            return ProjectSettings.model_validate_json((folder / FILE).read_text(encoding="utf-8"))
        return ProjectSettings()

    def act(self) -> None:
        """Have commands that are started from now on see them."""
        os.environ.update(self.env)
