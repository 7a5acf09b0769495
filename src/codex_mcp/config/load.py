"""Where settings come from: flags > environment > `$ATM_CONFIG` > the repository's `.atm.toml` > the home's > defaults.

Every setting of base/settings.py has one name in all of these: `--codex-bin`, `CODEX_MCP_CODEX_BIN`, and `codex_bin` in
the table `[plugins.codex-mcp]` of a file. This module knows where each value came from, and says so when it is wrong.
What each kind of value may be is in base/options.py.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.git import is_repository_root
from codex_mcp.base.settings.groups import Settings, level_from_filter
from codex_mcp.base.settings.nearest import nearest
from codex_mcp.base.settings.options import OPTIONS, Place, path
from codex_mcp.config.files import layer_of
from codex_mcp.config.layers import Layer, Sourced, SourcedRole, combined, combined_roles
from codex_mcp.config.trust import untrusted
from codex_mcp.team.profile.roles import Role

REPO_FILE: Final = ".atm.toml"
HOME_FILE: Final = os.path.join(".config", "atm", "config.toml")
STATE_FOLDER: Final = os.path.join(".config", "atm", "codex-sessions")
OUR_PREFIX: Final = "CODEX_MCP_"
CLIENTS_TOKEN: Final = "CODEX_MCP_TOKEN"
"""Not ours: docs/clients.md has clients keep their token in it."""

FILE_VARIABLE: Final = "ATM_CONFIG"
DEFAULT: Final = "default"
SAYABLE: Final = "each may also come from the environment or a file"

ENVIRONMENT_ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "codex_home": ("CODEX_HOME",),
    "log_level": ("CODEX_MCP_LOG", "RUST_LOG"),
    "otlp_endpoint": ("OTEL_EXPORTER_OTLP_ENDPOINT",),
    "team": ("ATM_TEAM",),
    "default_identity": ("CODEX_MCP_IDENTITY", "ATM_AGENT_MCP_IDENTITY"),
    "turn_timeout": ("CODEX_MCP_TIMEOUT",),
    "codex_bin": ("ATM_AGENT_MCP_CODEX_BIN",),
    "model": ("ATM_AGENT_MCP_MODEL",),
    "reasoning_effort": ("ATM_AGENT_MCP_REASONING_EFFORT",),
    "sandbox": ("ATM_AGENT_MCP_SANDBOX",),
    "approval_policy": ("ATM_AGENT_MCP_APPROVAL_POLICY",),
}
"""Other variables that count, after our own: Codex's, the old server's, OpenTelemetry's, and those of atm. ATM_IDENTITY
is not among them: that is the person's own name, not an agent's."""


class Loaded(Struct, frozen=True):
    """The settings, where each came from, and what was not heeded."""

    settings: Settings
    sources: dict[str, Sourced]
    warnings: tuple[str, ...] = ()
    roles: dict[str, Role] = {}
    sourced_roles: dict[str, SourcedRole] = {}


class _Surroundings(Struct, frozen=True):
    """Where we are."""

    environ: Mapping[str, str]
    cwd: str
    home: str
    atm_home: str

    @property
    def place(self) -> Place:
        """Where flags and variables are written."""
        return Place(self.cwd, self.home)


def add_arguments(parser: argparse.ArgumentParser, *, with_team: bool = False) -> None:
    """Give a parser one flag for every setting; those that are about a team, only if they are wanted."""
    # All of them in the usage would hide what is wrong with a command line behind thirty lines.
    parser.usage = f"{parser.prog} [-h] [FLAG ...]"
    team = parser.add_argument_group("team", SAYABLE) if with_team else None
    others = parser.add_argument_group("settings", SAYABLE)
    for name, option in OPTIONS.items():
        group = team if option.is_for_team else others
        if group is None:
            continue
        flags = option.flags_for(name)
        if option.is_switch:
            group.add_argument(*flags, dest=name, action="store_const", const="true", help=option.help)
        else:
            action = "append" if option.is_list else "store"
            group.add_argument(*flags, dest=name, action=action, metavar=option.metavar, help=option.help)


def load(flags: argparse.Namespace, environ: Mapping[str, str], cwd: str) -> Loaded:
    """Put the settings together. Raises BadSetting with one sentence: source, name, value, and what is allowed."""
    home = environ.get("HOME") or os.path.expanduser("~")
    here = _Surroundings(environ, cwd, home, environ.get("ATM_HOME", "").strip() or home)
    warnings: list[str] = []
    layers = _layers(flags, here, warnings)
    sources = combined(layers)
    for name, value in _defaults(here).items():
        sources.setdefault(name, Sourced(value, DEFAULT))
    _check_home(sources["codex_home"])
    settings = msgspec.convert({name: sourced.value for name, sourced in sources.items()}, Settings)
    known = {name: Sourced(getattr(settings, name), DEFAULT) for name in Settings.__struct_fields__}
    roles = combined_roles(layers)
    _check_role(settings.role, sources.get("role"), roles)
    plain_roles = {name: found.role for name, found in roles.items()}
    return Loaded(settings, known | sources, tuple(warnings), plain_roles, roles)


def _layers(flags: argparse.Namespace, here: _Surroundings, warnings: list[str]) -> list[Layer]:
    """What each place says, the lowest first."""
    from_home = _from_file(os.path.join(here.atm_home, HOME_FILE), here, warnings)
    from_repo = _from_file(_repo_file(here.cwd), here, warnings)
    from_extra = _from_extra_file(here, warnings)
    warnings += _unknown_variables(here.environ)
    nearer = [*from_extra, _from_environment(here), _from_flags(flags, here)]
    if from_repo and not _settings([*from_home, *nearer], here).trust_repo_settings:
        harmless, not_heeded = untrusted(from_repo[0], _settings(from_home, here))
        warnings += not_heeded
        from_repo = [harmless]
    return [*from_home, *from_repo, *nearer]


def _settings(layers: Sequence[Layer], here: _Surroundings) -> Settings:
    """As they are with these."""
    said = {name: sourced.value for name, sourced in combined(layers).items()}
    return msgspec.convert(_defaults(here) | said, Settings)


def _defaults(here: _Surroundings) -> dict[str, object]:
    """Those that depend on where we are."""
    return {
        "codex_home": os.path.join(here.home, ".codex"),
        "state_dir": os.path.join(here.atm_home, STATE_FOLDER),
    }


def _check_home(sourced: Sourced) -> None:
    """A folder that the user names must exist, as Codex wants it: a slip of the pen must not make an empty home."""
    if sourced.source != DEFAULT and not os.path.isdir(str(sourced.value)):
        raise BadSetting(
            f"cannot use codex_home = {str(sourced.value)!r} from {sourced.source}: "
            "it must be a folder that exists; make it, or correct the name"
        )


def _check_role(name: str | None, sourced: Sourced | None, roles: Mapping[str, SourcedRole]) -> None:
    if name is not None and sourced is not None and name not in roles:
        known = ", ".join(sorted(roles)) or "there are none"
        raise BadSetting(
            f"cannot use role = {name!r} from {sourced.source}: it must be a role that a file describes in a table "
            f"[plugins.codex-mcp.roles.NAME] (known: {known})"
        )


def _from_flags(flags: argparse.Namespace, here: _Surroundings) -> Layer:
    values: dict[str, Sourced] = {}
    for name, option in OPTIONS.items():
        value = getattr(flags, name, None)
        if value is not None:
            values[name] = Sourced(value, option.flags_for(name)[-1])
    return Layer(values, here.place)


def _from_environment(here: _Surroundings) -> Layer:
    values: dict[str, Sourced] = {}
    for name in OPTIONS:
        for variable in (f"{OUR_PREFIX}{name.upper()}", *ENVIRONMENT_ALIASES.get(name, ())):
            value = here.environ.get(variable)
            # An empty variable counts as unset; and RUST_LOG, which belongs to others too, only if it speaks to us.
            if value and not (variable == "RUST_LOG" and level_from_filter(value) is None):
                values[name] = Sourced(value, variable)
                break
    return Layer(values, here.place)


def _unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Warnings of variables that look like ours and are not."""
    names = {name.upper() for name in OPTIONS}
    for aliases in ENVIRONMENT_ALIASES.values():
        names.update(alias.removeprefix(OUR_PREFIX) for alias in aliases if alias.startswith(OUR_PREFIX))
    warnings = []
    for variable in sorted(environ.keys() - {CLIENTS_TOKEN}):
        name = variable.removeprefix(OUR_PREFIX)
        if variable.startswith(OUR_PREFIX) and name not in names:
            meant = nearest(name, names)
            hint = f"did you mean {OUR_PREFIX}{meant}?" if meant else "`codex-mcp config` lists all settings"
            warnings.append(f"the environment variable {variable} has no effect: there is no such setting; {hint}")
    return warnings


def _from_file(name: str | None, here: _Surroundings, warnings: list[str]) -> list[Layer]:
    found = layer_of(name, here.home) if name else None
    if found is None:
        return []
    warnings += found[1]
    return [found[0]]


def _from_extra_file(here: _Surroundings, warnings: list[str]) -> list[Layer]:
    named = here.environ.get(FILE_VARIABLE, "").strip()
    if not named:
        return []
    found = _from_file(path(named, here.place), here, warnings)
    if not found:
        raise BadSetting(f"cannot read {named} from {FILE_VARIABLE}: there is no such file; correct the name")
    return found


def _repo_file(cwd: str) -> str | None:
    """The nearest `.atm.toml`, from here up to the root of the git repository; outside of one, only here."""
    folder = cwd
    candidates = []
    while True:
        candidates.append(os.path.join(folder, REPO_FILE))
        if is_repository_root(folder):
            break
        parent = os.path.dirname(folder)
        if parent == folder:  # no repository: what lies above belongs to others
            del candidates[1:]
            break
        folder = parent
    return next(filter(os.path.isfile, candidates), None)
