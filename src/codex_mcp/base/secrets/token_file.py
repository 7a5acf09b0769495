"""Reads a file that holds one token."""

from __future__ import annotations

import logging
import os
import stat
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import opened

logger = logging.getLogger(__name__)

LONGEST: Final = 64 * 1024
"""Bytes of a token: several times the longest signed one."""


def read_token_file(path: str) -> str:
    """The token, without the space around it; warns if other users can read the file. Raises Refused."""
    try:
        with opened(path) as file:
            if os.fstat(file.fileno()).st_mode & stat.S_IROTH:
                logger.warning("every user of this machine can read the token file %s; run chmod 600 on it", path)
            token = file.read(LONGEST).decode().strip()
    except OSError as exc:
        raise Refused(f"cannot read the token file {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise Refused(f"cannot read the token file {path}: it is not UTF-8") from exc
    if not token:
        raise Refused(f"cannot use the token file {path}: it is empty")
    return token
