"""`fs/watchMissing`: notifies a client once when one of the files that it found missing exists.

Checked twice a second: a watch has a few names, in folders that may not exist either, and clients do not need it to be
fast.
"""

from __future__ import annotations

import asyncio
import os
from typing import Final

from msgspec import Struct

from codex_mcp.execserver.envelope import SendMessage, encode_notification
from codex_mcp.execserver.files.operations import native
from codex_mcp.wire.exec.files import MissingChanged, Watching, WatchMissing

INTERVAL: Final = 0.5
MAX_WATCHES: Final = 64
MAX_PATHS: Final = 256
"""Codex has one watch of about ten paths per thread. Beyond these limits, the answer is `watching: false`."""


class _Watch(Struct, frozen=True):
    missing: tuple[str, ...]
    present: str | None

    def has_changed(self) -> bool:
        is_gone = self.present is not None and not os.path.lexists(self.present)
        return is_gone or any(map(os.path.lexists, self.missing))


class MissingWatches:
    def __init__(self, send: SendMessage) -> None:
        self._send = send
        self._watches: dict[int, _Watch] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._watches)

    def watch(self, asked: WatchMissing) -> Watching:
        watch = _Watch(tuple(map(native, asked.missing)), native(asked.present) if asked.present is not None else None)
        is_taken = asked.watch_id in self._watches or len(self._watches) >= MAX_WATCHES
        if is_taken or not 0 < len(watch.missing) <= MAX_PATHS:
            return Watching(watching=False)
        self._watches[asked.watch_id] = watch
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._look)
        return Watching(watching=True)

    def close_all(self) -> None:
        self._watches.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        for watch_id in [watch_id for watch_id, watch in self._watches.items() if watch.has_changed()]:
            del self._watches[watch_id]
            self._send(encode_notification("fs/missingChanged", MissingChanged(watch_id)))
        self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._look) if self._watches else None
