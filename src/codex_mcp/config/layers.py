"""Pure. Settings laid over each other: what one place says, and what several say together."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.settings.options import OPTIONS, Place
from codex_mcp.team.profile.roles import Role, over, role_from


class Sourced(Struct, frozen=True):
    """A value, and who said so."""

    value: object
    source: str


class RawRole(Struct, frozen=True):
    """A role as a file has it, and where: the table, and its keys that have a line of their own."""

    table: Mapping[str, object]
    source: str
    key_sources: Mapping[str, str] = {}

    def source_of(self, key: str) -> str:
        """Where this key stands."""
        return self.key_sources.get(key, self.source)


class SourcedRole(Struct, frozen=True):
    """A role, and who described it."""

    role: Role
    source: str


class Layer(Struct, frozen=True):
    """What one place says: raw values by name, each with its source, and what relative paths in it are relative to."""

    values: dict[str, Sourced]
    place: Place
    roles: dict[str, RawRole] = {}


def combined(layers: Sequence[Layer]) -> dict[str, Sourced]:
    """The values of all, checked; the later one wins. Raises BadSetting."""
    result: dict[str, Sourced] = {}
    for layer in layers:
        for name, raw in layer.values.items():
            value = checked(name, raw, layer.place)
            below = result.get(name)
            if OPTIONS[name].is_list and below is not None:
                # Lists add up: the overrides of a file stay when a flag overrides one key more.
                value = Sourced((*_items(below), *_items(value)), f"{below.source}, {raw.source}")
            result[name] = value
    return result


def combined_roles(layers: Sequence[Layer]) -> dict[str, SourcedRole]:
    """The roles of all, checked. Where two describe one role, each key is the later one's. Raises BadSetting."""
    result: dict[str, SourcedRole] = {}
    for layer in layers:
        for name, raw in layer.roles.items():
            role, source = role_from(raw.table, name, raw.source_of), raw.source
            if below := result.get(name):
                # Laid over and not replaced: else a file that words a role anew would silently lift its restrictions.
                role, source = over(role, below.role), f"{below.source}, {source}"
            result[name] = SourcedRole(role, source)
    return result


def checked(name: str, raw: Sourced, place: Place) -> Sourced:
    """The value as its setting has it. Raises BadSetting: name, value, source, and what is allowed."""
    try:
        return Sourced(OPTIONS[name].kind(raw.value, place), raw.source)
    except ValueError as error:
        shown = redact(f"{name} = {raw.value!r}")
        raise BadSetting(f"cannot use {shown} from {raw.source}: it must be {error}") from error


def _items(sourced: Sourced) -> tuple[object, ...]:
    return sourced.value if isinstance(sourced.value, tuple) else (sourced.value,)
