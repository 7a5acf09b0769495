"""Load the settings: flags > environment > `$ATM_CONFIG` > the repository's `.atm.toml` > the home's file > defaults.

Every setting has the same name everywhere: `--codex-bin`, `CODEX_MCP_CODEX_BIN`, and `codex_bin` in the table
`[plugins.codex-mcp]` of a file. The table of settings is in base/settings. Each value keeps its source, for error
messages and for `codex-mcp config`.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import BadSetting, Notice
from codex_mcp.base.git import is_repository_root
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.settings.environments import (
    EXEC_ENVIRONMENT,
    Environment,
    NamedEnvironments,
    check_pin,
    is_elsewhere,
    unknown,
)
from codex_mcp.base.settings.groups import GROUPS, SETTINGS, Settings, settings_of, values_of
from codex_mcp.base.settings.kinds import Place, Setting, level_from_filter, path, with_unit
from codex_mcp.base.settings.nearest import nearest
from codex_mcp.config.files import layer_of
from codex_mcp.config.layers import (
    Layer,
    Sourced,
    combined,
    combined_environments,
    combined_roles,
)
from codex_mcp.config.trust import untrusted
from codex_mcp.team.profile.roles import Role

REPO_FILE: Final = ".atm.toml"
HOME_FILE: Final = os.path.join(".config", "atm", "config.toml")
STATE_FOLDER: Final = os.path.join(".config", "atm", "codex-sessions")
TEAMS_FOLDER: Final = os.path.join(".claude", "teams")
CODEX_FOLDER: Final = ".codex"
OUR_PREFIX: Final = "CODEX_MCP_"
CLIENTS_TOKEN: Final = "CODEX_MCP_TOKEN"
"""Not a setting: docs/clients.md tells clients to keep their token in it."""
AGENTS_CALLBACK: Final = "CODEX_MCP_CALLBACK_URI"
"""Not a setting: it is for the commands of agents (docs/sessions.md)."""

FILE_VARIABLE: Final = "ATM_CONFIG"
DEFAULT: Final = "default"
FIRST_IN_HELP: Final = ("team", "core", "exec", "calls", "sessions", "http", "log")


class Loaded(Struct, frozen=True):
    """The settings, the source of each, and warnings about what was ignored."""

    settings: Settings
    sources: dict[str, Sourced[object]]
    warnings: tuple[Notice, ...] = ()
    roles: dict[str, Role] = {}
    sourced_roles: dict[str, Sourced[Role]] = {}
    environments: dict[str, Sourced[Environment]] = {}


class _Surroundings(Struct, frozen=True):
    environ: Mapping[str, str]
    cwd: str
    home: str
    atm_home: str

    @property
    def place(self) -> Place:
        return Place(self.cwd, self.home)


def add_arguments(parser: argparse.ArgumentParser, *, with_team: bool = False) -> None:
    # A usage with every flag would hide the error of a command line behind thirty lines.
    parser.usage = f"{parser.prog} [-h] [FLAG ...]"
    parser.epilog = "Every setting can also be given in the environment or in a file: see docs/settings.md."
    titles = FIRST_IN_HELP if with_team else FIRST_IN_HELP[1:]
    for title in titles:
        group = GROUPS[title]
        arguments = parser.add_argument_group(title, (group.__doc__ or "").partition("\n")[0])
        for name, default in zip(group.__struct_fields__, _defaults_of(group), strict=True):
            if setting := SETTINGS.get(name):
                _add_flag(arguments, name, setting, default)


def _defaults_of(group: type[Struct]) -> tuple[object, ...]:
    fields, defaults = group.__struct_fields__, group.__struct_defaults__
    return (None,) * (len(fields) - len(defaults)) + defaults


def _add_flag(arguments: argparse._ArgumentGroup, name: str, setting: Setting, default: object) -> None:
    flags = setting.flags_for(name)
    if not setting.metavar:
        arguments.add_argument(*flags, dest=name, action="store_const", const="true", help=setting.help)
        return
    if isinstance(default, int) and setting.metavar == "BYTES":
        default = with_unit(default)
    shown = setting.shown.replace("`", "") or ("" if default is None or default == () else str(default).lower())
    text = f"{setting.help} (default: {shown})" if shown else setting.help
    action = "append" if setting.is_list else "store"
    arguments.add_argument(*flags, dest=name, action=action, metavar=setting.metavar, help=text)


def load(flags: argparse.Namespace, environ: Mapping[str, str], cwd: str) -> Loaded:
    """Load the settings. Raises BadSetting with one sentence: source, name, value, and what is allowed."""
    here = _Surroundings(environ, cwd, _home(environ), _atm_home(environ))
    warnings: list[Notice] = []
    layers = _with_one_codex(_layers(flags, here, warnings))
    sources = combined(layers)
    for name, value in _defaults(here).items():
        sources.setdefault(name, Sourced(value, DEFAULT))
    _check_home(sources["codex_home"])
    settings = settings_of({name: sourced.value for name, sourced in sources.items()})
    known = {name: Sourced(value, DEFAULT) for name, value in values_of(settings).items()}
    roles, environments = combined_roles(layers), combined_environments(layers)
    named = NamedEnvironments(tuple(found.value for found in environments.values()))
    settings = replace(settings, core=replace(settings.core, named=named))
    _check_role(settings.team.role, sources.get("role"), roles)
    _check_environments(settings.core, known | sources, roles)
    plain_roles = {name: found.value for name, found in roles.items()}
    return Loaded(settings, known | sources, tuple(warnings), plain_roles, roles, environments)


def teams_folder(environ: Mapping[str, str]) -> str:
    """Where Claude Code and atm keep their teams and their mail."""
    return os.path.join(_atm_home(environ), TEAMS_FOLDER)


def _home(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or os.path.expanduser("~")


def _atm_home(environ: Mapping[str, str]) -> str:
    return environ.get("ATM_HOME", "").strip() or _home(environ)


def _layers(flags: argparse.Namespace, here: _Surroundings, warnings: list[Notice]) -> list[Layer]:
    """The layers of all places, the one that wins last."""
    from_home = _from_file(os.path.join(here.atm_home, HOME_FILE), here, warnings)
    from_repo = _from_file(_repo_file(here.cwd), here, warnings)
    from_extra = _from_extra_file(here, warnings)
    warnings += _unknown_variables(here.environ)
    nearer = [*from_extra, _from_environment(here), _from_flags(flags, here)]
    if from_repo and not _settings([*from_home, *nearer], here).core.trust_repo_settings:
        harmless, ignored = untrusted(from_repo[0], values_of(_settings(from_home, here)))
        warnings += ignored
        from_repo = [harmless]
    return [*from_home, *from_repo, *nearer]


def _with_one_codex(layers: list[Layer]) -> list[Layer]:
    """`codex_bin` is the older name of `codex_version`: the nearer of the two counts, in one place the older one."""
    for number, layer in reversed(list(enumerate(layers))):
        if "codex_bin" in layer.values:
            break
        if "codex_version" in layer.values:
            for farther in layers[:number]:
                farther.values.pop("codex_bin", None)
            break
    return layers


def _settings(layers: Sequence[Layer], here: _Surroundings) -> Settings:
    given = {name: sourced.value for name, sourced in combined(layers).items()}
    return settings_of(_defaults(here) | given)


def _defaults(here: _Surroundings) -> dict[str, object]:
    return {
        "codex_home": os.path.join(here.home, CODEX_FOLDER),
        "state_dir": os.path.join(here.atm_home, STATE_FOLDER),
    }


def likely_codex_home(named: str | None, environ: Mapping[str, str]) -> str:
    """Codex's home if the settings cannot be loaded: as named, else that of the environment, else the default."""
    home = environ.get("HOME") or os.path.expanduser("~")
    given = named or environ.get(f"{OUR_PREFIX}CODEX_HOME") or environ.get("CODEX_HOME")
    return os.path.expanduser(given) if given else os.path.join(home, CODEX_FOLDER)


def _check_home(sourced: Sourced[object]) -> None:
    """A folder that the user names must exist, as for Codex itself: a typo must not create an empty home."""
    if sourced.source != DEFAULT and not os.path.isdir(str(sourced.value)):
        raise BadSetting(
            f"cannot use codex_home = {str(sourced.value)!r} from {sourced.source}: it must be a folder that exists",
            "create it, or correct the name",
        )


def _check_role(name: str | None, sourced: Sourced[object] | None, roles: Mapping[str, Sourced[Role]]) -> None:
    if name is not None and sourced is not None and name not in roles:
        known = ", ".join(sorted(roles)) or "none"
        raise BadSetting(
            f"cannot use role = {name!r} from {sourced.source}: it must be a role that a file describes in a table "
            f"[plugins.codex-mcp.roles.NAME] (known: {known})"
        )


def _check_environments(
    core: CoreSettings, sources: Mapping[str, Sourced[object]], roles: Mapping[str, Sourced[Role]]
) -> None:
    """Every place that is named must exist, and a pin must belong to a rendezvous."""
    known = core.environments
    name = core.exec.exec_server
    if name is not None and "://" not in name:
        if name not in known:
            lacking = unknown(name, known)
            raise BadSetting(
                f"cannot use exec_server = {name!r} from {sources['exec_server'].source}: {lacking.problem}",
                lacking.fix,
            )
        if core.exec.exec_server_token is not None or core.exec.exec_server_pin is not None:
            raise BadSetting(
                f"cannot use exec_server_token and exec_server_pin with the environment {name}: its table has its own "
                "token_file and pin"
            )
    elif core.exec.exec_server_pin is not None:
        check_pin(known.get(EXEC_ENVIRONMENT, Environment(EXEC_ENVIRONMENT, "", pin="given")), "exec_server_pin")
    for role, sourced in roles.items():
        place = sourced.value.environment
        if is_elsewhere(place) and place != EXEC_ENVIRONMENT and place not in known:
            lacking = unknown(str(place), known)
            raise BadSetting(
                f"cannot use environment of the role {role} in {sourced.source}: {lacking.problem}", lacking.fix
            )


def _from_flags(flags: argparse.Namespace, here: _Surroundings) -> Layer:
    values: dict[str, Sourced[object]] = {}
    for name, setting in SETTINGS.items():
        value = getattr(flags, name, None)
        if value is not None:
            values[name] = Sourced(value, setting.flags_for(name)[-1])
    return Layer(values, here.place)


def _from_environment(here: _Surroundings) -> Layer:
    values: dict[str, Sourced[object]] = {}
    for name, setting in SETTINGS.items():
        for variable in (f"{OUR_PREFIX}{name.upper()}", *setting.variables):
            value = here.environ.get(variable)
            # An empty variable counts as unset. RUST_LOG, which other programs use too, only if it sets our level.
            if value and not (variable == "RUST_LOG" and level_from_filter(value) is None):
                values[name] = Sourced(value, variable)
                break
    return Layer(values, here.place)


def _unknown_variables(environ: Mapping[str, str]) -> list[Notice]:
    names = {name.upper() for name in SETTINGS}
    aliases = [alias for setting in SETTINGS.values() for alias in setting.variables if alias.startswith(OUR_PREFIX)]
    names.update(alias.removeprefix(OUR_PREFIX) for alias in aliases)
    warnings: list[Notice] = []
    for variable in sorted(environ.keys() - {CLIENTS_TOKEN, AGENTS_CALLBACK}):
        name = variable.removeprefix(OUR_PREFIX)
        if variable.startswith(OUR_PREFIX) and name not in names:
            meant = nearest(name, names)
            hint = f"did you mean {OUR_PREFIX}{meant}?" if meant else "`codex-mcp config` lists all settings"
            warnings.append(
                Notice(f"the environment variable {variable} has no effect: there is no such setting", hint)
            )
    return warnings


def _from_file(name: str | None, here: _Surroundings, warnings: list[Notice]) -> list[Layer]:
    found = layer_of(name, here.home) if name else None
    if found is None:
        return []
    warnings += found[1]
    return [found[0]]


def _from_extra_file(here: _Surroundings, warnings: list[Notice]) -> list[Layer]:
    named = here.environ.get(FILE_VARIABLE, "").strip()
    if not named:
        return []
    found = _from_file(path(named, here.place), here, warnings)
    if not found:
        raise BadSetting(f"cannot read {named} from {FILE_VARIABLE}: there is no such file", "correct the name")
    return found


def _repo_file(cwd: str) -> str | None:
    """The nearest `.atm.toml`, from `cwd` up to the root of the git repository; outside of one, only in `cwd`."""
    folder = cwd
    candidates = []
    while True:
        candidates.append(os.path.join(folder, REPO_FILE))
        if is_repository_root(folder):
            break
        parent = os.path.dirname(folder)
        if parent == folder:  # not in a repository: folders above may be other people's
            del candidates[1:]
            break
        folder = parent
    return next(filter(os.path.isfile, candidates), None)
