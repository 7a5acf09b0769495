"""`completion/complete`: values for the arguments of prompts and for the `{id}` of resource templates.

A prompt's arguments have no types, so their names decide: `MODEL`, `PROFILE`, `THREAD` (also `THREAD_ID`) and `PROMPT`.
Any other argument has no choices. Codex is asked for its models, but never waited for long.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Explained
from codex_mcp.codex.config.profiles import profile_names
from codex_mcp.mcp.features.choices import choices
from codex_mcp.mcp.methods import Exchange
from codex_mcp.mcp.prompts.prompts import Prompts
from codex_mcp.mcp.resources.resources import Resources
from codex_mcp.mcp.resources.uris import TEMPLATES
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.threads.threads import Threads
from codex_mcp.wire.app.history import ListModels, Models
from codex_mcp.wire.features import Complete, PromptReference, ResourceReference

logger = logging.getLogger(__name__)

PATIENCE: Final = 2.0
"""Seconds that Codex has to list its models; a person is typing meanwhile."""

MODELS_KEPT: Final = 60.0
"""Seconds for which a list of models is used again, because a client asks at every key."""


class Completion:
    def __init__(self, threads: Threads, codex_home: str, prompts: Prompts, resources: Resources) -> None:
        self._threads = threads
        self._home = codex_home
        self._prompts = prompts
        self._resources = resources
        self._models: tuple[float, list[str]] | None = None

    async def complete(self, exchange: Exchange, asked: Complete) -> object:
        match asked.ref:
            case ResourceReference(uri=uri):
                known = self._of_template(exchange, uri, asked.argument.name)
            case PromptReference(name=name):
                known = await self._of_prompt(exchange, name, asked.argument.name)
        return {"completion": choices(known, asked.argument.value)}

    def _of_template(self, exchange: Exchange, uri: str, argument: str) -> list[str]:
        if uri not in TEMPLATES:
            raise invalid_params(f"unknown resource template: {uri}; resources/templates/list names those there are")
        return self._resources.thread_ids(exchange) if argument == "id" else []

    async def _of_prompt(self, exchange: Exchange, name: str, argument: str) -> list[str]:
        found = await self._prompts.find(exchange)
        if name not in found:
            raise invalid_params(f"unknown prompt: {name}; prompts/list names those that there are")
        match argument.upper():
            case "MODEL":
                return await self._model_names()
            case "PROFILE":
                return await in_thread(profile_names, self._home)
            case "THREAD" | "THREAD_ID":
                return self._resources.thread_ids(exchange)
            case "PROMPT":
                return sorted(found)
        return []

    async def _model_names(self) -> list[str]:
        """The models that Codex offers; none if it does not answer in time."""
        now = asyncio.get_running_loop().time()
        if self._models is not None and now - self._models[0] < MODELS_KEPT:
            return self._models[1]
        try:
            async with asyncio.timeout(PATIENCE):
                core = await self._threads.supervisor.core()
                answer = await core.request("model/list", ListModels(), Models)
        except (Explained, TimeoutError) as exc:
            logger.info("Codex's models cannot be offered: %s", str(exc) or "it did not answer in time")
            return []
        names = [model.model for model in answer.data if model.model]
        self._models = (now, names)
        return names
