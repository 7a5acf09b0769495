"""Read one settings file: its tables, our names for its keys, and their lines.

    [core] default_team            the team
    [plugins.atm-agent-mcp]        settings of the server that we replace, with its names
    [plugins.codex-mcp]            our settings
    [plugins.codex-mcp.roles.X]    a role
    [plugins.codex-mcp.environments.X]  a place where commands can run

A later table in this list wins. Other tables belong to other programs.
"""

import os
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct, field

from codex_mcp.base.errors import BadSetting, Notice
from codex_mcp.base.files import read_if_there
from codex_mcp.base.settings.groups import SETTINGS
from codex_mcp.base.settings.kinds import Place
from codex_mcp.base.settings.nearest import nearest
from codex_mcp.config.layers import Layer, RawTable, Sourced
from codex_mcp.config.lines import Key, line_of, lines_of

OURS: Final = "codex-mcp"
TABLES: Final = ("atm-agent-mcp", "codex-mcp")
"""The one that wins last."""

ROLES: Final = "roles"
ENVIRONMENTS: Final = "environments"

OLD_NAMES: Final = {
    "identity": "default_identity",
    "request_timeout_secs": "turn_timeout",
    "max_mail_messages": "max_messages",
    "max_mail_message_length": "max_message_length",
}

IGNORED: Final = {
    "fast_model": "the call, its role or the setting model chooses the model",
    "per_thread_auto_mail": "auto_mail of a call or a role decides for one agent",
    "persist_threads": "agents are always recorded",
    "transport": "the command line decides how clients connect",
}
"""Settings of the server that we replace that have no meaning here, each with what to use instead."""


class _File(Struct):
    path: str
    content: Mapping[str, object]
    lines: dict[Key, int]
    warnings: list[Notice] = field(default_factory=list)

    def place(self, *key: str) -> str:
        return f"{self.path}:{line_of(self.lines, key)}"

    def table(self, *key: str) -> Mapping[str, object]:
        """A table, empty if it is missing. Raises BadSetting if the key holds something else."""
        found: object = self.content
        for part in key:
            found = found.get(part, {}) if isinstance(found, Mapping) else {}
        if not isinstance(found, Mapping):
            name = ".".join(key)
            raise BadSetting(f"cannot use {name} from {self.place(*key)}: it must be a table, [{name}]")
        return found


def layer_of(path: str, home: str) -> tuple[Layer, list[Notice]] | None:
    """The settings of the file, and warnings; None if it does not exist. Raises BadSetting."""
    file = _read(path)
    if file is None:
        return None
    values: dict[str, Sourced[object]] = {}
    roles: dict[str, RawTable] = {}
    team = file.table("core").get("default_team") if isinstance(file.content.get("core"), Mapping) else None
    if team is not None:
        values["team"] = Sourced(team, file.place("core", "default_team"))
    for name in TABLES:
        values |= _values(file, name)
        roles |= _tables(file, name, ROLES)  # a role in both tables is taken from ours
    environments = _tables(file, OURS, ENVIRONMENTS)
    return Layer(values, Place(os.path.dirname(path), home), roles, environments), file.warnings


def _values(file: _File, table: str) -> dict[str, Sourced[object]]:
    old: dict[str, Sourced[object]] = {}
    values: dict[str, Sourced[object]] = {}
    for key, value in file.table("plugins", table).items():
        name = key.replace("-", "_")
        sourced = Sourced(value, file.place("plugins", table, key))
        if name in SETTINGS:
            values[name] = sourced
        elif name in OLD_NAMES:
            old[OLD_NAMES[name]] = sourced
        elif name in IGNORED:
            file.warnings.append(Notice(f"{sourced.source} sets {key}, which has no effect here: {IGNORED[name]}"))
        elif name not in (ROLES, ENVIRONMENTS):
            meant = nearest(name, SETTINGS)
            what = f"{sourced.source} sets {key}, which is not a setting of this version and is ignored"
            file.warnings.append(Notice(what, f"did you mean {meant}?" if meant else ""))
    return old | values


def _tables(file: _File, table: str, kind: str) -> dict[str, RawTable]:
    tables: dict[str, RawTable] = {}
    for name in file.table("plugins", table, kind):
        key = ("plugins", table, kind, name)
        found = file.table(*key)
        tables[name] = RawTable(found, file.place(*key), {inner: file.place(*key, inner) for inner in found})
    return tables


def _read(path: str) -> _File | None:
    try:
        data = read_if_there(path)
        if data is None:
            return None
        content = msgspec.toml.decode(data, type=dict[str, object])
        return _File(path, content, lines_of(data.decode()))
    except OSError as error:
        raise BadSetting(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadSetting(f"cannot read {path}:{line}: it is not UTF-8", "fix the file") from error
    except msgspec.DecodeError as error:
        raise BadSetting(f"cannot read {path}: {error}", "fix the file") from error
    except RecursionError as error:
        raise BadSetting(f"cannot read {path}: it is nested too deeply", "fix the file") from error
