"""``install.py FOLDER``: makes a virtual environment in a client's folder: this kit, and what its lock file says."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path


def install(folder: Path) -> None:
    """Make the environment again; a file in it says that all went well."""
    environment = folder / ".venv"
    venv.create(environment, with_pip=True, clear=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--require-hashes", "-r", str(folder / "requirements.lock")], check=True)
    (site_packages,) = environment.glob("lib/python*/site-packages")
    (site_packages / "patternbench_client.pth").write_text(f"{Path(__file__).resolve().parent}\n", encoding="utf-8")
    (environment / f"patternbench-client-{folder.name}").touch()


if __name__ == "__main__":
    install(Path(sys.argv[1]))
