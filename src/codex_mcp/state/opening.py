"""Opens the state that the settings name: a database, or else the files of the state folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from codex_mcp.state.contract import Store


class Seen(Struct, frozen=True):
    """What was found where the state should be."""

    address: str
    engine: str
    """For example `PostgreSQL 16.14`."""
    version: int
    """Of its tables; 0 if there are none yet."""


async def open_state(address: str | None, state_dir: str, secret: str | None = None) -> Store:
    """The store at this address (`postgresql://…`), or that of the folder. Raises Refused or Unavailable.

    `secret`: the fingerprint of the cluster's; a database takes only servers with the first that it was told.
    """
    # Only what is used is loaded, with the first call.
    if address is not None:
        from codex_mcp.state.postgres.store import open_store as open_postgres  # noqa: PLC0415  see above

        return await open_postgres(address, state_dir, secret=secret)
    from codex_mcp.state.embedded.store import open_store  # noqa: PLC0415  see above

    return await open_store(state_dir)


def database_address(address: str | None, state_dir: str) -> str:
    """As people are shown it: without a password."""
    if address is not None:
        from codex_mcp.state.postgres.address import shown  # noqa: PLC0415  see above

        return shown(address)
    from codex_mcp.state.embedded.opening import NAME  # noqa: PLC0415  see above

    return os.path.join(state_dir, NAME)


async def check_state(address: str | None, state_dir: str) -> Seen:
    """Look whether it can be used, and change nothing. Raises Refused or Unavailable."""
    where = database_address(address, state_dir)
    if address is not None:
        from codex_mcp.state.postgres.engine import Engine  # noqa: PLC0415  see above

        engine = Engine(address)
        try:
            server, version = await engine.open(migrates=False)
        finally:
            await engine.aclose()
        return Seen(where, server, version)
    from codex_mcp.base.blocking import in_thread  # noqa: PLC0415  see above
    from codex_mcp.state.embedded.opening import engine_of  # noqa: PLC0415  see above

    return Seen(where, *await in_thread(engine_of, where))
