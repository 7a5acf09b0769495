"""Pure. Environments: the places, besides this machine, where the commands of agents can run.

Each is a table `[plugins.codex-mcp.environments.NAME]` of a settings file; `--exec-server URL` is one more, without a
name of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import BadSetting, Notice
from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.settings.kinds import Kind, Place, fingerprint, path, socket_address, text
from codex_mcp.base.settings.nearest import nearest

LOCAL_ENVIRONMENT: Final = "local"
EXEC_ENVIRONMENT: Final = "exec-server"
"""Where commands can run: Codex's own name for this machine, and our name for the place that `exec_server` names."""

RESERVED: Final = (LOCAL_ENVIRONMENT, EXEC_ENVIRONMENT, "none")

NAME: Final = r"[A-Za-z0-9_-]{1,64}"
"""What Codex takes as the id of an environment."""


class Environment(Struct, frozen=True):
    name: str
    url: str
    """ws://, wss://, or relay+https://HOST/ID for an executor behind a rendezvous."""
    token_file: str | None = None
    pin: str | None = None
    cwd: str | None = None
    """The folder there in which agents work whose call names none."""

    @property
    def is_relayed(self) -> bool:
        return self.url.startswith("relay+")


class NamedEnvironments(Struct, frozen=True):
    """Those that have a table."""

    all: tuple[Environment, ...] = ()


def is_elsewhere(environment: str | None) -> bool:
    """Whether this is not the server's own machine."""
    return environment not in (None, LOCAL_ENVIRONMENT)


def unknown(name: str, known: Mapping[str, Environment]) -> Notice:
    """Tells that there is no such environment, and which there are."""
    names = (LOCAL_ENVIRONMENT, *known)
    meant = nearest(name, names)
    hint = f"did you mean {meant}? " if meant else ""
    return Notice(f"there is no environment {name!r} on this server", f"{hint}known: {', '.join(names)}")


def environment_from(
    table: Mapping[str, object], name: str, place: Place, source_of: Callable[[str], str]
) -> Environment:
    """The environment in a table; errors name it, and where the key comes from. Raises BadSetting."""
    if re.fullmatch(NAME, name) is None or name in RESERVED:
        raise BadSetting(
            f"cannot use the environment {name!r} in {source_of('')}: its name must have 1 to 64 letters, digits, - "
            f"and _, and must not be {', '.join(RESERVED)}"
        )
    fields = fields_in(table, KINDS, ("an environment", f"the environment {name}"), source_of, place)
    if "url" not in fields:
        raise BadSetting(f"cannot use the environment {name} in {source_of('')}: it has no url")
    found = Environment(name, **fields)  # type: ignore[arg-type]  # each was made by its kind
    check_pin(found, f"pin of the environment {name} in {source_of('pin')}")
    return found


def fields_in(
    table: Mapping[str, object],
    kinds: Mapping[str, Callable[..., object]],
    words: tuple[str, str],
    source_of: Callable[[str], str],
    *place: Place,
) -> dict[str, object]:
    """The values in a table of a settings file, each made by its kind. `words` are for what it describes: `a role`,
    `the role NAME`. Raises BadSetting."""
    any_one, this = words
    fields: dict[str, object] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        where = f"{this} in {source_of(key)}"
        if name not in kinds:
            meant = nearest(name, kinds)
            hint = f"did you mean {meant}? " if meant else ""
            raise BadSetting(f"cannot use {key} of {where}: no such key", f"{hint}{any_one} has {', '.join(kinds)}")
        if name in fields:
            raise BadSetting(f"cannot use {key} of {where}: {name} occurs twice, once with - and once with _")
        try:
            fields[name] = kinds[name](value, *place)
        except ValueError as error:
            shown = redact(f"{key} = {value!r:.200}")
            raise BadSetting(f"cannot use {shown} of {where}: it must be {error}") from error
    return fields


def check_pin(environment: Environment, what: str) -> None:
    """Raises BadSetting if there is a pin that could not be checked."""
    if environment.pin is not None and not environment.is_relayed:
        raise BadSetting(f"cannot use {what}: only an address like relay+https://HOST/ID has a fingerprint")


def _folder_there(value: object, place: Place) -> str:
    folder = text(value, place)
    if not folder.startswith("/"):
        raise ValueError("an absolute path: it is a folder of the other machine")
    return folder


KINDS: Final[dict[str, Kind]] = {
    "url": socket_address,
    "token_file": path,
    "pin": fingerprint,
    "cwd": _folder_there,
}
