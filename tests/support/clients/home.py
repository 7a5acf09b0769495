"""A home folder with the files of clients, in which our commands run."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codex_mcp.cli.clients import cmd_install, cmd_migrate, cmd_uninstall
from codex_mcp.cli.clients.known import CLIENTS, Place, Scope, place
from codex_mcp.cli.clients.surroundings import folders_here
from codex_mcp.cli.main import Command


class World:
    """A home folder and a project in it; `others` are variables of the environment."""

    MODULES: Final[Mapping[str, Command]] = {
        "install": cmd_install,
        "uninstall": cmd_uninstall,
        "migrate": cmd_migrate,
    }

    def __init__(self, folder: Path, others: Mapping[str, str] | None = None) -> None:
        self.home = folder / "home"
        self.project = self.home / "shop"
        self.project.mkdir(parents=True)
        self.environment = {"HOME": str(self.home), "PATH": str(folder / "bin"), **(others or {})}

    def place(self, client: str, scope: Scope = Scope.USER) -> Place:
        return place(CLIENTS[client], scope, folders_here(self.environment, str(self.project)))

    def file(self, client: str, scope: Scope = Scope.USER) -> Path:
        return Path(self.place(client, scope).file)

    def run(self, command: str, *words: str) -> int:
        module = self.MODULES[command]
        parser = argparse.ArgumentParser()
        module.configure(parser)
        return module.run(parser.parse_args(words), self.environment, str(self.project))

    def files(self) -> dict[str, bytes]:
        """Every file below the home folder."""
        return {str(path.relative_to(self.home)): path.read_bytes() for path in self.home.rglob("*") if path.is_file()}
