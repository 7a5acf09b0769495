"""Pure. Combine the settings of several places, checked and with their sources."""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.settings.environments import Environment, environment_from
from codex_mcp.base.settings.groups import SETTINGS
from codex_mcp.base.settings.kinds import Place
from codex_mcp.team.profile.roles import Role, over, role_from

T = TypeVar("T")


class Sourced(Struct, Generic[T], frozen=True):
    value: T
    source: str


class RawTable(Struct, frozen=True):
    """A role or an environment as a file has it, with the source of its table and of each key that has its own line."""

    table: Mapping[str, object]
    source: str
    key_sources: Mapping[str, str] = {}

    def source_of(self, key: str) -> str:
        return self.key_sources.get(key, self.source)


class Layer(Struct, frozen=True):
    """The raw values of one place, each with its source, and the folder that relative paths start from."""

    values: dict[str, Sourced[object]]
    place: Place
    roles: dict[str, RawTable] = {}
    environments: dict[str, RawTable] = {}


def combined(layers: Sequence[Layer]) -> dict[str, Sourced[object]]:
    """The checked values of all layers; the later layer wins. Raises BadSetting."""
    result: dict[str, Sourced[object]] = {}
    for layer in layers:
        for name, raw in layer.values.items():
            value = checked(name, raw, layer.place)
            below = result.get(name)
            if SETTINGS[name].is_list and below is not None:
                # Lists add up: the overrides of a file remain when a flag adds one.
                value = Sourced((*_items(below), *_items(value)), f"{below.source}, {raw.source}")
            result[name] = value
    return result


def combined_roles(layers: Sequence[Layer]) -> dict[str, Sourced[Role]]:
    """The checked roles of all layers; of two with one name, each key is the later layer's. Raises BadSetting."""
    result: dict[str, Sourced[Role]] = {}
    for layer in layers:
        for name, raw in layer.roles.items():
            role, source = role_from(raw.table, name, raw.source_of), raw.source
            if below := result.get(name):
                # Combined, not replaced: otherwise a file that rewords a role would silently lift its restrictions.
                role, source = over(role, below.value), f"{below.source}, {source}"
            result[name] = Sourced(role, source)
    return result


def combined_environments(layers: Sequence[Layer]) -> dict[str, Sourced[Environment]]:
    """The checked environments of all layers; of two with one name, the later layer's. Raises BadSetting.

    They are not combined: the token of one place must not be sent to another.
    """
    return {
        name: Sourced(environment_from(raw.table, name, layer.place, raw.source_of), raw.source)
        for layer in layers
        for name, raw in layer.environments.items()
    }


def checked(name: str, raw: Sourced[object], place: Place) -> Sourced[object]:
    """The value in its setting's type. Raises BadSetting with name, value, source, and what is allowed."""
    try:
        return Sourced(SETTINGS[name].kind(raw.value, place), raw.source)
    except ValueError as error:
        shown = redact(f"{name} = {raw.value!r}")
        raise BadSetting(f"cannot use {shown} from {raw.source}: it must be {error}") from error


def _items(sourced: Sourced[object]) -> tuple[object, ...]:
    return sourced.value if isinstance(sourced.value, tuple) else (sourced.value,)
