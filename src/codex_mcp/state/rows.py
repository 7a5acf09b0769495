"""Pure. All that a store keeps, as rows that a store of any kind takes; and the lines of a file with such rows.

Nodes and claims are not among them: they belong to servers that run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from codex_mcp.base.errors import Refused


class LastToken(Struct, frozen=True, tag="token"):
    last: int
    """No claim has had a greater token."""


class RecordRow(Struct, frozen=True, tag="record"):
    kind: str
    key: str
    body: bytes


class IdentityRow(Struct, frozen=True, tag="identity"):
    team: str
    name: str
    thread: str


class NameRow(Struct, frozen=True, tag="name"):
    team: str
    name: str
    principal: str
    since: float
    released: float | None


class RequestRow(Struct, frozen=True, tag="request"):
    """The oldest come first."""

    principal: str
    id: str
    thread: str


class StreamRow(Struct, frozen=True, tag="stream"):
    thread: str
    name: str
    start: int
    head: int


class EntryRow(Struct, frozen=True, tag="journal"):
    thread: str
    stream: str
    at: int
    token: int
    body: bytes


Row: TypeAlias = LastToken | RecordRow | IdentityRow | NameRow | RequestRow | StreamRow | EntryRow

TABLES: Final[tuple[tuple[type[Row], str, str], ...]] = (
    (RecordRow, "kind, key, body", "kind, key"),
    (IdentityRow, "team, name, thread", "team, name"),
    (NameRow, "team, name, principal, since, released", "team, name"),
    (RequestRow, "principal, id, thread", "number"),
    (StreamRow, "thread, name, start, head", "thread, name"),
    (EntryRow, "thread, stream, at, token, body", "thread, stream, at"),
)
"""Each kind of row, its columns, and its order. A table has the name of the kind's tag, in SQLite and in PostgreSQL."""


COLUMNS: Final[Mapping[type[Row], str]] = {kind: columns for kind, columns, _ in TABLES}


def table_of(kind: type[Row]) -> str:
    return str(kind.__struct_config__.tag)


def values_of(row: Row) -> tuple[object, ...]:
    """In the order of its columns."""
    return tuple(getattr(row, name) for name in row.__struct_fields__)


class NotAState(Refused):
    """A file that should have rows has something else, or only some of them."""


class _Header(Struct, frozen=True):
    codex_mcp_state: int


class _End(Struct, frozen=True):
    rows: int


FORMAT: Final = 1
_ROW: Final = msgspec.json.Decoder(Row)


def header() -> bytes:
    """The first line of a file."""
    return msgspec.json.encode(_Header(FORMAT)) + b"\n"


def line_of(row: Row) -> bytes:
    return msgspec.json.encode(row) + b"\n"


def last_line(rows: int) -> bytes:
    """The end of a file with so many rows, without which it is cut."""
    return msgspec.json.encode(_End(rows)) + b"\n"


def rows_in(lines: Iterable[bytes]) -> Iterator[Row]:
    """The rows of a file. Raises NotAState, at the latest when all rows are read."""
    count = -1
    for number, line in enumerate(lines, 1):
        if number == 1:
            _check_header(line)
        elif count >= 0:
            raise NotAState(f"there is more after its end, in line {number}")
        else:
            try:
                yield _ROW.decode(line)
            except msgspec.MsgspecError as exc:
                count = _end(line, number, exc)
                if count != number - 2:
                    raise NotAState(f"it says that it has {count} rows, but it has {number - 2}") from None
    if count < 0:
        raise NotAState("it is cut: its end is missing")


def _check_header(line: bytes) -> None:
    try:
        version = msgspec.json.decode(line, type=_Header).codex_mcp_state
    except msgspec.MsgspecError:
        raise NotAState("it is not a file that `codex-mcp state export` has written") from None
    if version > FORMAT:
        raise NotAState("a newer codex-mcp has written it: run `codex-mcp update` here as well")


def _end(line: bytes, number: int, why: Exception) -> int:
    try:
        return msgspec.json.decode(line, type=_End).rows
    except msgspec.MsgspecError:
        raise NotAState(f"line {number} is damaged: {why}") from None
