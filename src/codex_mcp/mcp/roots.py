"""The client's roots: if it has exactly one folder of this machine, work without a `cwd` happens there.

A client that declares roots is asked once, when the answer is first needed, and again after it has reported a change.
A client that does not answer in time has no root until it reports a change, so it delays only one call.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from typing import Final

import msgspec

from codex_mcp.mcp.client import Client
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

PATIENCE: Final = 2.0
"""Seconds in which a client must answer; programs answer in milliseconds, and a person is not asked."""

LOGGED_CHARS: Final = 200

ABSOLUTE: Final = re.compile(r"file:(?://[^/]*/|/(?!/))")
"""Without this, `file:.` would be the folder `/`."""


class SessionRoots:
    """The root of one session."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self._is_known = False
        self._asking = asyncio.Lock()

    def changed(self) -> None:
        """Ask again when the root is next needed."""
        self._is_known = False

    async def folder(self, client: Client, about: Id) -> str | None:
        """The only root of a client that declares roots; None if it has none or several, or does not answer."""
        async with self._asking:
            if not self._is_known:
                self._is_known = True
                self._folder = await _only_root(client, about)
        return self._folder


async def _only_root(client: Client, about: Id) -> str | None:
    # Loaded late: most clients that only call tools are never asked.
    from codex_mcp.wire.features import Roots  # noqa: PLC0415

    try:
        async with asyncio.timeout(PATIENCE):
            answer = await client.request("roots/list", {}, about)
        roots = msgspec.json.decode(answer, type=Roots).roots
    except TimeoutError:
        logger.warning("the client did not answer roots/list within %g s; its roots are not used", PATIENCE)
        return None
    except (RequestFailed, ConnectionLost, msgspec.MsgspecError) as exc:
        logger.warning("the client's roots cannot be used: %s", str(exc)[:LOGGED_CHARS])
        return None
    return _folder_of(roots[0].uri) if len(roots) == 1 else None


def _folder_of(uri: str) -> str | None:
    from codex_mcp.base.file_uris import BadPath, path_from_uri  # noqa: PLC0415  as above

    try:
        folder = path_from_uri(uri)
        folder.encode()
        if ABSOLUTE.match(uri) and os.path.isdir(folder):
            return folder
    except (BadPath, UnicodeEncodeError):
        pass
    logger.info("the client's root %s is not a folder of this machine and is not used", uri[:LOGGED_CHARS])
    return None
