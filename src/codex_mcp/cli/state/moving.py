"""All that a store keeps, to a file and from a file."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec

from codex_mcp.state.contract import Store
from codex_mcp.state.rows import RecordRow, Row, header, last_line, line_of, rows_in
from codex_mcp.team.records.agent_store import AGENT, with_host

LONGEST_LINE: Final = 64 * 2**20
"""A row is as long as an answer or an agent's record can be."""


async def write_rows(store: Store, file: BinaryIO) -> int:
    """How many there were. Raises Unavailable, OSError."""
    count, host = 0, socket.gethostname()

    def write(row: Row) -> None:
        nonlocal count
        count += 1
        if not store.spans_machines and isinstance(row, RecordRow) and row.kind == AGENT:
            # Where its files are is known only here, unless its record says so.
            row = msgspec.structs.replace(row, body=with_host(row.body, host))
        file.write(line_of(row))

    file.write(header())
    await store.dump(write)
    file.write(last_line(count))
    return count


async def read_rows(store: Store, file: BinaryIO) -> int:
    """How many there were. Raises NotAState, NotEmpty, Unavailable, OSError; then nothing is stored."""
    count = 0

    def counted() -> Iterator[Row]:
        nonlocal count
        for row in rows_in(_lines(file)):
            count += 1
            yield row

    await store.fill(counted())
    return count


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE):
        yield line
