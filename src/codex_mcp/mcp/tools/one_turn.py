"""One turn in a thread of its own, which may change nothing and asks no questions: for a review or a search."""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec.structs import replace

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.logs import stay_about
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.core import ThreadSpec, TurnSpec
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.calls.follower import Follower
from codex_mcp.mcp.schema.arguments import CodexArguments, HowToWait
from codex_mcp.mcp.schema.results import Result
from codex_mcp.mcp.tools.specs import in_default_folder, new_thread
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads

logger = logging.getLogger(__name__)


class OneTurn:
    def __init__(
        self,
        threads: Threads,
        settings: Settings,
        follower: Follower,
        check: Callable[[ThreadSpec, TurnSpec], None],
    ) -> None:
        """`check` raises Refused before the thread starts. It may read files, and is called in a thread."""
        self._threads = threads
        self._settings = settings
        self._follower = follower
        self._check = check

    async def run(
        self,
        call: Call,
        setup: CodexArguments,
        spec: TurnSpec,
        how: HowToWait,
        opened: Callable[[Thread], None] = lambda _: None,
    ) -> Result:
        """`opened` is told of the thread before its turn."""
        setup = await in_default_folder(call, setup, self._settings.core)
        setup = replace(setup, sandbox="read-only", approval_policy="never")
        new = new_thread(setup, self._settings)
        # A review is reported in raw events only: without them, nobody would know its tokens.
        new = replace(new, spec=replace(new.spec, raw_events=new.spec.raw_events or spec.review is not None))
        await in_thread(self._check, new.spec, spec)
        async with call.opening():
            thread = await self._threads.start(new.spec, call.principal)
        stay_about(call.subject._replace(thread=thread.id))
        logger.info("thread started in %s", thread.cwd)
        opened(thread)
        turn = thread.submit(spec, call, full_events=call.events is Events.FULL)
        return await self._follower.follow(call, thread, turn, how)
