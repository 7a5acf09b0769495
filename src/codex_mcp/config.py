"""Where the settings come from: flags > environment > the repository's `.atm.toml` > the home's config > defaults.

Every setting of base/settings.py has one name in all of these: `--codex-bin`, `CODEX_MCP_CODEX_BIN`, and `codex_bin` in
the table `[plugins.codex-mcp]` of a file. This module knows where each value came from, and says so when it is wrong.
What each kind of value may be is in base/options.py.
"""

import argparse
import os
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.files import read_if_there
from codex_mcp.base.options import OPTIONS, Place
from codex_mcp.base.redact import redact
from codex_mcp.base.settings import Settings, level_from_filter

REPO_FILE = ".atm.toml"
HOME_FILE = os.path.join(".config", "atm", "config.toml")
STATE_FOLDER = os.path.join(".config", "atm", "codex-sessions")
TABLE = "codex-mcp"
DEFAULT = "default"

ENVIRONMENT_ALIASES: dict[str, tuple[str, ...]] = {
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
"""Other variables that count, after our own: Codex', the old server's, OpenTelemetry's, and those of atm. ATM_IDENTITY
is not among them: that is the person's own name, not an agent's."""

MAY_COME_FROM_A_REPOSITORY = frozenset(
    {
        "events",
        "protocol",
        "log_level",
        "approval_timeout",
        "soft_deadline",
        "progress_interval",
        "start_timeout",
        "request_timeout",
        "thread_idle",
        "interrupt_grace",
        "shutdown_grace",
        "max_turns_waiting",
        "finished_turns_kept",
        "team",
        "default_identity",
        "reasoning_effort",
        "summary_timeout",
    }
)
"""What a repository's file may decide without being trusted: how long to wait, and how much to say. Everything else
tells which program runs, where, with which rights, who may come in, or who is told; and who clones a repository and
opens it has not agreed to that."""


class Sourced(Struct, frozen=True):
    """A value, and who said so."""

    value: object
    source: str


class Loaded(Struct, frozen=True):
    """The settings, where each came from, and what was not heeded."""

    settings: Settings
    sources: dict[str, Sourced]
    warnings: tuple[str, ...] = ()


class _Layer(Struct, frozen=True):
    """What one place says: raw values by name, each with its source, and what relative paths in it are relative to."""

    values: dict[str, Sourced]
    place: Place


def add_arguments(parser: argparse.ArgumentParser, *, with_team: bool = False) -> None:
    """Give a parser one flag for every setting; those that are about a team, only if they are wanted."""
    group = parser.add_argument_group("settings", "each may also come from the environment or a file")
    for name, option in OPTIONS.items():
        if option.is_for_team and not with_team:
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
    atm_home = environ.get("ATM_HOME", "").strip() or home
    warnings: list[str] = []
    repo_file = _repo_file(cwd)
    # Lowest first, so that the later one wins.
    from_home = _from_file(os.path.join(atm_home, HOME_FILE), home, warnings)
    from_repo = _from_file(repo_file, home, warnings) if repo_file else None
    from_user = [_from_environment(environ, Place(cwd, home)), _from_flags(flags, Place(cwd, home))]
    if from_repo is not None:
        trusted = _combined([layer for layer in (from_home, *from_user) if layer]).get("trust_repo_settings")
        from_repo = from_repo if trusted and trusted.value else _without_trust(from_repo, warnings)
    sources = _combined([layer for layer in (from_home, from_repo, *from_user) if layer])
    sources.setdefault("codex_home", Sourced(os.path.join(home, ".codex"), DEFAULT))
    _check_home(sources["codex_home"])
    sources.setdefault("state_dir", Sourced(os.path.join(atm_home, STATE_FOLDER), DEFAULT))
    settings = msgspec.convert({name: sourced.value for name, sourced in sources.items()}, Settings)
    known = {name: Sourced(getattr(settings, name), DEFAULT) for name in Settings.__struct_fields__}
    return Loaded(settings, known | sources, tuple(warnings))


def _combined(layers: Sequence[_Layer]) -> dict[str, Sourced]:
    result: dict[str, Sourced] = {}
    for layer in layers:
        for name, raw in layer.values.items():
            checked = _checked(name, raw, layer.place)
            below = result.get(name)
            if OPTIONS[name].is_list and below is not None:
                # Lists add up: the overrides of a file stay when a flag overrides one key more.
                checked = Sourced((*_items(below), *_items(checked)), f"{below.source}, {raw.source}")
            result[name] = checked
    return result


def _items(sourced: Sourced) -> tuple[object, ...]:
    return sourced.value if isinstance(sourced.value, tuple) else (sourced.value,)


def _checked(name: str, raw: Sourced, place: Place) -> Sourced:
    try:
        return Sourced(OPTIONS[name].kind(raw.value, place), raw.source)
    except ValueError as error:
        shown = redact(f"{name} = {raw.value!r}")
        raise BadSetting(f"cannot use {shown} from {raw.source}: it must be {error}") from error


def _check_home(sourced: Sourced) -> None:
    """A folder that the user names must exist, as Codex wants it: a slip of the pen must not make an empty home."""
    if sourced.source != DEFAULT and not os.path.isdir(str(sourced.value)):
        raise BadSetting(
            f"cannot use codex_home = {str(sourced.value)!r} from {sourced.source}: "
            "it must be a folder that exists; make it, or correct the name"
        )


def _from_flags(flags: argparse.Namespace, place: Place) -> _Layer:
    values: dict[str, Sourced] = {}
    for name, option in OPTIONS.items():
        value = getattr(flags, name, None)
        if value is not None:
            values[name] = Sourced(value, option.flags_for(name)[-1])
    return _Layer(values, place)


def _from_environment(environ: Mapping[str, str], place: Place) -> _Layer:
    values: dict[str, Sourced] = {}
    for name in OPTIONS:
        for variable in (f"CODEX_MCP_{name.upper()}", *ENVIRONMENT_ALIASES.get(name, ())):
            value = environ.get(variable)
            # An empty variable counts as unset; and RUST_LOG, which belongs to others too, only if it speaks to us.
            if value and not (variable == "RUST_LOG" and level_from_filter(value) is None):
                values[name] = Sourced(value, variable)
                break
    return _Layer(values, place)


def _from_file(path: str, home: str, warnings: list[str]) -> _Layer | None:
    table = _table_of(path)
    if table is None:
        return None
    values: dict[str, Sourced] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name in OPTIONS:
            values[name] = Sourced(value, path)
        else:
            warnings.append(f"{path} sets {key}, which is no setting of this version; it is not heeded")
    return _Layer(values, Place(os.path.dirname(path), home))


def _table_of(path: str) -> Mapping[str, object] | None:
    try:
        data = read_if_there(path)
        found: object = {} if data is None else msgspec.toml.decode(data, type=dict[str, object])
    except OSError as error:
        raise BadSetting(f"cannot read {path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadSetting(f"cannot read {path}: {error}; mend the file") from error
    for key in ("plugins", TABLE):
        found = found.get(key) if isinstance(found, Mapping) else None
    if found is not None and not isinstance(found, Mapping):
        raise BadSetting(f"cannot use plugins.{TABLE} from {path}: it must be a table, [plugins.{TABLE}]")
    return found


def _repo_file(cwd: str) -> str | None:
    """The nearest `.atm.toml`, from here up to the root of the git repository; outside of one, only here."""
    folder = cwd
    candidates = []
    while True:
        candidates.append(os.path.join(folder, REPO_FILE))
        if _is_repository(folder):
            break
        parent = os.path.dirname(folder)
        if parent == folder:  # no repository: what lies above belongs to others
            del candidates[1:]
            break
        folder = parent
    return next(filter(os.path.isfile, candidates), None)


def _is_repository(folder: str) -> bool:
    """Whether this is the root of a git repository. Sandboxes leave empty `.git` folders behind: those are none."""
    git = os.path.join(folder, ".git")
    return os.path.isfile(git) or os.path.exists(os.path.join(git, "HEAD"))


def _without_trust(layer: _Layer, warnings: list[str]) -> _Layer:
    warnings += [
        f"{raw.source} sets {name}, which is not heeded: a repository may not say what runs on this machine; "
        "set CODEX_MCP_TRUST_REPO_SETTINGS=true if you trust this one"
        for name, raw in layer.values.items()
        if name not in MAY_COME_FROM_A_REPOSITORY
    ]
    return _Layer({name: raw for name, raw in layer.values.items() if name in MAY_COME_FROM_A_REPOSITORY}, layer.place)
