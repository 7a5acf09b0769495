"""The audit of a rendezvous: who registered and reached what, one JSON object per line.

Lines are rare (registrations and connections, no frames), so they are written at once. If the disk is full, the line
goes to the log instead.
"""

from __future__ import annotations

import logging
import os
import time

import msgspec

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.files import open_regular
from codex_mcp.base.timestamps import format_timestamp

logger = logging.getLogger(__name__)


class RelayAudit:
    def __init__(self, path: str | None) -> None:
        """Without a path, lines only go to the log. Raises BadSetting."""
        self._descriptor = -1
        if path is not None:
            try:
                self._descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            except OSError as exc:
                raise BadSetting(f"cannot write the audit to {path}: {exc.strerror}") from exc

    def note(self, event: str, principal: str, environment_id: str, **more: str) -> None:
        entry = {"at": format_timestamp(time.time()), "event": event, "principal": principal}
        line = msgspec.json.encode({**entry, "environment": environment_id, **more})
        logger.info("%s", line.decode())
        if self._descriptor >= 0:
            try:
                os.write(self._descriptor, line + b"\n")
            except OSError as exc:
                logger.error("cannot write the audit: %s", exc.strerror)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
