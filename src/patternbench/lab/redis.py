"""Redis without persistence, as a store that several load balancers share."""

from __future__ import annotations

import secrets
from typing import ClassVar

from pydantic import Field

from patternbench.lab import accounts, debian
from patternbench.lab.component import Place, Running, Settings
from patternbench.lab.needs import Need
from patternbench.lab.processes import Process, free_port

SYSTEM_USER = "redis"


class Redis(Settings):
    """Settings of Redis: its port, 0 for any that is free."""

    kind: ClassVar[str] = "redis"
    port: int = Field(default=0, ge=0, le=65535)

    @staticmethod
    def needs() -> list[Need]:
        """Redis's server."""
        return [debian.need("redis", debian.find("redis-server") is not None, "redis-server")]

    def start(self, name: str, place: Place) -> Running:
        """Start Redis on loopback with an empty memory and a password of its own, and wait until it accepts."""
        debian.required(self.needs()[0])
        folder, port, password = place.folder / name, self.port or free_port(), secrets.token_hex(16)
        account = accounts.owner_of_new(folder, SYSTEM_USER)
        settings = folder / "redis.conf"  # the password is in a file, as everyone may read command lines
        settings.write_text(f"requirepass {password}\n", encoding="utf-8")
        command = account.command(debian.program("redis-server"), str(settings), "--dir", str(folder))
        command += ["--port", str(port), "--bind", "127.0.0.1", "--daemonize", "no", "--save", "", "--appendonly", "no"]
        process = Process(name, command, place.folder)
        try:
            process.wait_for_port(port)
        except BaseException:
            process.close()
            raise
        return Running(process, f"redis://:{password}@127.0.0.1:{port}", account=str(account))
