"""`getUserSavedConfig` and `setDefaultModel`: the user's config.toml."""

from __future__ import annotations

import os

import msgspec

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.base.files import read_if_there
from codex_mcp.codex.core import CoreError
from codex_mcp.conversations.caller import Caller
from codex_mcp.conversations.refusals import failed
from codex_mcp.conversations.server.accounts import require_administration
from codex_mcp.conversations.server.saved_config import saved_config
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import conversations as wire
from codex_mcp.wire.app.client_requests import ConfigEdit, WriteConfig


class Configuration:
    def __init__(self, threads: Threads, codex_home: str) -> None:
        self._threads = threads
        self._path = os.path.join(codex_home, "config.toml")

    async def read_saved(self, caller: Caller, params: wire.NoParams) -> object:
        try:
            data = await in_thread(read_if_there, self._path)
        except OSError as exc:
            raise failed(f"failed to load config.toml: {exc.strerror or exc}") from exc
        try:
            config = msgspec.toml.decode(data or b"", type=dict[str, object])
        except (msgspec.DecodeError, UnicodeDecodeError) as exc:
            raise failed(f"failed to parse config.toml: {exc}; fix the file") from exc
        return {"config": saved_config(config)}

    async def set_default_model(self, caller: Caller, params: wire.SetDefaultModel) -> object:
        require_administration(caller, "setDefaultModel")
        edits = [ConfigEdit("model", params.model), ConfigEdit("model_reasoning_effort", params.reasoning_effort)]
        try:
            core = await self._threads.supervisor.core()
            await core.request("config/batchWrite", WriteConfig(edits), dict[str, object])
        except (CoreError, Refused) as exc:
            raise failed(f"failed to persist overrides: {exc}") from exc
        return {}
