"""Settings for tests: made directly, or loaded from a home and a repository on disk."""

import argparse
from pathlib import Path

from codex_mcp.base.settings.groups import SETTINGS, Settings, settings_of
from codex_mcp.base.settings.kinds import Events
from codex_mcp.config.load import Loaded, add_arguments, load


def make_settings(codex_home: str | Path = "/nowhere", **values: object) -> Settings:
    """Settings with these values, by their names, whatever their groups."""
    assert not values.keys() - SETTINGS.keys(), "no such setting"
    return settings_of({"codex_home": str(codex_home), **values})


class World:
    """A home and a cloned repository, each with a settings file."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.repo = folder / "repo"
        self.cwd = self.repo / "sub"
        (self.repo / ".git").mkdir(parents=True)
        (self.repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.cwd.mkdir()
        self.home.mkdir()
        self.repo_file = self.repo / ".atm.toml"
        self.home_file = self.home / ".config" / "atm" / "config.toml"
        self.home_file.parent.mkdir(parents=True)

    def defaults(self, events: Events | None = None) -> Settings:
        """The settings if no place has any."""
        return make_settings(f"{self.home}/.codex", state_dir=f"{self.home}/.config/atm/codex-sessions", events=events)

    def load(self, *flags: str, **environ: str) -> Loaded:
        """The settings, with these flags and variables."""
        parser = argparse.ArgumentParser()
        add_arguments(parser, with_team=True)
        return load(parser.parse_args(flags), {"HOME": str(self.home), **environ}, str(self.cwd))


def table(path: Path, lines: str) -> str:
    """Write our table into a file, its lines from the second one on; return the file's name."""
    path.write_text(f"[plugins.codex-mcp]\n{lines}\n")
    return str(path)
