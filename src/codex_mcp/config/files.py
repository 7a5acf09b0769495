"""One settings file: which of its tables are ours, by which names, and on which lines.

    [core] default_team            the team
    [plugins.atm-agent-mcp]        the settings of the server that we replace, by its names
    [plugins.codex-mcp]            ours
    [plugins.codex-mcp.roles.X]    a role

The lower one in this list wins. Other tables are other programs'.
"""

import os
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct, field

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.files import read_if_there
from codex_mcp.base.settings.nearest import nearest
from codex_mcp.base.settings.options import OPTIONS, Place
from codex_mcp.config.layers import Layer, RawRole, Sourced
from codex_mcp.config.lines import Key, line_of, lines_of

TABLES: Final = ("atm-agent-mcp", "codex-mcp")
"""The nearer one last."""

ROLES: Final = "roles"

OLD_NAMES: Final = {"identity": "default_identity", "request_timeout_secs": "turn_timeout"}

OF_NO_USE: Final = frozenset(
    {
        "fast_model",
        "mail_poll_interval_ms",
        "max_mail_messages",
        "max_mail_message_length",
        "per_thread_auto_mail",
        "persist_threads",
        "transport",
    }
)
"""Settings of the server that we replace that mean nothing here. Who has them in a file need not be told each time."""


class _Text(Struct):
    """A file that could be read."""

    path: str
    content: Mapping[str, object]
    lines: dict[Key, int]
    warnings: list[str] = field(default_factory=list)

    def place(self, *key: str) -> str:
        """Where a key stands, for people and their editors."""
        return f"{self.path}:{line_of(self.lines, key)}"

    def table(self, *key: str) -> Mapping[str, object]:
        """A table, or an empty one if there is none. Raises BadSetting if it is something else."""
        found: object = self.content
        for part in key:
            found = found.get(part, {}) if isinstance(found, Mapping) else {}
        if not isinstance(found, Mapping):
            name = ".".join(key)
            raise BadSetting(f"cannot use {name} from {self.place(*key)}: it must be a table, [{name}]")
        return found


def layer_of(path: str, home: str) -> tuple[Layer, list[str]] | None:
    """What the file says about us, and warnings; None if there is no such file. Raises BadSetting."""
    text = _read(path)
    if text is None:
        return None
    values: dict[str, Sourced] = {}
    roles: dict[str, RawRole] = {}
    team = text.table("core").get("default_team") if isinstance(text.content.get("core"), Mapping) else None
    if team is not None:
        values["team"] = Sourced(team, text.place("core", "default_team"))
    for name in TABLES:
        values |= _values(text, name)
        roles |= _roles(text, name)  # of one role in both tables, ours is the role
    return Layer(values, Place(os.path.dirname(path), home), roles), text.warnings


def _values(text: _Text, table: str) -> dict[str, Sourced]:
    old: dict[str, Sourced] = {}
    values: dict[str, Sourced] = {}
    for key, value in text.table("plugins", table).items():
        name = key.replace("-", "_")
        sourced = Sourced(value, text.place("plugins", table, key))
        if name in OPTIONS:
            values[name] = sourced
        elif name in OLD_NAMES:
            old[OLD_NAMES[name]] = sourced
        elif name != ROLES and name not in OF_NO_USE:
            meant = nearest(name, OPTIONS)
            hint = f"; did you mean {meant}?" if meant else ""
            text.warnings.append(
                f"{sourced.source} sets {key}, which is not a setting of this version and is ignored{hint}"
            )
    return old | values


def _roles(text: _Text, table: str) -> dict[str, RawRole]:
    roles: dict[str, RawRole] = {}
    for name in text.table("plugins", table, ROLES):
        key = ("plugins", table, ROLES, name)
        found = text.table(*key)
        roles[name] = RawRole(found, text.place(*key), {inner: text.place(*key, inner) for inner in found})
    return roles


def _read(path: str) -> _Text | None:
    try:
        data = read_if_there(path)
        if data is None:
            return None
        content = msgspec.toml.decode(data, type=dict[str, object])
        return _Text(path, content, lines_of(data.decode()))
    except OSError as error:
        raise BadSetting(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadSetting(f"cannot read {path}:{line}: it is not UTF-8; fix the file") from error
    except msgspec.DecodeError as error:
        raise BadSetting(f"cannot read {path}: {error}; fix the file") from error
    except RecursionError as error:
        raise BadSetting(f"cannot read {path}: it is nested too deeply; fix the file") from error
