"""Pure. The settings as TOML, which is a valid settings file, and as JSON. Secrets are masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from codex_mcp.base.errors import Notice
from codex_mcp.base.printable import one_line
from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.settings.environments import Environment
from codex_mcp.config.layers import Sourced
from codex_mcp.team.profile.roles import Role

TABLE: Final = "plugins.codex-mcp"

NO_ENVIRONMENTS: Final[Mapping[str, Sourced[Environment]]] = {}

BARE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
"""Characters of a TOML key that needs no quotes."""


def as_toml(
    sources: Mapping[str, Sourced[object]],
    roles: Mapping[str, Sourced[Role]],
    environments: Mapping[str, Sourced[Environment]] = NO_ENVIRONMENTS,
    *,
    with_origin: bool,
) -> str:
    """The settings as a file. A setting without a value is a comment, since TOML has no null."""
    lines = [f"[{TABLE}]", *_lines(sources, with_origin=with_origin)]
    for name, role in roles.items():
        head = f"[{TABLE}.roles.{name if name and BARE.issuperset(name) else _toml(name)}]"
        lines += _table(head, _role(role.value), role.source if with_origin else None)
    for name, found in environments.items():
        head = f"[{TABLE}.environments.{name}]"
        lines += _table(head, _environment(found.value), found.source if with_origin else None)
    return "\n".join(lines)


def _table(head: str, values: Mapping[str, object], source: str | None) -> list[str]:
    first = head if source is None else f"{head}  # {one_line(source)}"
    return ["", first, *(f"{key} = {_toml(value)}" for key, value in values.items())]


def _lines(sources: Mapping[str, Sourced[object]], *, with_origin: bool) -> Iterator[str]:
    texts = {
        name: f"# {name} =" if sourced.value is None else f"{name} = {_toml(_plain(sourced.value))}"
        for name, sourced in sources.items()
    }
    # One long value must not move all comments off the screen.
    width = max((len(text) for text in texts.values() if len(text) <= 60), default=0)
    for name, text in texts.items():
        yield f"{text:{width}}  # {one_line(sources[name].source)}" if with_origin else text


def as_json(
    sources: Mapping[str, Sourced[object]],
    roles: Mapping[str, Sourced[Role]],
    warnings: tuple[Notice, ...],
    environments: Mapping[str, Sourced[Environment]] = NO_ENVIRONMENTS,
) -> dict[str, object]:
    return {
        "settings": {
            name: {"value": _plain(sourced.value), "origin": sourced.source} for name, sourced in sources.items()
        },
        "roles": {name: {"value": _role(sourced.value), "origin": sourced.source} for name, sourced in roles.items()},
        "environments": {
            name: {"value": _environment(found.value), "origin": found.source} for name, found in environments.items()
        },
        "warnings": [str(each) for each in warnings],
    }


def _role(role: Role) -> dict[str, object]:
    return {key: _plain(value) for key, value in msgspec.structs.asdict(role).items() if value is not None}


def _environment(environment: Environment) -> dict[str, object]:
    fields = msgspec.structs.asdict(environment).items()
    return {key: _plain(value) for key, value in fields if key != "name" and value is not None}


def _plain(value: object) -> object:
    """The value as JSON has it, without secrets."""
    if isinstance(value, str):
        return redact(str(value))
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _toml(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # Other values look the same in TOML and JSON; characters that a terminal would interpret are escaped.
    text = msgspec.json.encode(value).decode()
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in text)
