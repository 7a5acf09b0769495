"""Pure. A client's configuration file as bytes: reads it, and sets or removes one value.

The byte order mark, the line ends and everything that is not edited stay. Every edit is read again; if it did not
change exactly what was asked, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, cast

import msgspec

from codex_mcp.base.errors import Explained
from codex_mcp.cli.clients.config_text import jsonc, jsonc_edit, toml_edit, toml_text
from codex_mcp.cli.clients.config_text.unreadable import Unreadable
from codex_mcp.cli.clients.config_text.values import at, with_value, without

BOM: Final = "\ufeff"


class Format(StrEnum):
    JSON = "JSON"
    TOML = "TOML"


class Uneditable(Explained):
    """The file is valid, but an edit would have changed more than it should."""


def read(form: Format, data: bytes | None) -> Mapping[str, object]:
    """The values of a file; none if there is no file, or an empty one. Raises Unreadable."""
    _, text = _decoded(data or b"")
    return _values(form, text)


def with_entry(form: Format, data: bytes | None, path: Sequence[str], value: object) -> bytes:
    """The file with this value at this path. Raises Unreadable or Uneditable."""
    mark, text = _decoded(data or b"")
    before = _values(form, text)
    if _encoded(at(before, path)) == _encoded(value):  # not even its layout changes
        return data or b""
    if form is Format.TOML:
        after = toml_edit.set_value(text, path, value)
    else:
        after = jsonc_edit.set_value(text, path, cast("jsonc.Value", value))
    return _checked(form, mark, after, with_value(before, path, value))


def without_entry(form: Format, data: bytes, path: Sequence[str]) -> bytes:
    """The file without the value at this path. Raises Unreadable or Uneditable; KeyError if it is not there."""
    mark, text = _decoded(data)
    before = _values(form, text)
    edit: Callable[[str, Sequence[str]], str] = toml_edit.remove if form is Format.TOML else jsonc_edit.remove
    return _checked(form, mark, edit(text, path), without(before, path))


def _encoded(value: object) -> bytes:
    """For a comparison in which True is not 1."""
    return msgspec.json.encode(value)


def _decoded(data: bytes) -> tuple[str, str]:
    """The byte order mark, if there is one, and the text."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(data[: error.start].decode(), error.start, "the file is not UTF-8") from error
    return (BOM, text[1:]) if text.startswith(BOM) else ("", text)


def _values(form: Format, text: str) -> Mapping[str, object]:
    if form is Format.TOML:
        return toml_text.parse(text)
    if jsonc.is_blank(text):
        return {}
    value = jsonc.parse(text).value
    if not isinstance(value, dict):
        raise Unreadable(text, len(text) - len(text.lstrip()), "the file must be an object, {…}")
    return value


def _checked(form: Format, mark: str, text: str, wanted: object) -> bytes:
    try:
        values = _values(form, text)
    except Unreadable as error:
        raise Uneditable("the place of the entry cannot be edited automatically") from error
    if not are_same(values, wanted):
        raise Uneditable("the place of the entry cannot be edited automatically")
    return (mark + text).encode()


def are_same(some: object, others: object) -> bool:
    """Whether two files say the same. An empty object says nothing: a table of TOML that lost its last key is gone."""
    return _filled(some) == _filled(others)


def _filled(value: object) -> object:
    """The value without empty tables."""
    if not isinstance(value, Mapping):
        return value
    inner = {key: _filled(part) for key, part in value.items()}
    return {key: part for key, part in inner.items() if part != {}}
