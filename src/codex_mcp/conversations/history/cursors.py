"""Pure. The cursors of `listConversations`: opaque texts around the app-server's own cursors."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from codex_mcp.rpc.errors import invalid_params

MARK: Final = b"1:"
"""The first bytes of a cursor, for a later change of its form."""

LONGEST: Final = 1024

_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_LAST_ID: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"


def written(core_cursor: str) -> str:
    return base64.urlsafe_b64encode(MARK + core_cursor.encode()).rstrip(b"=").decode()


def read(cursor: str) -> str:
    """The app-server's cursor. Raises RequestFailed for a text that we did not write."""
    try:
        data = base64.b64decode(cursor[:LONGEST] + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        found = data.removeprefix(MARK).decode()
    except (binascii.Error, ValueError):
        data, found = b"", ""
    if not data.startswith(MARK) or written(found) != cursor:
        raise bad_cursor()
    return found


def bad_cursor() -> Exception:
    return invalid_params("the cursor is not one of this server; leave it out to begin with the first page")


def without_id(core_cursor: str) -> str:
    """The cursor without the id of the last conversation, which may be another principal's.

    It reads `TIME|ID`. With the last of all ids, conversations of the same millisecond are read again.
    """
    return _ID.sub(_LAST_ID, core_cursor)
