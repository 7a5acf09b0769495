"""Pure. All settings. The Structs of the groups are the table of settings: each field is a setting.

It has a type, and `setting()` gives its default, the kind of value with its bounds, and the help of its flag. The text
below it gives details and the reason for the default. From this come flags, variables and keys of settings files
(config/load.py), `--help`, `codex-mcp config`, and docs/settings.md (`make settings`). A package is given only the
groups that it needs. Times are in seconds, sizes in bytes.

These are msgspec Structs: a dataclass of this size costs 3 ms of the time to the first answer, a Struct 0.2 ms.
"""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.base.settings.core import CoreSettings, ExecSettings, LogSettings
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.base.settings.kinds import TABLE
from codex_mcp.base.settings.sessions import SessionSettings
from codex_mcp.base.settings.team import TeamSettings

G = TypeVar("G", bound=Struct)


class Settings(Struct, frozen=True, kw_only=True):
    core: CoreSettings
    calls: CallSettings = CallSettings()
    http: HttpSettings = HttpSettings()
    sessions: SessionSettings = SessionSettings()
    team: TeamSettings = TeamSettings()
    log: LogSettings = LogSettings()


GROUPS: dict[str, type[Struct]] = {
    "core": CoreSettings,
    "exec": ExecSettings,
    "calls": CallSettings,
    "http": HttpSettings,
    "sessions": SessionSettings,
    "team": TeamSettings,
    "log": LogSettings,
}

SETTINGS = {name: TABLE[name] for each in GROUPS.values() for name in each.__struct_fields__ if name in TABLE}
"""Every setting by its name, in the order of the groups."""


def settings_of(values: Mapping[str, object]) -> Settings:
    core = _group(CoreSettings, {**values, "exec": _group(ExecSettings, values)})
    return Settings(
        core=core,
        calls=_group(CallSettings, values),
        http=_group(HttpSettings, values),
        sessions=_group(SessionSettings, values),
        team=_group(TeamSettings, values),
        log=_group(LogSettings, values),
    )


def values_of(settings: Settings) -> dict[str, object]:
    core, calls, http = settings.core, settings.calls, settings.http
    groups = (core, core.exec, calls, http, settings.sessions, settings.team, settings.log)
    return {name: getattr(group, name) for group in groups for name in group.__struct_fields__ if name in SETTINGS}


def _group(group: type[G], values: Mapping[str, object]) -> G:
    return group(**{name: values[name] for name in group.__struct_fields__ if name in values})
