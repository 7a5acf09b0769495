"""`codex` with a session id, and listSessions, review, websearch, ping and help."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from codex_mcp import __version__
from codex_mcp.base.errors import Refused
from codex_mcp.base.git import checkout_around
from codex_mcp.base.logs import stay_about
from codex_mcp.base.printable import are_waiting
from codex_mcp.base.settings.environments import is_elsewhere
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.core import Event, ThreadSpec, TurnSpec
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.calls.follower import Follower
from codex_mcp.mcp.schema import results
from codex_mcp.mcp.schema import session_catalogue as catalogue
from codex_mcp.mcp.schema.arguments import CodexArguments, translated
from codex_mcp.mcp.schema.catalogue import NoArguments, Tool
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments
from codex_mcp.mcp.schema.results import Result
from codex_mcp.mcp.schema.session_catalogue import (
    PingArguments,
    ReviewArguments,
    WebsearchArguments,
    review_target,
    search_prompt,
)
from codex_mcp.mcp.schema.session_results import (
    help_result,
    sessions_result,
    with_path,
    with_text_for_silence,
    with_warning,
)
from codex_mcp.mcp.tools.dispatch import Bodies
from codex_mcp.mcp.tools.one_turn import OneTurn
from codex_mcp.mcp.tools.specs import in_default_folder, new_thread, new_turn
from codex_mcp.sessions.session import Key, fault_of
from codex_mcp.sessions.sessions import NamedSessions, Order
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import QueueFull
from codex_mcp.wire.app.requests import BaseBranch

logger = logging.getLogger(__name__)

BACKGROUND_PATIENCE: Final = 5.0
"""Seconds that a call in the background waits for another server that uses its session."""

SETTINGS_OF_THREADS: Final = (
    "cwd",
    "approval_policy",
    "sandbox",
    "base_instructions",
    "developer_instructions",
    "environment",
)
"""Arguments that an existing thread cannot change, besides `config`."""


class SessionTools:
    def __init__(self, threads: Threads, settings: Settings, follower: Follower, listed: Sequence[Tool]) -> None:
        """`listed` are all tools of the server, which `help` describes."""
        self._threads = threads
        self._settings = settings
        self._follower = follower
        self._listed = listed
        self._once = OneTurn(threads, settings, follower, _check_repository)
        self._sessions = NamedSessions(threads, settings.sessions, settings.core.codex_home)
        self.names = self._sessions.names
        self.continued = self._sessions.continued
        self.aclose = self._sessions.aclose

    def bodies(self) -> Bodies:
        return [
            (catalogue.REVIEW, self._review),
            (catalogue.WEBSEARCH, self._websearch),
            (catalogue.LIST_SESSIONS, self._list_sessions),
            (catalogue.PING, self._ping),
            (catalogue.HELP, self._help),
        ]

    async def codex(self, call: Call, given: CodexArguments, time_limit: float | None = None) -> Result:
        """Continue the session that the arguments name, or begin it."""
        session_id = given.session_id or ""
        if fault := fault_of(session_id):
            raise BadArguments(f"{BAD_ARGUMENTS}{fault}")
        arguments, warnings = translated(given)
        new = new_thread(await in_default_folder(call, arguments, self._settings.core), self._settings)

        def submit(thread: Thread, spec: TurnSpec) -> Turn:
            images = new_turn(arguments, thread.cwd).images
            return self._submitted(call, arguments, thread, replace(spec, images=images, time_limit=time_limit))

        order = Order(
            spec=new.spec,
            turn=new_turn(replace(arguments, images=()), ""),
            model=arguments.model,
            effort=arguments.reasoning_effort,
            reset=arguments.reset_session,
            given=_given(given, arguments),
            warnings=warnings,
        )
        patience = BACKGROUND_PATIENCE if arguments.background else call.patience(arguments.wait_seconds)
        try:
            async with call.opening():
                use = await self._sessions.begin(Key(call.principal, session_id), order, submit, patience)
        except QueueFull as exc:
            return results.refused(f"Session {session_id} is busy and {are_waiting(exc.limit)}; wait for one to end.")
        for warning in new.warnings:
            call.event_happened(use.thread.id, Event("", {"type": "warning", "message": warning}))
        result = await self._follower.follow(call, use.thread, use.turn, arguments)
        if use.turn.ended:
            await use.saved.wait()
        result = with_path(with_text_for_silence(result, "No output from Codex"), use.resumed)
        is_told = use.trouble in use.turn.outcome.warnings
        return with_warning(result, use.trouble) if use.trouble and not is_told else result

    def _submitted(self, call: Call, arguments: CodexArguments, thread: Thread, spec: TurnSpec) -> Turn:
        stay_about(call.subject._replace(thread=thread.id))
        logger.info("turn of session %s in %s", arguments.session_id, thread.cwd)
        call.send_events(arguments.events)
        return thread.submit(spec, call, full_events=call.events is Events.FULL)

    async def _review(self, call: Call, arguments: ReviewArguments) -> Result:
        spec = TurnSpec(review=review_target(arguments))
        setup = CodexArguments(prompt="", model=arguments.model, cwd=arguments.working_directory)
        return with_text_for_silence(await self._once.run(call, setup, spec, arguments), "No review output from Codex")

    async def _websearch(self, call: Call, arguments: WebsearchArguments) -> Result:
        spec = TurnSpec(search_prompt(arguments))
        setup = CodexArguments(prompt="", config={"web_search": "live"})
        return with_text_for_silence(await self._once.run(call, setup, spec, arguments), "No search output from Codex")

    async def _list_sessions(self, call: Call, _: NoArguments) -> Result:
        return sessions_result(await self._sessions.all_of(call.principal))

    async def _ping(self, call: Call, arguments: PingArguments) -> Result:
        return results.written(arguments.message)

    async def _help(self, call: Call, _: NoArguments) -> Result:
        return help_result(self._listed, __version__)


def _check_repository(thread: ThreadSpec, turn: TurnSpec) -> None:
    """Raises Refused if a branch is to be compared outside of a repository. Folders of an exec-server are not seen."""
    if not isinstance(turn.review, BaseBranch) or thread.cwd is None or is_elsewhere(thread.environment):
        return
    if checkout_around(thread.cwd).root is None:
        raise Refused(f'"{thread.cwd}" is not a git repository, so `base` has no branch; name one in workingDirectory.')


def _given(given: CodexArguments, arguments: CodexArguments) -> tuple[str, ...]:
    """The settings of a thread that the caller chose. The effort can change with every turn, so it does not count."""
    named = [name for name in SETTINGS_OF_THREADS if getattr(arguments, name) is not None]
    others = (given.profile, given.compact_prompt, given.include_plan_tool, given.callback_uri)
    has_config = bool(given.config) or any(other is not None for other in others)
    return (*named, "config") if has_config else tuple(named)
