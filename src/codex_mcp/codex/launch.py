"""How the core is started: which program, with which configuration, in which environment."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.settings import Settings
from codex_mcp.codex.binary import find_codex_soon
from codex_mcp.codex.overrides import core_config
from codex_mcp.codex.profiles import read_user_config
from codex_mcp.codex.supervisor import Launch, Launcher

logger = logging.getLogger(__name__)

UNLOAD_DELAY: Final = "thread_unload_delay_secs=1"
"""We say when a thread is to be put away; once we do, the core need not keep it for its own half hour."""


def launcher(settings: Settings, environment: Mapping[str, str]) -> Launcher:
    """How to start a core with these settings."""
    search_path = environment.get("PATH", os.defpath)

    async def launch() -> Launch:
        binary = await find_codex_soon(settings, search_path)
        for note in binary.notes:
            logger.warning("%s", note)
        os.makedirs(settings.codex_home, mode=0o700, exist_ok=True)  # Codex does not start without its home
        config = core_config(settings.overrides, read_user_config(settings.codex_home))
        return Launch(
            argv=[binary.path, "app-server", "-c", UNLOAD_DELAY, *config.arguments],
            environment={
                **environment,
                "CODEX_HOME": settings.codex_home,
                "PATH": binary.search_path(search_path),
            },
        )

    return launch
