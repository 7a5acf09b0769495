"""Pure. Nested values: what is at a path, and copies with one value set or removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def at(value: object, path: Sequence[str]) -> object:
    """The value at this path; None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def with_value(value: object, path: Sequence[str], new: object) -> object:
    """A copy with this value at this path. What is on the way and is not an object is replaced."""
    if not path:
        return new
    outer = dict(value) if isinstance(value, Mapping) else {}
    outer[path[0]] = with_value(outer.get(path[0]), path[1:], new)
    return outer


def without(value: object, path: Sequence[str]) -> object:
    """A copy without the value at this path."""
    if not isinstance(value, Mapping) or not path or path[0] not in value:
        return value
    if len(path) == 1:
        return {key: inner for key, inner in value.items() if key != path[0]}
    return {**value, path[0]: without(value[path[0]], path[1:])}
