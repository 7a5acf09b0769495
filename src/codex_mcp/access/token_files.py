"""Files that hold tokens, secrets or keys."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from typing import TypeVar

from codex_mcp.base.errors import BadSetting, Refused
from codex_mcp.base.files import read_regular

logger = logging.getLogger(__name__)

Parsed = TypeVar("Parsed")


class WatchedFile:
    """A file that is read again when it changes."""

    def __init__(self, path: str, read: Callable[[str], None]) -> None:
        """`read` raises BadSetting if the file cannot be used; so does this."""
        self._path = path
        self._read = read
        self._state = _state(path)
        read(path)

    def refresh(self) -> bool:
        """Whether it was read again. If it cannot be used, what was read before stays valid: a file that is just being
        written must not lock everyone out."""
        if (state := _state(self._path)) == self._state:
            return False
        try:
            self._read(self._path)
        except BadSetting as exc:
            logger.error("%s; what was read before stays valid", exc)
            return False
        self._state = state
        logger.info("read %s again", self._path)
        return True


def read_tokens(path: str, parse: Callable[[str], Parsed]) -> Parsed:
    """A list of tokens. `parse` raises ValueError, and this BadSetting."""
    try:
        return parse(read_secret(path, f"the token file {path}").decode())
    except (OSError, ValueError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else exc
        raise BadSetting(f"cannot use the token file {path}: {why}") from exc


def read_token_file(path: str) -> str:
    """The one token in a file. Raises Refused."""
    try:
        token = read_secret(path, f"the token file {path}").decode().strip()
    except OSError as exc:
        raise Refused(f"cannot read the token file {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise Refused(f"cannot read the token file {path}: it is not UTF-8") from exc
    if not token:
        raise Refused(f"cannot use the token file {path}: it is empty")
    return token


def read_secret(path: str, name: str) -> bytes:
    """The content; warns if other users can read the file, which the warning calls `name`. Raises OSError."""
    content = read_regular(path)
    if os.stat(path).st_mode & stat.S_IROTH:
        logger.warning("every user of this machine can read %s; run chmod 600 on it", name)
    return content


def _state(path: str) -> tuple[int, int, int] | None:
    """Changes when the file does."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
